/* Takes one lock after another, each 200000 times, and runs a command after each: what is recorded between two commands
 * is known. usage: phases COMMAND... (at most 4) */
#include <pthread.h>
#include <stdlib.h>

static pthread_mutex_t phase_0 = PTHREAD_MUTEX_INITIALIZER, phase_1 = PTHREAD_MUTEX_INITIALIZER,
                       phase_2 = PTHREAD_MUTEX_INITIALIZER, phase_3 = PTHREAD_MUTEX_INITIALIZER;

int main(int argc, char** argv) {
    pthread_mutex_t* const locks[] = {&phase_0, &phase_1, &phase_2, &phase_3};
    for (int phase = 0; phase < 4 && phase + 1 < argc; ++phase) {
        for (int i = 0; i < 200000; ++i) {
            pthread_mutex_lock(locks[phase]);
            pthread_mutex_unlock(locks[phase]);
        }
        if (system(argv[phase + 1]) != 0)
            return 1;
    }
    return 0;
}
