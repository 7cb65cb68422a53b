// The functions that stand before glibc's. Each asks first whether this thread records now; if not, or if the lock is
// of a kind that is left alone, the call goes on as it came.
//
// A lock is tried before it is waited for, so that only contention costs a clock. Trying is what glibc's own lock
// does first, with the same result for every kind: what a try refuses (busy, or held by the caller itself) goes to the
// waiting function, whose answer counts. A timed call with a clock or time that glibc refuses goes there at once.
//
// No symbol of ours has a version, so callers linked for any version meet ours; only conditions have two.
#include <cerrno>

#include <pthread.h>
#include <threads.h>

#include "preload/real.hpp"
#include "preload/recorder.hpp"

#define HOLDFAST_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using namespace holdfast::preload;

constexpr int priority_inherit = 0x60; // or a ceiling
constexpr int robust = 0x10;
constexpr int process_shared = 0x80;

enum passed : unsigned { shared_between_processes, is_robust, inherits_priority };

void count_passed(control& c, passed why) {
    c.out.head().passed_through[why].fetch_add(1, relaxed);
}

// Whether it is of a kind that is measured.
bool is_measured(const pthread_mutex_t* mutex) {
    return (mutex->__data.__kind & (priority_inherit | robust | process_shared)) == 0;
}

bool is_measured(const pthread_rwlock_t* lock) {
    return lock->__data.__shared == 0;
}

bool is_measured(const volatile pthread_spinlock_t*) {
    return true;
}

// Counts an operation on a lock that is left alone, unless that is destroyed (-1).
void count_unmeasured(control& c, const pthread_mutex_t* mutex) {
    const int kind = mutex->__data.__kind;
    if (kind >= 0)
        count_passed(c, (kind & robust) != 0             ? is_robust
                        : (kind & priority_inherit) != 0 ? inherits_priority
                                                         : shared_between_processes);
}

void count_unmeasured(control& c, const pthread_rwlock_t*) {
    count_passed(c, shared_between_processes);
}

void count_unmeasured(control&, const volatile pthread_spinlock_t*) {}

lock_kind kind_of(const pthread_mutex_t* mutex) {
    switch (mutex->__data.__kind & 3) {
    case PTHREAD_MUTEX_RECURSIVE_NP:
        return lock_kind::recursive;
    case PTHREAD_MUTEX_ERRORCHECK_NP:
        return lock_kind::errorcheck;
    case PTHREAD_MUTEX_ADAPTIVE_NP:
        return lock_kind::adaptive;
    default:
        return lock_kind::mutex;
    }
}

const pthread_mutex_t* as_mutex(const mtx_t* mutex) {
    return reinterpret_cast<const pthread_mutex_t*>(mutex);
}

lock_kind kind_of(const mtx_t* mutex) {
    return kind_of(as_mutex(mutex));
}

lock_kind kind_of(const pthread_rwlock_t*) {
    return lock_kind::rwlock;
}

lock_kind kind_of(const volatile pthread_spinlock_t*) {
    return lock_kind::spin;
}

lock_kind kind_of(const pthread_cond_t*) {
    return lock_kind::condition;
}

lock_kind kind_of(const cnd_t*) {
    return lock_kind::condition;
}

template <class Lock>
[[gnu::noinline, gnu::cold]] lock_entry& look_for(control& c, Lock* lock, const void* pc) {
    return add_lock(c, lock, kind_of(lock), pc);
}

template <class Lock>
[[gnu::always_inline]] inline lock_entry& entry_of(control& c, Lock* lock, const void* pc) {
    lock_entry* const entry = find_lock(c, lock);
    return entry != nullptr ? *entry : look_for(c, lock, pc);
}

// Whether a recursive mutex was taken by its holder more than once.
bool is_nested(const pthread_mutex_t* mutex) {
    return kind_of(mutex) == lock_kind::recursive && mutex->__data.__count > 1;
}

