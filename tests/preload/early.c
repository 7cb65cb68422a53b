/* A library whose constructor comes before all others, and whose destructor after them (-z initfirst): both lock. */
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t early_lock = PTHREAD_MUTEX_INITIALIZER;

static void say(const char* text, size_t size) {
    if (pthread_mutex_lock(&early_lock) == 0 && write(1, text, size) >= 0)
        pthread_mutex_unlock(&early_lock);
}

__attribute__((constructor)) static void before_all(void) {
    say("before all\n", 11);
}

__attribute__((destructor)) static void after_all(void) {
    say("after all\n", 10);
}

/* So that a program needs this library. */
int early_is_here(void);
int early_is_here(void) {
    return 1;
}
