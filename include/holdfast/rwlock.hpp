// The unfair read-write spinlock: one word, one read-modify-write to get in, and whoever comes first when it
// is free has it.
//
// The word is what is left of a bias of 2^20: a reader takes 1 of it, a writer all of it.
//
//   word              state
//   bias              free
//   bias - n          n readers, 0 < n < bias
//   0                 a writer
//   -m                a writer, and m readers that are trying
//   less by k bias    and k more writers that are trying
//
// A reader that leaves the word at 0 or above has the lock, and so has a writer that leaves it at just 0. Who
// fails gives back what he took, waits until the word looks free (for readers: positive; for writers: all of
// the bias), and tries again. There is no queue and no memory of who came first. So readers that overlap keep
// a writer out for as long as they please, a release sends every waiter after the word, and the attempts that
// fail, being writes, take the word from each other and from the holder: on many CPUs that is where the time
// goes (docs/locks/rwlock.md).
//
// Invariants. A writer has the lock only if all else that was taken from the word has been given back. While
// a writer has it, no attempt leaves the word at 0 or above; while readers have it, no writer's attempt
// leaves it at 0. An attempt that fails may make another fail that would have got in; but who comes to a word
// from which nobody takes at that moment gets in, and the waiters wait for just that.
//
// Bounds: fewer than 2^20 threads read or try to at once, and at most 2,047 write or try to.
//
// Algorithm: the read-write spinlock of x86 Linux up to 3.15, from descriptions.
#pragma once

#include <cstdint>

#include <holdfast/platform.hpp>

namespace holdfast {

// A SharedLockable of the standard, in 4 bytes; free when constructed, to be free when destroyed. Not
// recursive for writers; a reader may read again, since waiting writers keep nobody out. To be unlocked by
// the thread that locked it. A holder's thread keeps its CPU where the platform can promise it (platform.hpp,
// clause F), and so does a waiter's.
template <class P>
class rwlock {
    static constexpr std::int32_t bias = 1 << 20;

public:
    constexpr rwlock() = default;
    rwlock(const rwlock&) = delete;
    rwlock& operator=(const rwlock&) = delete;

    // Acquires for writing.
    void lock() {
        P::preempt_disable();
        // acquire: pairs with the releases of unlock and unlock_shared.
        if (word_.fetch_sub(bias, std::memory_order_acquire) != bias)
            lock_slow();
    }

    // Acquires for writing if the lock is free, and writes nothing if it isn't. False: somebody has it or
    // tries to.
    [[nodiscard]] bool try_lock() {
        P::preempt_disable();
        std::int32_t word = word_.load(std::memory_order_relaxed);
        // acquire: as in lock.
        if (word == bias &&
            word_.compare_exchange_strong(word, 0, std::memory_order_acquire, std::memory_order_relaxed))
            return true;
        P::preempt_enable();
        return false;
    }

    // Releases what lock or try_lock acquired.
    void unlock() {
        // release: pairs with the acquire of whoever gets in next, reader or writer.
        word_.fetch_add(bias, std::memory_order_release);
        P::preempt_enable();
    }

    // Acquires for reading.
    void lock_shared() {
        P::preempt_disable();
        // acquire: pairs with unlock's release.
        if (word_.fetch_sub(1, std::memory_order_acquire) <= 0)
            lock_shared_slow();
    }

    // Acquires for reading unless there is a writer. False: one writes, or tries to.
    [[nodiscard]] bool try_lock_shared() {
        P::preempt_disable();
        std::int32_t word = word_.load(std::memory_order_relaxed);
        while (word > 0) {
            // acquire: as in lock_shared.
            if (word_.compare_exchange_weak(word, word - 1, std::memory_order_acquire,
                                            std::memory_order_relaxed))
                return true;
        }
        P::preempt_enable();
        return false;
    }

    // Releases what lock_shared or try_lock_shared acquired.
    void unlock_shared() {
        // release: pairs with the acquire of the writer that gets in next.
        word_.fetch_add(1, std::memory_order_release);
        P::preempt_enable();
    }

    // Whether somebody holds the lock or tries to get it. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return word_.load(std::memory_order_relaxed) != bias; }

private:
    // The caller has taken a writer's bias in vain.
    [[gnu::cold, gnu::noinline]] void lock_slow() {
        typename P::frame frame{"__write_lock_failed"};
        do {
            // relaxed, both: nothing was done under the lock, and the subtraction that follows acquires.
            word_.fetch_add(bias, std::memory_order_relaxed);
            P::await(
                std::memory_order_relaxed, [](std::int32_t word) { return word == bias; }, word_);
            // acquire: as in lock.
        } while (word_.fetch_sub(bias, std::memory_order_acquire) != bias);
    }

    // The caller has taken a reader's 1 in vain.
    [[gnu::cold, gnu::noinline]] void lock_shared_slow() {
        typename P::frame frame{"__read_lock_failed"};
        do {
            // relaxed, both: as in lock_slow.
            word_.fetch_add(1, std::memory_order_relaxed);
            P::await(
                std::memory_order_relaxed, [](std::int32_t word) { return word > 0; }, word_);
            // acquire: as in lock_shared.
        } while (word_.fetch_sub(1, std::memory_order_acquire) <= 0);
    }

    typename P::template atomic<std::int32_t> word_{bias};
};

} // namespace holdfast
