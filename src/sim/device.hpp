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
        const picoseconds moving = static_cast<picoseconds>(bytes) * per_byte_;
        const picoseconds start = std::max(e.clock(), free_at_);
        free_at_ = start + std::max(between_starts_, moving);
        e.sleep_until(start + latency_ + moving);
    }

private:
    picoseconds latency_;
    picoseconds between_starts_;
    picoseconds per_byte_;
    picoseconds free_at_ = 0;
};

} // namespace holdfast::sim
