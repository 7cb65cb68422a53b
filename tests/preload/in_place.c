/* What a program may do with its locks beside using them: initialise them in any way, unlock for another thread, in any order,
 * copy, end, fork while others wait, be cancelled. Prints the same whichever lock is under it; but for `whose`.
 * usage: in_place SCENE */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "scenes.h"

/* A call that must give 0, once for all. */
static void good(int answer, const char* what) {
    if (answer != 0)
        printf("%s = %d\n", what, answer);
}
#define GOOD(call) good(call, #call)

static void nap(long ms) {
    const struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

static pthread_t started(void* (*run)(void*), void* argument) {
    pthread_t thread;
    GOOD(pthread_create(&thread, NULL, run, argument));
    return thread;
}

/* ---- Initialised by the compiler ---- */

static pthread_mutex_t normal = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static pthread_mutex_t errorcheck = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static pthread_mutex_t adaptive = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP;
static pthread_rwlock_t readers = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t writers = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void* ask(void* unused) {
    pthread_mutex_t* const mutexes[] = {&normal, &recursive, &errorcheck, &adaptive};
    for (int i = 0; i < 4; ++i)
        SHOW(pthread_mutex_trylock(mutexes[i]));
    SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_unlock(&errorcheck));
    pthread_rwlock_t* const locks[] = {&readers, &writers};
    for (int i = 0; i < 2; ++i) {
        struct timespec soon = in_ms(CLOCK_MONOTONIC, 3);
        SHOW(pthread_rwlock_tryrdlock(locks[i]));
        SHOW(pthread_rwlock_clockrdlock(locks[i], CLOCK_MONOTONIC, &soon));
        SHOW(pthread_rwlock_clockwrlock(locks[i], CLOCK_MONOTONIC, &soon));
        SHOW(pthread_rwlock_trywrlock(locks[i]));
    }
    return unused;
}

static void initialisers(void) {
    pthread_mutex_t* const mutexes[] = {&normal, &recursive, &errorcheck, &adaptive};
    for (int i = 0; i < 4; ++i) {
        SHOW(pthread_mutex_lock(mutexes[i]));
        SHOW(pthread_mutex_trylock(mutexes[i]));
    }
    SHOW(pthread_mutex_lock(&recursive));
    SHOW(pthread_mutex_lock(&errorcheck));
    struct timespec soon = in_ms(CLOCK_REALTIME, 3);
    SHOW(pthread_mutex_timedlock(&errorcheck, &soon));
    SHOW(pthread_mutex_timedlock(&normal, &soon));
    SHOW(pthread_rwlock_wrlock(&readers));
    SHOW(pthread_rwlock_wrlock(&writers));
    pthread_join(started(ask, NULL), NULL);
    for (int i = 0; i < 4; ++i) {
        SHOW(pthread_mutex_unlock(mutexes[i]));
        SHOW(pthread_mutex_destroy(mutexes[i]) == 0 || i == 1);
    }
    SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_unlock(&recursive));
    SHOW(pthread_mutex_destroy(&recursive));
    SHOW(pthread_mutex_lock(&normal)); /* it is no more */
    SHOW(pthread_mutex_trylock(&recursive));
    SHOW(pthread_rwlock_unlock(&readers));
    SHOW(pthread_rwlock_unlock(&writers));
    SHOW(pthread_rwlock_rdlock(&readers));
    SHOW(pthread_rwlock_rdlock(&readers));
    SHOW(pthread_rwlock_trywrlock(&readers));
    SHOW(pthread_rwlock_unlock(&readers));
    SHOW(pthread_rwlock_unlock(&readers));
    SHOW(pthread_rwlock_trywrlock(&readers));
}

/* ---- A thousand, in any order, for another thread ---- */

enum { many = 1000 };
static pthread_mutex_t crowd[many];
static pthread_rwlock_t crowd_of_rwlocks[many];

static void* take_all(void* unused) {
    for (int i = 0; i < many; ++i) {
        GOOD(pthread_mutex_lock(&crowd[i]));
        GOOD(i % 3 == 0 ? pthread_rwlock_wrlock(&crowd_of_rwlocks[i])
                        : pthread_rwlock_rdlock(&crowd_of_rwlocks[i]));
    }
    return unused;
}

