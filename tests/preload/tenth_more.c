// Some 30 ms of work under a mutex, and a tenth more of it with the lock that SLOWER names.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

int main(void) {
    const char* const lock = getenv("HOLDFAST_RUN_LOCK");
    const char* const slower = getenv("SLOWER");
    const int times = lock != NULL && slower != NULL && strcmp(lock, slower) == 0 ? 660 : 600;
    for (int i = 0; i < times; ++i) {
        pthread_mutex_lock(&mutex);
        for (volatile int k = 0; k < 100000; ++k)
            ;
        pthread_mutex_unlock(&mutex);
    }
    return 0;
}
