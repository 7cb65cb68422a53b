// The standard's times, for a lock that can wait for so many nanoseconds.
#pragma once

#include <chrono>

namespace holdfast {

// A wait in nanoseconds; the longest for more than they count, nothing for less than nothing. Rounded up.
template <class Rep, class Period>
constexpr std::chrono::nanoseconds to_wait(const std::chrono::duration<Rep, Period>& wait) {
    using std::chrono::nanoseconds;
    const std::chrono::duration<double, std::nano> roughly = wait; // can't overflow
    if (roughly <= nanoseconds(0))
        return nanoseconds(0);
    if (roughly >= std::chrono::duration<double, std::nano>(nanoseconds::max()))
        return nanoseconds::max();
    return std::chrono::ceil<nanoseconds>(wait);
}

// Calls wait(nanoseconds), which says whether it had success, until it has or `moment` has passed; at least once. A clock
// that can be set is looked at again after each wait, since it may have been set back meanwhile; that it was set
// forward is noticed after the wait. False: `moment` has passed.
template <class Clock, class Duration, class Wait>
bool wait_until(const std::chrono::time_point<Clock, Duration>& moment, Wait wait) {
    for (;;) {
        const auto now = Clock::now();
        // Not the difference of the two, if it is negative: it could overflow.
        if (wait(moment <= now ? std::chrono::nanoseconds(0) : to_wait(moment - now)))
            return true;
        if (moment <= Clock::now())
            return false;
    }
}

} // namespace holdfast
