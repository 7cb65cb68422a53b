/* A program drawn from a seed: threads that use locks of every kind in every way, that are cancelled, interrupted and
 * forked. What it prints, and how it ends, depends on the seed alone, whatever the threads' order: so it must be the same
 * with and without a library under it. A lock that fails to exclude, or an answer that is not the one that the standard
 * demands, is printed, too.
 *
 * usage: random_program SEED [ROUNDS]      ROUNDS: of each thread; without it as the seed says */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

/* ---- Numbers from a seed (splitmix64, Steele, Lea and Flood 2014) ---- */

typedef struct {
    unsigned long long state;
} numbers;

static unsigned draw(numbers* n, unsigned below) {
    n->state += 0x9e3779b97f4a7c15ull;
    unsigned long long z = n->state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return (unsigned)((z ^ (z >> 31)) % below);
}

/* ---- What must not happen ---- */

static atomic_uint complaints;

static void expect(int good, const char* what, int line) {
    if (good)
        return;
    atomic_fetch_add(&complaints, 1);
    printf("line %d: not so: %s\n", line, what);
}
#define EXPECT(condition) expect((condition) != 0, #condition, __LINE__)

/* ---- Locks ---- */

enum kind { normal, recursive, errorcheck, adaptive, readers, writers, spin, c11, c11_recursive, kinds };
static const char* const kind_names[kinds] = {"normal",  "recursive", "errorcheck", "adaptive",     "readers",
                                              "writers", "spin",      "c11",        "c11_recursive"};

typedef struct {
    enum kind kind;
    int made; /* by an init function; else by zeros */
    union {
        pthread_mutex_t mutex;
        pthread_rwlock_t rwlock;
        pthread_spinlock_t spin;
        mtx_t c11;
    };
    unsigned long left, right; /* equal whenever nobody has the lock alone */
} lock;

enum { most_locks = 12, most_threads = 6 };
static lock locks[most_locks];
static unsigned lock_count, thread_count, operations;

