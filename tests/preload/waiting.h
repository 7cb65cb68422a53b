/* For planted programs in C and C++: a holder goes on when those that are to wait for its lock do so. */
#pragma once

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { most_threads = 5 };

/* By thread: its id while it waits for a lock, or is just about to; else 0. */
static int waiting[most_threads];

static void i_wait(int me) {
    __atomic_store_n(&waiting[me], (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
}

static void i_have_it(int me) {
    __atomic_store_n(&waiting[me], 0, __ATOMIC_SEQ_CST);
}

/* Until that thread waits for a lock and sleeps. */
static void until_waits(int who) {
    char text[256] = "";
    char name[64];
    const char* state = NULL;
    while (__atomic_load_n(&waiting[who], __ATOMIC_SEQ_CST) == 0)
        sched_yield();
    snprintf(name, sizeof name, "/proc/self/task/%d/stat", __atomic_load_n(&waiting[who], __ATOMIC_SEQ_CST));
    do {
        const int file = open(name, O_RDONLY);
        const ssize_t size = file < 0 ? 0 : read(file, text, sizeof text - 1);
        if (file >= 0)
            close(file);
        text[size < 0 ? 0 : size] = '\0';
        state = strrchr(text, ')'); /* a name may have anything in it */
        if (state == NULL || state[1] == '\0' || state[2] != 'S')
            sched_yield();
    } while (state == NULL || state[1] == '\0' || state[2] != 'S');
}