bool is_nested(const mtx_t* mutex) {
    return is_nested(as_mutex(mutex));
}

bool is_nested(const pthread_rwlock_t*) {
    return false;
}

bool is_nested(const volatile pthread_spinlock_t*) {
    return false;
}

bool is_measured(const mtx_t* mutex) {
    return is_measured(as_mutex(mutex));
}

void count_unmeasured(control& c, const mtx_t* mutex) {
    count_unmeasured(c, as_mutex(mutex));
}

// What is recorded of this lock by this thread at this moment: null if nothing, and then it is counted why.
template <class Lock>
control* recorded(const Lock* lock) {
    control* const c = may_record();
    if (c == nullptr || is_measured(lock))
        return c;
    count_unmeasured(*c, lock);
    return nullptr;
}

bool good_time(const timespec* at) {
    return at->tv_nsec >= 0 && at->tv_nsec < 1'000'000'000;
}

bool good_clock(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}

// The caller's address: a macro, since it has to be asked for in the exported function itself, or in what is always
// inlined into that, and where it is needed, so that nothing keeps it until then.
#define HOLDFAST_CALLER __builtin_return_address(0)

// The lock was taken by this thread. A function, so that the one that took it, with a call on its way, need keep nothing
// but the lock over that.
template <side how, class Lock>
[[gnu::noinline]] int took(Lock* lock, const void* pc) {
    lock_entry& entry = entry_of(process, lock, pc);
    self.last_lock = lock;
    self.last_entry = &entry;
    if constexpr (how == side::alone)
        acquired(entry);
    else
        acquired_shared(entry);
    return 0;
}

// `stack` is the caller's, if it was taken.
template <side how, class Lock, class Wait>
[[gnu::noinline, gnu::cold]] int take_after_wait(Lock* lock, const void* pc, int late, std::uint32_t stack,
                                                 Wait wait_for_it) {
    control& c = process;
    lock_entry& entry = entry_of(c, lock, pc);
    const wait w = begin_wait(c, entry, stack, pc);
    const int result = wait_for_it();
    if (!goes_on(c, w))
        return result;
    const std::uint32_t waiter = end_wait(c, entry, w, how,
                                          result == 0      ? outcome::held
                                          : result == late ? outcome::timed_out
                                                           : outcome::refused,
                                          pc);
    if (result != 0) {
        self.acquisitions.take_back();
        return result;
    }
    if (waiter != 0)
        watch_hold(lock, entry, how, waiter, stack != 0);
    return took<how>(lock, pc);
}

// What a try came to that was no success.
template <side how, class Lock, class Wait>
[[gnu::noinline, gnu::cold]] int not_taken(Lock* lock, const void* pc, int result, int busy, int late,
                                           std::uint32_t stack, Wait wait_for_it) {
    if (result == busy)
        return take_after_wait<how>(lock, pc, late, stack, wait_for_it);
    self.acquisitions.take_back();
    return result;
}

// All that is not the usual case: a thread that doesn't record, or not yet; a lock that is left alone; an acquisition
// that is a sample, whose stack is taken before the lock is tried, so that its holding gets no longer.
template <side how, class Lock, class Try, class Wait>
[[gnu::noinline, gnu::cold]] int take_slowly(Lock* lock, const void* pc, int busy, int late, Try try_it,
                                             Wait wait_for_it) {
    control* const c = recorded(lock);
    if (c == nullptr)
        return wait_for_it();
    const bool sampled = self.acquisitions.is_due() || self.acquisitions.due();
    const std::uint32_t stack = sampled ? sampled_acquisition(*c, pc) : 0;
    const int result = try_it();
    if (result != 0)
        return not_taken<how>(lock, pc, result, busy, late, stack, wait_for_it);
    if (sampled)
        watch_hold(lock, entry_of(*c, lock, pc), how, stack, true);
    return took<how>(lock, pc);
}

