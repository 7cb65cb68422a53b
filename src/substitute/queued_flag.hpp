// The MCS lock for callers who have no place to keep a node until they unlock: its queue stands in front of a flag.
//
// An acquisition of an MCS lock needs its node until the lock is let go, by the thread that took it, on whose stack the node
// usually is. A pthread mutex may be unlocked by another thread, and a thread may hold a thousand. So here the queue is left
// as soon as its head has the flag, and the node is needed for no longer than the wait, as in qspinlock and qrwlock.
// What it costs: a hand-over is two line transfers (the flag to the head; the head's place to the next), not one.
#pragma once

#include <cstdint>

#include <holdfast/mcs_lock.hpp>

namespace holdfast::substitute {

// Lockable of the standard. Fair but for try_lock, which may get in between two in the queue. 16 bytes.
template <class P>
class queued_flag {
public:
    void lock() {
        const typename mcs_lock<P>::guard head(queue_);
        do {
            P::await(
                std::memory_order_relaxed, [](std::uint32_t held) { return held == 0; }, held_);
        } while (!take());
    }
    [[nodiscard]] bool try_lock() { return !queue_.is_locked() && take(); }
    // release: pairs with the acquire in take.
    void unlock() { held_.store(0, std::memory_order_release); }

    // Whether somebody holds the lock. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return held_.load(std::memory_order_relaxed) != 0; }

private:
    bool take() {
        std::uint32_t free = 0;
        // acquire: pairs with the release in unlock.
        return held_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }

    mcs_lock<P> queue_;
    typename P::template atomic<std::uint32_t> held_{0};
};

} // namespace holdfast::substitute
