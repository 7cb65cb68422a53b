/* A program with a memory allocator of its own, that has one lock for all: two threads allocate, and one waits while
 * the other's allocation makes the arena grow. What is freed is never used again. */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include "waiting.h"

static _Alignas(64) unsigned char arena[16 << 20];
static size_t used;
static size_t end = 8 << 20;
static pthread_mutex_t arena_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
static sem_t grows;

/* Takes its time, as the kernel would; until the other thread waits, at least. */
__attribute__((noinline)) void grow(void) {
    const struct timespec t = {0, 10000000};
    sem_post(&grows);
    until_waits(1);
    nanosleep(&t, NULL);
    end += 1 << 18;
}

void* malloc(size_t size) {
    void* found = NULL;
    pthread_mutex_lock(&arena_lock);
    const size_t at = (used + 63) & ~(size_t)63;
    if (size > (1 << 16) && size < (1 << 18) && end + (1 << 18) <= sizeof arena)
        grow();
    if (at <= end && size <= end - at) {
        found = arena + at;
        used = at + size;
    } else {
        errno = ENOMEM;
    }
    pthread_mutex_unlock(&arena_lock);
    return found;
}

void free(void* unused) {
    (void)unused;
}

void* calloc(size_t count, size_t size) {
    return size != 0 && count > sizeof arena / size ? NULL
                                                    : malloc(count * size); /* never used before: zero */
}

void* realloc(void* old, size_t size) {
    void* const fresh = malloc(size);
    if (old != NULL && fresh != NULL) {
        const size_t there = (size_t)(arena + sizeof arena - (unsigned char*)old);
        memmove(fresh, old, size < there ? size : there);
    }
    return fresh;
}

static void* volatile sink;

static void* allocate_much(void* unused) {
    for (int i = 0; i < 10; ++i) {
        pthread_barrier_wait(&both);
        sink = malloc(1 << 17);
        pthread_barrier_wait(&both);
    }
    return unused;
}

__attribute__((noinline)) void make_string(void) {
    sink = malloc(100);
}

static void* allocate_little(void* unused) {
    for (int i = 0; i < 10; ++i) {
        pthread_barrier_wait(&both);
        sem_wait(&grows);
        i_wait(1);
        make_string();
        i_have_it(1);
        pthread_barrier_wait(&both);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    sem_init(&grows, 0, 0);
    pthread_create(&threads[0], NULL, allocate_much, NULL);
    pthread_create(&threads[1], NULL, allocate_little, NULL);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    return 0;
}
