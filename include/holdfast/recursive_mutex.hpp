// A mutex that its owner may lock again: mutex.hpp and a count beside it.
//
//   mutex_   who owns it
//   again_   how often the owner has locked it besides the first time; the owner's
//
// Whether the caller is the owner is in the mutex's own word, so nothing else is needed to find out.
#pragma once

#include <chrono>
#include <cstdint>

#include <holdfast/mutex.hpp>
#include <holdfast/thread_annotations.hpp>
#include <holdfast/timed_wait.hpp>

namespace holdfast {

// TimedLockable of the standard, recursive: to be unlocked as often as it was locked, by the thread that did. At most 2^32
// times. Otherwise as basic_mutex; 16 bytes.
template <class P>
class HOLDFAST_CAPABILITY("mutex") basic_recursive_mutex {
public:
    constexpr basic_recursive_mutex() = default;
    basic_recursive_mutex(const basic_recursive_mutex&) = delete;
    basic_recursive_mutex& operator=(const basic_recursive_mutex&) = delete;

    // Acquires; at once if the caller holds the mutex.
    void lock() HOLDFAST_ACQUIRE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        if (!lock_again())
            mutex_.lock();
    }

    // Acquires if the mutex is free or the caller's. False: another thread holds it.
    [[nodiscard]] bool try_lock() HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return lock_again() || mutex_.try_lock();
    }

    // Acquires within `wait`, or before `moment`; tries once if that is not positive, or has passed. False: it did not get the
    // mutex by then.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return lock_again() || mutex_.try_lock_for(wait);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& moment)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return lock_again() || mutex_.try_lock_until(moment);
    }

    // Undoes one lock; the last one releases. The caller holds the mutex.
    void unlock() HOLDFAST_RELEASE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        const std::uint32_t again = again_.get();
        if (again != 0)
            again_.set(again - 1);
        else
            mutex_.unlock();
    }

    // Whether anybody holds the mutex. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return mutex_.is_locked(); }
    // Whether the caller, who holds the mutex, has locked it more than once.
    [[nodiscard]] bool holds_again() const { return again_.get() != 0; }
    // As basic_mutex.
    [[nodiscard]] bool is_mine() const { return mutex_.is_mine(); }

private:
    bool lock_again() {
        if (!mutex_.is_mine())
            return false;
        again_.set(again_.get() + 1);
        return true;
    }

    basic_mutex<P> mutex_;
    typename P::template var<std::uint32_t> again_{0};
};

// The recursive mutex of this process's threads.
using recursive_mutex = basic_recursive_mutex<native>;

} // namespace holdfast