static void make_lock(lock* l, enum kind kind, int made) {
    memset(l, 0, sizeof *l);
    l->kind = kind;
    l->made = made;
    pthread_mutexattr_t mutex;
    pthread_rwlockattr_t rwlock;
    switch (kind) {
    case normal:
    case recursive:
    case errorcheck:
    case adaptive:
        if (kind == normal && !made)
            return;
        pthread_mutexattr_init(&mutex);
        pthread_mutexattr_settype(&mutex, kind == recursive    ? PTHREAD_MUTEX_RECURSIVE
                                          : kind == errorcheck ? PTHREAD_MUTEX_ERRORCHECK
                                          : kind == adaptive   ? PTHREAD_MUTEX_ADAPTIVE_NP
                                                               : PTHREAD_MUTEX_NORMAL);
        EXPECT(pthread_mutex_init(&l->mutex, &mutex) == 0);
        pthread_mutexattr_destroy(&mutex);
        return;
    case readers:
    case writers:
        if (kind == readers && !made)
            return;
        pthread_rwlockattr_init(&rwlock);
        if (kind == writers)
            pthread_rwlockattr_setkind_np(&rwlock, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        EXPECT(pthread_rwlock_init(&l->rwlock, &rwlock) == 0);
        pthread_rwlockattr_destroy(&rwlock);
        return;
    case spin:
        EXPECT(pthread_spin_init(&l->spin, PTHREAD_PROCESS_PRIVATE) == 0);
        return;
    case c11:
        EXPECT(mtx_init(&l->c11, mtx_timed) == thrd_success);
        return;
    case c11_recursive:
        EXPECT(mtx_init(&l->c11, mtx_timed | mtx_recursive) == thrd_success);
        return;
    case kinds:
        break;
    }
    abort();
}

static void destroy_lock(lock* l) {
    switch (l->kind) {
    case readers:
    case writers:
        EXPECT(pthread_rwlock_destroy(&l->rwlock) == 0);
        return;
    case spin:
        EXPECT(pthread_spin_destroy(&l->spin) == 0);
        return;
    case c11:
    case c11_recursive:
        mtx_destroy(&l->c11);
        return;
    default:
        EXPECT(pthread_mutex_destroy(&l->mutex) == 0);
    }
}

static struct timespec in_us(clockid_t clock, long us) {
    struct timespec t;
    clock_gettime(clock, &t);
    t.tv_nsec += us * 1000;
    t.tv_sec += t.tv_nsec / 1000000000;
    t.tv_nsec %= 1000000000;
    return t;
}

/* Takes a lock in one of the ways that its kind has; a try or a short time is repeated until it succeeds. */
static void take(lock* l, int shared, numbers* n) {
    const unsigned way = draw(n, 5);
    const long us = way == 4 ? 60 * 1000 * 1000 : (long)draw(n, 300);
    int answer = EBUSY;
    while (answer == EBUSY || answer == ETIMEDOUT) {
        const struct timespec real = in_us(CLOCK_REALTIME, us), steady = in_us(CLOCK_MONOTONIC, us);
        switch (l->kind) {
        case readers:
        case writers:
            if (shared)
                answer = way == 0   ? pthread_rwlock_tryrdlock(&l->rwlock)
                         : way == 1 ? pthread_rwlock_timedrdlock(&l->rwlock, &real)
                         : way == 2 ? pthread_rwlock_clockrdlock(&l->rwlock, CLOCK_MONOTONIC, &steady)
                                    : pthread_rwlock_rdlock(&l->rwlock);
            else
                answer = way == 0   ? pthread_rwlock_trywrlock(&l->rwlock)
                         : way == 1 ? pthread_rwlock_timedwrlock(&l->rwlock, &real)
                         : way == 2 ? pthread_rwlock_clockwrlock(&l->rwlock, CLOCK_MONOTONIC, &steady)
                                    : pthread_rwlock_wrlock(&l->rwlock);
            break;
        case spin:
            answer = way == 0 ? pthread_spin_trylock(&l->spin) : pthread_spin_lock(&l->spin);
            break;
        case c11:
        case c11_recursive:
            answer = way == 0               ? mtx_trylock(&l->c11)
                     : way == 1 || way == 4 ? mtx_timedlock(&l->c11, &real)
                                            : mtx_lock(&l->c11);
            answer = answer == thrd_success    ? 0
                     : answer == thrd_busy     ? EBUSY
                     : answer == thrd_timedout ? ETIMEDOUT
                                               : EINVAL;
            break;
        default:
            answer = way == 0               ? pthread_mutex_trylock(&l->mutex)
                     : way == 1             ? pthread_mutex_timedlock(&l->mutex, &real)
                     : way == 2 || way == 4 ? pthread_mutex_clocklock(&l->mutex, CLOCK_MONOTONIC, &steady)
                                            : pthread_mutex_lock(&l->mutex);
        }
        if (answer == EBUSY)
            sched_yield();
    }
    EXPECT(answer == 0);
}

static void let_go(lock* l) {
    switch (l->kind) {
    case readers:
    case writers:
        EXPECT(pthread_rwlock_unlock(&l->rwlock) == 0);
        return;
    case spin:
        EXPECT(pthread_spin_unlock(&l->spin) == 0);
        return;
    case c11:
    case c11_recursive:
        EXPECT(mtx_unlock(&l->c11) == thrd_success);
        return;
    default:
        EXPECT(pthread_mutex_unlock(&l->mutex) == 0);
    }
}

/* What a holder may ask of its own lock. */
static void ask_for_the_impossible(lock* l) {
    switch (l->kind) {
    case normal:
    case adaptive:
        EXPECT(pthread_mutex_trylock(&l->mutex) == EBUSY);
        return;
    case errorcheck:
        EXPECT(pthread_mutex_lock(&l->mutex) == EDEADLK);
        EXPECT(pthread_mutex_trylock(&l->mutex) == EBUSY);
        return;
    case recursive:
        EXPECT(pthread_mutex_lock(&l->mutex) == 0);
        EXPECT(pthread_mutex_trylock(&l->mutex) == 0);
        EXPECT(pthread_mutex_unlock(&l->mutex) == 0);
        EXPECT(pthread_mutex_unlock(&l->mutex) == 0);
        return;
    case c11_recursive:
        EXPECT(mtx_trylock(&l->c11) == thrd_success);
        EXPECT(mtx_unlock(&l->c11) == thrd_success);
        return;
    case readers:
    case writers:
        EXPECT(pthread_rwlock_tryrdlock(&l->rwlock) == EBUSY);
        EXPECT(pthread_rwlock_wrlock(&l->rwlock) == EDEADLK);
        return;
    case spin:
        EXPECT(pthread_spin_trylock(&l->spin) == EBUSY);
        return;
    default:
        return;
    }
}

/* Up to three locks at once, taken in the order of their numbers, let go in any. */
static void use_locks(numbers* n) {
    unsigned first = draw(n, lock_count), count = 1 + draw(n, 3);
    lock* held[3];
    unsigned have = 0;
    for (unsigned i = first; i < lock_count && have < count; i += 1 + draw(n, 2)) {
        lock* const l = &locks[i];
        const int shared = (l->kind == readers || l->kind == writers) && draw(n, 3) != 0;
        take(l, shared, n);
        EXPECT(l->left == l->right);
        if (!shared) {
            ++l->left;
            if (draw(n, 20) == 0)
                ask_for_the_impossible(l);
            if (draw(n, 50) == 0)
                sched_yield();
            ++l->right;
        }
        held[have++] = l;
        if (l->kind == spin) /* nobody sleeps under it */
            break;
    }
    while (have != 0) {
        const unsigned which = draw(n, have);
        let_go(held[which]);
        held[which] = held[--have];
    }
}

/* ---- A queue: conditions ---- */

enum { room = 4 };
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t not_empty, not_full;
    unsigned long items[room];
    unsigned count;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .not_empty = PTHREAD_COND_INITIALIZER};
