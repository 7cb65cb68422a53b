// A read-write lock of 16 bytes to take home: std::shared_timed_mutex and more, fair, and gone when it is destroyed.
//
// One word of 64 bits says all that decides who gets the lock, and whom to wake:
//
//   bit 0         writer    somebody writes
//   bit 1         upgrader  somebody reads, and alone has the right to become the writer
//   bit 2         pending   a writer spins until the readers have gone, or is the first waiter and did so in vain: new readers
//                           keep out. A hint
//   bit 3         handoff   the first waiter has waited for long: nobody else gets in, but readers who are in may leave
//   bit 4         awake     the first waiter has been woken, or spins: unlockers need not wake it
//   bit 5         list      somebody changes the wait list
//   bit 6         closed    the first waiter wants more than to read, and sleeps: new readers keep out while others are in,
//                           since it is woken when all have gone. Not with `awake`
//   bits 8..39    readers   who are in, or have just added themselves to find out
//   bits 40..63   first     the code of the first waiter's node (platform.hpp, clause H); 0: nobody waits
//
// owner_ is the writer or upgrader, or was: a hint that decides who spins. spinners_ queues the writers that spin.
//
//   operation                        word before                    word after
//   lock                             0                              writer
//   lock_shared                      readers                        one more
//   lock_upgrade                     readers                        upgrader, readers
//   unlock                           writer                         0
//   unlock_shared                    readers                        one less
//   unlock_upgrade_and_lock          upgrader                       writer
//   downgrade, ..._and_lock_shared   writer, or upgrader            one more reader
//
// Each is one read-modify-write if nobody is in the way; a reader adds itself first and looks then. Who is in the way of
// nobody but those who sleep may get in before them. Otherwise a thread spins: on a writer for up to 20 us while it runs, on
// readers for 10 and a little for each of them; anew whenever the lock changes hands. Writers do so one at a time; the others
// queue up for it, for 3 us times the number of CPUs, as more than one on each can't spin. Then it joins the list, and sleeps.
//
// The list is a ring of the threads' own nodes. All in it compete for the lock when they are awake, and take themselves off
// when they have it or give up; nobody is ever granted a lock while it sleeps, since a lock held by a thread that has yet to
// be scheduled is a convoy. Who lets go of the lock wakes the first. The first reader that gets in from the list calls the
// other readers in it, up to 16, past the writers between. A reader that was called, or woken to a lock that it may have, lacks
// nothing but a CPU: it may come in when it has one, and until then others may be the first. Without that a writer would wait
// for woken readers, and they, on few CPUs, for the readers who come meanwhile.
// Who is first, and has waited for 4 ms in vain, or spun while others had the lock for 50 us, sets `handoff`. So readers who come one after the other don't keep a writer
// out, nor writers a reader.
//
// Invariant: if the lock is to be had by the first waiter then `awake` is set, or somebody is about to wake it: whose
// operation has just made it so. The first clears `awake` only by a compare-exchange of a word that bars it.
//
// A thread may destroy the lock as soon as its own unlock has returned, if all others have, or are about to do nothing but
// return. For that the last thing that any operation does with the lock is the read-modify-write by which it lets go of
// it. What remains, to wake a thread, needs only that thread's identity, which is computed from the word's last value: it is in the
// same word for that very reason. (Waking it when it no longer waits is harmless, clause G.) Who changes the list is
// within a function that locks. Who takes the lock leaves the spinners' queue while it holds the lock.
//
// After fork the child may use a lock that the forking thread held, or nobody. Waiters that it finds in the list are its
// parent's: their nodes are empty in the child, and the list is begun anew.
//
// Algorithm: after Linux's rwsem (Waiman Long 2019; see rwsem.hpp) and nsync's mu (Mike Burrows 2016: one word, waiters that
// are woken to compete). New here: whom to wake is in the word.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>

#include <holdfast/native/native.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/platform.hpp>
#include <holdfast/thread_annotations.hpp>
#include <holdfast/timed_wait.hpp>
#include <holdfast/tsan_annotations.hpp>