// Tries, and waits if it must. `busy` and `late` are what the functions answer then.
template <side how, class Lock, class Try, class Wait>
[[gnu::always_inline]] inline int take(Lock* lock, int busy, int late, Try try_it, Wait wait_for_it) {
    if (!records_now() || !is_measured(lock) || self.acquisitions.due()) [[unlikely]]
        return take_slowly<how>(lock, HOLDFAST_CALLER, busy, late, try_it, wait_for_it);
    const int result = try_it();
    if (result != 0) [[unlikely]]
        return not_taken<how>(lock, HOLDFAST_CALLER, result, busy, late, 0, wait_for_it);
    return took<how>(lock, HOLDFAST_CALLER);
}

// Only tries.
template <side how, class Lock, class Try>
[[gnu::always_inline]] inline int try_once(Lock* lock, int busy, Try try_it) {
    control* const c = recorded(lock);
    if (c == nullptr)
        return try_it();
    const bool sampled = self.acquisitions.due();
    const std::uint32_t stack = sampled ? sampled_acquisition(*c, HOLDFAST_CALLER) : 0;
    const int result = try_it();
    if (result != 0) {
        self.acquisitions.take_back();
        if (result == busy)
            failed_try(*c, entry_of(*c, lock, HOLDFAST_CALLER), how);
        return result;
    }
    if (sampled)
        watch_hold(lock, entry_of(*c, lock, HOLDFAST_CALLER), how, stack, true);
    return took<how>(lock, HOLDFAST_CALLER);
}

// Lets go of a lock that was not the last taken, or is watched, or waited for.
template <side how, class Lock, class Unlock>
[[gnu::noinline, gnu::cold]] int let_go_slowly(Lock* lock, const void* pc, Unlock unlock) {
    control* const c = recorded(lock);
    if (c == nullptr || is_nested(lock))
        return unlock();
    if (self.hold.lock == lock)
        end_watched_hold(*c);
    lock_entry& entry = entry_of(*c, lock, pc);
    if (entry.waiters.load(relaxed) == 0)
        return unlock();
    releasing(entry, how, pc);
    const int result = unlock();
    released(*c, entry, pc);
    return result;
}

template <side how, class Lock, class Unlock>
[[gnu::always_inline]] inline int let_go(Lock* lock, Unlock unlock) {
    if (!records_now() || self.last_lock != lock || self.hold.lock == lock ||
        self.last_entry->waiters.load(relaxed) != 0) [[unlikely]]
        return let_go_slowly<how>(lock, HOLDFAST_CALLER, unlock);
    return unlock();
}

// Waits for a condition: the mutex is let go and taken again inside glibc, which nobody else sees.
template <class Condition, class Mutex, class Wait>
int await(control& c, const Condition* condition, const Mutex* mutex, const void* pc, int late,
          Wait wait_for_it) {
    lock_entry& entry = entry_of(c, condition, pc);
    const bool measured = recorded(mutex) != nullptr;
    if (measured) {
        if (self.hold.lock == mutex)
            end_watched_hold(c);
        lock_entry& held = entry_of(c, mutex, pc);
        if (held.waiters.load(relaxed) != 0)
            releasing(held, side::alone, pc);
    }
    const wait w = begin_condition(c, entry, pc);
    const int result = wait_for_it();
    if (!goes_on(c, w))
        return result;
    end_condition(c, entry, w, result == late, pc);
    if (measured && (result == 0 || result == late))
        took<side::alone>(mutex, pc);
    return result;
}

template <class Condition, class Signal>
int tell(control& c, const Condition* condition, const void* pc, Signal signal) {
    signalling(entry_of(c, condition, pc));
    return signal();
}

} // namespace

// ---- Mutexes ----