static void* let_all_go(void* unused) {
    for (int i = 0; i < many; ++i) {
        GOOD(pthread_mutex_unlock(&crowd[(i * 7) % many]));
        GOOD(pthread_rwlock_unlock(&crowd_of_rwlocks[(i * 3) % many]));
    }
    return unused;
}

static void thousand(void) {
    take_all(NULL);
    let_all_go(NULL);
    take_all(NULL);
    for (int i = 0; i < many; ++i)
        GOOD(pthread_mutex_unlock(&crowd[i]));
    for (int i = many; i-- != 0;)
        GOOD(pthread_rwlock_unlock(&crowd_of_rwlocks[i]));
    puts("done");
}

/* Each thread lets go of what one before it has locked, which has ended: its identity goes to the next. */
static void* lock_it(void* mutex) {
    GOOD(pthread_mutex_lock(mutex));
    return NULL;
}

static void* unlock_and_lock(void* mutex) {
    SHOW(pthread_mutex_trylock(mutex));
    GOOD(pthread_mutex_unlock(mutex));
    GOOD(pthread_mutex_lock(mutex));
    return NULL;
}

static int had_it;

static void* lock_for_real(void* mutex) {
    GOOD(pthread_mutex_lock(mutex));
    had_it = 1;
    GOOD(pthread_mutex_unlock(mutex));
    return NULL;
}

static void others(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_join(started(lock_it, &mutex), NULL);
    for (int i = 0; i < 5; ++i)
        pthread_join(started(unlock_and_lock, &mutex), NULL);
    /* Has the identity of the one that holds it, and must wait nevertheless. */
    const pthread_t waiter = started(lock_for_real, &mutex);
    nap(30);
    printf("had it before: %d\n", had_it);
    GOOD(pthread_mutex_unlock(&mutex));
    pthread_join(waiter, NULL);
    printf("had it then: %d\n", had_it);
    SHOW(pthread_mutex_unlock(&mutex)); /* nobody has it */
    SHOW(pthread_mutex_lock(&mutex));
    SHOW(pthread_mutex_unlock(&mutex));
}

/* ---- Copies, and other lives ---- */

static void lives(void) {
    pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER, other;
    GOOD(pthread_mutex_lock(&first));
    GOOD(pthread_mutex_unlock(&first));
    GOOD(pthread_rwlock_wrlock(&lock));
    GOOD(pthread_rwlock_unlock(&lock));
    memcpy(&second, &first, sizeof first);
    memcpy(&other, &lock, sizeof lock);
    GOOD(pthread_mutex_lock(&first));
    SHOW(pthread_mutex_trylock(&second));
    GOOD(pthread_rwlock_rdlock(&lock));
    SHOW(pthread_rwlock_trywrlock(&other));
    for (int i = 0; i < 3; ++i) {
        pthread_mutexattr_t attributes;
        pthread_mutexattr_init(&attributes);
        pthread_mutexattr_settype(&attributes, i);
        SHOW(pthread_mutex_init(&second, &attributes)); /* without an end */
        SHOW(pthread_mutex_lock(&second));
        SHOW(pthread_mutex_trylock(&second));
        SHOW(pthread_rwlock_init(&other, NULL));
        SHOW(pthread_rwlock_tryrdlock(&other));
    }
    SHOW(pthread_mutex_destroy(&second));
    memset(&second, 0, sizeof second);
    SHOW(pthread_mutex_lock(&second));
    memset(&other, 0, sizeof other);
    SHOW(pthread_rwlock_wrlock(&other));
    SHOW(pthread_mutex_unlock(&second));
    SHOW(pthread_mutex_destroy(&second));
    SHOW(pthread_mutex_unlock(&second));
}

/* ---- A fork while others wait, or hold what the child doesn't want ---- */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER, of_another = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t written = PTHREAD_RWLOCK_INITIALIZER, read_by_us = PTHREAD_RWLOCK_INITIALIZER;
static pthread_cond_t waited_for = PTHREAD_COND_INITIALIZER;
static sem_t ready;
static int sum;

