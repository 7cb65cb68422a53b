/* What a program sees of its locks: return values, errno, the order of events. Prints the same with and without the
 * recording library under it. usage: behaviour SCENE */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "scenes.h"

/* ---- Every kind of mutex ---- */

static void* try_it(void* mutex) {
    struct timespec soon = in_ms(CLOCK_REALTIME, 5), monotonic = in_ms(CLOCK_MONOTONIC, 5);
    SHOW(pthread_mutex_trylock(mutex));
    SHOW(pthread_mutex_timedlock(mutex, &soon));
    SHOW(pthread_mutex_clocklock(mutex, CLOCK_MONOTONIC, &monotonic));
    SHOW(pthread_mutex_unlock(mutex));
    return NULL;
}

static void kinds(void) {
    const int types[] = {PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ERRORCHECK,
                         PTHREAD_MUTEX_ADAPTIVE_NP};
    for (int form = 0; form < 4; ++form) {
        for (int t = 0; t < 4; ++t) {
            pthread_mutexattr_t attributes;
            pthread_mutex_t mutex;
            pthread_mutexattr_init(&attributes);
            pthread_mutexattr_settype(&attributes, types[t]);
            if (form == 1)
                pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
            if (form == 2)
                pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
            if (form == 3)
                pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
            printf("form %d type %d\n", form, t);
            SHOW(pthread_mutex_init(&mutex, &attributes));
            SHOW(pthread_mutex_lock(&mutex));
            if (types[t] == PTHREAD_MUTEX_RECURSIVE || types[t] == PTHREAD_MUTEX_ERRORCHECK)
                SHOW(pthread_mutex_lock(&mutex));
            SHOW(pthread_mutex_trylock(&mutex));
            pthread_t other;
            /* An unlock of a normal mutex by another thread is undefined, and glibc lets it pass. */
            if (types[t] == PTHREAD_MUTEX_RECURSIVE || types[t] == PTHREAD_MUTEX_ERRORCHECK) {
                pthread_create(&other, NULL, try_it, &mutex);
                pthread_join(other, NULL);
            }
            while (pthread_mutex_unlock(&mutex) == 0 && types[t] == PTHREAD_MUTEX_RECURSIVE)
                puts("let go");
            SHOW(pthread_mutex_destroy(&mutex));
            SHOW(pthread_mutex_lock(&mutex));
        }
    }
}

/* ---- Times that are no times ---- */

static void bad_times(void) {
    pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
    struct timespec bad = {1, 2000000000};
    SHOW(pthread_mutex_clocklock(&mutex, CLOCK_PROCESS_CPUTIME_ID, &bad));
    SHOW(pthread_mutex_clocklock(&mutex, CLOCK_MONOTONIC, &bad));
    SHOW(pthread_mutex_timedlock(&mutex, &bad));
    SHOW(pthread_rwlock_timedrdlock(&lock, &bad));
    SHOW(pthread_rwlock_timedwrlock(&lock, &bad));
    SHOW(pthread_rwlock_clockwrlock(&lock, CLOCK_PROCESS_CPUTIME_ID, &bad));
}

/* ---- Read-write locks ---- */

static void* rwlock_of_another(void* lock) {
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SHOW(pthread_rwlock_tryrdlock(lock));
    SHOW(pthread_rwlock_timedrdlock(lock, &soon));
    SHOW(pthread_rwlock_timedwrlock(lock, &soon));
    return NULL;
}

static void rwlocks(void) {
    for (int kind = 0; kind < 3; ++kind) {
        pthread_rwlockattr_t attributes;
        pthread_rwlock_t lock;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, kind);
        SHOW(pthread_rwlock_init(&lock, &attributes));
        SHOW(pthread_rwlock_wrlock(&lock));
        SHOW(pthread_rwlock_wrlock(&lock));
        SHOW(pthread_rwlock_rdlock(&lock));
        pthread_t other;
        pthread_create(&other, NULL, rwlock_of_another, &lock);
        pthread_join(other, NULL);
        SHOW(pthread_rwlock_unlock(&lock));
        SHOW(pthread_rwlock_rdlock(&lock));
        SHOW(pthread_rwlock_tryrdlock(&lock));
        SHOW(pthread_rwlock_trywrlock(&lock));
        SHOW(pthread_rwlock_unlock(&lock));
        SHOW(pthread_rwlock_unlock(&lock));
        SHOW(pthread_rwlock_destroy(&lock));
    }
}