namespace holdfast {

// SharedTimedMutex of the standard and UpgradeLockable of Boost, over a platform. 16 bytes. Not recursive. Exclusive and
// upgradable holds belong to the thread that locked; a shared one may be given up by any thread.
template <class P>
class HOLDFAST_CAPABILITY("shared_mutex") basic_shared_mutex : told_to_tsan<P> {
    using word = std::uint64_t;
    using nanoseconds = std::chrono::nanoseconds;

    static constexpr word writer = 1;
    static constexpr word upgrader = 2;
    static constexpr word pending = 4;
    static constexpr word handoff = 8;
    static constexpr word awake = 16;
    static constexpr word list = 32;
    static constexpr word closed = 64;
    static constexpr word reader = 1 << 8;
    static constexpr unsigned first_shift = 40;
    static constexpr word first = ~word{0} << first_shift;
    static constexpr word readers = (word{1} << first_shift) - reader;
    static constexpr word held = writer | upgrader | readers;

    static constexpr nanoseconds forever = nanoseconds::max();
    static constexpr std::chrono::microseconds spin_on_writer{20};
    static constexpr std::chrono::microseconds spin_on_readers{10};
    static constexpr nanoseconds spin_on_each_reader{250};
    static constexpr std::chrono::microseconds spin_in_queue{3}; // for each CPU
    static constexpr std::chrono::microseconds spin_in_all{50};
    static constexpr std::chrono::milliseconds handoff_after{4};
    static constexpr relax spinning{4};
    static constexpr std::size_t woken_at_once = 16;

    // What a thread wants. Kept in its node's `granted` while it waits; 0 there: no node of this process.
    enum class mode : std::uint32_t { read = 1, upgrade, write, promote /* from upgradable to writing */ };
    // Beside it: by those who get in from the list, called to come in, too, and has yet to try. A wake-up alone says nothing:
    // it may be an old one. And whether another has become the first in its place: nobody suffers that twice.
    static constexpr std::uint32_t called = 8;
    static constexpr std::uint32_t passed = 16;

public:
    constexpr basic_shared_mutex() = default;
    basic_shared_mutex(const basic_shared_mutex&) = delete;
    basic_shared_mutex& operator=(const basic_shared_mutex&) = delete;

    // ---- Exclusive.

    void lock() HOLDFAST_ACQUIRE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        this->begin_lock();
        word free = 0;
        // acquire: pairs with the releases of all operations that let go of the lock.
        if (word_.compare_exchange_strong(free, writer, std::memory_order_acquire, std::memory_order_relaxed))
            [[likely]]
            set_owner();
        else
            lock_slow(mode::write, forever);
        this->end_lock();
    }

