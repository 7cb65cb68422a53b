// The queued spinlock of virtual machines: who has waited in the queue for long halts its CPU, and is woken.
//
// A queue is only as fast as the next in it, and under a hypervisor the next may be a CPU that does not run. So here
// waiters spin for a bounded while and then give their (virtual) CPU away; and as a wake-up takes long, a thread that comes
// while nobody in the queue is about to take the lock may take it first.
//
//   bits 0-7    held       1 while somebody holds the lock; 3: and the queue's head sleeps, whoever unlocks wakes it
//   bit  8      pending    the queue's head spins on this word: nobody else may take the lock
//   bits 9-31   tail       code of the queue node of the last in the queue; 0: no queue
//   sleeper_               the thread to wake. Valid while `held` is 3: written before that by the head, or for it by the holder
//
//   node.granted   0 waits, spinning    1 waits, halted    2 is the queue's head
//   node.prev      the thread that waits
//
// Only the queue's head becomes halted on the word, and sets 3 for itself. A waiter further back halts on its node; who makes
// it the head meanwhile, being the holder, does not wake it: it sets 3, so that its own unlock will. Thus a halted waiter is
// woken once, when the lock is free. `held` leaves 3 in the step that releases the lock, so the sleeper is read before.
//
// Algorithm: Linux 4.2 (Long, Zijlstra: kernel/locking/qspinlock_paravirt.h), with the stealing of 4.5, from its description.
// Differences: there the lock has 4 bytes, and a global hash table from locks to sleepers; here the sleeper is beside the word.
// There a waiter halts early if the one before it is halted. The word is one atomic, as in qspinlock.hpp.
//
// On platforms whose threads keep their CPUs (platform.hpp, clause F) halting stops the CPU; natively the thread sleeps.
#pragma once

#include <chrono>
#include <cstdint>

#include <holdfast/platform.hpp>

namespace holdfast {

struct pv_qspin_rules {
    // How long a waiter spins before it halts. The kernel looks 32,768 times: with a pause of 10 cycles that is about 150 us, with
    // one of 140 cycles, as on servers since Skylake, 1.5 ms.
    std::uint32_t spin_us = 1500;
    // Whether newcomers may take the lock past a queue whose head isn't spinning on it.
    bool steals = true;
};

// Lockable of the standard. 8 bytes; not recursive; to be unlocked by the thread that locked it; may be destroyed by
// whoever has unlocked it last.
template <class P, pv_qspin_rules Rules = pv_qspin_rules{}>
class pv_qspinlock {
    using word = std::uint32_t;
    static constexpr word held = 1;
    static constexpr word slow = 2;
    static constexpr word held_mask = 0xff;
    static constexpr word pending = 0x100;
    static constexpr unsigned tail_shift = 9;
    static constexpr word tail_mask = word{0x7fffff} << tail_shift;

    static constexpr std::uint32_t spinning = 0; // node.granted
    static constexpr std::uint32_t halted = 1;
    static constexpr std::uint32_t head = 2;

public:
    constexpr pv_qspinlock() = default;
    pv_qspinlock(const pv_qspinlock&) = delete;
    pv_qspinlock& operator=(const pv_qspinlock&) = delete;

    void lock() {
        P::preempt_disable();
        word unused = 0;
        // acquire: pairs with unlock's release.
        if (!word_.compare_exchange_strong(unused, held, std::memory_order_acquire,
                                           std::memory_order_relaxed))
            lock_slow();
    }

    [[nodiscard]] bool try_lock() {
        P::preempt_disable();
        word unused = 0;
        // acquire: pairs with unlock's release.
        if (word_.compare_exchange_strong(unused, held, std::memory_order_acquire, std::memory_order_relaxed))
            return true;
        P::preempt_enable();
        return false;
    }

    void unlock() {
        // acquire: pairs with the release with which somebody set `slow`, having written sleeper_.
        word value = word_.load(std::memory_order_acquire);
        while ((value & slow) == 0) {
            // release: pairs with the acquire of whoever takes the lock next.
            if (word_.compare_exchange_weak(value, value & ~held_mask, std::memory_order_release,
                                            std::memory_order_acquire)) {
                P::preempt_enable();
                return;
            }
        }
        unlock_slow();
    }

    // Whether somebody holds the lock or waits for it. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return word_.load(std::memory_order_relaxed) != 0; }

private:
    using deadline = typename P::deadline;

    static deadline patience() { return deadline::after(std::chrono::microseconds(Rules.spin_us)); }
    static constexpr bool takeable(word value) { return (value & (held_mask | pending)) == 0; }

    [[gnu::cold, gnu::noinline]] void lock_slow() {
        typename P::frame frame{"__pv_queued_spin_lock_slowpath"};
        if (Rules.steals && steal())
            return;
        P::count(event::lock_slowpath);
        typename P::node_slot slot;
        if (slot.code() == 0) {
            P::count(event::lock_no_node);
            spin_without_node();
            return;
        }
        lock_queued(slot.code());
    }

    // False: there is no queue, or its head is about to take the lock.
    bool steal() {
        for (;;) {
            word value = word_.load(std::memory_order_relaxed);
            while (takeable(value)) {
                // acquire: pairs with unlock's release.
                if (word_.compare_exchange_weak(value, value | held, std::memory_order_acquire,
                                                std::memory_order_relaxed))
                    return true;
            }
            if ((value & tail_mask) == 0 || (value & pending) != 0)
                return false;
            P::await(
                std::memory_order_relaxed,
                [](word v) { return takeable(v) || (v & tail_mask) == 0 || (v & pending) != 0; }, word_);
        }
    }

