// The mutex to take home: one word that names the owner and the first who waits, short spinning while the owner runs,
// sleeping otherwise, and a hand-off to whoever has waited for 4 ms.
//
//   bits 34..63  first    who waits first; the others follow in wait records (wait_line.hpp). Nobody: nobody waits
//   bits 4..33   owner    who holds the mutex; nobody: it is free
//   bit  3  spinning      a newcomer spins for the mutex: unlock need not wake anybody
//   bit  2  handoff       the first waiter has waited for long: unlock passes the mutex on to it
//   bit  1  woken         the first waiter is awake: unlock need not wake it
//   bit  0  busy          the line is being changed, by the thread that `first` names meanwhile
//
// A newcomer takes the mutex if it is free, whoever waits. If not it spins, one at a time, for as long as the owner runs, but
// for 20 us at most; then it joins the line and sleeps. Unlock frees the mutex and wakes the first waiter, unless somebody
// is awake already and on the way: so there is one wake-up for many sections, and at most two threads compete. The first
// waiter competes from its place: woken in vain it spins, then sleeps again, still the first. Once it has waited for 4 ms
// it asks for the hand-off, and the next unlock makes it the owner. It wakes by itself for that, should nobody wake it.
//
//   operation        word before                               after
//   lock, try_lock   free, any                                 mine, the same
//   lock             held, line not busy                       held, I am the last in line (by way of busy)
//   unlock           mine, nobody waits                        free
//   unlock           mine, some wait, spinning or woken        free, the same
//   unlock           mine, some wait                           free, woken; then wakes the first
//   unlock           mine, handoff                             the first waiter's, which is out of the line; then wakes it
//
// Invariants.
//  - Free, and the line not empty, and not busy: then woken or spinning, so somebody is on the way. A spinner gives up, and
//    the first waiter goes to sleep again or leaves, only in a step that finds the mutex held.
//  - Handoff only while held: who asks finds it held, and unlock doesn't free it then.
//  - Unlock waits while the line is busy. So what was held stays held while a newcomer joins, and is seen by its unlock.
//  - `spinning` and `woken` are advice: to clear them costs a wake-up. To leave them set costs a wait of 4 ms at most.
//
// Destroying it. What unlock does last to the mutex is the step that frees it or passes it on: it knows by then whom to
// wake, and wakes a thread, not an address of the mutex. Who gets the mutex changes the line while it holds it. So
// whoever has locked it as the last one may unlock it, destroy it and free its memory, although the unlock of the owner
// before has not returned yet (holdfast check mutex, "destroyed by its last user").
//
// Fork. The child has none of its parent's other threads, but their traces in the word, even of a change to the line that
// is half done. Their records are wiped, and none of them is ever used again. So a thread that finds one of them first in
// line, or changing it, knows that no one in line is left, and begins a new line. A mutex that no other thread held
// works in the child, and so does one that the forking thread holds.
//
// Fairness. Newcomers may pass those in line; nobody is passed over for longer than 4 ms, the section of the owner at that
// time, and the same of all who came before it and are still in line.
//
// Algorithm: queue in the lock's word from WTF::WordLock (Pizlo 2015), the wake-up that isn't repeated from Go's sync.Mutex
// (Vyukov 2013), owner spinning from Linux's mutex (Zijlstra 2009), hand-off by time from its rwsem (Long 2019). Threads'
// wait records in place of stack nodes make 8 bytes do, and let a wake-up be late.
#pragma once

#include <chrono>
#include <cstdint>

#include <holdfast/native/native.hpp>
#include <holdfast/platform.hpp>
#include <holdfast/thread_annotations.hpp>
#include <holdfast/timed_wait.hpp>
#include <holdfast/tsan_annotations.hpp>
#include <holdfast/wait_line.hpp>

namespace holdfast {

// TimedLockable of the standard. Not recursive; to be unlocked by the thread that locked it. Free when constructed, to be
// free when destroyed. 8 bytes. Thread identities must be below 2^30.
template <class P>
class HOLDFAST_CAPABILITY("mutex") basic_mutex : told_to_tsan<P> {
    using word = std::uint64_t;
    using deadline = typename P::deadline;
    static constexpr word busy = 1;
    static constexpr word woken = 2;
    static constexpr word handoff = 4;
    static constexpr word spinning = 8;
    static constexpr unsigned owner_shift = 4;
    static constexpr unsigned first_shift = 34;
    static constexpr word owner_mask = ((word{1} << 30) - 1) << owner_shift;
    static constexpr word first_mask = ~word{0} << first_shift;