    // Takes the lock if nobody has it and nobody has waited for too long.
    [[nodiscard]] bool try_lock() HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_now(mode::write);
    }

    // The timed ones are false if the time has passed first, and try at least once. A system clock may be set meanwhile.
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_for(const std::chrono::duration<Rep, Period>& time)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_for(mode::write, time);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_until(const std::chrono::time_point<Clock, Duration>& moment)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_until(mode::write, moment);
    }

    void unlock() HOLDFAST_RELEASE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        this->say_unlock();
        word alone = writer;
        // release: pairs with the acquires of who gets the lock next.
        if (!word_.compare_exchange_strong(alone, 0, std::memory_order_release, std::memory_order_relaxed))
            [[unlikely]]
            unlock_slow(alone);
    }

    // ---- Shared.

    void lock_shared() HOLDFAST_ACQUIRE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        // acquire: as in lock.
        const word before = word_.fetch_add(reader, std::memory_order_acquire);
        if ((before & (writer | pending | handoff | closed)) != 0) [[unlikely]]
            lock_shared_slow(before);
    }

    // Takes the lock if nobody writes, spins to write, or has waited for too long; and if nobody waits or nobody is in.
    [[nodiscard]] bool try_lock_shared()
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_now(mode::read);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_shared_for(const std::chrono::duration<Rep, Period>& time)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_for(mode::read, time);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_shared_until(const std::chrono::time_point<Clock, Duration>& moment)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_until(mode::read, moment);
    }

    void unlock_shared() HOLDFAST_RELEASE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS { leave_readers(); }

    // ---- Upgradable: reads beside other readers, and is the only one that may become the writer.

    void lock_upgrade() HOLDFAST_ACQUIRE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        if (!try_take(mode::upgrade))
            lock_slow(mode::upgrade, forever);
    }
    [[nodiscard]] bool try_lock_upgrade()
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_now(mode::upgrade);
    }
    template <class Rep, class Period>
    [[nodiscard]] bool try_lock_upgrade_for(const std::chrono::duration<Rep, Period>& time)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_for(mode::upgrade, time);
    }
    template <class Clock, class Duration>
    [[nodiscard]] bool try_lock_upgrade_until(const std::chrono::time_point<Clock, Duration>& moment)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_until(mode::upgrade, moment);
    }
    void unlock_upgrade() HOLDFAST_RELEASE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        // release: as in unlock.
        wake_first(word_.fetch_sub(upgrader, std::memory_order_release));
    }

    // ---- From one to another; nobody writes in between. Only the first waits: for the readers to go.

    void unlock_upgrade_and_lock() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        this->begin_lock();
        if (!try_take(mode::promote))
            lock_slow(mode::promote, forever);
        this->end_lock();
    }
    // False: there are readers; the upgradable hold stays.
    [[nodiscard]] bool try_unlock_upgrade_and_lock() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return try_now(mode::promote);
    }
    void unlock_and_lock_upgrade() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        this->say_unlock();
        // release: pairs with the acquire of readers. Here and below.
        wake_first(word_.fetch_add(upgrader - writer, std::memory_order_release));
    }
    void unlock_and_lock_shared() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        this->say_unlock();
        wake_first(word_.fetch_add(reader - writer, std::memory_order_release));
    }
    void unlock_upgrade_and_lock_shared() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        wake_first(word_.fetch_add(reader - upgrader, std::memory_order_release));
    }
    // The kernel's name for unlock_and_lock_shared.
    void downgrade() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS { unlock_and_lock_shared(); }

    // Whether anybody holds the lock. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return (word_.load(std::memory_order_relaxed) & held) != 0; }