HOLDFAST_EXPORT int pthread_mutex_init(pthread_mutex_t* mutex,
                                       const pthread_mutexattr_t* attributes) noexcept {
    control* const c = may_record();
    const int result = real.mutex_init(mutex, attributes);
    if (c != nullptr && result == 0 && is_measured(mutex))
        initialised(*c, mutex, kind_of(mutex), HOLDFAST_CALLER);
    return result;
}

HOLDFAST_EXPORT int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
    return take<side::alone>(
        mutex, EBUSY, ETIMEDOUT, [=] { return real.mutex_trylock(mutex); },
        [=] { return real.mutex_lock(mutex); });
}

HOLDFAST_EXPORT int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
    return try_once<side::alone>(mutex, EBUSY, [=] { return real.mutex_trylock(mutex); });
}

HOLDFAST_EXPORT int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
    return take<side::alone>(
        mutex, EBUSY, ETIMEDOUT, [=] { return real.mutex_trylock(mutex); },
        [=] { return real.mutex_timedlock(mutex, until); });
}

HOLDFAST_EXPORT int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                            const timespec* until) noexcept {
    const auto wait_for_it = [=] { return real.mutex_clocklock(mutex, clock, until); };
    const auto try_it = [=] { return good_clock(clock) ? real.mutex_trylock(mutex) : wait_for_it(); };
    return take<side::alone>(mutex, EBUSY, ETIMEDOUT, try_it, wait_for_it);
}

HOLDFAST_EXPORT int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
    return let_go<side::alone>(mutex, [=] { return real.mutex_unlock(mutex); });
}

HOLDFAST_EXPORT int mtx_init(mtx_t* mutex, int type) {
    control* const c = may_record();
    const int result = real.mtx_init(mutex, type);
    if (c != nullptr && result == thrd_success)
        initialised(*c, mutex, kind_of(as_mutex(mutex)), HOLDFAST_CALLER);
    return result;
}

HOLDFAST_EXPORT int mtx_lock(mtx_t* mutex) {
    return take<side::alone>(
        mutex, thrd_busy, thrd_timedout, [=] { return real.mtx_trylock(mutex); },
        [=] { return real.mtx_lock(mutex); });
}

HOLDFAST_EXPORT int mtx_trylock(mtx_t* mutex) {
    return try_once<side::alone>(mutex, thrd_busy, [=] { return real.mtx_trylock(mutex); });
}

HOLDFAST_EXPORT int mtx_timedlock(mtx_t* mutex, const timespec* until) {
    return take<side::alone>(
        mutex, thrd_busy, thrd_timedout, [=] { return real.mtx_trylock(mutex); },
        [=] { return real.mtx_timedlock(mutex, until); });
}

HOLDFAST_EXPORT int mtx_unlock(mtx_t* mutex) {
    return let_go<side::alone>(mutex, [=] { return real.mtx_unlock(mutex); });
}

// ---- Read-write locks ----

HOLDFAST_EXPORT int pthread_rwlock_init(pthread_rwlock_t* lock,
                                        const pthread_rwlockattr_t* attributes) noexcept {
    control* const c = may_record();
    const int result = real.rwlock_init(lock, attributes);
    if (c != nullptr && result == 0 && is_measured(lock))
        initialised(*c, lock, lock_kind::rwlock, HOLDFAST_CALLER);
    return result;
}

HOLDFAST_EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
    return take<side::shared>(
        lock, EBUSY, ETIMEDOUT, [=] { return real.rwlock_tryrdlock(lock); },
        [=] { return real.rwlock_rdlock(lock); });
}

HOLDFAST_EXPORT int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
    return try_once<side::shared>(lock, EBUSY, [=] { return real.rwlock_tryrdlock(lock); });
}

HOLDFAST_EXPORT int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
    const auto wait_for_it = [=] { return real.rwlock_timedrdlock(lock, until); };
    const auto try_it = [=] { return good_time(until) ? real.rwlock_tryrdlock(lock) : wait_for_it(); };
    return take<side::shared>(lock, EBUSY, ETIMEDOUT, try_it, wait_for_it);
}