    static constexpr word owned_by(thread_id thread) { return word{thread} << owner_shift; }
    static constexpr word with_first(thread_id thread) { return word{thread} << first_shift; }
    static constexpr thread_id owner_of(word value) {
        return static_cast<thread_id>((value & owner_mask) >> owner_shift);
    }
    static constexpr thread_id first_of(word value) { return static_cast<thread_id>(value >> first_shift); }
    static constexpr bool held(word value) { return (value & owner_mask) != 0; }

    static constexpr std::chrono::microseconds longest_spin{20};
    static constexpr std::chrono::milliseconds handoff_after{4};

public:
    constexpr basic_mutex() = default;
    basic_mutex(const basic_mutex&) = delete;
    basic_mutex& operator=(const basic_mutex&) = delete;

    // Acquires. The caller doesn't hold the mutex.
    void lock() HOLDFAST_ACQUIRE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        typename P::frame frame{"mutex_lock"};
        this->begin_lock();
        if (!try_take_unused())
            lock_slow(std::chrono::nanoseconds::max());
        this->end_lock();
    }

    // Acquires if the mutex is free, whoever waits. False: it is held.
    [[nodiscard]] bool try_lock() HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        this->begin_try();
        word value = 0;
        bool got = false;
        do {
            // acquire: pairs with the releases of unlock and unlock_slow.
            got = word_.compare_exchange_weak(value, value | owned_by(P::self()), std::memory_order_acquire,
                                              std::memory_order_relaxed);
        } while (!got && !held(value));
        return this->end_try(got);
    }

    // Acquires within `wait`; tries once if that is not positive. False: it did not get the mutex by then.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& wait)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        this->begin_try();
        return this->end_try(try_take_unused() || lock_slow(to_wait(wait)));
    }
    // Acquires before `moment`; tries once if that has passed. False: it did not get the mutex by then.
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& moment)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return wait_until(moment, [this](std::chrono::nanoseconds wait) { return try_lock_for(wait); });
    }

    // Releases. The caller holds the mutex.
    void unlock() HOLDFAST_RELEASE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        typename P::frame frame{"mutex_unlock"};
        this->say_unlock();
        word value = owned_by(P::self()); // nearer than the word, which a load would have to wait for
        // release: pairs with the acquire of whoever takes the mutex next.
        if (!word_.compare_exchange_strong(value, 0, std::memory_order_release, std::memory_order_relaxed))
            unlock_slow();
    }

    // Whether anybody holds the mutex. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return held(word_.load(std::memory_order_relaxed)); }

    // Whether the caller holds the mutex. In a forked child also whether the thread that forked it does, whose identity was
    // another there.
    [[nodiscard]] bool is_mine() const {
        // Before the look at the word: a thread that has no identity yet may get that of the owner it has seen there.
        const thread_id me = P::self();
        const thread_id owner = owner_of(word_.load(std::memory_order_relaxed));
        return owner == me || (owner != nobody && P::of_before_fork(owner));
    }

