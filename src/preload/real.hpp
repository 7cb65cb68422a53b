// glibc's own functions, behind ours. Conditions have two layouts, old (GLIBC_2.2.5) and new (GLIBC_2.3.2), and each
// caller has to reach the one that it was linked for. Of all others every version is one function.
#pragma once

#include <pthread.h>
#include <threads.h>
#include <time.h>

namespace holdfast::preload {

struct condition_functions {
    int (*wait)(pthread_cond_t*, pthread_mutex_t*);
    int (*timedwait)(pthread_cond_t*, pthread_mutex_t*, const timespec*);
    int (*signal)(pthread_cond_t*);
    int (*broadcast)(pthread_cond_t*);
};

struct real_functions {
    int (*mutex_init)(pthread_mutex_t*, const pthread_mutexattr_t*);
    int (*mutex_destroy)(pthread_mutex_t*);
    int (*mutex_lock)(pthread_mutex_t*);
    int (*mutex_trylock)(pthread_mutex_t*);
    int (*mutex_timedlock)(pthread_mutex_t*, const timespec*);
    int (*mutex_clocklock)(pthread_mutex_t*, clockid_t, const timespec*);
    int (*mutex_unlock)(pthread_mutex_t*);
    int (*rwlock_init)(pthread_rwlock_t*, const pthread_rwlockattr_t*);
    int (*rwlock_rdlock)(pthread_rwlock_t*);
    int (*rwlock_tryrdlock)(pthread_rwlock_t*);
    int (*rwlock_timedrdlock)(pthread_rwlock_t*, const timespec*);
    int (*rwlock_clockrdlock)(pthread_rwlock_t*, clockid_t, const timespec*);
    int (*rwlock_wrlock)(pthread_rwlock_t*);
    int (*rwlock_trywrlock)(pthread_rwlock_t*);
    int (*rwlock_timedwrlock)(pthread_rwlock_t*, const timespec*);
    int (*rwlock_clockwrlock)(pthread_rwlock_t*, clockid_t, const timespec*);
    int (*rwlock_unlock)(pthread_rwlock_t*);
    int (*spin_init)(pthread_spinlock_t*, int);
    int (*spin_lock)(pthread_spinlock_t*);
    int (*spin_trylock)(pthread_spinlock_t*);
    int (*spin_unlock)(pthread_spinlock_t*);
    condition_functions condition;        // GLIBC_2.3.2
    condition_functions old_condition;    // GLIBC_2.2.5
    int (*cond_destroy)(pthread_cond_t*); // GLIBC_2.3.2
    int (*cond_clockwait)(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*);
    int (*mtx_init)(mtx_t*, int);
    int (*mtx_lock)(mtx_t*);
    int (*mtx_trylock)(mtx_t*);
    int (*mtx_timedlock)(mtx_t*, const timespec*);
    int (*mtx_unlock)(mtx_t*);
    int (*cnd_wait)(cnd_t*, mtx_t*);
    int (*cnd_timedwait)(cnd_t*, mtx_t*, const timespec*);
    int (*cnd_signal)(cnd_t*);
    int (*cnd_broadcast)(cnd_t*);
    int (*dlclose)(void*);
};

// Valid after find_real_functions().
// NOLINTNEXTLINE(bugprone-dynamic-static-initializers): null pointers, before any code runs
extern constinit real_functions real;

// Looks them up: once, or harmlessly several times at once. A name that this libc doesn't have stays null; the program
// can't have been linked to it either.
void find_real_functions();

} // namespace holdfast::preload