/* ---- C11 ---- */

static int c11_other(void* mutex) {
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SHOW(mtx_trylock(mutex));
    SHOW(mtx_timedlock(mutex, &soon));
    return 5;
}

static void c11(void) {
    mtx_t mutex;
    cnd_t condition;
    thrd_t other;
    int result = 0;
    SHOW(mtx_init(&mutex, mtx_timed | mtx_recursive));
    SHOW(mtx_lock(&mutex));
    SHOW(mtx_lock(&mutex));
    thrd_create(&other, c11_other, &mutex);
    thrd_join(other, &result);
    printf("%d\n", result);
    SHOW(mtx_unlock(&mutex));
    SHOW(cnd_init(&condition));
    struct timespec soon = in_ms(CLOCK_REALTIME, 5);
    SHOW(cnd_timedwait(&condition, &mutex, &soon));
    SHOW(cnd_signal(&condition));
    SHOW(cnd_broadcast(&condition));
    SHOW(mtx_unlock(&mutex));
}

/* ---- Spinlocks ---- */

static void spinlocks(void) {
    pthread_spinlock_t lock;
    SHOW(pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE));
    SHOW(pthread_spin_lock(&lock));
    SHOW(pthread_spin_trylock(&lock));
    SHOW(pthread_spin_unlock(&lock));
    SHOW(pthread_spin_trylock(&lock));
    SHOW(pthread_spin_destroy(&lock));
}

/* ---- Conditions: a queue, a timeout, and a cancelled wait ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER, emptied = PTHREAD_COND_INITIALIZER;
static int full, sum;

static void* consume(void* unused) {
    for (int i = 0; i < 2000; ++i) {
        pthread_mutex_lock(&lock);
        while (full == 0)
            pthread_cond_wait(&filled, &lock);
        sum += full;
        full = 0;
        pthread_cond_signal(&emptied);
        pthread_mutex_unlock(&lock);
    }
    return unused;
}

static void clean(void* unused) {
    (void)unused;
    printf("cancelled; the mutex is held: trylock = %d\n", pthread_mutex_trylock(&lock));
    pthread_mutex_unlock(&lock);
}

static void* wait_for_ever(void* started) {
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(clean, NULL);
    *(volatile int*)started = 1;
    for (;;)
        pthread_cond_wait(&filled, &lock);
    pthread_cleanup_pop(0);
    return NULL;
}

static void conditions(void) {
    pthread_t other;
    pthread_create(&other, NULL, consume, NULL);
    for (int i = 1; i <= 2000; ++i) {
        pthread_mutex_lock(&lock);
        while (full != 0)
            pthread_cond_wait(&emptied, &lock);
        full = i;
        pthread_cond_broadcast(&filled);
        pthread_mutex_unlock(&lock);
    }
    pthread_join(other, NULL);
    printf("sum %d\n", sum);
    pthread_mutex_lock(&lock);
    struct timespec soon = in_ms(CLOCK_REALTIME, 5), monotonic = in_ms(CLOCK_MONOTONIC, 5);
    SHOW(pthread_cond_timedwait(&filled, &lock, &soon));
    SHOW(pthread_cond_clockwait(&filled, &lock, CLOCK_MONOTONIC, &monotonic));
    pthread_mutex_unlock(&lock);

    int started = 0;
    void* result = NULL;
    pthread_create(&other, NULL, wait_for_ever, &started);
    for (int waiting = 0; !waiting;) {
        pthread_mutex_lock(&lock);
        waiting = *(volatile int*)&started;
        pthread_mutex_unlock(&lock);
    }
    pthread_cancel(other);
    pthread_join(other, &result);
    printf("cancelled: %d\n", result == PTHREAD_CANCELED);
    SHOW(pthread_mutex_lock(&lock));
    SHOW(pthread_mutex_unlock(&lock));
}

/* ---- Many threads, and what they count ---- */

