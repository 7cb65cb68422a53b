// The functions that stand before glibc's. Each asks whose the lock is, and goes on there.
//
// What makes or ends a lock is left to glibc where that is the same for both: a lock that glibc has just initialised is
// one that nobody has decided of (in_place.hpp). No symbol of ours has a version, so callers linked for any version meet
// ours; only conditions have two.
#include <cerrno>
#include <cstdlib>

#include <pthread.h>
#include <threads.h>

#include "preload/real.hpp"
#include "substitute/in_place_mutex.hpp"
#include "substitute/process.hpp"

#define HOLDFAST_EXPORT extern "C" __attribute__((visibility("default")))

// The caller's address: a macro, since it has to be asked for in the exported function itself.
#define HOLDFAST_CALLER __builtin_return_address(0)

namespace {

using namespace holdfast::substitute;
using holdfast::preload::condition_functions;
using holdfast::preload::real;

mutex_bytes& in(pthread_mutex_t* mutex) {
    return *reinterpret_cast<mutex_bytes*>(mutex);
}

rwlock_bytes& in(pthread_rwlock_t* lock) {
    return *reinterpret_cast<rwlock_bytes*>(lock);
}

condition_bytes& in(pthread_cond_t* condition) {
    return *reinterpret_cast<condition_bytes*>(condition);
}

pthread_mutex_t* posix(mtx_t* mutex) {
    return reinterpret_cast<pthread_mutex_t*>(mutex);
}

pthread_cond_t* posix(cnd_t* condition) {
    return reinterpret_cast<pthread_cond_t*>(condition);
}

// glibc's functions, where nobody may have looked for them yet.
const holdfast::preload::real_functions& glibc() {
    holdfast::preload::find_real_functions();
    return real;
}

int of_c11(int answer) {
    switch (answer) {
    case 0:
        return thrd_success;
    case EBUSY:
        return thrd_busy;
    case ETIMEDOUT:
        return thrd_timedout;
    case ENOMEM:
        return thrd_nomem;
    default:
        return thrd_error;
    }
}

int destroy(pthread_mutex_t* mutex, const void* pc) {
    mutex_bytes& m = in(mutex);
    if (!is_ours(m, pc))
        return real.mutex_destroy(mutex);
    if (m.owner.load(relaxed) != nullptr)
        return EBUSY;
    m.kind = -1; // as glibc does, which then refuses it, too
    m.made.store(0, relaxed);
    return 0;
}

int destroy(pthread_cond_t* condition, const void*) {
    condition_bytes& c = in(condition);
    if (!is_ours(c))
        return glibc().cond_destroy(condition);
    c.marks.fetch_and(condition_bytes::attributes, relaxed);
    return 0;
}

// A mutex that a condition lets go of and takes again; it may be anybody's.
class mutex_of_a_wait {
public:
    mutex_of_a_wait(pthread_mutex_t* mutex, bool ours) : mutex_(mutex), ours_(ours) {}
    void lock() { ours_ ? chosen->mutex->lock(in(mutex_)) : real.mutex_lock(mutex_); }
    void unlock() { ours_ ? chosen->mutex->unlock(in(mutex_)) : real.mutex_unlock(mutex_); }

private:
    pthread_mutex_t* mutex_;
    bool ours_;
};

// Waits with ours(condition, mutex), or with glibcs() if neither the mutex nor the condition is ours.
template <class Ours, class Glibcs>
[[gnu::always_inline]] inline int await(pthread_cond_t* condition, pthread_mutex_t* mutex, const void* pc,
                                        Ours ours, Glibcs glibcs) {
    const bool ours_locks = is_ours(in(mutex), pc);
    if (!ours_locks && !is_ours(in(condition)))
        return glibcs();
    if (const int refused = ours_locks ? may_unlock(in(mutex)) : 0; refused != 0)
        return refused;
    take_over(in(condition));
    mutex_of_a_wait during(mutex, ours_locks);
    return ours(in(condition), during);
}

int await(pthread_cond_t* condition, pthread_mutex_t* mutex, const void* pc,
          const condition_functions& glibcs) {
    return await(
        condition, mutex, pc, [](condition_bytes& c, mutex_of_a_wait& m) { return wait(c, m); },
        [&] { return glibcs.wait(condition, mutex); });
}

int await(pthread_cond_t* condition, pthread_mutex_t* mutex, const void* pc,
          const condition_functions& glibcs, const timespec* until) {
    if (!is_time(*until))
        return EINVAL;
    return await(
        condition, mutex, pc,
        [=](condition_bytes& c, mutex_of_a_wait& m) { return wait_until(c, m, c.clock(), *until); },
        [&] { return glibcs.timedwait(condition, mutex, until); });
}

// Who was in no wait of ours when this process began isn't in one now.
int signal(pthread_cond_t* condition, const condition_functions& glibcs) {
    if (!is_ours(in(condition)))
        return glibcs.signal(condition);
    if (is_of_now(in(condition)))
        in(condition).of().notify_one();
    return 0;
}

int broadcast(pthread_cond_t* condition, const condition_functions& glibcs) {
    if (!is_ours(in(condition)))
        return glibcs.broadcast(condition);
    if (is_of_now(in(condition)))
        in(condition).of().notify_all();
    return 0;
}

// Conditions of programs linked before glibc 2.3.2: a pointer to one of today's, which glibc's own functions for them allocate
// at their first use, and free. Null: there is no memory.
pthread_cond_t* of_today(pthread_cond_t* old) {
    auto& there = *reinterpret_cast<std::atomic<pthread_cond_t*>*>(old);
    // acquire: pairs with the release below, here or in glibc.
    pthread_cond_t* found = there.load(std::memory_order_acquire);
    if (found != nullptr)
        return found;
    auto* const fresh = static_cast<pthread_cond_t*>(std::calloc(1, sizeof(pthread_cond_t)));
    if (there.compare_exchange_strong(found, fresh, std::memory_order_acq_rel, std::memory_order_acquire))
        return fresh;
    std::free(fresh);
    return found;
}

} // namespace

