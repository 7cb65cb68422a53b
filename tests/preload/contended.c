/* Programs with a lock that a report has to find, or with none that matters. Who waits for whom is arranged, not left to
 * luck: a holder goes on only when those that are to wait sleep in the kernel; sleeps make waits longer, no more.
 * usage: contended held     one thread holds held_lock for long, another waits, again and again
 *        contended convoy   four threads queue for journal.lock in every round
 *        contended readers  two readers keep a writer out of table_lock
 *        contended nested   two threads wait for pool.shards[2].lock, whose holder waits for inner_lock
 *        contended chain    two threads wait for first_lock, whose holder waits for second_lock, whose holder waits for
 *                           third_lock
 *        contended never    busy_lock is taken a million times and never waited for
 *        contended names    as held, with names that terminals, browsers and parsers could take for their own */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "waiting.h"

enum { rounds = 5 };

static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;
static struct journal {
    int entries[rounds];
    pthread_mutex_t lock;
} journal = {{0}, PTHREAD_MUTEX_INITIALIZER};
static pthread_rwlock_t table_lock = PTHREAD_RWLOCK_INITIALIZER;
static struct pool {
    long unused;
    struct shard {
        long used;
        pthread_mutex_t lock;
    } shards[4];
} pool;
static pthread_mutex_t inner_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t first_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t second_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t third_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t busy_lock = PTHREAD_MUTEX_INITIALIZER;
extern pthread_mutex_t marked_up __asm__("\"<b>\\033[31m;%s\\nlock</b>\"");
pthread_mutex_t marked_up = PTHREAD_MUTEX_INITIALIZER;

static pthread_barrier_t all;
static pthread_barrier_t both;