static atomic_ulong sent, received;

/* How often a thread waits is chance: it draws from numbers that nothing else draws from. */
static void await(pthread_cond_t* condition, pthread_mutex_t* mutex, numbers* n) {
    const long us = (long)draw(n, 500);
    const struct timespec real = in_us(CLOCK_REALTIME, us), steady = in_us(CLOCK_MONOTONIC, us);
    int answer = 0;
    switch (draw(n, 3)) {
    case 0:
        answer = pthread_cond_timedwait(condition, mutex, &real);
        break;
    case 1:
        answer = pthread_cond_clockwait(condition, mutex, CLOCK_MONOTONIC, &steady);
        break;
    default:
        answer = pthread_cond_wait(condition, mutex);
    }
    EXPECT(answer == 0 || answer == ETIMEDOUT);
}

static void send(numbers* n) {
    const unsigned long item = draw(n, 1000);
    numbers of_waits = *n;
    EXPECT(pthread_mutex_lock(&queue.mutex) == 0);
    while (queue.count == room)
        await(&queue.not_full, &queue.mutex, &of_waits);
    queue.items[queue.count++] = item;
    if (draw(n, 2) == 0)
        EXPECT(pthread_cond_broadcast(&queue.not_empty) == 0);
    else
        EXPECT(pthread_cond_signal(&queue.not_empty) == 0);
    EXPECT(pthread_mutex_unlock(&queue.mutex) == 0);
    atomic_fetch_add(&sent, item);
}

static void receive(numbers* n) {
    numbers of_waits = *n;
    EXPECT(pthread_mutex_lock(&queue.mutex) == 0);
    while (queue.count == 0)
        await(&queue.not_empty, &queue.mutex, &of_waits);
    const unsigned long item = queue.items[--queue.count];
    EXPECT(pthread_mutex_unlock(&queue.mutex) == 0);
    EXPECT(pthread_cond_signal(&queue.not_full) == 0);
    atomic_fetch_add(&received, item);
}

