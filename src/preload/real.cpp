// Looking up glibc's functions. A lookup that succeeds allocates nothing, so this may happen inside malloc.
#include "preload/real.hpp"

#include <atomic>

#include <dlfcn.h>

namespace holdfast::preload {

constinit real_functions real{};

namespace {

std::atomic<bool> found = false;

template <class F>
void find(F& function, const char* name) {
    function = reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

template <class F>
void find(F& function, const char* name, const char* version) {
    function = reinterpret_cast<F>(dlvsym(RTLD_NEXT, name, version));
}

void find(condition_functions& functions, const char* version) {
    find(functions.wait, "pthread_cond_wait", version);
    find(functions.timedwait, "pthread_cond_timedwait", version);
    find(functions.signal, "pthread_cond_signal", version);
    find(functions.broadcast, "pthread_cond_broadcast", version);
}

} // namespace

void find_real_functions() {
    // Acquire, with the release below: whoever sees `found` sees the functions.
    if (found.load(std::memory_order_acquire))
        return;
    find(real.mutex_init, "pthread_mutex_init");
    find(real.mutex_destroy, "pthread_mutex_destroy");
    find(real.mutex_lock, "pthread_mutex_lock");
    find(real.mutex_trylock, "pthread_mutex_trylock");
    find(real.mutex_timedlock, "pthread_mutex_timedlock");
    find(real.mutex_clocklock, "pthread_mutex_clocklock");
    find(real.mutex_unlock, "pthread_mutex_unlock");
    find(real.rwlock_init, "pthread_rwlock_init");
    find(real.rwlock_rdlock, "pthread_rwlock_rdlock");
    find(real.rwlock_tryrdlock, "pthread_rwlock_tryrdlock");
    find(real.rwlock_timedrdlock, "pthread_rwlock_timedrdlock");
    find(real.rwlock_clockrdlock, "pthread_rwlock_clockrdlock");
    find(real.rwlock_wrlock, "pthread_rwlock_wrlock");
    find(real.rwlock_trywrlock, "pthread_rwlock_trywrlock");
    find(real.rwlock_timedwrlock, "pthread_rwlock_timedwrlock");
    find(real.rwlock_clockwrlock, "pthread_rwlock_clockwrlock");
    find(real.rwlock_unlock, "pthread_rwlock_unlock");
    find(real.spin_init, "pthread_spin_init");
    find(real.spin_lock, "pthread_spin_lock");
    find(real.spin_trylock, "pthread_spin_trylock");
    find(real.spin_unlock, "pthread_spin_unlock");
    find(real.condition, "GLIBC_2.3.2");
    find(real.old_condition, "GLIBC_2.2.5");
    find(real.cond_destroy, "pthread_cond_destroy", "GLIBC_2.3.2");
    find(real.cond_clockwait, "pthread_cond_clockwait");
    find(real.mtx_init, "mtx_init");
    find(real.mtx_lock, "mtx_lock");
    find(real.mtx_trylock, "mtx_trylock");
    find(real.mtx_timedlock, "mtx_timedlock");
    find(real.mtx_unlock, "mtx_unlock");
    find(real.cnd_wait, "cnd_wait");
    find(real.cnd_timedwait, "cnd_timedwait");
    find(real.cnd_signal, "cnd_signal");
    find(real.cnd_broadcast, "cnd_broadcast");
    find(real.dlclose, "dlclose");
    found.store(true, std::memory_order_release);
}

} // namespace holdfast::preload