HOLDFAST_EXPORT int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* until) noexcept {
    const auto wait_for_it = [=] { return real.rwlock_clockrdlock(lock, clock, until); };
    const auto try_it = [=] {
        return good_clock(clock) && good_time(until) ? real.rwlock_tryrdlock(lock) : wait_for_it();
    };
    return take<side::shared>(lock, EBUSY, ETIMEDOUT, try_it, wait_for_it);
}

HOLDFAST_EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
    return take<side::alone>(
        lock, EBUSY, ETIMEDOUT, [=] { return real.rwlock_trywrlock(lock); },
        [=] { return real.rwlock_wrlock(lock); });
}

HOLDFAST_EXPORT int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
    return try_once<side::alone>(lock, EBUSY, [=] { return real.rwlock_trywrlock(lock); });
}

HOLDFAST_EXPORT int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
    const auto wait_for_it = [=] { return real.rwlock_timedwrlock(lock, until); };
    const auto try_it = [=] { return good_time(until) ? real.rwlock_trywrlock(lock) : wait_for_it(); };
    return take<side::alone>(lock, EBUSY, ETIMEDOUT, try_it, wait_for_it);
}

HOLDFAST_EXPORT int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                               const timespec* until) noexcept {
    const auto wait_for_it = [=] { return real.rwlock_clockwrlock(lock, clock, until); };
    const auto try_it = [=] {
        return good_clock(clock) && good_time(until) ? real.rwlock_trywrlock(lock) : wait_for_it();
    };
    return take<side::alone>(lock, EBUSY, ETIMEDOUT, try_it, wait_for_it);
}

HOLDFAST_EXPORT int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
    // A writer's number stands there for as long as it holds the lock.
    const auto unlock = [=] { return real.rwlock_unlock(lock); };
    return lock->__data.__cur_writer != 0 ? let_go<side::alone>(lock, unlock)
                                          : let_go<side::shared>(lock, unlock);
}

// ---- Spinlocks ----

HOLDFAST_EXPORT int pthread_spin_init(pthread_spinlock_t* lock, int shared) noexcept {
    control* const c = may_record();
    const int result = real.spin_init(lock, shared);
    if (c != nullptr && result == 0)
        initialised(*c, lock, lock_kind::spin, HOLDFAST_CALLER);
    return result;
}

HOLDFAST_EXPORT int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
    return take<side::alone>(
        lock, EBUSY, ETIMEDOUT, [=] { return real.spin_trylock(lock); },
        [=] { return real.spin_lock(lock); });
}

HOLDFAST_EXPORT int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
    return try_once<side::alone>(lock, EBUSY, [=] { return real.spin_trylock(lock); });
}

HOLDFAST_EXPORT int pthread_spin_unlock(pthread_spinlock_t* lock) noexcept {
    return let_go<side::alone>(lock, [=] { return real.spin_unlock(lock); });
}

// ---- Conditions: waits are points of cancellation, so these may be unwound ----