/* ---- Threads that are cancelled while they wait ---- */

static struct {
    pthread_mutex_t mutex;
    pthread_cond_t never;
    sem_t waits;
    unsigned cleaned;
} cancelled = {.mutex = PTHREAD_MUTEX_INITIALIZER, .never = PTHREAD_COND_INITIALIZER};

static void clean(void* unused) {
    (void)unused;
    ++cancelled.cleaned; /* the mutex is held again */
    EXPECT(pthread_mutex_unlock(&cancelled.mutex) == 0);
}

static void* wait_for_ever(void* timed) {
    EXPECT(pthread_mutex_lock(&cancelled.mutex) == 0);
    pthread_cleanup_push(clean, NULL);
    const struct timespec late = in_us(CLOCK_REALTIME, 60 * 1000 * 1000);
    sem_post(&cancelled.waits);
    for (;;) {
        if (timed != NULL)
            pthread_cond_timedwait(&cancelled.never, &cancelled.mutex, &late);
        else
            pthread_cond_wait(&cancelled.never, &cancelled.mutex);
    }
    pthread_cleanup_pop(1);
    return NULL;
}

static void cancel_one(numbers* n) {
    pthread_t thread;
    void* result = NULL;
    int timed = (int)draw(n, 2);
    EXPECT(pthread_create(&thread, NULL, wait_for_ever, timed ? &timed : NULL) == 0);
    sem_wait(&cancelled.waits);
    if (draw(n, 2) == 0) { /* certain to be inside the wait */
        EXPECT(pthread_mutex_lock(&cancelled.mutex) == 0);
        EXPECT(pthread_mutex_unlock(&cancelled.mutex) == 0);
    }
    EXPECT(pthread_cancel(thread) == 0);
    EXPECT(pthread_join(thread, &result) == 0);
    EXPECT(result == PTHREAD_CANCELED);
}

/* ---- A lock that goes from thread to thread ---- */

static struct {
    pthread_mutex_t mutex;
    sem_t locked;
} handed = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void* unlock_for_another(void* unused) {
    (void)unused;
    sem_wait(&handed.locked);
    EXPECT(pthread_mutex_unlock(&handed.mutex) == 0);
    return NULL;
}

static void hand_over(void) {
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, unlock_for_another, NULL) == 0);
    EXPECT(pthread_mutex_lock(&handed.mutex) == 0);
    sem_post(&handed.locked);
    EXPECT(pthread_mutex_lock(&handed.mutex) == 0); /* only once the other has let go */
    EXPECT(pthread_mutex_unlock(&handed.mutex) == 0);
    EXPECT(pthread_join(thread, NULL) == 0);
}

/* ---- Locks that come and go ---- */

static void short_life(numbers* n) {
    lock* const l = malloc(sizeof *l);
    make_lock(l, (enum kind)draw(n, kinds), (int)draw(n, 2));
    for (unsigned i = draw(n, 4); i != 0; --i) {
        take(l, 0, n);
        ask_for_the_impossible(l);
        let_go(l);
    }
    if (l->kind == errorcheck)
        EXPECT(pthread_mutex_unlock(&l->mutex) == EPERM);
    if (l->kind == recursive)
        EXPECT(pthread_mutex_unlock(&l->mutex) == EPERM);
    destroy_lock(l);
    free(l);
}

/* ---- Children ---- */

