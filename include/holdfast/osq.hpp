// The optimistic spin queue: an MCS queue that one can leave, with a tail of 4 bytes.
//
// Sleeping locks let one thread at a time spin for a lock whose owner is running; the others queue here, each
// on its own line. Nobody must spin when the scheduler wants the CPU, so a waiter may leave the queue from
// the middle, which needs links both ways and a protocol between neighbours:
//   A  make the predecessor forget us: exchange its `next` from us to 0; or notice that we were granted after
//      all;
//   B  find our successor, or swing the tail back to the predecessor if we were the last;
//   C  link predecessor and successor to each other.
// A neighbour that leaves at the same time has set its `next` to 0 (step B) and so makes ours wait: of two,
// one goes first.
//
// 32-bit codes of platform nodes (clause H) make links and tail small: struct rw_semaphore and struct mutex
// of Linux lost 4 bytes each by that in 3.16, which counts in an inode. To be used under `P::no_preempt`.
//
// Algorithm: Linux 3.15, kernel/locking/osq_lock.c (Low, Zijlstra, Long), from its description.
#pragma once

#include <holdfast/platform.hpp>

namespace holdfast {

template <class P>
class osq_lock {
public:
    constexpr osq_lock() = default;
    osq_lock(const osq_lock&) = delete;
    osq_lock& operator=(const osq_lock&) = delete;

    // Waits for one's turn to spin, at most until the deadline, if there is one. `slot` is the caller's, kept until
    // unlock. False: the CPU is wanted by somebody else, or it is too late, or the slot is empty; the caller is not in the
    // queue.
    [[nodiscard]] bool lock(typename P::node_slot& slot, const typename P::deadline* until = nullptr) {
        const std::uint32_t mine = slot.code();
        if (mine == 0)
            return false;
        queue_node<P>& node = P::node(mine);
        node.granted.store(0, std::memory_order_relaxed);
        node.next.store(0, std::memory_order_relaxed);
        // acquire: pairs with the release of the unlocker that left the tail 0; and we write to the node it
        // names. release: who reads our code must find our node as initialised.
        const std::uint32_t previous = tail_.exchange(mine, std::memory_order_acq_rel);
        if (previous == 0)
            return true;
        typename P::frame frame{"osq_lock"};
        node.prev.store(previous, std::memory_order_relaxed);
        // release: the predecessor may write our `prev` once it has read this, and must not be overtaken by
        // the store above.
        P::node(previous).next.store(mine, std::memory_order_release);
        // acquire: pairs with the release in unlock.
        const auto granted = P::await(
            std::memory_order_acquire, [](std::uint32_t value) { return value != 0; },
            stop_when<typename P::deadline>{.resched = true, .deadline = until}, relax{}, node.granted);
        return granted ? true : leave(mine, node);
    }

    // Lets the next waiter spin. `slot` is the one that locked.
    void unlock(typename P::node_slot& slot) {
        const std::uint32_t mine = slot.code();
        std::uint32_t expected = mine;
        // release: pairs with lock's acquire by the next to find the tail 0. acquire: pairs with the release
        // of a successor that left and moved the tail back to us: it wrote to our node, which we shall use
        // again.
        if (tail_.compare_exchange_strong(expected, 0, std::memory_order_acq_rel, std::memory_order_relaxed))
            return;
        const std::uint32_t successor = take_successor(mine, P::node(mine), 0);
        if (successor != 0) {
            // release: pairs with the acquire of the successor's wait.
            P::node(successor).granted.store(1, std::memory_order_release);
        }
    }

    // Whether somebody spins or waits to spin. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return tail_.load(std::memory_order_relaxed) != 0; }

private:
    // Steps A to C. True: granted meanwhile, so we hold the lock after all.
    [[gnu::cold, gnu::noinline]] bool leave(std::uint32_t mine, queue_node<P>& node) {
        std::uint32_t previous = node.prev.load(std::memory_order_relaxed);
        for (;;) {
            // A
            std::uint32_t expected = mine;
            // relaxed: against the predecessor's take_successor only one can win, and a 0 says nothing else.
            if (P::node(previous).next.compare_exchange_strong(expected, 0, std::memory_order_relaxed,
                                                               std::memory_order_relaxed))
                break;
            // acquire: pairs with the release in unlock. Otherwise wait for the predecessor to be done with
            // leaving: it gives us another one, or grants, or links again.
            const auto seen = P::await(
                std::memory_order_acquire,
                [mine, previous](std::uint32_t granted, std::uint32_t prev, std::uint32_t next) {
                    return granted != 0 || prev != previous || next == mine;
                },
                node.granted, node.prev, P::node(previous).next);
            if (seen.template value<0>() != 0)
                return true;
            previous = seen.template value<1>();
        }
        // B
        const std::uint32_t successor = take_successor(mine, node, previous);
        // C
        if (successor != 0) {
            // relaxed: who leaves by way of this link waits for the next one first.
            P::node(successor).prev.store(previous, std::memory_order_relaxed);
            // release: pairs with the acquire with which the predecessor reads its `next`: it writes to that
            // node.
            P::node(previous).next.store(successor, std::memory_order_release);
        }
        return false;
    }

    // Takes the successor out of our `next`, so that it can't leave from under us; or, if we are the last,
    // moves the tail back to `previous` (0: to free) and returns 0.
    std::uint32_t take_successor(std::uint32_t mine, queue_node<P>& node, std::uint32_t previous) {
        for (;;) {
            std::uint32_t expected = mine;
            // release: pairs with lock's acquire by the next to come. acquire: as in unlock.
            if (tail_.load(std::memory_order_relaxed) == mine &&
                tail_.compare_exchange_strong(expected, previous, std::memory_order_acq_rel,
                                              std::memory_order_relaxed))
                return 0;
            // acquire: pairs with the successor's release of our `next`: we write to its node.
            // It may have been 0 because the successor is on its way in, or out.
            if (node.next.load(std::memory_order_relaxed) != 0) {
                const std::uint32_t successor = node.next.exchange(0, std::memory_order_acquire);
                if (successor != 0)
                    return successor;
            }
            P::await(
                std::memory_order_relaxed,
                [mine](std::uint32_t tail, std::uint32_t next) { return tail == mine || next != 0; }, tail_,
                node.next);
        }
    }

    typename P::template atomic<std::uint32_t> tail_{0};
};

} // namespace holdfast