    void lock_queued(std::uint32_t code) {
        auto& node = P::node(code);
        node.granted.store(spinning, std::memory_order_relaxed);
        node.next.store(0, std::memory_order_relaxed);
        node.prev.store(P::self(), std::memory_order_relaxed);

        const word tail = word{code} << tail_shift;
        word value = word_.load(std::memory_order_relaxed);
        // release: whoever reads this tail must find the node as initialised above; pairs with the acquires here and in take.
        // acquire: we write to the node named by the old tail.
        while (!word_.compare_exchange_weak(value, (value & ~tail_mask) | tail, std::memory_order_acq_rel,
                                            std::memory_order_relaxed)) {
        }
        const word previous = (value & tail_mask) >> tail_shift;
        if (previous != 0) {
            // relaxed: our predecessor finds our node by this, but has read our tail before, in take, with acquire.
            P::node(previous).next.store(code, std::memory_order_relaxed);
            wait_in_queue(node);
        }
        if (!wait_as_head(tail))
            return; // nobody is behind us
        // relaxed: see there.
        const std::uint32_t successor =
            P::await(
                std::memory_order_relaxed, [](std::uint32_t next) { return next != 0; }, node.next)
                .value();
        hand_on(P::node(successor));
    }

    // Until we are the queue's head.
    void wait_in_queue(queue_node<P>& node) {
        const auto granted = [](std::uint32_t state) { return state == head; };
        const deadline limit = patience();
        // acquire: pairs with the release of hand_on.
        if (P::await(std::memory_order_acquire, granted, stop_when<deadline>{.deadline = &limit}, relax{},
                     node.granted))
            return;
        std::uint32_t state = spinning;
        // acquire: pairs with the release of hand_on, if that came first.
        if (!node.granted.compare_exchange_strong(state, halted, std::memory_order_relaxed,
                                                  std::memory_order_acquire))
            return;
        do {
            P::park();
            // acquire: pairs with the release of hand_on.
        } while (!granted(node.granted.load(std::memory_order_acquire)));
    }

    // Until the lock is ours. False: the queue has ended with us.
    bool wait_as_head(word tail) {
        for (;;) {
            word_.fetch_or(pending, std::memory_order_relaxed);
            const deadline limit = patience();
            const auto seen = P::await(
                std::memory_order_relaxed, [](word v) { return (v & held_mask) == 0; },
                stop_when<deadline>{.deadline = &limit}, relax{}, word_);
            if (seen)
                return take(seen.value(), tail);
            // We are to sleep. Whoever finds the lock free from now on may take it.
            word_.fetch_and(~pending, std::memory_order_relaxed);
            sleeper_.store(P::self(), std::memory_order_relaxed);
            // release: pairs with the acquire of unlock, which reads sleeper_. If the lock is free it is ours now; take
            // acquires.
            const word value = word_.fetch_or(held | slow, std::memory_order_release);
            if ((value & held_mask) == 0)
                return take(value, tail);
            P::park();
        }
    }

    // As the head, the lock being free or already ours, `value` seen last. False: the queue has ended with us.
    bool take(word value, word tail) {
        for (;;) {
            const bool last = (value & tail_mask) == tail;
            // acquire: pairs with unlock's release.
            if (word_.compare_exchange_weak(value, (last ? 0 : value & tail_mask) | held,
                                            std::memory_order_acquire, std::memory_order_relaxed))
                return !last;
        }
    }

    // Makes a waiter the queue's head. We hold the lock.
    void hand_on(queue_node<P>& to) {
        std::uint32_t state = spinning;
        // release: pairs with the acquires of wait_in_queue.
        if (to.granted.compare_exchange_strong(state, head, std::memory_order_release,
                                               std::memory_order_relaxed))
            return;
        // It has halted, and nobody but us changes that. Once it is the head it may write sleeper_ itself.
        sleeper_.store(to.prev.load(std::memory_order_relaxed), std::memory_order_relaxed);
        // release: pairs with the acquires of wait_in_queue.
        to.granted.store(head, std::memory_order_release);
        // relaxed: it is our own unlock that reads it.
        word_.fetch_or(slow, std::memory_order_relaxed);
    }

    [[gnu::cold, gnu::noinline]] void unlock_slow() {
        // Nobody changes it as long as we hold the lock. From the release on the lock may be gone.
        const thread_id sleeper = sleeper_.load(std::memory_order_relaxed);
        // release: pairs with the acquire of whoever takes the lock next.
        word_.fetch_and(~held_mask, std::memory_order_release);
        P::unpark(sleeper);
        P::preempt_enable();
    }

    void spin_without_node() {
        for (;;) {
            word value = P::await(
                             std::memory_order_relaxed, [](word v) { return takeable(v); }, word_)
                             .value();
            // acquire: pairs with unlock's release.
            if (word_.compare_exchange_weak(value, value | held, std::memory_order_acquire,
                                            std::memory_order_relaxed))
                return;
        }
    }

    typename P::template atomic<word> word_{0};
    typename P::template atomic<thread_id> sleeper_{nobody};
};

} // namespace holdfast
