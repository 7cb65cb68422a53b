// The read-write semaphore of Linux since 5.3: one word of bits and a count, an owner, a wait list, optimistic spinning,
// and hand-off, so that nobody starves.
//
//   count_, bit 0         writer    a writer has the lock
//           bit 1         waiters   the wait list isn't empty
//           bit 2         handoff   a waiter has waited for long: only those in the list may take the lock
//           bits 8..62    readers   who have the lock, or have just added themselves to find out
//           bit 63        guard     the readers have overflowed: no more of them
//   owner_, bits 32..63   who: the writer, or one of the readers, who may be gone long since
//           bit 0         reader_owned          the lock is, or was last, held by readers
//           bit 1         nonspinnable          they hold it for so long that writers don't spin
//           bit 2         readers_nonspinnable  nor do readers
//
// `waiters` and `handoff` are changed with wait_lock only. The owner's word is a hint: it is changed after count_ and
// apart from it, and decides who spins, never who has the lock.
//
// A reader adds itself to the count, and has the lock if bits 0 to 2 and 63 were clear. A writer turns 0 into `writer`.
// Who fails may steal or spin (rwsem_rules), or joins the list and sleeps. When there is nobody active any more, whoever
// notices with wait_lock wakes the head of the list: a writer is only woken, and competes; for a reader, all readers in
// the list, up to 256 and past the writers between them, are granted the lock: their number is added to the count first,
// then they are told. So each change between reading and writing lets in everybody who reads.
//
// A waiter that is woken in vain, and has waited for 4 ms, sets `handoff`: neither spinners nor new readers get in any
// more. The bit is cleared when a waiter gets the lock, or the last one leaves.
//
//   operation       count_ before                        after
//   lock            0                                    writer
//   lock_shared     readers                              one more reader
//   unlock          writer                               0
//   unlock          writer, waiters (and others)         without writer; then wakes the list
//   unlock_shared   readers                              one less; of the last, if `waiters`: then wakes the list
//   downgrade       writer (and others)                  one reader; if `waiters`: then grants to readers
//
// Algorithm: Waiman Long 2019-23 (kernel/locking/rwsem.c), from descriptions. Differences: the wait list holds two
// pointers and waiters are told apart from who woke them; signals are cancel tokens; a spinner notices a hand-off when it
// fails to take the lock, not before; wake-ups are sent after wait_lock was released, as there, but without a queue: the
// granted stay linked to each other until they are told.
#pragma once

#include <algorithm>
#include <optional>

#include <holdfast/cancel_token.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/ticket_lock.hpp>
#include <holdfast/wait_list.hpp>

namespace holdfast {

// What the lock's history changed, as choices. Presets below.
struct rwsem_rules {
    // Who may ask for a hand-off, whom it binds, and what becomes of it when who asked gives up.
    enum class handoffs : std::uint8_t {
        // Only the first waiter asks. Those behind give way. A writer that gives up takes it back (5.3).
        of_the_first,
        // Any writer asks, for itself. The bit stays until somebody gets the lock, and all but the first give way, even
        // if the first knows nothing of it and sleeps (5.16).
        inherited,
        // The same, but they give way only once the first has asked itself or found the bit set (5.19).
        taken_up,
        // Any writer asks, for the first. Those behind give way only if that was done (6.3).
        for_the_first
    };

    // Readers that fail spin as writers do, unless a writer has found them to hold the lock for long (5.3 to 5.10).
    bool reader_spinning = false;
    // Readers that fail spin or steal even if other readers have the lock already: so these might never end, and nobody
    // who waits be woken (5.3 to 5.10).
    bool joins_readers = false;
    // A reader that finds neither a writer nor a hand-off has the lock, past those who wait (5.11).
    bool reader_stealing = true;
    handoffs handoff = handoffs::for_the_first;
    // A waiter that has asked, or was asked for, spins while a writer that runs has the lock (5.4).
    bool waiter_spinning = true;
};

namespace rwsem_presets {
inline constexpr rwsem_rules linux_5_3{.reader_spinning = true,
                                       .joins_readers = true,
                                       .reader_stealing = false,
                                       .handoff = rwsem_rules::handoffs::of_the_first,
                                       .waiter_spinning = false};
inline constexpr rwsem_rules linux_5_11{.handoff = rwsem_rules::handoffs::of_the_first};
inline constexpr rwsem_rules linux_5_16{.handoff = rwsem_rules::handoffs::inherited};
inline constexpr rwsem_rules linux_5_19{.handoff = rwsem_rules::handoffs::taken_up};
inline constexpr rwsem_rules linux_6{}; // 6.3, and the stable series that took its mends
} // namespace rwsem_presets

// A SharedLockable of the standard, with downgrade and killable waits. Not recursive; to be unlocked by the thread that
// locked it for writing, by any for reading. 40 bytes natively, as the kernel's.
template <class P, rwsem_rules Rules = rwsem_presets::linux_6, template <class> class WaitLock = ticket_lock>
class rwsem {
    using word = std::uint64_t;
    static constexpr word writer = 1;
    static constexpr word waiters = 2;
    static constexpr word handoff = 4;
    static constexpr word reader = 0x100;
    static constexpr word guard = word{1} << 63;
    static constexpr word readers = guard - reader;
    static constexpr word active = writer | readers;
    static constexpr word no_more_readers = writer | waiters | handoff | guard;

