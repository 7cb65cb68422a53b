// The ticket lock: first come, first served, by two counters.
//
// 32 bits: the upper half is the next ticket to be drawn, the lower half the ticket now served. To lock is to draw a
// ticket with one fetch_add and to wait until it is served; to unlock is to serve the next. Strictly fair, one
// read-modify-write to acquire; but every release makes every waiter fetch the line again, so with n waiters the
// lock hands over in a time that grows with n (Boyd-Wickizer, Kaashoek, Morris, Zeldovich: "Non-scalable locks are
// dangerous", OLS 2012; docs/locks/ticket_lock.md shows it), and a waiter that isn't running holds up all behind it.
//
// Algorithm: Reed and Kanodia 1979 (sequencer and event count); x86 Linux from 2.6.25 to 4.1.
//
// Bounds: at most 65,535 threads hold or wait at once.
// The halves share one atomic because try_lock must see both at one time. Drawing adds to the upper half, where an
// overflow falls off the end of the 32 bits; where the word goes on above (Shift + 32 < its width), it would not, so
// this algorithm lives at the upper end of a word. Serving adds to the lower half, and must keep the overflow from the
// upper: only the holder serves, so it knows the value it adds to.
#pragma once

#include <holdfast/word_lock.hpp>

namespace holdfast {

template <class P, class Word, unsigned Shift>
struct ticket_word {
    static_assert(Shift + 32 == sizeof(Word) * 8, "the ticket counter must end where the word ends");
    using atomic = typename P::template atomic<Word>;
    static constexpr Word serve_one = Word{1} << Shift;
    static constexpr Word draw_one = Word{1} << (Shift + 16);

    static constexpr std::uint16_t serving(Word value) { return static_cast<std::uint16_t>(value >> Shift); }
    static constexpr std::uint16_t next(Word value) {
        return static_cast<std::uint16_t>(value >> (Shift + 16));
    }
    static constexpr bool locked(Word value) { return serving(value) != next(value); }

    static void lock(atomic& word) {
        P::preempt_disable();
        // acquire: pairs with unlock's release when nobody is ahead.
        const Word drawn = word.fetch_add(draw_one, std::memory_order_acquire);
        const std::uint16_t ticket = next(drawn);
        if (serving(drawn) == ticket)
            return;
        typename P::frame frame{"spin_lock"};
        // acquire: pairs with unlock's release.
        P::await(
            std::memory_order_acquire, [ticket](Word value) { return serving(value) == ticket; }, word);
    }

    static bool try_lock(atomic& word) {
        P::preempt_disable();
        // relaxed: the exchange that follows acquires, and fails if anything has changed since.
        Word value = word.load(std::memory_order_relaxed);
        // acquire: pairs with unlock's release.
        if (!locked(value) &&
            word.compare_exchange_strong(value, static_cast<Word>(value + draw_one),
                                         std::memory_order_acquire, std::memory_order_relaxed))
            return true;
        P::preempt_enable();
        return false;
    }

    static void unlock(atomic& word) {
        // relaxed: nobody but the holder changes `serving`.
        const Word value = word.load(std::memory_order_relaxed);
        const Word step =
            serving(value) == 0xffff ? static_cast<Word>(Word{0} - 0xffff * serve_one) : serve_one;
        // release: pairs with the acquire of the next to lock.
        word.fetch_add(step, std::memory_order_release);
        P::preempt_enable();
    }
};

template <class P>
using ticket_lock = word_lock<P, ticket_word>;

} // namespace holdfast
