// Our condition variable in the bytes of a pthread_cond_t, and waits that can be cancelled.
//
// A condition is ours from the first wait on whose mutex is ours. `made` (in_place.hpp) is beside glibc's count of waiters,
// whose highest bits no process can reach: there is the mark. In front of it are the attributes, where glibc has them.
//
// Cancellation. A wait for a condition is where a thread can be cancelled, and its mutex has to be held again when its clean-up
// handlers run. So while it sleeps, and only then, the thread can be cancelled at once. That brings it back
// to where it went to sleep, by the same long jump with which glibc runs a clean-up handler; there it notes
// that it is cancelled, and goes on as if its time had passed: it leaves the list of waiters and takes the mutex. Then
// it ends, as pthread_exit ends a thread.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>

#include <pthread.h>

#include <holdfast/condition_variable.hpp>
#include <holdfast/native/native.hpp>

#include "substitute/in_place.hpp"
#include "substitute/times.hpp"

namespace holdfast::substitute {

// The real machine, but its sleepers can be cancelled. A cancelled thread's deadlines have expired.
struct cancellable : native {
    // Whether the calling thread was, in its present wait.
    static inline constinit thread_local bool cancelled = false;

    class deadline : public native::deadline {
    public:
        static deadline after(std::chrono::nanoseconds wait) { return native::deadline::after(wait); }
        static deadline never() { return native::deadline::never(); }
        [[nodiscard]] bool expired() const { return cancelled || native::deadline::expired(); }

    private:
        deadline(const native::deadline& of_native) : native::deadline(of_native) {}
    };

    static bool park(const deadline& until);
};

using our_condition = basic_condition_variable<cancellable>;

// A pthread_cond_t.
struct condition_bytes {
    static constexpr std::uint32_t monotonic = 2; // glibc's bit
    static constexpr std::uint32_t ours = std::uint32_t{1} << 31;
    static constexpr std::uint32_t attributes = 3;

    alignas(8) std::byte waiters[sizeof(our_condition)];
    std::uint32_t unused[2];
    std::atomic<std::uint32_t> made;  // valid with the mark
    std::atomic<std::uint32_t> marks; // attributes; and `ours`
    std::uint32_t unused_too[2];

    [[nodiscard]] clockid_t clock() const {
        return (marks.load(relaxed) & monotonic) != 0 ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    }
    our_condition& of() { return *std::launder(reinterpret_cast<our_condition*>(waiters)); }
};
static_assert(sizeof(condition_bytes) == sizeof(pthread_cond_t));
static_assert(offsetof(condition_bytes, marks) == offsetof(pthread_cond_t, __data.__wrefs));

// Waits with a mutex that has lock() and unlock(), which the caller holds. wait(time) is to wait for so long, and says whether
// the thread was notified. Gives what `wait` gave last. A cancelled thread doesn't return, and holds the mutex.
template <class Mutex, class Wait>
auto cancellably(condition_bytes& c, Mutex& mutex, Wait wait) {
    cancellable::cancelled = false;
    bool notified = false;
    const auto answer = wait([&](std::chrono::nanoseconds time) {
        notified = c.of().wait_for(mutex, time) == std::cv_status::no_timeout;
        return notified || cancellable::cancelled;
    });
    if (cancellable::cancelled) [[unlikely]] {
        cancellable::cancelled = false;
        if (notified)
            c.of().notify_one(); // what it was told is for another
        pthread_exit(PTHREAD_CANCELED);
    }
    return answer;
}

// 0.
template <class Mutex>
int wait(condition_bytes& c, Mutex& mutex) {
    return cancellably(c, mutex, [](auto wait_for) {
        wait_for(std::chrono::nanoseconds::max());
        return 0;
    });
}

// 0 or ETIMEDOUT.
template <class Mutex>
int wait_until(condition_bytes& c, Mutex& mutex, clockid_t clock, const timespec& until) {
    return cancellably(c, mutex,
                       [&](auto wait_for) { return until_moment(clock, until, wait_for) ? 0 : ETIMEDOUT; });
}

} // namespace holdfast::substitute