    static constexpr word reader_owned = 1;
    static constexpr word nonspinnable = 2;
    static constexpr word readers_nonspinnable = 4;
    // What a reader that records itself leaves as it was.
    static constexpr word kept_by_readers = Rules.reader_spinning ? readers_nonspinnable : nonspinnable;

    using handoffs = rwsem_rules::handoffs;
    static constexpr bool only_first_asks = Rules.handoff == handoffs::of_the_first;
    static constexpr bool asks_for_itself =
        Rules.handoff == handoffs::inherited || Rules.handoff == handoffs::taken_up;
    static constexpr bool first_must_know =
        Rules.handoff == handoffs::taken_up || Rules.handoff == handoffs::for_the_first;

    static constexpr std::chrono::milliseconds handoff_after{4};
    static constexpr int woken_at_once = 256;

public:
    constexpr rwsem() = default;
    rwsem(const rwsem&) = delete;
    rwsem& operator=(const rwsem&) = delete;

    // Acquires for writing.
    void lock() {
        typename P::frame frame{"down_write"};
        if (!try_lock())
            static_cast<void>(lock_slow(nullptr));
    }

    // Acquires for writing unless cancelled first: false then.
    [[nodiscard]] bool lock(cancel_token<P>& token) {
        typename P::frame frame{"down_write_killable"};
        return try_lock() || lock_slow(&token);
    }

    [[nodiscard]] bool try_lock() {
        word free = 0;
        // acquire: pairs with the releases of unlock and unlock_shared.
        if (!count_.compare_exchange_strong(free, writer, std::memory_order_acquire,
                                            std::memory_order_relaxed))
            return false;
        set_owner();
        return true;
    }

    void unlock() {
        typename P::frame frame{"up_write"};
        // relaxed, as all of owner_: a hint.
        owner_.store(0, std::memory_order_relaxed);
        // release: pairs with the acquire of whoever gets the lock next.
        if ((count_.fetch_sub(writer, std::memory_order_release) & waiters) != 0)
            wake(false);
    }

    // Acquires for reading.
    void lock_shared() {
        typename P::frame frame{"down_read"};
        static_cast<void>(take_shared(nullptr));
    }

    // Acquires for reading unless cancelled first: false then.
    [[nodiscard]] bool lock_shared(cancel_token<P>& token) {
        typename P::frame frame{"down_read_killable"};
        return take_shared(&token);
    }

    [[nodiscard]] bool try_lock_shared() { return try_take_shared(no_more_readers); }

    void unlock_shared() {
        typename P::frame frame{"up_read"};
        leave_readers();
    }

    // Turns the caller's write lock into a read lock; nobody writes in between.
    void downgrade() {
        typename P::frame frame{"downgrade_write"};
        // release: pairs with the acquire of readers.
        const word before = count_.fetch_add(reader - writer, std::memory_order_release);
        set_reader_owned(P::self());
        if ((before & waiters) != 0)
            wake(true);
    }

    // Whether anybody holds the lock. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return (count_.load(std::memory_order_relaxed) & active) != 0; }

private:
    // All but `thread` and the links of the granted belongs to wait_lock.
    struct waiter : waiter_base<P, waiter> {
        explicit waiter(bool writing) : patience(P::deadline::after(handoff_after)), writes(writing) {}
        typename P::deadline patience; // until it asks for a hand-off
        typename P::template var<bool> writes;
        typename P::template var<bool> set_handoff{false};
        typename P::template var<bool> queued{true};
    };

    // Who is to be told, once wait_lock is free: a writer, or readers that have left the list.
    struct to_wake {
        thread_id writer = nobody;
        waiter* readers = nullptr;
    };

