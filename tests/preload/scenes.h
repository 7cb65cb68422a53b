/* For programs that print what they see of their locks, scene by scene. */
#ifndef HOLDFAST_TESTS_SCENES_H
#define HOLDFAST_TESTS_SCENES_H

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static inline struct timespec in_ms(clockid_t clock, long ms) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += ms * 1000000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* A call, its answer, and errno after it. */
#define SHOW(call)                                                                                           \
    do {                                                                                                     \
        errno = 77;                                                                                          \
        int answer = (call);                                                                                 \
        printf("%s = %d, errno %d\n", #call, answer, errno);                                                 \
    } while (0)

struct scene {
    const char* name;
    void (*play)(void);
};

/* Plays the scene of that name. Gives the program's exit status. */
static inline int play(const struct scene* scenes, size_t count, const char* name) {
    for (size_t i = 0; name != NULL && i < count; ++i) {
        if (strcmp(name, scenes[i].name) == 0) {
            scenes[i].play();
            return 0;
        }
    }
    return 2;
}

#endif