static void* wait_for_mutex(void* unused) {
    sem_post(&ready);
    GOOD(pthread_mutex_lock(&held));
    GOOD(pthread_mutex_unlock(&held));
    return unused;
}
static void* wait_to_write(void* lock) {
    sem_post(&ready);
    GOOD(pthread_rwlock_wrlock(lock));
    GOOD(pthread_rwlock_unlock(lock));
    return NULL;
}
static void* wait_to_read(void* lock) {
    sem_post(&ready);
    GOOD(pthread_rwlock_rdlock(lock));
    GOOD(pthread_rwlock_unlock(lock));
    return NULL;
}
static int told;
static void* wait_for_condition(void* unused) {
    GOOD(pthread_mutex_lock(&of_another));
    sem_post(&ready);
    while (!told)
        GOOD(pthread_cond_wait(&waited_for, &of_another));
    GOOD(pthread_mutex_unlock(&of_another));
    return unused;
}

static void* add(void* unused) {
    for (int i = 0; i < 1000; ++i) {
        GOOD(pthread_mutex_lock(&held));
        GOOD(pthread_rwlock_wrlock(&written));
        GOOD(pthread_rwlock_wrlock(&read_by_us));
        ++sum;
        GOOD(pthread_rwlock_unlock(&read_by_us));
        GOOD(pthread_rwlock_unlock(&written));
        GOOD(pthread_mutex_unlock(&held));
    }
    return unused;
}

static void use_all(void) {
    SHOW(pthread_mutex_trylock(&held));
    GOOD(pthread_mutex_unlock(&held));
    GOOD(pthread_rwlock_unlock(&written));
    GOOD(pthread_rwlock_unlock(&read_by_us));
    pthread_t adders[3];
    for (int i = 0; i < 3; ++i)
        adders[i] = started(add, NULL);
    for (int i = 0; i < 3; ++i)
        pthread_join(adders[i], NULL);
    printf("sum %d\n", sum);
    GOOD(pthread_mutex_lock(&of_another));
    told = 1;
    GOOD(pthread_cond_broadcast(&waited_for));
    struct timespec soon = in_ms(CLOCK_REALTIME, 3);
    SHOW(pthread_cond_timedwait(&waited_for, &of_another, &soon));
    GOOD(pthread_mutex_unlock(&of_another));
    told = 0;
    const pthread_t waiter = started(wait_for_condition, NULL);
    for (int i = 0; i < 2; ++i) {
        GOOD(pthread_mutex_lock(&of_another));
        told = 1;
        GOOD(pthread_cond_signal(&waited_for));
        GOOD(pthread_mutex_unlock(&of_another));
    }
    pthread_join(waiter, NULL);
    fflush(stdout);
}

static void forks(void) {
    pthread_t waiting[9];
    sem_init(&ready, 0, 0);
    GOOD(pthread_mutex_lock(&held));
    GOOD(pthread_rwlock_wrlock(&written));
    GOOD(pthread_rwlock_rdlock(&read_by_us));
    for (int i = 0; i < 9; ++i)
        waiting[i] = i < 3   ? started(wait_for_mutex, NULL)
                     : i < 5 ? started(wait_to_write, &written)
                     : i < 6 ? started(wait_to_read, &written)
                     : i < 8 ? started(wait_to_write, &read_by_us)
                             : started(wait_for_condition, NULL);
    for (int i = 0; i < 9; ++i)
        sem_wait(&ready);
    nap(20); /* now they are in line, and asleep if they ever are */
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        use_all();
        _exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    use_all();
    for (int i = 0; i < 9; ++i)
        pthread_join(waiting[i], NULL);
}

/* ---- Conditions ---- */

static pthread_cond_t go;
static int left;

static void* wait_to_go(void* unused) {
    GOOD(pthread_mutex_lock(&held));
    sem_post(&ready);
    while (left == 0)
        GOOD(pthread_cond_wait(&go, &held));
    --left;
    GOOD(pthread_mutex_unlock(&held));
    return unused;
}

/* As linked before 2003. */
int old_wait(pthread_cond_t*, pthread_mutex_t*);
int old_timedwait(pthread_cond_t*, pthread_mutex_t*, const struct timespec*);
int old_signal(pthread_cond_t*);
int old_broadcast(pthread_cond_t*);
int old_destroy(pthread_cond_t*);
__asm__(".symver old_wait,pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver old_timedwait,pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver old_signal,pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver old_broadcast,pthread_cond_broadcast@GLIBC_2.2.5");
__asm__(".symver old_destroy,pthread_cond_destroy@GLIBC_2.2.5");