    enum class spins_as : std::uint8_t { reader, writer };
    enum class owned_by : std::uint8_t { none, writer, readers, nonspinnable };

    // ---- The owner's word.

    static constexpr thread_id thread_of(word owner) { return static_cast<thread_id>(owner >> 32); }

    void set_owner() { owner_.store(word{P::self()} << 32, std::memory_order_relaxed); }

    void set_reader_owned(thread_id thread) {
        const word kept = owner_.load(std::memory_order_relaxed) & kept_by_readers;
        owner_.store(word{thread} << 32 | reader_owned | kept, std::memory_order_relaxed);
    }

    // A writer has spun for too long on readers.
    void set_nonspinnable() {
        constexpr word bits = nonspinnable | (Rules.reader_spinning ? readers_nonspinnable : 0);
        word owner = owner_.load(std::memory_order_relaxed);
        while ((owner & reader_owned) != 0 && (owner & bits) != bits &&
               !owner_.compare_exchange_weak(owner, owner | bits, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        }
    }

    // The readers have gone.
    void clear_nonspinnable() {
        if ((owner_.load(std::memory_order_relaxed) & nonspinnable) != 0)
            owner_.fetch_and(~nonspinnable, std::memory_order_relaxed);
    }

    static constexpr owned_by state_of(word owner, spins_as who) {
        if ((owner & (who == spins_as::writer ? nonspinnable : readers_nonspinnable)) != 0)
            return owned_by::nonspinnable;
        if ((owner & reader_owned) != 0)
            return owned_by::readers;
        return thread_of(owner) != nobody ? owned_by::writer : owned_by::none;
    }

    // ---- Taking the lock without queueing.

    // Unless one of the bits is set.
    bool try_take_shared(word unless) {
        word count = count_.load(std::memory_order_relaxed);
        while ((count & unless) == 0) {
            // acquire: pairs with the releases of unlock and downgrade.
            if (count_.compare_exchange_weak(count, count + reader, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
                set_reader_owned(P::self());
                return true;
            }
        }
        return false;
    }

    // No reader any more, or not after all.
    void leave_readers() {
        // release: pairs with the acquire of the writer that gets the lock next.
        const word left = count_.fetch_sub(reader, std::memory_order_release) - reader;
        if ((left & (active | waiters)) == waiters) {
            clear_nonspinnable();
            wake(false);
        }
    }

    bool try_take_past_waiters(spins_as who) {
        if (who == spins_as::reader)
            return try_take_shared(writer | handoff | guard);
        word count = count_.load(std::memory_order_relaxed);
        while ((count & (active | handoff)) == 0) {
            // acquire: as in try_lock.
            if (count_.compare_exchange_weak(count, count | writer, std::memory_order_acquire,
                                             std::memory_order_relaxed)) {
                set_owner();
                return true;
            }
        }
        return false;
    }

    // ---- Optimistic spinning.

    bool may_spin(spins_as who) const {
        const word owner = owner_.load(std::memory_order_relaxed);
        const owned_by state = state_of(owner, who);
        // Readers may be gone long since.
        const bool may = !P::need_resched() && state != owned_by::nonspinnable &&
                         (state != owned_by::writer || P::on_cpu(thread_of(owner)));
        if (!may)
            P::count(event::rwsem_opt_fail);
        return may;
    }

    bool spin(spins_as who) {
        typename P::no_preempt here_to_stay;
        typename P::node_slot slot;
        bool taken = false;
        if (spinners_.lock(slot)) {
            taken = spin_first(who);
            spinners_.unlock(slot);
        }
        P::count(taken ? event::rwsem_opt_lock : event::rwsem_opt_fail);
        return taken;
    }

    // Spins as the one who may.
    bool spin_first(spins_as who) {
        std::optional<typename P::deadline> limit; // on readers
        for (;;) {
            const owned_by state = spin_on_writer(who);
            if (state == owned_by::nonspinnable)
                return false;
            if (try_take_past_waiters(who))
                return true;
            if (state == owned_by::writer)
                continue; // another one
            if (state == owned_by::none)
                limit.reset();
            else if (who == spins_as::writer && !limit)
                limit = spin_limit();
            // Until the lock may be had, or a writer has it, or readers have it now, or too long.
            const word taken = who == spins_as::writer ? active | handoff : writer | handoff | guard;
            const auto seen = P::await(
                std::memory_order_relaxed,
                [taken, state, who](word count, word owner) {
                    return (count & taken) == 0 || state_of(owner, who) != state;
                },
                stop_when<typename P::deadline>{.resched = true, .deadline = limit ? &*limit : nullptr},
                relax{}, count_, owner_);
            if (seen.why == wake::expired) {
                set_nonspinnable();
                P::count(event::rwsem_opt_nospin);
            }
            if (!seen)
                return false;
        }
    }

    // Waits while a writer that runs has the lock, and says who has it then.
    owned_by spin_on_writer(spins_as who) {
        const word owner = owner_.load(std::memory_order_relaxed);
        const owned_by state = state_of(owner, who);
        if (state != owned_by::writer)
            return state;
        typename P::frame frame{"rwsem_spin_on_owner"};
        // relaxed: taking the lock acquires.
        const auto seen = P::await(
            std::memory_order_relaxed, [owner](word now) { return now != owner; },
            stop_when<typename P::deadline>{.resched = true, .owner_off_cpu = thread_of(owner)}, relax{},
            owner_);
        return seen ? state_of(seen.value(), who) : owned_by::nonspinnable;
    }

    // How long a writer spins on readers: the more there are, the longer they have reason to take.
    typename P::deadline spin_limit() const {
        const word others = std::min<word>((count_.load(std::memory_order_relaxed) & readers) / reader, 30);
        return P::deadline::after(std::chrono::nanoseconds((20 + others) * 500));
    }

    // ---- Queueing.

    bool take_shared(cancel_token<P>* token) {
        // acquire: pairs with the releases of unlock and downgrade.
        const word count = count_.fetch_add(reader, std::memory_order_acquire) + reader;
        if ((count & no_more_readers) != 0)
            return lock_shared_slow(count, token);
        set_reader_owned(P::self());
        return true;
    }

    // The caller has added itself in vain. False: cancelled.
    [[gnu::cold, gnu::noinline]] bool lock_shared_slow(word count, cancel_token<P>* token) {
        typename P::frame frame{"rwsem_down_read_slowpath"};
        word adjustment = word{0} - reader;
        if (!Rules.joins_readers && readers_have_it(count))
            return wait_shared(adjustment, token);
        if constexpr (Rules.reader_stealing) {
            if ((count & (writer | handoff | guard)) == 0) {
                set_reader_owned(P::self());
                P::count(event::rwsem_rlock_steal);
                if ((count & readers) == reader)
                    wake(true);
                return true;
            }
        }
        if constexpr (Rules.reader_spinning) {
            if (may_spin(spins_as::reader)) {
                const word before = owner_.load(std::memory_order_relaxed);
                // A waiter may have been woken, and have found us in its way.
                leave_readers();
                adjustment = 0;
                if (spin(spins_as::reader)) {
                    if ((count_.load(std::memory_order_relaxed) & waiters) != 0)
                        wake(true);
                    return true;
                }
                // Readers have got the lock since: join them.
                const word now = owner_.load(std::memory_order_relaxed);
                if ((now & reader_owned) != 0 && thread_of(now) != thread_of(before) &&
                    try_take_past_waiters(spins_as::reader))
                    return true;
            }
        }
        return wait_shared(adjustment, token);
    }

    // Whether readers beside the caller have the lock. `count`: with the caller in it.
    bool readers_have_it(word count) const {
        return (count & readers) != reader && (count & writer) == 0 &&
               (owner_.load(std::memory_order_relaxed) & reader_owned) != 0;
    }

    bool wait_shared(word adjustment, cancel_token<P>* token) {
        waiter mine(false);
        if (token != nullptr)
            token->begin_wait();
        wait_lock_.lock();
        if (waiters_.empty()) {
            // acquire: pairs with the releases of unlock and downgrade. A writer that has gone since can't have
            // been followed by another: we are in the count.
            if (adjustment != 0 && (count_.load(std::memory_order_acquire) & (writer | guard)) == 0) {
                wait_lock_.unlock();
                if (token != nullptr)
                    token->end_wait();
                set_reader_owned(P::self());
                P::count(event::rwsem_rlock_fast);
                return true;
            }
            adjustment += waiters;
        }
        waiters_.append(mine);
        // relaxed: only says whom to wake.
        const word count = adjustment == 0
                               ? count_.load(std::memory_order_relaxed)
                               : count_.fetch_add(adjustment, std::memory_order_relaxed) + adjustment;
        unlock_and_tell(wake_if_free(count));

        bool taken = true;
        while (!mine.granted()) {
            if (token != nullptr && token->cancelled()) {
                taken = !give_up(mine);
                if (!taken)
                    break;
                token->end_wait();
                token = nullptr; // it is ours already: we are about to be told
                continue;
            }
            P::count(event::rwsem_sleep_reader);
            P::park();
        }
        if (token != nullptr)
            token->end_wait();
        P::count(taken ? event::rwsem_rlock : event::rwsem_rlock_fail);
        return taken;
    }

    // False: cancelled.
    [[gnu::cold, gnu::noinline]] bool lock_slow(cancel_token<P>* token) {
        typename P::frame frame{"rwsem_down_write_slowpath"};
        if (may_spin(spins_as::writer) && spin(spins_as::writer))
            return true;
        // A writer that had to give way to readers keeps other readers from spinning on itself.
        const bool readers_spin_too_long =
            Rules.reader_spinning &&
            (owner_.load(std::memory_order_relaxed) & (nonspinnable | readers_nonspinnable)) != 0;
        if (token != nullptr)
            token->begin_wait();
        const bool taken = wait_exclusive(token);
        if (token != nullptr)
            token->end_wait();
        if (taken && readers_spin_too_long)
            owner_.fetch_or(readers_nonspinnable, std::memory_order_relaxed);
        P::count(taken ? event::rwsem_wlock : event::rwsem_wlock_fail);
        return taken;
    }

    bool wait_exclusive(cancel_token<P>* token) {
        waiter mine(true);
        wait_lock_.lock();
        const bool first = waiters_.empty();
        waiters_.append(mine);
        if (first) {
            // relaxed: who acts on it has wait_lock.
            count_.fetch_or(waiters, std::memory_order_relaxed);
        } else {
            const to_wake them = wake_if_free(count_.load(std::memory_order_relaxed));
            if (them.writer != nobody || them.readers != nullptr) {
                unlock_and_tell(them);
                wait_lock_.lock();
            }
        }
        while (!try_take_queued(mine)) {
            const bool spins = Rules.waiter_spinning && mine.set_handoff.get();
            wait_lock_.unlock();
            if (token != nullptr && token->cancelled()) {
                give_up(mine);
                return false;
            }
            if (!(spins && spin_as_waiter())) {
                P::count(event::rwsem_sleep_writer);
                P::park();
            }
            wait_lock_.lock();
        }
        wait_lock_.unlock();
        return true;
    }

    // True: nobody has the lock any more, so it is worth another try. Otherwise who has it will wake us.
    bool spin_as_waiter() {
        typename P::no_preempt here_to_stay;
        if (spin_on_writer(spins_as::writer) != owned_by::none)
            return false;
        // Until the one without a name has gone, or says who has the lock. relaxed: taking the lock acquires.
        const auto seen = P::await(
            std::memory_order_relaxed,
            [](word count, word owner) {
                return (count & active) == 0 || state_of(owner, spins_as::writer) != owned_by::none;
            },
            stop_when<typename P::deadline>{.resched = true}, relax{}, count_, owner_);
        return seen && (seen.value() & active) == 0;
    }

    // A queued writer takes the lock if nobody is active, and leaves the list; or asks for a hand-off if it has waited for
    // long. With wait_lock.
    bool try_take_queued(waiter& mine) {
        waiter* const first = waiters_.first();
        word count = count_.load(std::memory_order_relaxed);
        for (;;) {
            const bool asked = (count & handoff) != 0;
            if (asked && first != &mine && (!first_must_know || first->set_handoff.get()))
                return false;
            if (asks_for_itself && asked && first == &mine)
                mine.set_handoff.set(true);
            if ((count & active) != 0) {
                if (asked || (only_first_asks && first != &mine) || !mine.patience.expired())
                    return false;
                if (count_.compare_exchange_weak(count, count | handoff, std::memory_order_relaxed,
                                                 std::memory_order_relaxed)) {
                    (asks_for_itself ? mine : *first).set_handoff.set(true);
                    P::count(event::rwsem_wlock_handoff);
                    return false;
                }
            } else {
                const bool alone = first == &mine && mine.next.get() == nullptr;
                const word cleared = handoff | (alone ? waiters : 0);
                // acquire: as in try_lock.
                if (count_.compare_exchange_weak(count, (count & ~cleared) | writer,
                                                 std::memory_order_acquire, std::memory_order_relaxed)) {
                    waiters_.remove(mine);
                    set_owner();
                    return true;
                }
            }
        }
    }

    // Leaves the list. False: granted meanwhile.
    bool give_up(waiter& mine) {
        wait_lock_.lock();
        to_wake next;
        const bool queued = mine.queued.get();
        if (queued) {
            const bool first = waiters_.first() == &mine;
            waiters_.remove(mine);
            // relaxed, both: `waiters` and `handoff` are changed with wait_lock only.
            if (waiters_.empty())
                count_.fetch_and(~(waiters | handoff), std::memory_order_relaxed);
            else if (only_first_asks && mine.writes.get() && mine.set_handoff.get())
                count_.fetch_and(~handoff, std::memory_order_relaxed);
            if (!waiters_.empty() && first)
                next = wake_if_free(
                    count_.load(std::memory_order_relaxed)); // it may have been we that were woken
        }
        unlock_and_tell(next);
        return queued;
    }

    // ---- Waking.

    // There may be waiters. Either nobody is active any more; or the caller has the lock for reading (`shared`), and so may
    // the readers among them.
    [[gnu::cold, gnu::noinline]] void wake(bool shared) {
        typename P::frame frame{"rwsem_wake"};
        wait_lock_.lock();
        unlock_and_tell(shared ? grant_to_readers(true) : wake_first());
    }

    // With wait_lock, and a count seen with it.
    to_wake wake_if_free(word count) {
        if ((count & writer) != 0)
            return {};
        if ((count & readers) != 0)
            return grant_to_readers(false);
        clear_nonspinnable();
        return wake_first();
    }

    // With wait_lock.
    to_wake wake_first() {
        waiter* const first = waiters_.first();
        if (first == nullptr)
            return {};
        if (!first->writes.get())
            return grant_to_readers(false);
        P::count(event::rwsem_wake_writer);
        return {.writer = first->thread.load(std::memory_order_relaxed)};
    }

    // If a reader is first, takes it and all readers behind it from the list and into the count. `shared`: the caller has
    // the lock for reading, so no writer can. With wait_lock.
    to_wake grant_to_readers(bool shared) {
        waiter* const first = waiters_.first();
        if (first == nullptr || first->writes.get())
            return {};
        if (!shared) {
            // The first one's share, before anything else: if a writer has the lock, it stays with that.
            // acquire: pairs with the releases of unlock and downgrade; the readers get it from us.
            const word before = count_.fetch_add(reader, std::memory_order_acquire);
            if ((before & writer) != 0) {
                give_way(*first, before);
                return {};
            }
            set_reader_owned(first->thread.load(std::memory_order_relaxed));
        }
        to_wake them{.readers = first};
        word granted = 0;
        waiter* last = nullptr;
        waiter* w = first;
        for (int n = 0; w != nullptr && n < woken_at_once;) {
            waiter* const next = w->next.get();
            if (!w->writes.get()) {
                waiters_.remove(*w);
                w->queued.set(false);
                w->next.set(nullptr);
                if (last != nullptr)
                    last->next.set(w);
                last = w;
                granted += reader;
                ++n;
            }
            w = next;
        }
        word adjustment = granted - (shared ? 0 : reader);
        if (waiters_.empty())
            adjustment -= waiters;
        // relaxed: `handoff` is changed with wait_lock only.
        if ((count_.load(std::memory_order_relaxed) & handoff) != 0)
            adjustment -= handoff;
        // relaxed: gives nothing away.
        count_.fetch_add(adjustment, std::memory_order_relaxed);
        return them;
    }

    // A writer has got ahead of the first reader, who takes its share back, and asks for a hand-off if it has waited for
    // long. The writer's unlock wakes us again.
    void give_way(waiter& first, word before) {
        word adjustment = word{0} - reader;
        if (first.patience.expired()) {
            if ((before & handoff) == 0) {
                adjustment += handoff;
                P::count(event::rwsem_rlock_handoff);
            }
            first.set_handoff.set(true);
        }
        count_.fetch_add(adjustment, std::memory_order_relaxed);
    }

    void unlock_and_tell(to_wake them) {
        wait_lock_.unlock();
        if (them.writer != nobody)
            P::unpark(them.writer);
        for (waiter* w = them.readers; w != nullptr;) {
            waiter* const next = w->next.get();
            P::count(event::rwsem_wake_reader);
            P::unpark(w->grant());
            w = next;
        }
    }

    typename P::template atomic<word> count_{0};
    typename P::template atomic<word> owner_{0};
    wait_list<P, waiter> waiters_;
    WaitLock<P> wait_lock_;
    osq_lock<P> spinners_;
};

} // namespace holdfast
