// The queued spinlock: 4 bytes, fair, and waiters spin on lines of their own.
//
//   bits 0-7    held       1 while somebody holds the lock
//   bit  8      pending    one waiter spins on this word, next to get it
//   bits 9-31   tail       code of the queue node of the last in the queue; 0: no queue
//
// The first waiter does without the queue: it sets `pending` and waits on the word for the holder to go. From the
// second on, waiters form an MCS queue of platform nodes (clause H), each spinning on its own node; only the queue's head
// looks at the word, until holder and pending waiter are gone. So a lock of two threads never touches a
// third cache line, and with many threads a hand-over costs two line transfers, not one for each waiter.
//
// Invariants. Only the pending waiter or the queue's head turns `held` from 0 to 1 while `pending` or `tail` isn't 0
// (try_lock and the fast path need all 32 bits 0). Whoever set `pending` clears it in the step in which it sets `held`, or
// takes it back if it met a queue. A queued context's code is in `tail` or in its predecessor's `next`.
//
// A context that has no node left (more nesting than node_depth) spins on the whole word: unfair but right.
//
// Algorithm: MCS (Mellor-Crummey and Scott 1991) compressed by Long and Zijlstra (Linux 4.2, kernel/locking/qspinlock.c;
// bit layout as there for many CPUs). There a release is a store to one byte and the pending waiter's take-over
// a store to two. C++ has no mixed-size atomics, and on AArch64 they have cost the kernel a bug, so here the word is
// one atomic and both are read-modify-writes.
#pragma once

#include <holdfast/word_lock.hpp>

namespace holdfast {

template <class P, class Word, unsigned Shift>
struct qspin_word {
    using atomic = typename P::template atomic<Word>;
    static constexpr Word held = Word{1} << Shift;
    static constexpr Word held_mask = Word{0xff} << Shift;
    static constexpr Word pending = Word{0x100} << Shift;
    static constexpr unsigned tail_shift = Shift + 9;
    static constexpr Word tail_mask = Word{0x7fffff} << tail_shift;
    static constexpr Word all = held_mask | pending | tail_mask;

    static constexpr bool locked(Word value) { return (value & all) != 0; }

    static void lock(atomic& word) {
        P::preempt_disable();
        // relaxed: only a guess for the exchange.
        Word value = word.load(std::memory_order_relaxed);
        // acquire: pairs with unlock's release. The loop ends when the lock is taken or not free: other bits may change.
        while (!locked(value)) {
            if (word.compare_exchange_weak(value, value | held, std::memory_order_acquire,
                                           std::memory_order_relaxed))
                return;
        }
        lock_slow(word, value);
    }

    static bool try_lock(atomic& word) {
        P::preempt_disable();
        Word value = word.load(std::memory_order_relaxed);
        // acquire: pairs with unlock's release.
        if (!locked(value) && word.compare_exchange_strong(value, value | held, std::memory_order_acquire,
                                                           std::memory_order_relaxed))
            return true;
        P::preempt_enable();
        return false;
    }

    static void unlock(atomic& word) {
        // release: pairs with the acquire of whoever takes the lock next.
        word.fetch_sub(held, std::memory_order_release);
        P::preempt_enable();
    }

private:
    [[gnu::cold, gnu::noinline]] static void lock_slow(atomic& word, Word value) {
        typename P::frame frame{"queued_spin_lock_slowpath"};
        // Pending but not held: a hand-over is under way and will be done in a moment. One look is all we give it.
        if ((value & all) == pending) {
            P::pause();
            value = word.load(std::memory_order_relaxed);
        }
        if ((value & all & ~held_mask) == 0) {
            // acquire: pairs with unlock's release, if the holder has gone already.
            value = word.fetch_or(pending, std::memory_order_acquire);
            if ((value & all & ~held_mask) == 0) {
                // acquire: pairs with unlock's release.
                if ((value & held_mask) != 0)
                    P::await(
                        std::memory_order_acquire, [](Word v) { return (v & held_mask) == 0; }, word);
                // relaxed: the lock is ours already, as nobody else may set `held` while we are pending.
                word.fetch_sub(pending - held, std::memory_order_relaxed);
                P::count(event::lock_pending);
                return;
            }
            // Somebody queued or pends. If pending was clear before, it is ours to take back.
            if ((value & pending) == 0)
                word.fetch_and(static_cast<Word>(~pending), std::memory_order_relaxed);
        }
        lock_queued(word);
    }

    static void lock_queued(atomic& word) {
        P::count(event::lock_slowpath);
        typename P::node_slot slot;
        const std::uint32_t code = slot.code();
        if (code == 0) {
            P::count(event::lock_no_node);
            spin_without_node(word);
            return;
        }
        count_depth(slot.depth());
        auto& node = P::node(code); // of the machine, whichever platform stands on it
        node.granted.store(0, std::memory_order_relaxed);
        node.next.store(0, std::memory_order_relaxed);

        // The lock may have come free while we looked for a node.
        Word value = word.load(std::memory_order_relaxed);
        // acquire: pairs with unlock's release.
        if (!locked(value) && word.compare_exchange_strong(value, value | held, std::memory_order_acquire,
                                                           std::memory_order_relaxed))
            return;

        const Word tail = Word{code} << tail_shift;
        // release: whoever reads this tail must find the node as initialised above; pairs with the acquire here.
        // acquire: we write to the node named by the old tail.
        while (!word.compare_exchange_weak(value, (value & ~tail_mask) | tail, std::memory_order_acq_rel,
                                           std::memory_order_relaxed)) {
        }
        const auto previous = static_cast<std::uint32_t>((value & tail_mask) >> tail_shift);
        if (previous != 0) {
            // release: pairs with the acquire with which our predecessor reads its `next`.
            P::node(previous).next.store(code, std::memory_order_release);
            // acquire: pairs with the release with which our predecessor grants us the queue's head.
            P::await(
                std::memory_order_acquire, [](std::uint32_t granted) { return granted != 0; }, node.granted);
        }

        // We are the head: wait for holder and pending waiter to go. acquire: pairs with unlock's release.
        value = P::await(
                    std::memory_order_acquire, [](Word v) { return (v & (held_mask | pending)) == 0; }, word)
                    .value();
        // If nobody is behind us, the queue ends with us. relaxed: we hold the lock by being its head.
        while ((value & tail_mask) == tail) {
            if (word.compare_exchange_weak(value, (value & ~tail_mask) | held, std::memory_order_relaxed,
                                           std::memory_order_relaxed))
                return;
        }
        word.fetch_or(held, std::memory_order_relaxed);
        // acquire: pairs with our successor's release of `next`, whose node we write to.
        const std::uint32_t successor =
            P::await(
                std::memory_order_acquire, [](std::uint32_t next) { return next != 0; }, node.next)
                .value();
        // release: pairs with the successor's acquire of `granted`.
        P::node(successor).granted.store(1, std::memory_order_release);
    }

    static void spin_without_node(atomic& word) {
        for (;;) {
            Word value = P::await(
                             std::memory_order_relaxed, [](Word v) { return !locked(v); }, word)
                             .value();
            // acquire: pairs with unlock's release.
            if (word.compare_exchange_weak(value, value | held, std::memory_order_acquire,
                                           std::memory_order_relaxed))
                return;
        }
    }

    static void count_depth(std::uint32_t depth) {
        if (depth == 1)
            P::count(event::lock_use_node2);
        else if (depth == 2)
            P::count(event::lock_use_node3);
        else if (depth == 3)
            P::count(event::lock_use_node4);
    }
};

template <class P>
using qspinlock = word_lock<P, qspin_word>;

} // namespace holdfast