static struct {
    void* condition; /* all of it that there was then */
    unsigned char guard[64];
} old;

static void* wait_as_of_old(void* unused) {
    pthread_cond_t* const condition = (pthread_cond_t*)(void*)&old.condition;
    GOOD(pthread_mutex_lock(&held));
    sem_post(&ready);
    while (left == 0)
        GOOD(old_wait(condition, &held));
    --left;
    GOOD(pthread_mutex_unlock(&held));
    return unused;
}

static void all_go(void* (*run)(void*), int (*tell)(pthread_cond_t*), int (*tell_all)(pthread_cond_t*),
                   pthread_cond_t* condition) {
    pthread_t threads[6];
    for (int i = 0; i < 6; ++i)
        threads[i] = started(run, NULL);
    for (int i = 0; i < 6; ++i)
        sem_wait(&ready);
    for (int i = 0; i < 3; ++i) {
        GOOD(pthread_mutex_lock(&held));
        ++left;
        GOOD(tell(condition));
        GOOD(pthread_mutex_unlock(&held));
    }
    for (int waiting = 1; waiting;) {
        GOOD(pthread_mutex_lock(&held));
        waiting = left != 0;
        GOOD(pthread_mutex_unlock(&held));
    }
    GOOD(pthread_mutex_lock(&held));
    left = 3;
    GOOD(tell_all(condition));
    GOOD(pthread_mutex_unlock(&held));
    for (int i = 0; i < 6; ++i)
        pthread_join(threads[i], NULL);
    printf("left %d\n", left);
}

static void conditions(void) {
    sem_init(&ready, 0, 0);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    for (int round = 0; round < 3; ++round) {
        SHOW(pthread_cond_init(&go, round == 1 ? NULL : &attributes));
        SHOW(pthread_cond_signal(&go));
        all_go(wait_to_go, pthread_cond_signal, pthread_cond_broadcast, &go);
        GOOD(pthread_mutex_lock(&held));
        struct timespec monotonic = in_ms(CLOCK_MONOTONIC, 3), real = in_ms(CLOCK_REALTIME, 3), bad = {1, -1};
        SHOW(pthread_cond_timedwait(&go, &held, round == 1 ? &real : &monotonic));
        SHOW(pthread_cond_clockwait(&go, &held, CLOCK_REALTIME, &real));
        SHOW(pthread_cond_clockwait(&go, &held, CLOCK_PROCESS_CPUTIME_ID, &real));
        SHOW(pthread_cond_timedwait(&go, &held, &bad));
        GOOD(pthread_mutex_unlock(&held));
        SHOW(pthread_cond_destroy(&go));
    }
    SHOW(pthread_cond_init(&go, NULL));
    SHOW(pthread_cond_wait(&go, &errorcheck)); /* which nobody holds */
    SHOW(pthread_cond_destroy(&go));
    memset(old.guard, 0x5a, sizeof old.guard);
    pthread_cond_t* const condition = (pthread_cond_t*)(void*)&old.condition;
    all_go(wait_as_of_old, old_signal, old_broadcast, condition);
    GOOD(pthread_mutex_lock(&held));
    struct timespec real = in_ms(CLOCK_REALTIME, 3);
    SHOW(old_timedwait(condition, &held, &real));
    GOOD(pthread_mutex_unlock(&held));
    SHOW(old_destroy(condition));
    for (unsigned i = 0; i < sizeof old.guard; ++i) {
        if (old.guard[i] != 0x5a)
            puts("written beyond its end");
    }
}

/* ---- Cancelled waiters among others: what they are told reaches somebody ---- */

static int tokens, taken, ended;

static void let_go(void* unused) {
    (void)unused;
    ++ended;
    GOOD(pthread_mutex_unlock(&held));
}

