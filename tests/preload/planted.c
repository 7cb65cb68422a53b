/* Programs with a problem that a report has to find, or with none.
 * usage: planted hot     two threads, one of which holds hot_lock for long, again and again
 *        planted quiet   two threads with a lock each
 *        planted spin    the same as hot with a spinlock
 *        planted greedy  one thread lets go of a spinlock that another waits for, and takes it again at once
 *        planted signal  a thread waits for a condition, and is signalled, ten times
 *        planted exit    exits with status 7
 *        planted kill    is killed by a signal */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t hot_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t own_locks[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t both;

static void sleep_ms(long ms) {
    const struct timespec t = {0, ms * 1000000};
    nanosleep(&t, NULL);
}

__attribute__((noinline)) void hold_it_long(void) {
    pthread_mutex_lock(&hot_lock);
    pthread_barrier_wait(&both);
    sleep_ms(20);
    pthread_mutex_unlock(&hot_lock);
}

__attribute__((noinline)) void wait_for_it(void) {
    pthread_barrier_wait(&both);
    pthread_mutex_lock(&hot_lock);
    pthread_mutex_unlock(&hot_lock);
}

static void* holder(void* unused) {
    for (int i = 0; i < 10; ++i) {
        hold_it_long();
        pthread_barrier_wait(&both);
    }
    return unused;
}

static void* waiter(void* unused) {
    for (int i = 0; i < 10; ++i) {
        wait_for_it();
        pthread_barrier_wait(&both);
    }
    return unused;
}

static pthread_spinlock_t hot_spin;

static void* spin_holder(void* unused) {
    for (int i = 0; i < 10; ++i) {
        pthread_spin_lock(&hot_spin);
        pthread_barrier_wait(&both);
        sleep_ms(20);
        pthread_spin_unlock(&hot_spin);
        pthread_barrier_wait(&both);
    }
    return unused;
}

static void* spinner(void* unused) {
    for (int i = 0; i < 10; ++i) {
        pthread_barrier_wait(&both);
        pthread_spin_lock(&hot_spin);
        pthread_spin_unlock(&hot_spin);
        pthread_barrier_wait(&both);
    }
    return unused;
}

static atomic_int has_had_it;

static void* greedy(void* unused) {
    while (!has_had_it) {
        for (int i = 0; i < 3; ++i) {
            pthread_spin_lock(&hot_spin);
            sched_yield(); /* so that the other waits */
            pthread_spin_unlock(&hot_spin);
        }
        sched_yield(); /* its turn */
    }
    return unused;
}

static void* patient(void* unused) {
    for (int i = 0; i < 20; ++i) {
        pthread_spin_lock(&hot_spin);
        pthread_spin_unlock(&hot_spin);
        sched_yield();
    }
    has_had_it = 1;
    return unused;
}

/* Only one thread runs at a time: another one waits from its first look at the lock until it is back. */
static void stay_on_one_cpu(void) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)sched_getcpu(), &one);
    sched_setaffinity(0, sizeof one, &one);
}

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int state;

static void* signaller(void* unused) {
    for (int i = 0; i < 10; ++i) {
        sleep_ms(5);
        pthread_mutex_lock(&hot_lock);
        ++state;
        pthread_cond_signal(&changed);
        pthread_mutex_unlock(&hot_lock);
    }
    return unused;
}

static void* signalled(void* unused) {
    pthread_mutex_lock(&hot_lock);
    while (state < 10)
        pthread_cond_wait(&changed, &hot_lock);
    pthread_mutex_unlock(&hot_lock);
    return unused;
}

static void* own(void* lock) {
    for (int i = 0; i < 10000; ++i) {
        pthread_mutex_lock(lock);
        pthread_mutex_unlock(lock);
    }
    return NULL;
}

int main(int argc, char** argv) {
    const char* const what = argc > 1 ? argv[1] : "";
    pthread_t threads[2];
    pthread_barrier_init(&both, NULL, 2);
    if (strcmp(what, "hot") == 0) {
        pthread_create(&threads[0], NULL, holder, NULL);
        pthread_create(&threads[1], NULL, waiter, NULL);
    } else if (strcmp(what, "spin") == 0) {
        pthread_spin_init(&hot_spin, PTHREAD_PROCESS_PRIVATE);
        pthread_create(&threads[0], NULL, spin_holder, NULL);
        pthread_create(&threads[1], NULL, spinner, NULL);
    } else if (strcmp(what, "greedy") == 0) {
        stay_on_one_cpu();
        pthread_spin_init(&hot_spin, PTHREAD_PROCESS_PRIVATE);
        pthread_create(&threads[0], NULL, greedy, NULL);
        pthread_create(&threads[1], NULL, patient, NULL);
    } else if (strcmp(what, "signal") == 0) {
        pthread_create(&threads[0], NULL, signaller, NULL);
        pthread_create(&threads[1], NULL, signalled, NULL);
    } else if (strcmp(what, "quiet") == 0) {
        for (int i = 0; i < 2; ++i)
            pthread_create(&threads[i], NULL, own, &own_locks[i]);
    } else if (strcmp(what, "exit") == 0) {
        exit(7);
    } else {
        raise(SIGKILL);
    }
    for (int i = 0; i < 2; ++i)
        pthread_join(threads[i], NULL);
    return 0;
}