static void sleep_ms(long ms) {
    const struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

/* Inlined, as the calls of a class that wraps a lock are. */
static inline __attribute__((always_inline)) void wait_for(pthread_mutex_t* lock, int me) {
    i_wait(me);
    pthread_mutex_lock(lock);
    i_have_it(me);
}

/* ---- held, names ---- */

__attribute__((noinline)) void hold_it_long(pthread_mutex_t* lock) {
    pthread_mutex_lock(lock);
    pthread_barrier_wait(&both);
    until_waits(1);
    sleep_ms(20);
    pthread_mutex_unlock(lock);
}

__attribute__((noinline)) void wait_for_it(pthread_mutex_t* lock) {
    pthread_barrier_wait(&both);
    wait_for(lock, 1);
    pthread_mutex_unlock(lock);
}

static void* holder(void* lock) {
    for (int i = 0; i < 10; ++i) {
        hold_it_long(lock);
        pthread_barrier_wait(&both);
    }
    return NULL;
}

static void* waiter(void* lock) {
    if (lock == &marked_up)
        prctl(PR_SET_NAME, "<i>\033[7m;\n%s");
    for (int i = 0; i < 10; ++i) {
        wait_for_it(lock);
        pthread_barrier_wait(&both);
    }
    return NULL;
}

/* ---- convoy ---- */

__attribute__((noinline)) void write_entry(int me, int round) {
    wait_for(&journal.lock, me);
    if (journal.entries[round]++ == 0) {
        for (int other = 0; other < 4; ++other) {
            if (other != me)
                until_waits(other);
        }
    }
    sleep_ms(2);
    pthread_mutex_unlock(&journal.lock);
}

static void* writer_of_entries(void* number) {
    const int me = *(int*)number;
    for (int round = 0; round < rounds; ++round) {
        pthread_barrier_wait(&all);
        write_entry(me, round);
    }
    return NULL;
}

/* ---- readers ---- */

/* A reader takes the table when it is its turn, and keeps it until the other one has it too. */
static sem_t turn[2];
static sem_t other_has_it[2];

__attribute__((noinline)) void read_table(int me, int is_first, int is_last) {
    sem_wait(&turn[me]);
    pthread_rwlock_rdlock(&table_lock);
    if (is_first) {
        pthread_barrier_wait(&both);
        until_waits(2);
    } else {
        sem_post(&other_has_it[1 - me]);
    }
    sem_post(&turn[1 - me]);
    if (!is_last)
        sem_wait(&other_has_it[me]);
    sleep_ms(2);
    pthread_rwlock_unlock(&table_lock);
}

__attribute__((noinline)) void change_table(int me) {
    pthread_barrier_wait(&both);
    i_wait(me);
    pthread_rwlock_wrlock(&table_lock);
    i_have_it(me);
    pthread_rwlock_unlock(&table_lock);
}

static void* use_table(void* number) {
    const int me = *(int*)number;
    if (me == 2) {
        change_table(me);
        return NULL;
    }
    for (int i = 0; i < 20; ++i)
        read_table(me, me == 0 && i == 0, me == 1 && i == 19);
    return NULL;
}

/* ---- nested ---- */

__attribute__((noinline)) void use_inner(int me) {
    wait_for(&inner_lock, me);
    pthread_mutex_unlock(&inner_lock);
}

__attribute__((noinline)) void use_shard(int me) {
    wait_for(&pool.shards[2].lock, me);
    use_inner(me);
    pthread_mutex_unlock(&pool.shards[2].lock);
}

__attribute__((noinline)) void hold_inner(void) {
    pthread_mutex_lock(&inner_lock);
    pthread_barrier_wait(&all);
    for (int other = 1; other < 4; ++other)
        until_waits(other);
    sleep_ms(20);
    pthread_mutex_unlock(&inner_lock);
}

static void* nest(void* number) {
    const int me = *(int*)number;
    for (int round = 0; round < rounds; ++round) {
        pthread_barrier_wait(&all);
        if (me == 0) {
            hold_inner();
            continue;
        }
        pthread_barrier_wait(&all);
        if (me != 1)
            until_waits(1);
        use_shard(me);
    }
    return NULL;
}

/* ---- chain ---- */

__attribute__((noinline)) void use_third(int me) {
    wait_for(&third_lock, me);
    pthread_mutex_unlock(&third_lock);
}

__attribute__((noinline)) void use_second(int me) {
    wait_for(&second_lock, me);
    if (me == 1)
        use_third(me);
    pthread_mutex_unlock(&second_lock);
}

__attribute__((noinline)) void use_first(int me) {
    wait_for(&first_lock, me);
    if (me == 2)
        use_second(me);
    pthread_mutex_unlock(&first_lock);
}

__attribute__((noinline)) void hold_third(void) {
    pthread_mutex_lock(&third_lock);
    pthread_barrier_wait(&all);
    for (int other = 1; other < 5; ++other)
        until_waits(other);
    sleep_ms(20);
    pthread_mutex_unlock(&third_lock);
}

static void* chain(void* number) {
    const int me = *(int*)number;
    for (int round = 0; round < rounds; ++round) {
        pthread_barrier_wait(&all);
        if (me == 0) {
            hold_third();
            continue;
        }
        pthread_barrier_wait(&all);
        if (me == 1) {
            use_second(me);
        } else {
            until_waits(me == 2 ? 1 : 2);
            use_first(me);
        }
    }
    return NULL;
}

/* ---- never ---- */

static void* take_often(void* unused) {
    for (int i = 0; i < 500000; ++i) {
        pthread_mutex_lock(&busy_lock);
        pthread_mutex_unlock(&busy_lock);
    }
    return unused;
}

/* ---- */

static void run_numbered(int count, void* (*function)(void*)) {
    static int numbers[most_threads] = {0, 1, 2, 3, 4};
    pthread_t threads[most_threads];
    pthread_barrier_init(&all, NULL, (unsigned)count);
    for (int i = 0; i < count; ++i)
        pthread_create(&threads[i], NULL, function, &numbers[i]);
    for (int i = 0; i < count; ++i)
        pthread_join(threads[i], NULL);
}

static void run_pair(pthread_mutex_t* lock) {
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, holder, lock);
    pthread_create(&threads[1], NULL, waiter, lock);
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
}

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    pthread_barrier_init(&both, NULL, 2);
    for (int i = 0; i < 2; ++i) {
        sem_init(&turn[i], 0, i == 0);
        sem_init(&other_has_it[i], 0, 0);
    }
    for (int i = 0; i < 4; ++i)
        pthread_mutex_init(&pool.shards[i].lock, NULL);
    if (strcmp(what, "held") == 0)
        run_pair(&held_lock);
    else if (strcmp(what, "names") == 0)
        run_pair(&marked_up);
    else if (strcmp(what, "convoy") == 0)
        run_numbered(4, writer_of_entries);
    else if (strcmp(what, "readers") == 0)
        run_numbered(3, use_table);
    else if (strcmp(what, "nested") == 0)
        run_numbered(4, nest);
    else if (strcmp(what, "chain") == 0)
        run_numbered(5, chain);
    else if (strcmp(what, "never") == 0)
        take_often(take_often(NULL));
    else
        return 2;
    return 0;
}
