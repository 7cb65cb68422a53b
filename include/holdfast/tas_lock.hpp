// The simplest spinlock: test, test-and-set.
//
// One bit. Who waits reads until the bit is clear and then tries to set it; whoever wins, wins. Nothing is fair and
// every release makes all waiters fetch the line at once, but there is nothing to hand over either: a waiter that
// is not running delays nobody. s390 had this lock in 2013, for that reason.
#pragma once

#include <holdfast/word_lock.hpp>

namespace holdfast {

template <class P, class Word, unsigned Shift>
struct tas_word {
    using atomic = typename P::template atomic<Word>;
    static constexpr Word held = Word{1} << Shift;

    static constexpr bool locked(Word value) { return (value & held) != 0; }

    static void lock(atomic& word) {
        P::preempt_disable();
        // acquire: pairs with unlock's release.
        while (locked(word.fetch_or(held, std::memory_order_acquire))) {
            typename P::frame frame{"spin_lock"};
            // relaxed: the fetch_or that follows is what acquires.
            P::await(
                std::memory_order_relaxed, [](Word value) { return !locked(value); }, word);
        }
    }

    static bool try_lock(atomic& word) {
        P::preempt_disable();
        // relaxed: only spares the line a write. acquire: pairs with unlock's release.
        if (!locked(word.load(std::memory_order_relaxed)) &&
            !locked(word.fetch_or(held, std::memory_order_acquire)))
            return true;
        P::preempt_enable();
        return false;
    }

    static void unlock(atomic& word) {
        // release: pairs with the acquire in lock and try_lock.
        word.fetch_and(static_cast<Word>(~held), std::memory_order_release);
        P::preempt_enable();
    }
};

template <class P>
using tas_lock = word_lock<P, tas_word>;

} // namespace holdfast