// ---- Mutexes ----

HOLDFAST_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex,
                                       const pthread_mutexattr_t* attributes) noexcept {
    const int result = glibc().mutex_init(mutex, attributes);
    if (result == 0)
        static_cast<void>(is_ours(in(mutex), HOLDFAST_CALLER));
    return result;
}

HOLDFAST_EXPORT int pthread_mutex_destroy(pthread_mutex_t* mutex) noexcept {
    return destroy(mutex, HOLDFAST_CALLER);
}

HOLDFAST_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    return is_ours(in(mutex), HOLDFAST_CALLER) ? chosen->mutex->lock(in(mutex)) : real.mutex_lock(mutex);
}

HOLDFAST_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
    return is_ours(in(mutex), HOLDFAST_CALLER) ? chosen->mutex->try_lock(in(mutex))
                                               : real.mutex_trylock(mutex);
}

HOLDFAST_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
    return is_ours(in(mutex), HOLDFAST_CALLER) ? chosen->mutex->lock_until(in(mutex), CLOCK_REALTIME, *until)
                                               : real.mutex_timedlock(mutex, until);
}

HOLDFAST_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                            const timespec* until) noexcept {
    return is_ours(in(mutex), HOLDFAST_CALLER) ? chosen->mutex->lock_until(in(mutex), clock, *until)
                                               : real.mutex_clocklock(mutex, clock, until);
}

HOLDFAST_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
    return is_ours(in(mutex), HOLDFAST_CALLER) ? chosen->mutex->unlock(in(mutex)) : real.mutex_unlock(mutex);
}

HOLDFAST_EXPORT int mtx_init(mtx_t* mutex, int type) {
    const int result = glibc().mtx_init(mutex, type);
    if (result == thrd_success)
        static_cast<void>(is_ours(in(posix(mutex)), HOLDFAST_CALLER));
    return result;
}

HOLDFAST_EXPORT void mtx_destroy(mtx_t* mutex) {
    destroy(posix(mutex), HOLDFAST_CALLER);
}

HOLDFAST_EXPORT int mtx_lock(mtx_t* mutex) {
    mutex_bytes& m = in(posix(mutex));
    return is_ours(m, HOLDFAST_CALLER) ? of_c11(chosen->mutex->lock(m)) : real.mtx_lock(mutex);
}

HOLDFAST_EXPORT int mtx_trylock(mtx_t* mutex) {
    mutex_bytes& m = in(posix(mutex));
    return is_ours(m, HOLDFAST_CALLER) ? of_c11(chosen->mutex->try_lock(m)) : real.mtx_trylock(mutex);
}

HOLDFAST_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
    mutex_bytes& m = in(posix(mutex));
    return is_ours(m, HOLDFAST_CALLER) ? of_c11(chosen->mutex->lock_until(m, CLOCK_REALTIME, *until))
                                       : real.mtx_timedlock(mutex, until);
}

HOLDFAST_EXPORT int mtx_unlock(mtx_t* mutex) {
    mutex_bytes& m = in(posix(mutex));
    return is_ours(m, HOLDFAST_CALLER) ? of_c11(chosen->mutex->unlock(m)) : real.mtx_unlock(mutex);
}

// ---- Read-write locks ----

HOLDFAST_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock,
                                        const pthread_rwlockattr_t* attributes) noexcept {
    const int result = glibc().rwlock_init(lock, attributes);
    if (result == 0)
        static_cast<void>(is_ours(in(lock), HOLDFAST_CALLER));
    return result;
}

HOLDFAST_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->lock_shared(in(lock))
                                              : real.rwlock_rdlock(lock);
}

HOLDFAST_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->try_lock_shared(in(lock))
                                              : real.rwlock_tryrdlock(lock);
}

HOLDFAST_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER)
               ? chosen->rwlock->lock_shared_until(in(lock), CLOCK_REALTIME, *until)
               : real.rwlock_timedrdlock(lock, until);
}

