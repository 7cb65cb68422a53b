// A moment on the monotonic clock, or never.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <type_traits>

#include <time.h>

namespace holdfast::os {

class deadline {
    using clock = std::chrono::steady_clock;

public:
    // `wait` from now; at once if it is negative, never if it is further away than the clock counts.
    static deadline after(std::chrono::nanoseconds wait) {
        const clock::time_point now = clock::now();
        if (wait >= clock::time_point::max() - now)
            return never();
        return deadline(now + std::max(wait, std::chrono::nanoseconds(0)));
    }
    static constexpr deadline never() { return deadline(clock::time_point::max()); }

    [[nodiscard]] bool expired() const {
        return moment_ != clock::time_point::max() && clock::now() >= moment_;
    }

    // For the kernel, in CLOCK_MONOTONIC; nothing if never.
    [[nodiscard]] std::optional<timespec> absolute() const {
        if (moment_ == clock::time_point::max())
            return std::nullopt;
        const auto since = moment_.time_since_epoch();
        const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since);
        return timespec{static_cast<time_t>(seconds.count()), static_cast<long>((since - seconds).count())};
    }

private:
    static_assert(std::is_same_v<clock::duration, std::chrono::nanoseconds>);

    explicit constexpr deadline(clock::time_point moment) : moment_(moment) {}

    clock::time_point moment_;
};

} // namespace holdfast::os
