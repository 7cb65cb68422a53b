// A reference count and the spinlock that guards its object, in 8 bytes.
//
//   bits 32-63  the lock (ticket_lock.hpp, qspinlock.hpp or tas_lock.hpp, at shift 32)
//   bits 0-31   the count, signed; negative: the object is dead
//
// While nobody holds the lock, counting is one compare-exchange of the whole word: it fails if the lock is
// taken meanwhile. While somebody holds it, counting takes the lock as well. So the holder of the lock may
// look at the count and decide (that the object dies, say) without a race, and everybody else counts without
// a lock.
//
// A failed exchange means that somebody else has progressed, so the loop can't hang as a whole, but one
// thread can fail for ever; after `retry_limit` failures it takes the lock, where it gets its turn. Whether
// to pause between a failure and the next try depends on the machine (docs/replay.md shows three), so it is
// policy here.
//
// Ordering. Counting up needs none: who has a reference may hand on another. Counting down releases, so that
// whoever finds the last reference gone sees what the others did with theirs. put_or_lock's last reference
// and the lock's own acquire see to the other half.
//
// Algorithm: Linux 3.12, lib/lockref.c (Long, Torvalds), retry limit from 5.3, from its description.
#pragma once

#include <cstdint>

#include <holdfast/qspinlock.hpp>
#include <holdfast/tas_lock.hpp>
#include <holdfast/ticket_lock.hpp>

namespace holdfast {

// What the kernel has tried with lockref, as choices.
struct lockref_policy {
    bool compare_exchange = true;     // false: every operation takes the lock, as before 3.12
    std::uint32_t failure_pauses = 0; // pauses between a failed exchange and the next
    std::uint32_t retry_limit = 100;  // failures before taking the lock; 100 is the kernel's since 5.3
    std::memory_order get_order = std::memory_order_relaxed;
    std::memory_order put_order = std::memory_order_release;
};

template <class P, lockref_policy Policy = lockref_policy{},
          template <class, class, unsigned> class Algorithm = qspin_word>
class lockref {
    using word = std::uint64_t;
    using spinlock = Algorithm<P, word, 32>;
    static constexpr word count_mask = 0xffffffff;

public:
    static constexpr std::int32_t dead = -128; // what mark_dead leaves, as in the kernel

    // A count of `references`, the lock free.
    constexpr explicit lockref(std::int32_t references = 1) : word_{static_cast<std::uint32_t>(references)} {}
    lockref(const lockref&) = delete;
    lockref& operator=(const lockref&) = delete;

    // The lock. What it guards includes the count: see count and mark_dead.
    void lock() { spinlock::lock(word_); }
    [[nodiscard]] bool try_lock() { return spinlock::try_lock(word_); }
    void unlock() { spinlock::unlock(word_); }

    // The count now; exact only for the lock's holder.
    [[nodiscard]] std::int32_t count() const { return count_of(word_.load(std::memory_order_relaxed)); }

    // One more reference, for a caller that knows the object to be alive: the count isn't negative.
    void get() {
        typename P::frame frame{"lockref_get"};
        update<Policy.get_order>([](std::int32_t) { return true; }, +1);
    }

    // One more unless there is none: false then. Dead objects count as having none.
    [[nodiscard]] bool get_not_zero() {
        typename P::frame frame{"lockref_get_not_zero"};
        return update<Policy.get_order>([](std::int32_t count) { return count > 0; }, +1);
    }

    // One more unless the object is dead: false then.
    [[nodiscard]] bool get_not_dead() {
        typename P::frame frame{"lockref_get_not_dead"};
        return update<Policy.get_order>([](std::int32_t count) { return count >= 0; }, +1);
    }

    // One more and true; or, if there is none, the lock and false.
    [[nodiscard]] bool get_or_lock() {
        typename P::frame frame{"lockref_get_or_lock"};
        return update_or_lock<Policy.get_order>([](std::int32_t count) { return count > 0; }, +1);
    }

    // One less, unless there is none to give back: false then.
    bool put() {
        typename P::frame frame{"lockref_put"};
        return update<Policy.put_order>([](std::int32_t count) { return count > 0; }, -1);
    }

    // One less and true; or, if it would be the last (or there is none), the lock and false, the count as it
    // was: the caller decides about the object.
    [[nodiscard]] bool put_or_lock() {
        typename P::frame frame{"lockref_put_or_lock"};
        return update_or_lock<Policy.put_order>([](std::int32_t count) { return count > 1; }, -1);
    }

    // Declares the object dead. The caller holds the lock.
    void mark_dead() {
        word value = word_.load(std::memory_order_relaxed);
        // relaxed: published by unlock. A loop because waiters for the lock change the other half.
        while (!word_.compare_exchange_weak(value, with_count(value, dead), std::memory_order_relaxed,
                                            std::memory_order_relaxed)) {
        }
    }

private:
    enum class outcome : std::uint8_t { done, refused, contended };

    static constexpr std::int32_t count_of(word value) {
        return static_cast<std::int32_t>(static_cast<std::uint32_t>(value & count_mask));
    }
    static constexpr word with_count(word value, std::int32_t count) {
        return (value & ~count_mask) | static_cast<std::uint32_t>(count);
    }

    // Changes the count by `step` without the lock, if `allowed(count)`.
    template <std::memory_order Order, class Allowed>
    outcome try_update(Allowed allowed, std::int32_t step) {
        word value = word_.load(std::memory_order_relaxed);
        for (std::uint32_t failures = 0; failures < Policy.retry_limit; ++failures) {
            if (spinlock::locked(value))
                return outcome::contended;
            if (!allowed(count_of(value)))
                return outcome::refused;
            // The word as one number: up to a fifth faster than its halves apart. No carry, as only a count of -1 has one.
            const word changed = value + static_cast<word>(std::int64_t{step});
            // Order: see the head of this file. The failure order is relaxed: a refusal promises nothing.
            if (word_.compare_exchange_strong(value, changed, Order, std::memory_order_relaxed))
                return outcome::done;
            for (std::uint32_t i = 0; i < Policy.failure_pauses; ++i)
                P::pause();
        }
        return outcome::contended;
    }

    // The same for the holder of the lock.
    template <class Allowed>
    bool update_locked(Allowed allowed, std::int32_t step) {
        word value = word_.load(std::memory_order_relaxed);
        do {
            if (!allowed(count_of(value)))
                return false;
            // relaxed: the lock orders.
        } while (!word_.compare_exchange_weak(value, with_count(value, count_of(value) + step),
                                              std::memory_order_relaxed, std::memory_order_relaxed));
        return true;
    }

    template <std::memory_order Order, class Allowed>
    bool update(Allowed allowed, std::int32_t step) {
        if constexpr (Policy.compare_exchange) {
            const outcome result = try_update<Order>(allowed, step);
            if (result != outcome::contended)
                return result == outcome::done;
        }
        lock();
        const bool changed = update_locked(allowed, step);
        unlock();
        return changed;
    }

    // True: changed. False: not allowed, and the caller holds the lock now.
    template <std::memory_order Order, class Allowed>
    bool update_or_lock(Allowed allowed, std::int32_t step) {
        if constexpr (Policy.compare_exchange) {
            if (try_update<Order>(allowed, step) == outcome::done)
                return true;
        }
        lock();
        if (!update_locked(allowed, step))
            return false;
        unlock();
        return true;
    }

    typename P::template atomic<word> word_;
};

} // namespace holdfast