HOLDFAST_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* until) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->lock_shared_until(in(lock), clock, *until)
                                              : real.rwlock_clockrdlock(lock, clock, until);
}

HOLDFAST_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->lock(in(lock)) : real.rwlock_wrlock(lock);
}

HOLDFAST_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->try_lock(in(lock))
                                              : real.rwlock_trywrlock(lock);
}

HOLDFAST_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->lock_until(in(lock), CLOCK_REALTIME, *until)
                                              : real.rwlock_timedwrlock(lock, until);
}

HOLDFAST_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* until) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->lock_until(in(lock), clock, *until)
                                              : real.rwlock_clockwrlock(lock, clock, until);
}

HOLDFAST_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
    return is_ours(in(lock), HOLDFAST_CALLER) ? chosen->rwlock->unlock(in(lock)) : real.rwlock_unlock(lock);
}

// ---- Conditions: waits are points of cancellation, so these may be unwound ----

HOLDFAST_EXPORT int holdfast_cond_wait_new(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    return await(condition, mutex, HOLDFAST_CALLER, real.condition);
}

HOLDFAST_EXPORT int holdfast_cond_timedwait_new(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                const timespec* until) {
    return await(condition, mutex, HOLDFAST_CALLER, real.condition, until);
}

HOLDFAST_EXPORT int holdfast_cond_signal_new(pthread_cond_t* condition) noexcept {
    return signal(condition, glibc().condition);
}

HOLDFAST_EXPORT int holdfast_cond_broadcast_new(pthread_cond_t* condition) noexcept {
    return broadcast(condition, glibc().condition);
}

HOLDFAST_EXPORT int holdfast_cond_destroy_new(pthread_cond_t* condition) noexcept {
    return destroy(condition, HOLDFAST_CALLER);
}

HOLDFAST_EXPORT int holdfast_cond_wait_old(pthread_cond_t* condition, pthread_mutex_t* mutex) {
    pthread_cond_t* const today = of_today(condition);
    return today == nullptr ? ENOMEM : await(today, mutex, HOLDFAST_CALLER, real.condition);
}

HOLDFAST_EXPORT int holdfast_cond_timedwait_old(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                                const timespec* until) {
    pthread_cond_t* const today = of_today(condition);
    return today == nullptr ? ENOMEM : await(today, mutex, HOLDFAST_CALLER, real.condition, until);
}

HOLDFAST_EXPORT int holdfast_cond_signal_old(pthread_cond_t* condition) noexcept {
    pthread_cond_t* const today = of_today(condition);
    return today == nullptr ? ENOMEM : signal(today, glibc().condition);
}

HOLDFAST_EXPORT int holdfast_cond_broadcast_old(pthread_cond_t* condition) noexcept {
    pthread_cond_t* const today = of_today(condition);
    return today == nullptr ? ENOMEM : broadcast(today, glibc().condition);
}

__asm__(".symver holdfast_cond_wait_new,pthread_cond_wait@@GLIBC_2.3.2");
__asm__(".symver holdfast_cond_timedwait_new,pthread_cond_timedwait@@GLIBC_2.3.2");
__asm__(".symver holdfast_cond_signal_new,pthread_cond_signal@@GLIBC_2.3.2");
__asm__(".symver holdfast_cond_broadcast_new,pthread_cond_broadcast@@GLIBC_2.3.2");
__asm__(".symver holdfast_cond_destroy_new,pthread_cond_destroy@@GLIBC_2.3.2");
__asm__(".symver holdfast_cond_wait_old,pthread_cond_wait@GLIBC_2.2.5");
__asm__(".symver holdfast_cond_timedwait_old,pthread_cond_timedwait@GLIBC_2.2.5");
__asm__(".symver holdfast_cond_signal_old,pthread_cond_signal@GLIBC_2.2.5");
__asm__(".symver holdfast_cond_broadcast_old,pthread_cond_broadcast@GLIBC_2.2.5");

HOLDFAST_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) {
    if (!is_clock(clock) || !is_time(*until))
        return EINVAL;
    return await(
        condition, mutex, HOLDFAST_CALLER,
        [=](condition_bytes& c, mutex_of_a_wait& m) { return wait_until(c, m, clock, *until); },
        [=] { return real.cond_clockwait(condition, mutex, clock, until); });
}

HOLDFAST_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
    return of_c11(await(posix(condition), posix(mutex), HOLDFAST_CALLER, real.condition));
}

HOLDFAST_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
    return of_c11(await(posix(condition), posix(mutex), HOLDFAST_CALLER, real.condition, until));
}

HOLDFAST_EXPORT int cnd_signal(cnd_t* condition) {
    return of_c11(signal(posix(condition), glibc().condition));
}

HOLDFAST_EXPORT int cnd_broadcast(cnd_t* condition) {
    return of_c11(broadcast(posix(condition), glibc().condition));
}

HOLDFAST_EXPORT void cnd_destroy(cnd_t* condition) {
    destroy(posix(condition), HOLDFAST_CALLER);
}