private:
    bool try_take_unused() {
        word unused = 0;
        // acquire: pairs with the releases of unlock and unlock_slow.
        return word_.compare_exchange_strong(unused, owned_by(P::self()), std::memory_order_acquire,
                                             std::memory_order_relaxed);
    }

    // False: `wait` is over.
    [[gnu::cold, gnu::noinline]] bool lock_slow(std::chrono::nanoseconds wait) {
        typename P::frame frame{"mutex_lock_slow"};
        typename P::waiting waiting{this, waited_for::mutex, false};
        const deadline until =
            wait == std::chrono::nanoseconds::max() ? deadline::never() : deadline::after(wait);
        if (spin(until))
            return waiting.over(true);
        // Who waits for less gives up before it may ask for the hand-off.
        const deadline patience = wait < handoff_after ? until : deadline::after(handoff_after);
        return waiting.over(join() || wait_in_line(until, patience));
    }

    // As a newcomer. False: not worth it any longer, or `until` has passed.
    bool spin(const deadline& until) {
        const typename P::no_preempt here_to_stay;
        const deadline enough = deadline::after(longest_spin);
        bool flagged = false; // `spinning` is mine
        word value = word_.load(std::memory_order_relaxed);
        for (;;) {
            if (!held(value)) {
                const word mine = (flagged ? value & ~spinning : value) | owned_by(P::self());
                // acquire: pairs with the releases of unlock and unlock_slow.
                if (word_.compare_exchange_weak(value, mine, std::memory_order_acquire,
                                                std::memory_order_relaxed))
                    return true;
            } else if (!flagged) {
                if ((value & spinning) != 0)
                    return false;
                // relaxed, here and below: whoever acts on it takes nothing from it but the wake-up.
                const word mine = value | spinning;
                flagged = word_.compare_exchange_weak(value, mine, std::memory_order_relaxed,
                                                      std::memory_order_relaxed);
                if (flagged)
                    value = mine;
            } else if (until.expired() || !await_other_owner(value, enough)) {
                // Held still: its unlock shall know that nobody spins, unless a waiter that asks for the hand-off has seen to it.
                if (held(value) &&
                    ((value & spinning) == 0 ||
                     word_.compare_exchange_weak(value, value & ~spinning, std::memory_order_relaxed,
                                                 std::memory_order_relaxed)))
                    return false;
            }
        }
    }

    // Spins until the owner is another than `value` says. `value` is then the word's of late. False: the owner doesn't run,
    // or somebody else wants this CPU, or `enough` is over.
    bool await_other_owner(word& value, const deadline& enough) {
        const thread_id owner = owner_of(value);
        // relaxed: taking the mutex acquires.
        const auto seen = P::await(
            std::memory_order_relaxed, [owner](word now) { return owner_of(now) != owner; },
            {.resched = true, .owner_off_cpu = owner, .deadline = &enough}, relax{}, word_);
        value = seen.value();
        return static_cast<bool>(seen);
    }

    // Makes the caller the last in line; or takes the mutex, if it comes free. True: taken.
    bool join() {
        for (word value = settled();;) {
            if (!held(value)) {
                // acquire: pairs with the releases of unlock and unlock_slow.
                if (try_change(value, value | owned_by(P::self()), std::memory_order_acquire))
                    return true;
            } else if (begin_change(value)) {
                wait_line<P> line{first_of(value)};
                line.append(P::self());
                end_change(line);
                return false;
            }
        }
    }

    // False: the caller has left the line, as `until` has passed.
    bool wait_in_line(const deadline& until, const deadline& patience) {
        bool taken = false;
        while (!taken) {
            P::park(patience.expired() ? until : patience);
            taken = compete(until, patience);
            if (!taken && until.expired()) {
                taken = !leave();
                break;
            }
        }
        // Who comes next has waited nearly as long and may have looked, in vain, whether it is first.
        if (patience.expired())
            wake_first();
        return taken;
    }

    // As a waiter that is awake. False: not first, or not worth it any longer, or `until` has passed.
    bool compete(const deadline& until, const deadline& patience) {
        const typename P::no_preempt here_to_stay;
        const deadline enough = deadline::after(longest_spin);
        for (word value = settled();;) {
            if (owner_of(value) == P::self())
                return true; // passed on to us
            if (first_of(value) != P::self())
                return false;
            if (!held(value)) {
                if (take_as_first(value))
                    return true;
            } else if ((value & handoff) == 0 && patience.expired()) {
                // relaxed, here and below: who acts on it looks at the line, which begin_change acquires. Clears `spinning`,
                // too, which may be left from before a fork.
                try_change(value, (value & ~spinning) | handoff | woken, std::memory_order_relaxed);
            } else if ((value & woken) == 0) {
                try_change(value, value | woken, std::memory_order_relaxed);
            } else if (!until.expired() && await_other_owner(value, enough)) {
                value = settled();
            } else if ((value & handoff) != 0 ||
                       try_change(value, value & ~woken, std::memory_order_relaxed)) {
                return false; // held still: its unlock wakes us
            }
        }
    }

    // Takes the free mutex for the first waiter, the caller. False: `value` was out of date; it is the settled word now.
    bool take_as_first(word& value) {
        if (!begin_change(value, (value & woken) ^ owned_by(P::self())))
            return false;
        wait_line<P> line{P::self()};
        line.remove(P::self());
        end_change(line);
        return true;
    }

    // The caller leaves the line. False: it has the mutex instead.
    bool leave() {
        for (word value = settled();;) {
            if (owner_of(value) == P::self())
                return false;
            const bool first = first_of(value) == P::self();
            if (first && !held(value)) {
                if (take_as_first(value))
                    return false;
            } else if (begin_change(value)) {
                wait_line<P> line{first_of(value)};
                line.remove(P::self());
                // What is about the first waiter is over. Held: its unlock wakes the next.
                end_change(line, first ? value & (woken | handoff) : 0);
                return true;
            }
        }
    }

    // Wakes the first waiter unless it is awake.
    void wake_first() {
        for (word value = settled(); first_of(value) != nobody && (value & woken) == 0;) {
            const thread_id first = first_of(value);
            if (try_change(value, value | woken, std::memory_order_relaxed)) {
                P::unpark(first);
                return;
            }
        }
    }

    [[gnu::cold, gnu::noinline]] void unlock_slow() {
        typename P::frame frame{"mutex_unlock_slow"};
        for (word value = settled();;) {
            const thread_id first = first_of(value);
            if ((value & handoff) != 0) {
                if (begin_change(value)) {
                    wait_line<P> line{first};
                    line.remove(first);
                    end_change(line, (value & (owner_mask | woken | handoff)) ^ owned_by(first));
                    P::unpark(first);
                    return;
                }
            } else {
                const bool wakes = first != nobody && (value & (woken | spinning)) == 0;
                // release: pairs with the acquire of whoever takes the mutex next.
                if (try_change(value, (value & ~owner_mask) | (wakes ? woken : 0),
                               std::memory_order_release)) {
                    if (wakes)
                        P::unpark(first);
                    return;
                }
            }
        }
    }

    // The word, once the line is not busy.
    word settled() {
        for (;;) {
            // acquire: pairs with end_change's release, for whoever finds that the mutex was passed on to it.
            word value = word_.load(std::memory_order_acquire);
            if (first_of(value) != nobody && P::gone(first_of(value))) [[unlikely]] {
                // A fork has left us this line. relaxed: whoever was in it is gone, too.
                word_.compare_exchange_weak(value, value & owner_mask, std::memory_order_relaxed,
                                            std::memory_order_relaxed);
            } else if ((value & busy) != 0) {
                P::await(
                    std::memory_order_relaxed, [](word now) { return (now & busy) == 0; }, word_);
            } else {
                return value;
            }
        }
    }

    // Changes the word from `value`, a settled one. False: it has changed meanwhile; `value` is the settled word now.
    bool try_change(word& value, word desired, std::memory_order order) {
        if (word_.compare_exchange_weak(value, desired, order, std::memory_order_relaxed))
            return true;
        value = settled();
        return false;
    }

    // Makes the line the caller's to change, whose first is first_of(value), and flips bits of the word besides. False: as
    // try_change. Changes to the line are short: their thread keeps its CPU, where the platform can promise it.
    bool begin_change(word& value, word flips = 0) {
        P::preempt_disable();
        word changing = ((value & ~first_mask) | with_first(P::self()) | busy) ^ flips;
        // acquire: pairs with end_change's release, for the line, and with that of unlock_slow, for who takes the mutex.
        if (word_.compare_exchange_weak(value, changing, std::memory_order_acquire,
                                        std::memory_order_relaxed))
            return true;
        P::preempt_enable();
        value = settled();
        return false;
    }

    // Puts the line back, and flips bits of the word besides: of those that only the line's changer and the owner may change.
    void end_change(const wait_line<P>& line, word flips = 0) {
        // release: pairs with the acquires of begin_change and, if the mutex is passed on, of settled.
        word_.fetch_xor((with_first(P::self()) ^ with_first(line.first) ^ busy) ^ flips,
                        std::memory_order_release);
        P::preempt_enable();
    }

    typename P::template atomic<word> word_{0};
};

// The mutex of this process's threads.
using mutex = basic_mutex<native>;

} // namespace holdfast