static void child_of(numbers* n) {
    const unsigned status = draw(n, 100);
    const int becomes_another = draw(n, 3) == 0, dies = draw(n, 4) == 0;
    fflush(stdout);
    const pid_t child = fork();
    EXPECT(child >= 0);
    if (child == 0) {
        if (becomes_another)
            execl("/proc/self/exe", "random_program", "child", (char*)NULL);
        numbers of_child = {status};
        for (unsigned i = 0; i < 5; ++i)
            short_life(&of_child);
        if (dies)
            raise(SIGKILL);
        _exit((int)(atomic_load(&complaints) == 0 ? status : 255));
    }
    int how = 0;
    pid_t ended = -1;
    while ((ended = waitpid(child, &how, 0)) < 0 && errno == EINTR)
        ;
    EXPECT(ended == child);
    if (becomes_another)
        EXPECT(WIFEXITED(how) && WEXITSTATUS(how) == 21);
    else if (dies)
        EXPECT(WIFSIGNALED(how) && WTERMSIG(how) == SIGKILL);
    else
        EXPECT(WIFEXITED(how) && WEXITSTATUS(how) == (int)status);
}

/* ---- The whole ---- */

static void on_alarm(int unused) {
    (void)unused;
}

static unsigned seed;

static void* work(void* number) {
    const unsigned me = (unsigned)(size_t)number;
    numbers n = {seed * 1000003ull + me};
    for (unsigned i = 0; i < operations; ++i) {
        use_locks(&n);
        if (i % 4 == 0) { /* senders and receivers in equal numbers */
            if (me % 2 == 0)
                send(&n);
            else
                receive(&n);
        }
        if (draw(&n, 40) == 0)
            short_life(&n);
        if (me == 0 && draw(&n, operations) < 2)
            cancel_one(&n);
        if (me == 0 && draw(&n, operations) < 2)
            hand_over();
        if (me == 1 && draw(&n, operations) < 2)
            child_of(&n);
    }
    return NULL;
}

int main(int argc, char** argv) {
    if (argc == 2 && strcmp(argv[1], "child") == 0) {
        numbers n = {7};
        for (unsigned i = 0; i < 20; ++i)
            short_life(&n);
        return atomic_load(&complaints) == 0 ? 21 : 22;
    }
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: random_program SEED [ROUNDS]\n");
        return 2;
    }
    seed = (unsigned)strtoul(argv[1], NULL, 10);
    numbers n = {seed};
    thread_count = 2 + 2 * draw(&n, most_threads / 2);
    lock_count = 1 + draw(&n, most_locks);
    operations = 20 + draw(&n, 180);
    if (argc == 3)
        operations = (unsigned)strtoul(argv[2], NULL, 10);
    for (unsigned i = 0; i < lock_count; ++i)
        make_lock(&locks[i], (enum kind)draw(&n, kinds), (int)draw(&n, 2));
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    EXPECT(pthread_cond_init(&queue.not_full, &attributes) == 0);
    pthread_condattr_destroy(&attributes);
    sem_init(&cancelled.waits, 0, 0);
    sem_init(&handed.locked, 0, 0);

    if (draw(&n, 2) == 0) { /* signals in the middle of everything */
        struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
        sigaction(SIGALRM, &action, NULL);
        const struct itimerval often = {{0, 700}, {0, 700}};
        setitimer(ITIMER_REAL, &often, NULL);
    }

    pthread_t threads[most_threads];
    for (unsigned i = 0; i < thread_count; ++i)
        EXPECT(pthread_create(&threads[i], NULL, work, (void*)(size_t)i) == 0);
    for (unsigned i = 0; i < thread_count; ++i)
        EXPECT(pthread_join(threads[i], NULL) == 0);

    printf("seed %u: %u threads, %u locks, %u operations\n", seed, thread_count, lock_count, operations);
    for (unsigned i = 0; i < lock_count; ++i) {
        printf("%s %lu %lu\n", kind_names[locks[i].kind], locks[i].left, locks[i].right);
        destroy_lock(&locks[i]);
    }
    printf("sent %lu, received %lu, left %u, cancelled %u, complaints %u\n", atomic_load(&sent),
           atomic_load(&received), queue.count, cancelled.cleaned, atomic_load(&complaints));
    fflush(stdout);
    if (draw(&n, 8) == 0)
        raise(SIGTERM);
    return (int)draw(&n, 50);
}
