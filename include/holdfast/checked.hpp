// An exclusive lock that finds out when it is misused, and says so instead of going wrong.
//
// A type of its own, not a switch: a program may have both kinds, and the layout of the plain ones depends on nothing. What
// the plain lock doesn't know, who holds it, stands beside it.
//
//   found                                         said
//   lock, by the owner, of a lock not recursive   locked again by its owner
//   unlock, of a free lock                        unlocked, but not held
//   unlock, by another thread than the owner      unlocked by a thread that doesn't hold it
//   end of life, while somebody holds it          destroyed while held
//
// In one line on stderr; then the program aborts. A correct program never gets there: the owner is written only by who holds
// the lock, and each thread only looks whether that is itself.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include <pthread.h>

#include <holdfast/mutex.hpp>
#include <holdfast/native/misuse.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/thread_annotations.hpp>

namespace holdfast {

// Has the functions of Lock and its guarantees, but for size and destructor.
template <class Lock>
class HOLDFAST_CAPABILITY("mutex") checked {
    static constexpr bool recursive = requires(const Lock& lock) { lock.holds_again(); };
    // A thread as the C library knows it: never 0, and the same in a child after fork.
    using holder = std::uintptr_t;

public:
    // `name` is for the report; not copied.
    constexpr explicit checked(const char* name = "lock") : name_(name) {}
    checked(const checked&) = delete;
    checked& operator=(const checked&) = delete;
    ~checked() {
        if (owner() != 0)
            os::report_misuse(name_, this, "destroyed while held");
    }

    void lock() HOLDFAST_ACQUIRE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        expect_no_deadlock();
        lock_.lock();
        take();
    }
    [[nodiscard]] bool try_lock() HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return lock_.try_lock() && take();
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        expect_no_deadlock();
        return lock_.try_lock_for(wait) && take();
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& moment)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        expect_no_deadlock();
        return lock_.try_lock_until(moment) && take();
    }

    void unlock() HOLDFAST_RELEASE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        if (owner() == 0)
            os::report_misuse(name_, this, "unlocked, but not held");
        if (owner() != me())
            os::report_misuse(name_, this, "unlocked by a thread that doesn't hold it");
        if (is_last_hold())
            owner_.store(0, std::memory_order_relaxed);
        lock_.unlock();
    }

    // Whether anybody holds the lock. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return lock_.is_locked(); }

private:
    static holder me() { return static_cast<holder>(pthread_self()); }
    // relaxed, here and where it is written: see the head of this file.
    [[nodiscard]] holder owner() const { return owner_.load(std::memory_order_relaxed); }
    bool take() {
        owner_.store(me(), std::memory_order_relaxed);
        return true;
    }
    void expect_no_deadlock() const {
        if (!recursive && owner() == me())
            os::report_misuse(name_, this, "locked again by its owner");
    }
    [[nodiscard]] bool is_last_hold() const {
        if constexpr (recursive)
            return !lock_.holds_again();
        else
            return true;
    }

    Lock lock_;
    const char* name_;
    std::atomic<holder> owner_{0};
};

using checked_mutex = checked<mutex>;
using checked_recursive_mutex = checked<recursive_mutex>;

} // namespace holdfast