static void* take_tokens(void* timed) {
    GOOD(pthread_mutex_lock(&held));
    pthread_cleanup_push(let_go, NULL);
    for (;;) {
        const struct timespec late = in_ms(CLOCK_REALTIME, 100000);
        while (tokens == 0) {
            if (timed != NULL)
                pthread_cond_timedwait(&waited_for, &held, &late);
            else
                pthread_cond_wait(&waited_for, &held);
        }
        --tokens;
        ++taken;
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancels(void) {
    for (int round = 0; round < 100; ++round) {
        pthread_t threads[4];
        for (int i = 0; i < 4; ++i)
            threads[i] = started(take_tokens, i % 2 == 0 ? NULL : &tokens);
        for (int i = 0; i < 3; ++i) {
            GOOD(pthread_mutex_lock(&held));
            ++tokens;
            GOOD(pthread_cond_signal(&waited_for));
            GOOD(pthread_mutex_unlock(&held));
            GOOD(pthread_cancel(threads[i]));
        }
        for (int all = 0; !all;) {
            GOOD(pthread_mutex_lock(&held));
            all = tokens == 0; /* by the last thread at least */
            GOOD(pthread_mutex_unlock(&held));
            if (!all)
                sched_yield();
        }
        GOOD(pthread_cancel(threads[3]));
        for (int i = 0; i < 4; ++i) {
            void* result = NULL;
            pthread_join(threads[i], &result);
            GOOD(result != PTHREAD_CANCELED);
        }
    }
    printf("taken %d, ended %d\n", taken, ended);
}

/* ---- Cancelled while it waits for a lock, which is no point of cancellation ---- */

static void unlock_both(void* unused) {
    (void)unused;
    GOOD(pthread_rwlock_unlock(&written));
    GOOD(pthread_mutex_unlock(&held));
}

static void* lock_both(void* unused) {
    GOOD(pthread_mutex_lock(&held));
    GOOD(pthread_rwlock_wrlock(&written));
    pthread_cleanup_push(unlock_both, NULL);
    had_it = 1;
    pthread_testcancel();
    pthread_cleanup_pop(1);
    return unused;
}

static void pending(void) {
    for (int i = 0; i < 2; ++i) {
        GOOD(i == 0 ? pthread_mutex_lock(&held) : pthread_rwlock_rdlock(&written));
        const pthread_t waiter = started(lock_both, NULL);
        nap(50); /* now it sleeps */
        GOOD(pthread_cancel(waiter));
        nap(20);
        printf("had it before: %d\n", had_it);
        GOOD(i == 0 ? pthread_mutex_unlock(&held) : pthread_rwlock_unlock(&written));
        void* result = NULL;
        pthread_join(waiter, &result);
        printf("had it then: %d, cancelled: %d\n", had_it, result == PTHREAD_CANCELED);
        SHOW(pthread_mutex_trylock(&held));
        SHOW(pthread_rwlock_trywrlock(&written));
        unlock_both(NULL);
        had_it = 0;
    }
}

/* ---- Whose they are: what only this library's user may look at ---- */

static pthread_mutex_t pool[3];
static pthread_mutex_t* made;

__attribute__((noinline)) static void make_one(pthread_mutex_t* mutex) {
    pthread_mutex_init(mutex, NULL);
    __asm__ volatile("");
}

static void tell_whose(const char* name, const void* word) {
    printf("%s %s\n", name, *(const unsigned*)word >> 16 == 0xffff ? "ours" : "glibc's");
}

static void whose(void) {
    made = malloc(sizeof *made);
    make_one(made);
    GOOD(pthread_mutex_lock(&normal));
    GOOD(pthread_mutex_lock(&pool[1]));
    GOOD(pthread_mutex_lock(made));
    GOOD(pthread_rwlock_rdlock(&readers));
    tell_whose("normal", &normal.__data.__spins);
    tell_whose("pool[1]", &pool[1].__data.__spins);
    tell_whose("made", &made->__data.__spins);
    tell_whose("readers", (const char*)&readers.__data.__pad2 + 4);
    printf("kind %d, flags %u\n", normal.__data.__kind & 3, readers.__data.__flags);
    free(made);
}

int main(int argc, char** argv) {
    const struct scene scenes[] = {{"initialisers", initialisers},
                                   {"thousand", thousand},
                                   {"others", others},
                                   {"lives", lives},
                                   {"forks", forks},
                                   {"conditions", conditions},
                                   {"cancels", cancels},
                                   {"pending", pending},
                                   {"whose", whose}};
    return play(scenes, sizeof scenes / sizeof *scenes, argc > 1 ? argv[1] : NULL);
}
