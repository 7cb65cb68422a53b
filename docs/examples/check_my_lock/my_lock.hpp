// A lock of your own: a template over the machine, so that the same lines run natively and on the model.
#pragma once

#include <holdfast/platform.hpp>

template <holdfast::platform P>
class my_lock {
public:
    void lock() {
        while (taken_.exchange(true, std::memory_order_acquire))
            P::await(
                std::memory_order_relaxed, [](bool taken) { return !taken; }, taken_);
    }
    void unlock() { taken_.store(false, std::memory_order_release); }
    bool is_locked() const { return taken_.load(std::memory_order_relaxed); }

private:
    typename P::template atomic<bool> taken_{false};
};
