// A storage device: transfers take their latency, and queue behind each other where the device's limits say so.
#pragma once

#include <algorithm>
#include <cstdint>

#include "sim/engine.hpp"

namespace holdfast::sim {

class device {
public:
    // Limits in picoseconds: the latency of a transfer, the least distance of two beginnings, the time a byte takes.
    // Zero means no limit.
    device(picoseconds latency, picoseconds between_starts, picoseconds per_byte)
        : latency_(latency), between_starts_(between_starts), per_byte_(per_byte) {}

    // Blocks the calling thread until the device has transferred `bytes`.
    void transfer(std::uint64_t bytes) {
        engine& e = engine::now_running();
        e.order();
        const picoseconds moving = time_of(bytes);
        const picoseconds start = std::max(e.clock(), free_at_);
        free_at_ = std::min(start + std::max(between_starts_, moving), event_key::end);
        e.sleep_until(start + latency_ + moving);
    }

private:
    // Longer than a run may be if it is too long to count.
    picoseconds time_of(std::uint64_t bytes) const {
        if (per_byte_ == 0)
            return 0;
        return static_cast<picoseconds>(
                   std::min(bytes, static_cast<std::uint64_t>(event_key::end / per_byte_ + 1))) *
               per_byte_;
    }

    picoseconds latency_;
    picoseconds between_starts_;
    picoseconds per_byte_;
    picoseconds free_at_ = 0;
};

} // namespace holdfast::sim
