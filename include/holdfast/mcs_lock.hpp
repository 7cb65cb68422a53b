// The MCS lock: a queue of waiters, each spinning on a line of its own.
//
// The lock is a pointer to the last waiter's node. To lock is to exchange it for one's own node and, if there
// was a predecessor, to link behind it and wait for its grant; to unlock is to grant the successor, or to
// swing the tail back to null if there is none. Strictly fair; a hand-over costs a bounded number of line
// transfers however many wait. The price is a node for each acquisition, kept by the caller from lock to
// unlock.
//
// Algorithm: Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory
// multiprocessors", ACM TOCS 9(1), 1991.
#pragma once

#include <holdfast/platform.hpp>

namespace holdfast {

template <class P>
class mcs_lock {
public:
    // One acquisition's place in the queue. Must stay where it is from lock to unlock; may then be used
    // again.
    class alignas(P::line_size) node {
        friend class mcs_lock;
        typename P::template atomic<node*> next{nullptr};
        typename P::template atomic<std::uint32_t> granted{0};
    };

    // Holds a lock, and the node for it, for its own lifetime.
    class guard {
    public:
        explicit guard(mcs_lock& lock) : lock_(lock) { lock_.lock(node_); }
        ~guard() { lock_.unlock(node_); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

    private:
        mcs_lock& lock_;
        node node_;
    };

    constexpr mcs_lock() = default;
    mcs_lock(const mcs_lock&) = delete;
    mcs_lock& operator=(const mcs_lock&) = delete;

    // Acquires, with a node that is in no queue.
    void lock(node& mine) {
        P::preempt_disable();
        mine.next.store(nullptr, std::memory_order_relaxed);
        mine.granted.store(0, std::memory_order_relaxed);
        // acquire: pairs with the release of the unlocker that left the tail null, and with that of the
        // predecessor, whose node we write to. release: a successor that reads our address must find our node
        // as initialised.
        node* const previous = tail_.exchange(&mine, std::memory_order_acq_rel);
        if (previous == nullptr)
            return;
        typename P::frame frame{"mcs_spin_lock"};
        // release: pairs with the acquire with which the predecessor reads its `next`.
        previous->next.store(&mine, std::memory_order_release);
        // acquire: pairs with the release in unlock.
        P::await(
            std::memory_order_acquire, [](std::uint32_t granted) { return granted != 0; }, mine.granted);
    }

    // Acquires if the lock is free; false: it is not.
    [[nodiscard]] bool try_lock(node& mine) {
        P::preempt_disable();
        mine.next.store(nullptr, std::memory_order_relaxed);
        node* expected = nullptr;
        // As in lock; but `granted` stays as it is, as we never wait for it.
        if (tail_.compare_exchange_strong(expected, &mine, std::memory_order_acq_rel,
                                          std::memory_order_relaxed))
            return true;
        P::preempt_enable();
        return false;
    }

    // Releases, with the node that locked.
    void unlock(node& mine) {
        // acquire: pairs with the successor's release of our `next`: we write to its node.
        node* successor = mine.next.load(std::memory_order_acquire);
        if (successor == nullptr) {
            node* expected = &mine;
            // release: pairs with the acquire of the next to find the tail null.
            if (tail_.compare_exchange_strong(expected, nullptr, std::memory_order_release,
                                              std::memory_order_relaxed)) {
                P::preempt_enable();
                return;
            }
            // Somebody has taken the tail but has not linked yet. acquire: as above.
            successor = P::await(
                            std::memory_order_acquire, [](node* next) { return next != nullptr; }, mine.next)
                            .value();
        }
        // release: pairs with the successor's acquire in lock.
        successor->granted.store(1, std::memory_order_release);
        P::preempt_enable();
    }

    // Whether somebody holds the lock. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return tail_.load(std::memory_order_relaxed) != nullptr; }

private:
    typename P::template atomic<node*> tail_{nullptr};
};

} // namespace holdfast