// Two versions of the same four: `which` has the functions of the caller's version.
// NOLINTBEGIN(bugprone-macro-parentheses): an object's name, and a part of one
#define HOLDFAST_CONDITIONS(suffix, version, which)                                                          \
    HOLDFAST_EXPORT int holdfast_cond_wait##suffix(pthread_cond_t* condition, pthread_mutex_t* mutex) {      \
        control* const c = may_record();                                                                     \
        if (c == nullptr)                                                                                    \
            return which.wait(condition, mutex);                                                             \
        return await(*c, condition, mutex, HOLDFAST_CALLER, ETIMEDOUT,                                       \
                     [=] { return which.wait(condition, mutex); });                                          \
    }                                                                                                        \
    HOLDFAST_EXPORT int holdfast_cond_timedwait##suffix(pthread_cond_t* condition, pthread_mutex_t* mutex,   \
                                                        const timespec* until) {                             \
        control* const c = may_record();                                                                     \
        if (c == nullptr)                                                                                    \
            return which.timedwait(condition, mutex, until);                                                 \
        return await(*c, condition, mutex, HOLDFAST_CALLER, ETIMEDOUT,                                       \
                     [=] { return which.timedwait(condition, mutex, until); });                              \
    }                                                                                                        \
    HOLDFAST_EXPORT int holdfast_cond_signal##suffix(pthread_cond_t* condition) noexcept {                   \
        control* const c = may_record();                                                                     \
        if (c == nullptr)                                                                                    \
            return which.signal(condition);                                                                  \
        return tell(*c, condition, HOLDFAST_CALLER, [=] { return which.signal(condition); });                \
    }                                                                                                        \
    HOLDFAST_EXPORT int holdfast_cond_broadcast##suffix(pthread_cond_t* condition) noexcept {                \
        control* const c = may_record();                                                                     \
        if (c == nullptr)                                                                                    \
            return which.broadcast(condition);                                                               \
        return tell(*c, condition, HOLDFAST_CALLER, [=] { return which.broadcast(condition); });             \
    }                                                                                                        \
    __asm__(".symver holdfast_cond_wait" #suffix ",pthread_cond_wait" version);                              \
    __asm__(".symver holdfast_cond_timedwait" #suffix ",pthread_cond_timedwait" version);                    \
    __asm__(".symver holdfast_cond_signal" #suffix ",pthread_cond_signal" version);                          \
    __asm__(".symver holdfast_cond_broadcast" #suffix ",pthread_cond_broadcast" version)

HOLDFAST_CONDITIONS(_new, "@@GLIBC_2.3.2", real.condition);
HOLDFAST_CONDITIONS(_old, "@GLIBC_2.2.5", real.old_condition);
// NOLINTEND(bugprone-macro-parentheses)

HOLDFAST_EXPORT int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                           const timespec* until) {
    control* const c = may_record();
    if (c == nullptr)
        return real.cond_clockwait(condition, mutex, clock, until);
    return await(*c, condition, mutex, HOLDFAST_CALLER, ETIMEDOUT,
                 [=] { return real.cond_clockwait(condition, mutex, clock, until); });
}

HOLDFAST_EXPORT int cnd_wait(cnd_t* condition, mtx_t* mutex) {
    control* const c = may_record();
    if (c == nullptr)
        return real.cnd_wait(condition, mutex);
    return await(*c, condition, mutex, HOLDFAST_CALLER, thrd_timedout,
                 [=] { return real.cnd_wait(condition, mutex); });
}

HOLDFAST_EXPORT int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
    control* const c = may_record();
    if (c == nullptr)
        return real.cnd_timedwait(condition, mutex, until);
    return await(*c, condition, mutex, HOLDFAST_CALLER, thrd_timedout,
                 [=] { return real.cnd_timedwait(condition, mutex, until); });
}

HOLDFAST_EXPORT int cnd_signal(cnd_t* condition) {
    control* const c = may_record();
    if (c == nullptr)
        return real.cnd_signal(condition);
    return tell(*c, condition, HOLDFAST_CALLER, [=] { return real.cnd_signal(condition); });
}

HOLDFAST_EXPORT int cnd_broadcast(cnd_t* condition) {
    control* const c = may_record();
    if (c == nullptr)
        return real.cnd_broadcast(condition);
    return tell(*c, condition, HOLDFAST_CALLER, [=] { return real.cnd_broadcast(condition); });
}

// ---- Libraries that go ----

HOLDFAST_EXPORT int dlclose(void* library) noexcept {
    may_record(); // finds the real one
    const int result = real.dlclose(library);
    // Its destructors may have done anything.
    if (control* const after = may_record(); after != nullptr)
        files_may_be_gone(*after);
    return result;
}