static pthread_rwlock_t shared = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t spin;
static long by_mutex, by_rwlock, by_spin;

static void* count(void* unused) {
    for (int i = 0; i < 5000; ++i) {
        pthread_mutex_lock(&lock);
        ++by_mutex;
        pthread_mutex_unlock(&lock);
        pthread_rwlock_wrlock(&shared);
        ++by_rwlock;
        pthread_rwlock_unlock(&shared);
        pthread_rwlock_rdlock(&shared);
        pthread_rwlock_unlock(&shared);
        pthread_spin_lock(&spin);
        ++by_spin;
        pthread_spin_unlock(&spin);
    }
    return unused;
}

static void counting(void) {
    pthread_t threads[4];
    pthread_spin_init(&spin, 0);
    for (int t = 0; t < 4; ++t)
        pthread_create(&threads[t], NULL, count, NULL);
    for (int t = 0; t < 4; ++t)
        pthread_join(threads[t], NULL);
    printf("%ld %ld %ld\n", by_mutex, by_rwlock, by_spin);
}

/* ---- fork, with the lock held, and again in the child ---- */

static void forks(void) {
    pthread_mutex_lock(&lock);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        SHOW(pthread_mutex_trylock(&lock));
        SHOW(pthread_mutex_unlock(&lock));
        counting();
        fflush(stdout);
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            pthread_mutex_lock(&lock);
            pthread_mutex_unlock(&lock);
            _exit(4);
        }
        int status = 0;
        waitpid(grandchild, &status, 0);
        exit(WEXITSTATUS(status) + 5);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", WEXITSTATUS(status));
    SHOW(pthread_mutex_unlock(&lock));
}

/* ---- Signals during a wait, and a long jump out of a handler ---- */

static sigjmp_buf back;

static void on_alarm(int number) {
    static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER;
    // NOLINTBEGIN(bugprone-signal-handler): nobody else has it
    pthread_mutex_lock(&mine);
    pthread_mutex_unlock(&mine);
    // NOLINTEND(bugprone-signal-handler)
    siglongjmp(back, number);
}

static void signals(void) {
    signal(SIGALRM, on_alarm);
    pthread_mutex_lock(&lock);
    if (sigsetjmp(back, 1) == 0) {
        ualarm(20000, 0);
        pthread_mutex_lock(&lock); /* with itself */
        puts("never");
    }
    puts("out of the wait");
    SHOW(pthread_mutex_unlock(&lock));
    SHOW(pthread_mutex_lock(&lock));
    SHOW(pthread_mutex_unlock(&lock));
}

/* ---- A signal handler that forks during a wait; the child's wait comes to its end, too ---- */

static pid_t forked = -1;

static void fork_in_handler(int number) {
    (void)number;
    forked = fork(); // NOLINT(bugprone-signal-handler): this thread has nothing open
}

static void fork_in_wait(void) {
    signal(SIGALRM, fork_in_handler);
    fflush(stdout);
    pthread_mutex_lock(&lock);
    ualarm(20000, 0);
    struct timespec later = in_ms(CLOCK_REALTIME, 200);
    const int result = pthread_mutex_timedlock(&lock, &later); /* with itself */
    if (forked == 0) {
        pthread_mutex_unlock(&lock);
        pthread_mutex_lock(&lock);
        _exit(result == ETIMEDOUT ? 6 : 1);
    }
    int status = 0;
    waitpid(forked, &status, 0);
    printf("waited: %d, child: %d\n", result == ETIMEDOUT, WEXITSTATUS(status));
    SHOW(pthread_mutex_unlock(&lock));
}

/* ---- Cancels during waits: put off until the lock is held, or at once ---- */

static pthread_barrier_t cancelled;

static void let_go(void* mutex) {
    pthread_mutex_unlock(mutex);
}

static void* wait_deferred(void* mutex) {
    pthread_mutex_lock(mutex);
    pthread_cleanup_push(let_go, mutex);
    pthread_testcancel();
    puts("never");
    pthread_cleanup_pop(1);
    return NULL;
}

static void* wait_asynchronous(void* mutex) {
    int before = 0;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &before);
    pthread_mutex_lock(mutex);
    return NULL;
}

