/* Programs with a problem that a report has to find, or with none.
 * usage: planted hot     two threads, one of which holds hot_lock for long, again and again
 *        planted quiet   two threads with a lock each
 *        planted exit    exits with status 7
 *        planted kill    is killed by a signal */
#include <pthread.h>
#include <signal.h>
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
