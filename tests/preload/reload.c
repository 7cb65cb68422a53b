/* Loads a library, waits for its lock, unloads it, and does the same with another, that comes to the same address.
 * usage: reload LIBRARY FUNCTION LIBRARY FUNCTION; prints whether the addresses of their locks were the same */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static const void* (*work)(void (*)(void));
static pthread_barrier_t both;

static void hold(void) {
    const struct timespec t = {0, 20000000};
    pthread_barrier_wait(&both);
    nanosleep(&t, NULL);
}

static void* wait_for_it(void* unused) {
    pthread_barrier_wait(&both);
    work(NULL);
    return unused;
}

static const void* use(const char* library, const char* function) {
    void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    pthread_t other;
    if (handle == NULL)
        return NULL;
    *(void**)&work = dlsym(handle, function);
    pthread_barrier_init(&both, NULL, 2);
    pthread_create(&other, NULL, wait_for_it, NULL);
    const void* const lock = work(hold);
    pthread_join(other, NULL);
    dlclose(handle);
    return lock;
}

int main(int argc, char** argv) {
    if (argc != 5)
        return 2;
    const void* const first = use(argv[1], argv[2]);
    const void* const second = use(argv[3], argv[4]);
    if (first == NULL || second == NULL)
        return 1;
    puts(first == second ? "same" : "different");
    return 0;
}