private:
    // ---- Who may have the lock.

    // What bars a mode, whoever waits.
    static constexpr word barred_by(mode m) {
        switch (m) {
        case mode::read:
            return writer;
        case mode::upgrade:
            return writer | upgrader;
        case mode::write:
            return held;
        case mode::promote:
            return readers;
        }
        return 0;
    }

    // The word once a mode that nothing barred is taken.
    static constexpr word taken(mode m, word value) {
        switch (m) {
        case mode::read:
            return value + reader;
        case mode::upgrade:
            return value + upgrader;
        case mode::write:
            return (value & ~pending) + writer;
        case mode::promote:
            return (value & ~pending) + writer - upgrader;
        }
        return value;
    }

    static constexpr std::uint32_t first_of(word value) {
        return static_cast<std::uint32_t>(value >> first_shift);
    }

    // Whether the lock is to be had by a thread with this node; code 0: it doesn't wait in the list.
    static constexpr bool open(mode m, std::uint32_t code, word value) {
        if ((value & barred_by(m)) != 0)
            return false;
        // Who is to become the writer bars all that wait for writing: it comes first. Otherwise the first does.
        if (m == mode::promote || (code != 0 && first_of(value) == code))
            return true;
        if ((value & handoff) != 0)
            return false;
        if (m == mode::write || code != 0)
            return true;
        // Who reads comes after a writer that is awake; and joins others only if that keeps nobody waiting.
        const word waits = m == mode::read ? closed : first;
        return (value & pending) == 0 && ((value & waits) == 0 || (value & (readers | upgrader)) == 0);
    }

    // relaxed, as all of owner_: a hint.
    void set_owner() { owner_.store(P::self(), std::memory_order_relaxed); }

    // Takes the lock if it is open to who doesn't wait.
    bool try_take(mode m) {
        word value = word_.load(std::memory_order_relaxed);
        while (open(m, 0, value)) {
            // acquire: as in lock.
            if (word_.compare_exchange_weak(value, taken(m, value), std::memory_order_acquire,
                                            std::memory_order_relaxed)) {
                if (m != mode::read)
                    set_owner();
                return true;
            }
        }
        return false;
    }

    // ---- What ThreadSanitizer is told: of writing only. It takes a hold for its thread's own, and a reader's may be given up by
    // any; what orders readers it sees by itself.

    bool try_now(mode m) {
        return telling(m, [this, m] { return try_take(m); });
    }

    template <class Take>
    bool telling(mode m, Take take) {
        if (m != mode::write && m != mode::promote)
            return take();
        this->begin_try();
        return this->end_try(take());
    }

    // ---- Letting go. The word may be gone when these run: they have its last value.

    // After an operation that may have opened the lock to the first waiter.
    static void wake_first(word last) {
        if (first_of(last) != 0 && (last & awake) == 0) [[unlikely]]
            P::unpark(P::sleeper(first_of(last)));
    }

    // No reader any more, or not after all.
    void leave_readers() {
        // release: pairs with the acquire of the writer that comes next.
        const word after = word_.fetch_sub(reader, std::memory_order_release) - reader;
        if (after >= word{1} << first_shift) [[unlikely]]
            leave_readers_slow(after);
    }
    [[gnu::cold, gnu::noinline]] static void leave_readers_slow(word last) {
        if ((last & (readers | writer)) == 0)
            wake_first(last);
    }

    [[gnu::cold, gnu::noinline]] void unlock_slow(word value) {
        word after{};
        do {
            after = first_of(value) != 0 ? roused(value - writer) : value - writer;
            // release: as in unlock.
        } while (
            !word_.compare_exchange_weak(value, after, std::memory_order_release, std::memory_order_relaxed));
        wake_first(value);
    }

    // ---- Waiting.

    template <class Rep, class Period>
    bool try_for(mode m, const std::chrono::duration<Rep, Period>& time) {
        return telling(m, [&] { return try_take(m) || (time > time.zero() && lock_slow(m, to_wait(time))); });
    }

    template <class Clock, class Duration>
    bool try_until(mode m, const std::chrono::time_point<Clock, Duration>& moment) {
        return wait_until(moment, [this, m](nanoseconds wait) { return try_for(m, wait); });
    }

    // The caller has added itself to a word that had something in the way.
    [[gnu::cold, gnu::noinline]] void lock_shared_slow(word before) {
        if (!joined(before)) {
            leave_readers();
            lock_slow(mode::read, forever);
        }
    }

    // Whether the caller, who has added itself to this word, is in.
    bool joined(word before) {
        if (!open(mode::read, 0, before))
            return false;
        // Nobody was in, so the first waiter is being woken. From now on it is awake, and other readers may join us.
        if ((before & closed) != 0) {
            word value = word_.load(std::memory_order_relaxed);
            while ((value & closed) != 0) {
                // relaxed: who unlocks has to see no more than the bits.
                if (word_.compare_exchange_weak(value, roused(value), std::memory_order_relaxed,
                                                std::memory_order_relaxed))
                    P::unpark(P::sleeper(first_of(value)));
            }
        }
        return true;
    }

    // As in lock_shared, for many who do so at the same time: a compare-exchange would fail for all but one.
    bool add_reader() {
        // acquire: as in lock.
        if (joined(word_.fetch_add(reader, std::memory_order_acquire)))
            return true;
        leave_readers();
        return false;
    }

    // False: the time has passed first.
    [[gnu::cold, gnu::noinline]] bool lock_slow(mode m, nanoseconds time) {
        typename P::frame frame{"shared_mutex"};
        typename P::waiting waiting{this, waited_for::shared_mutex, m == mode::read || m == mode::upgrade};
        const auto until = time == forever ? P::deadline::never() : P::deadline::after(time);
        return waiting.over(spin_before_queueing(m, time) || wait(m, time, until));
    }

    bool spin_before_queueing(mode m, nanoseconds time) {
        typename P::no_preempt here_to_stay;
        if (P::need_resched())
            return false;
        const auto take = [this, m] { return m == mode::read ? add_reader() : try_take(m); };
        // Readers get in together, and of those who are upgradable there is only one.
        if (m == mode::read || m == mode::promote)
            return spin(m, 0, time, take) == spun::has_it;
        typename P::node_slot slot;
        const auto until = P::deadline::after(std::min<nanoseconds>(time, P::cpus() * spin_in_queue));
        if (!spinners_.lock(slot, &until))
            return false;
        const bool has = spin(m, 0, time, take) == spun::has_it;
        spinners_.unlock(slot);
        return has;
    }

    // How spinning ended. Outrun: others had the lock meanwhile, one after the other, for too long.
    enum class spun : std::uint8_t { in_vain, outrun, has_it };

    // Until `take` has it, or whom we wait for doesn't run, or nothing has changed for too long. `code`: as for open.
    template <class Take>
    spun spin(mode m, std::uint32_t code, nanoseconds time, Take take) {
        using stop = stop_when<typename P::deadline>;
        const auto enough = P::deadline::after(spin_in_all);
        bool announced = false; // `pending` is ours
        bool changed = true;
        for (;;) {
            const word value = word_.load(std::memory_order_relaxed);
            if (code != 0 && first_of(value) != code)
                break; // others came first
            if (open(m, code, value)) {
                if (take())
                    return spun::has_it;
                continue;
            }
            const word single = barred_by(m) & (writer | upgrader);
            if ((value & single) != 0) {
                const thread_id owner = owner_.load(std::memory_order_relaxed);
                const auto until = P::deadline::after(std::min<nanoseconds>(time, spin_on_writer));
                // relaxed: taking the lock acquires. Here and below.
                changed = static_cast<bool>(P::await(
                    std::memory_order_relaxed,
                    [=](word now, thread_id owner_now) {
                        return open(m, code, now) || (now & single) == 0 || owner_now != owner;
                    },
                    stop{.resched = true, .owner_off_cpu = owner, .deadline = &until}, spinning, word_,
                    owner_));
            } else {
                if ((m == mode::write || m == mode::promote) && (value & pending) == 0)
                    announced =
                        (word_.fetch_or(pending, std::memory_order_relaxed) & pending) == 0 || announced;
                const auto until = P::deadline::after(std::min<nanoseconds>(time, patience_with(value)));
                changed = static_cast<bool>(P::await(
                    std::memory_order_relaxed,
                    [=](word now) { return open(m, code, now) || (now & single) != 0; },
                    stop{.resched = true, .deadline = &until}, spinning, word_));
            }
            if (!changed || enough.expired())
                break;
        }
        // The first waiter, woken in vain, keeps new readers out while it sleeps: each time they would be in its way again.
        if (announced && code == 0)
            word_.fetch_and(~pending, std::memory_order_relaxed);
        return changed ? spun::outrun : spun::in_vain;
    }

    // In the list, asleep. False: the time has passed first.
    bool wait(mode m, nanoseconds time, const typename P::deadline& until) {
        typename P::sleep_slot slot;
        const std::uint32_t code = slot.code();
        if (code == 0)
            return wait_outside(m, until);
        const auto patience = P::deadline::after(handoff_after);
        join(m, code);
        for (spun how = spun::in_vain;; how = spin_as_first(m, code, time)) {
            if (how == spun::has_it || try_take_queued(m, code, heeds_call(code)))
                return true;
            if (until.expired()) {
                give_up(code);
                return false;
            }
            if (may_sleep(m, code, how == spun::outrun || patience.expired()))
                P::park(until);
        }
    }

    // The thread has no node left: in signal handlers upon signal handlers.
    bool wait_outside(mode m, const typename P::deadline& until) {
        while (!try_take(m)) {
            const auto seen = P::await(
                std::memory_order_relaxed, [m](word value) { return open(m, 0, value); },
                stop_when<typename P::deadline>{.deadline = &until}, relax{}, word_);
            if (!seen)
                return false;
        }
        return true;
    }

    // How long to spin on the readers in a word: each has to get at the word once more.
    static constexpr nanoseconds patience_with(word value) {
        return spin_on_readers + std::min<word>((value & readers) / reader, 64) * spin_on_each_reader;
    }

    spun spin_as_first(mode m, std::uint32_t code, nanoseconds time) {
        word value = word_.load(std::memory_order_relaxed);
        do {
            if (first_of(value) != code)
                return spun::in_vain;
            // relaxed: who unlocks has to see no more than the bit.
        } while ((value & awake) == 0 &&
                 !word_.compare_exchange_weak(value, roused(value), std::memory_order_relaxed,
                                              std::memory_order_relaxed));
        typename P::no_preempt here_to_stay;
        return spin(m, code, time, [this, m, code] { return try_take_queued(m, code, false); });
    }

    // Whether who waits may sleep: it is to be woken, then. Otherwise it should look again.
    bool may_sleep(mode m, std::uint32_t code, bool impatient) {
        word value = word_.load(std::memory_order_relaxed);
        for (;;) {
            if (first_of(value) != code)
                return !was_called(code); // who makes it the first, or calls it, wakes it if need be
            if (open(m, code, value))
                return false;
            const bool asks = impatient && (value & handoff) == 0;
            const word after = asks ? value | handoff : resting(m, value);
            // relaxed: see the invariant; nothing else is to be seen.
            if (after == value || word_.compare_exchange_weak(value, after, std::memory_order_relaxed,
                                                              std::memory_order_relaxed))
                return !asks;
        }
    }

    // ---- The list: a ring by `next` and `prev`. `list` is its lock, and part of the word.

    void lock_list() {
        // acquire: pairs with the releases in join and leave.
        while ((word_.fetch_or(list, std::memory_order_acquire) & list) != 0)
            until_list_is_free();
    }
    word until_list_is_free() {
        return P::await(
                   std::memory_order_relaxed, [](word value) { return (value & list) == 0; }, word_)
            .value();
    }

    // Appends the caller. It is the first if those before it need no place, having been called; or if it is to become the
    // writer: they can't have the lock before it.
    void join(mode m, std::uint32_t code) {
        queue_node<P>& mine = P::node(code);
        mine.granted.store(static_cast<std::uint32_t>(m), std::memory_order_relaxed);
        typename P::no_preempt while_locked;
        lock_list();
        word value = word_.load(std::memory_order_relaxed);
        std::uint32_t head = first_of(value);
        const bool ours = head != 0 && P::node(head).granted.load(std::memory_order_relaxed) != 0;
        const word forgotten = ours ? 0 : awake | handoff; // of the parent's waiters, after a fork
        const std::uint32_t after = ours ? head : code;
        const std::uint32_t before = ours ? P::node(head).prev.load(std::memory_order_relaxed) : code;
        mine.next.store(after, std::memory_order_relaxed);
        mine.prev.store(before, std::memory_order_relaxed);
        P::node(before).next.store(code, std::memory_order_relaxed);
        P::node(after).prev.store(code, std::memory_order_relaxed);
        // A reader that was woken to a lock that it may have lacks nothing but a CPU.
        const bool on_its_way =
            ours && m != mode::read && wants(head) == mode::read && (value & (awake | writer)) == awake;
        const bool passes = ours && (on_its_way || was_called(head)) && may_pass(head);
        if (passes)
            mark(head, called);
        word then{};
        do {
            then = value & ~(list | forgotten);
            if (!ours || m == mode::promote || (passes && (value & handoff) == 0))
                then = (then & ~(first | closed | awake)) | as_first(code, m);
            // release: pairs with the acquires of who locks the list next.
        } while (
            !word_.compare_exchange_weak(value, then, std::memory_order_release, std::memory_order_relaxed));
        if (passes)
            P::unpark(P::sleeper(head));
    }

    // Takes the lock, and the caller off the list, if it is open to it: it is the first, or was called.
    bool try_take_queued(mode m, std::uint32_t code, bool is_called) {
        typename P::no_preempt while_locked;
        word value = word_.load(std::memory_order_relaxed);
        while (open(m, code, value) && (first_of(value) == code || is_called)) {
            // acquire: as in lock, and in lock_list.
            if ((value & list) != 0)
                value = until_list_is_free();
            else if (word_.compare_exchange_weak(value, taken(m, value) | list, std::memory_order_acquire,
                                                 std::memory_order_relaxed)) {
                if (m != mode::read)
                    set_owner();
                const bool reads = m == mode::read || m == mode::upgrade;
                leave(code, reads && (value & readers) == 0);
                return true;
            }
        }
        return false;
    }

    void give_up(std::uint32_t code) {
        typename P::no_preempt while_locked;
        lock_list();
        leave(code, false);
    }

    // Takes the caller off the list, which it has locked, and unlocks it; calls the readers in it if asked to. If the caller
    // was the first then one that isn't called is in its place, and woken if it may have the lock now: who was called comes
    // in as soon as it has a CPU, and must not keep others waiting until then.
    void leave(std::uint32_t code, bool calls_readers) {
        const std::uint32_t next = P::node(code).next.load(std::memory_order_relaxed);
        const std::uint32_t prev = P::node(code).prev.load(std::memory_order_relaxed);
        word value = word_.load(std::memory_order_relaxed);
        const bool was_first = first_of(value) == code;
        std::uint32_t heir = 0;
        std::array<std::uint32_t, woken_at_once> others;
        std::size_t count = 0;
        if (next != code) {
            P::node(prev).next.store(next, std::memory_order_relaxed);
            P::node(next).prev.store(prev, std::memory_order_relaxed);
            heir = was_first ? next_first(next, calls_readers) : first_of(value);
            if (calls_readers) {
                for (std::uint32_t at = P::node(heir).next.load(std::memory_order_relaxed);
                     at != heir && count < others.size();
                     at = P::node(at).next.load(std::memory_order_relaxed)) {
                    if (wants(at) == mode::read) {
                        mark(at, called);
                        others[count++] = at;
                    }
                }
            }
        }
        const mode heir_wants = heir == 0 ? mode::read : wants(heir);
        const word kept = ~(list | (was_first ? first | closed | awake | handoff | pending : 0));
        const word heirs = was_first && heir != 0 ? as_first(heir, heir_wants) : 0;
        word then{};
        bool wakes = false;
        do {
            then = (value & kept) | heirs;
            wakes = heirs != 0 && ((value & handoff) != 0 || open(heir_wants, heir, then));
            if (wakes)
                then = roused(then);
            // release: as in join.
        } while (
            !word_.compare_exchange_weak(value, then, std::memory_order_release, std::memory_order_relaxed));
        if (wakes)
            P::unpark(P::sleeper(heir));
        for (std::size_t i = 0; i < count; ++i)
            P::unpark(P::sleeper(others[i]));
    }
    // Who is to be the first in a list that begins with `start`, whose readers are about to be called, or not.
    static std::uint32_t next_first(std::uint32_t start, bool calls_readers) {
        std::uint32_t at = start;
        while (was_called(at) || (calls_readers && wants(at) == mode::read)) {
            if (!may_pass(at))
                break;
            at = P::node(at).next.load(std::memory_order_relaxed);
            if (at == start)
                break;
        }
        return at;
    }
    // Whether another may become the first before this waiter: once.
    static bool may_pass(std::uint32_t code) { return (mark(code, passed) & passed) == 0; }
    // The word with its first waiter awake, or asleep.
    static constexpr word roused(word value) { return (value & ~closed) | awake; }
    static constexpr word resting(mode m, word value) {
        return (value & ~awake) | (m == mode::read ? 0 : closed);
    }
    static constexpr word as_first(std::uint32_t code, mode m) {
        return word{code} << first_shift | (m == mode::read ? 0 : closed);
    }
    static bool was_called(std::uint32_t code) {
        return (P::node(code).granted.load(std::memory_order_relaxed) & called) != 0;
    }
    static std::uint32_t mark(std::uint32_t code, std::uint32_t what) {
        // relaxed: an unpark follows each call; the list's lock orders the rest.
        return P::node(code).granted.fetch_or(what, std::memory_order_relaxed);
    }
    // Whether the caller was called since it last tried.
    static bool heeds_call(std::uint32_t code) {
        return was_called(code) &&
               (P::node(code).granted.fetch_and(~called, std::memory_order_relaxed) & called) != 0;
    }
    static mode wants(std::uint32_t code) {
        return static_cast<mode>(P::node(code).granted.load(std::memory_order_relaxed) & ~(called | passed));
    }

    typename P::template atomic<word> word_{0};
    typename P::template atomic<thread_id> owner_{nobody};
    osq_lock<P> spinners_;
};

// The lock to take home. May be a global: it needs no constructor to run.
using shared_mutex = basic_shared_mutex<native>;

static_assert(sizeof(shared_mutex) == 16);

} // namespace holdfast
