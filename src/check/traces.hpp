// Queue nodes belong to the platform and serve one lock after another. A lock must do with a node as the last
// one left it.
#pragma once

#include <cstdint>

#include "model/platform.hpp"

namespace holdfast::model {

// Fills the nodes of so many threads with what none of them can use. For a scenario's constructor.
inline void leave_traces(unsigned threads) {
    for (std::uint32_t code = 1; code <= threads * platform::node_depth; ++code) {
        platform::node(code).next.store(~0u, std::memory_order_relaxed);
        platform::node(code).prev.store(~0u, std::memory_order_relaxed);
        platform::node(code).granted.store(~0u, std::memory_order_relaxed);
    }
}

} // namespace holdfast::model
