// POSIX's times for locks that wait for so many nanoseconds, or don't wait at all.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include <time.h>

#include <holdfast/native/deadline.hpp>
#include <holdfast/native/spin.hpp>
#include <holdfast/timed_wait.hpp>

namespace holdfast::substitute {

// What glibc's timed functions take; for others they answer EINVAL.
inline bool is_clock(clockid_t clock) {
    return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME;
}
inline bool is_time(const timespec& time) {
    return time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000;
}

// Calls wait(nanoseconds), which says whether it had success, until it has or the clock has come to `until`. False: it has
// come. As holdfast::wait_until.
template <class Wait>
bool until_moment(clockid_t clock, const timespec& until, Wait wait) {
    using namespace std::chrono;
    // As many seconds as nanoseconds can count. What is past is past, however long.
    constexpr std::int64_t most = nanoseconds::max().count() / 1'000'000'000 - 1;
    const nanoseconds since =
        seconds(std::clamp<std::int64_t>(until.tv_sec, -1, most)) + nanoseconds(until.tv_nsec);
    return clock == CLOCK_MONOTONIC ? wait_until(time_point<steady_clock, nanoseconds>(since), wait)
                                    : wait_until(time_point<system_clock, nanoseconds>(since), wait);
}

// Calls try_it() until it is true, at most for `wait`; at least once. For locks whose waiters can't leave: it tries, ever
// more seldom, outside of the lock's queue.
template <class Try>
bool keep_trying(std::chrono::nanoseconds wait, Try try_it) {
    const os::deadline until = os::deadline::after(wait);
    os::spinner between(true);
    while (!try_it()) {
        if (until.expired())
            return false;
        between.relax(1);
    }
    return true;
}

} // namespace holdfast::substitute
