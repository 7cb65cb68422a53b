// A lock that lives in some bits of a word.
//
// lockref needs a spinlock and a counter in one 64-bit word; everybody else needs the spinlock alone. So the small
// spinlocks (ticket_lock.hpp, qspinlock.hpp, tas_lock.hpp) are written as algorithms on 32 bits of an atomic word, at a
// shift, that leave the word's other bits alone; `word_lock` makes a lock of its own out of such an algorithm.
//
// An algorithm is a template `A<P, Word, Shift>` with static members only:
//   locked(value)       whether a value of the word says that the lock is held or waited for
//   lock(word)          acquires
//   try_lock(word)      acquires if that needs no waiting; false: it is held or waited for, or the word was changing
//   unlock(word)        releases; the caller holds the lock
// A lock holder's thread keeps its CPU where the platform can promise it (platform.hpp, clause F).
#pragma once

#include <cstdint>

#include <holdfast/platform.hpp>
#include <holdfast/tsan_annotations.hpp>

namespace holdfast {

// A mutual exclusion lock of 4 bytes: Lockable of the standard, so std::scoped_lock and std::unique_lock take it.
// Not recursive; to be unlocked by the thread that locked it; free when constructed, to be free when destroyed.
template <class P, template <class, class, unsigned> class Algorithm>
class word_lock : told_to_tsan<P> {
    using algorithm = Algorithm<P, std::uint32_t, 0>;

public:
    constexpr word_lock() = default;
    word_lock(const word_lock&) = delete;
    word_lock& operator=(const word_lock&) = delete;

    void lock() {
        this->begin_lock();
        algorithm::lock(word_);
        this->end_lock();
    }
    [[nodiscard]] bool try_lock() {
        this->begin_try();
        return this->end_try(algorithm::try_lock(word_));
    }
    void unlock() {
        this->say_unlock();
        algorithm::unlock(word_);
    }

    // Whether somebody holds the lock or waits for it. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return algorithm::locked(word_.load(std::memory_order_relaxed)); }

private:
    typename P::template atomic<std::uint32_t> word_{0};
};

} // namespace holdfast
