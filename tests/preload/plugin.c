/* A library that is loaded and unloaded: built as two, with names of their own, that take each other's place. */
#include <pthread.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)

static pthread_mutex_t JOIN(lock_of_, PLUGIN) = PTHREAD_MUTEX_INITIALIZER;
static int turns;

/* Runs `with_lock`, if there is one, with the lock held. Gives the lock's address. */
__attribute__((noinline)) const void* JOIN(work_in_, PLUGIN)(void (*with_lock)(void)) {
    pthread_mutex_lock(&JOIN(lock_of_, PLUGIN));
    ++turns;
    if (with_lock)
        with_lock();
    pthread_mutex_unlock(&JOIN(lock_of_, PLUGIN));
    return &JOIN(lock_of_, PLUGIN);
}