static void* wait_in_c11(void* condition) {
    mtx_t mutex;
    mtx_init(&mutex, mtx_plain);
    mtx_lock(&mutex);
    pthread_barrier_wait(&cancelled);
    for (;;)
        cnd_wait(condition, &mutex);
    return NULL;
}

static void cancel(const char* what, pthread_t thread) {
    void* result = NULL;
    pthread_cancel(thread);
    pthread_mutex_unlock(&lock);
    pthread_join(thread, &result);
    printf("%s: %s\n", what, result == PTHREAD_CANCELED ? "cancelled" : "not cancelled");
    SHOW(pthread_mutex_trylock(&lock));
}

static void cancels(void) {
    const struct timespec moment = {0, 20000000};
    cnd_t condition;
    pthread_t other;
    pthread_mutex_lock(&lock);
    pthread_create(&other, NULL, wait_deferred, &lock);
    nanosleep(&moment, NULL);
    cancel("deferred", other);
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&own);
    pthread_create(&other, NULL, wait_asynchronous, &own);
    nanosleep(&moment, NULL);
    cancel("asynchronous", other);
    SHOW(pthread_mutex_unlock(&own));
    SHOW(pthread_mutex_lock(&own));
    pthread_barrier_init(&cancelled, NULL, 2);
    cnd_init(&condition);
    pthread_create(&other, NULL, wait_in_c11, &condition);
    pthread_barrier_wait(&cancelled);
    cancel("condition of C11", other);
    SHOW(cnd_broadcast(&condition));
}

/* ---- Memory, whose allocator has locks ---- */

static void* allocate(void* unused) {
    char* kept[64] = {0};
    unsigned long read = 0;
    for (unsigned i = 0; i < 20000; ++i) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(16 + i % 3000);
        kept[i % 64][0] = (char)i;
        read += (unsigned char)kept[i % 64][0];
        pthread_mutex_lock(&lock);
        pthread_mutex_unlock(&lock);
    }
    for (unsigned i = 0; i < 64; ++i)
        free(kept[i]);
    printf("%lu\n", read);
    return unused;
}

static void memory(void) {
    pthread_t threads[4];
    for (int t = 0; t < 4; ++t)
        pthread_create(&threads[t], NULL, allocate, NULL);
    for (int t = 0; t < 4; ++t)
        pthread_join(threads[t], NULL);
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        allocate(NULL);
        exit(3);
    }
    int status = 0;
    waitpid(child, &status, 0);
    printf("child: %d\n", WEXITSTATUS(status));
}

/* ---- Before main and after it, and at a thread's end ---- */

static pthread_mutex_t early = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t key;

__attribute__((constructor(101))) static void before(void) {
    pthread_mutex_lock(&early);
    pthread_mutex_unlock(&early);
}

__attribute__((destructor(101))) static void after(void) {
    pthread_mutex_lock(&early);
    pthread_mutex_unlock(&early);
}

static void at_end(void* value) {
    (void)value;
    pthread_mutex_lock(&early);
    puts("end of thread");
    pthread_mutex_unlock(&early);
}

static void* end(void* unused) {
    pthread_setspecific(key, &key);
    pthread_mutex_lock(&early);
    pthread_mutex_unlock(&early);
    return unused;
}

static void ends(void) {
    pthread_t other;
    pthread_key_create(&key, at_end);
    pthread_create(&other, NULL, end, NULL);
    pthread_join(other, NULL);
    fflush(stdout);
    exit(9);
}

extern int early_is_here(void); /* before and after all that is here */

int main(int argc, char** argv) {
    if (!early_is_here())
        return 3;
    const struct scene scenes[] = {
        {"kinds", kinds},       {"bad_times", bad_times}, {"rwlocks", rwlocks},
        {"c11", c11},           {"spinlocks", spinlocks}, {"conditions", conditions},
        {"counting", counting}, {"forks", forks},         {"signals", signals},
        {"ends", ends},         {"cancels", cancels},     {"fork_in_wait", fork_in_wait},
        {"memory", memory}};
    return play(scenes, sizeof scenes / sizeof *scenes, argc > 1 ? argv[1] : NULL);
}
