// The queued read-write spinlock: 8 bytes, and those who wait do so in a queue, not on the word.
//
//   bits 0-7    locked     0xff while a writer has the lock
//   bit  8      waiting    the first writer in the queue waits for readers to go, and keeps new ones out
//   bits 9-31   readers    how many have the lock or try to get it
//
// and beside the word a spinlock, wait_lock, which is the queue. A reader adds itself and has the lock if no
// writer has it or waits; otherwise it takes itself out again and queues. A writer turns a word that is 0
// into `locked`, or queues. Whoever has wait_lock is the queue's head, alone, and waits on the word: a reader
// adds itself and waits for `locked` to go; a writer sets `waiting` and turns the word into `locked` when
// nothing but `waiting` is left. Then it lets wait_lock go, to the next in the queue. So the order is that of
// wait_lock, first come, first served with a fair one; a reader at the head lets the next in at once, so that
// readers in a row share; and on the word spin the head and nobody else.
//
// Invariants. `locked` is set by a compare-exchange from 0, or from `waiting` alone, so never beside readers.
// A reader that added itself when `locked` was clear has the lock until it takes itself out. Only the owner
// of wait_lock sets `waiting`, and it turns it into `locked` before it lets go. Readers that find they may
// not get in leave the word as it was.
//
// There were other rules: qrwlock_rules. Under the older ones `waiting` is a value of the lowest byte (1),
// and so can't be set while a writer has the lock: between its going and that, whoever comes may pass the
// queue.
//
// Readers that interrupt a reader of the same lock must not queue behind a writer that waits for the reader:
// for them there is lock_shared_unfair, which waits for `locked` alone.
//
// Bounds: fewer than 2^23 readers at once.
//
// Algorithm: Waiman Long 2013-14, Will Deacon 2017 (kernel/locking/qrwlock.c), from descriptions. There a
// writer's release is a store to one byte; C++ has no mixed-size atomics, so here it is a subtraction from
// the word.
#pragma once

#include <cstdint>
#include <type_traits>

#include <holdfast/platform.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/tsan_annotations.hpp>

namespace holdfast {

// What the lock's history changed, as choices. Presets below.
struct qrwlock_rules {
    bool waiting_apart = true;   // `waiting` is a bit of its own; else a value of the writer's byte
    bool readers_pass = false;   // a writer that waits keeps no reader out
    bool head_is_counted = true; // a reader at the queue's head adds itself, then waits for the writer to go
    bool queue_inlined = false;  // profiles see waiting in the queue as a part of the slow path that waits
};

namespace qrwlock_presets {
// The patches of autumn 2013, in which a reader was unfair unless its lock asked for fair ones. Their queue
// was of their own, in 16 bytes.
inline constexpr qrwlock_rules patch_2013{
    .waiting_apart = false, .readers_pass = true, .queue_inlined = true};
inline constexpr qrwlock_rules linux_3_16{
    .waiting_apart = false, .head_is_counted = false, .queue_inlined = true};
inline constexpr qrwlock_rules linux_4_15{};
} // namespace qrwlock_presets

// A platform whose frames name nothing: what stands on it belongs, in a profile, to the function that calls
// it.
template <class P>
struct inlined : P {
    struct frame {
        explicit frame(const char*) {}
    };
};

// A SharedLockable of the standard; free when constructed, to be free when destroyed. Not recursive, but see
// lock_shared_unfair. To be unlocked by the thread that locked it. Holders and waiters keep their CPU where
// the platform can promise it (platform.hpp, clause F). 8 bytes if WaitLock has 4.
template <class P, qrwlock_rules Rules = qrwlock_presets::linux_4_15,
          template <class> class WaitLock = qspinlock>
class qrwlock : told_to_tsan<P> {
    using count = std::uint32_t;
    static constexpr count locked = 0xff;
    static constexpr count waiting = Rules.waiting_apart ? 0x100 : 0x01;
    static constexpr count writers = 0x1ff;
    static constexpr count reader = 0x200;

    static constexpr bool has_writer(count word) { return (word & locked) == locked; }
    static constexpr bool keeps_readers_out(count word) {
        return Rules.readers_pass ? has_writer(word) : (word & writers) != 0;
    }

public:
    constexpr qrwlock() = default;
    qrwlock(const qrwlock&) = delete;
    qrwlock& operator=(const qrwlock&) = delete;

    // Acquires for writing.
    void lock() {
        this->begin_lock();
        P::preempt_disable();
        count free = 0;
        // acquire: pairs with the releases of unlock and unlock_shared.
        if (!word_.compare_exchange_strong(free, locked, std::memory_order_acquire,
                                           std::memory_order_relaxed))
            lock_slow();
        this->end_lock();
    }

    // Acquires for writing if that needs no waiting. False: somebody has the lock, or a writer waits for it.
    [[nodiscard]] bool try_lock() {
        this->begin_try();
        P::preempt_disable();
        count word = word_.load(std::memory_order_relaxed);
        // acquire: as in lock.
        const bool got = word == 0 && word_.compare_exchange_strong(word, locked, std::memory_order_acquire,
                                                                    std::memory_order_relaxed);
        if (!got)
            P::preempt_enable();
        return this->end_try(got);
    }

    // Releases what lock or try_lock acquired.
    void unlock() {
        this->say_unlock();
        // release: pairs with the acquire of whoever gets in next, reader or writer.
        word_.fetch_sub(locked, std::memory_order_release);
        P::preempt_enable();
    }

    // Acquires for reading.
    void lock_shared() {
        this->begin_lock(hold::shared);
        P::preempt_disable();
        // acquire: pairs with unlock's release.
        if (keeps_readers_out(word_.fetch_add(reader, std::memory_order_acquire)))
            lock_shared_slow();
        this->end_lock(hold::shared);
    }

    // Acquires for reading past all that wait: for a thread that reads already, and for a signal handler that
    // may have interrupted a reader. A stream of these keeps writers out.
    void lock_shared_unfair() {
        this->begin_lock(hold::shared);
        P::preempt_disable();
        // acquire: pairs with unlock's release.
        if (has_writer(word_.fetch_add(reader, std::memory_order_acquire)))
            lock_shared_unfair_slow();
        this->end_lock(hold::shared);
    }

    // Acquires for reading if that needs no waiting. False: a writer has the lock, or waits for it.
    [[nodiscard]] bool try_lock_shared() {
        this->begin_try(hold::shared);
        P::preempt_disable();
        count word = word_.load(std::memory_order_relaxed);
        bool got = false;
        while (!got && !keeps_readers_out(word)) {
            // acquire: as in lock_shared.
            got = word_.compare_exchange_weak(word, word + reader, std::memory_order_acquire,
                                              std::memory_order_relaxed);
        }
        if (!got)
            P::preempt_enable();
        return this->end_try(got, hold::shared);
    }

    // Releases what any of the three above acquired.
    void unlock_shared() {
        this->say_unlock(hold::shared);
        // release: pairs with the acquire of the writer that gets in next.
        word_.fetch_sub(reader, std::memory_order_release);
        P::preempt_enable();
    }

    // Whether somebody holds the lock, or waits for it as the first. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const { return word_.load(std::memory_order_relaxed) != 0; }

private:
    [[gnu::cold, gnu::noinline]] void lock_slow() {
        typename P::frame frame{"queue_write_lock_slowpath"};
        wait_lock_.lock();
        count free = 0;
        // acquire: as in lock.
        if (!word_.compare_exchange_strong(free, locked, std::memory_order_acquire,
                                           std::memory_order_relaxed))
            lock_as_head();
        wait_lock_.unlock();
    }

    // With wait_lock.
    void lock_as_head() {
        // relaxed: gives nothing away but the wish; taking the lock acquires.
        if constexpr (Rules.waiting_apart)
            word_.fetch_or(waiting, std::memory_order_relaxed);
        else
            wait_in_writers_byte();
        count only_we;
        do {
            P::await(
                std::memory_order_relaxed, [](count word) { return word == waiting; }, word_);
            only_we = waiting;
            // acquire: pairs with the releases of unlock and unlock_shared. Not the look before: between the
            // two an unfair reader may have come and gone.
        } while (!word_.compare_exchange_weak(only_we, locked, std::memory_order_acquire,
                                              std::memory_order_relaxed));
    }

    // Sets `waiting` where it excludes `locked`. With wait_lock.
    void wait_in_writers_byte() {
        count word;
        do {
            word = P::await(
                       std::memory_order_relaxed, [](count seen) { return (seen & writers) == 0; }, word_)
                       .value();
            // relaxed: as in lock_as_head.
        } while (!word_.compare_exchange_weak(word, word | waiting, std::memory_order_relaxed,
                                              std::memory_order_relaxed));
    }

    // The caller has added itself in vain.
    [[gnu::cold, gnu::noinline]] void lock_shared_slow() {
        typename P::frame frame{"queue_read_lock_slowpath"};
        // relaxed: nothing was read under the lock.
        word_.fetch_sub(reader, std::memory_order_relaxed);
        wait_lock_.lock();
        if constexpr (!Rules.head_is_counted)
            P::await(
                std::memory_order_relaxed, [](count word) { return (word & writers) == 0; }, word_);
        // relaxed: the wait that follows acquires.
        word_.fetch_add(reader, std::memory_order_relaxed);
        wait_for_writer();
        wait_lock_.unlock();
    }

    [[gnu::cold, gnu::noinline]] void lock_shared_unfair_slow() {
        typename P::frame frame{"queue_read_lock_slowpath"};
        wait_for_writer();
    }

    // As a reader that is counted: no writer can get in after this one.
    void wait_for_writer() {
        // acquire: pairs with unlock's release.
        P::await(
            std::memory_order_acquire, [](count word) { return !has_writer(word); }, word_);
    }

    using queue_platform = std::conditional_t<Rules.queue_inlined, inlined<P>, P>;

    typename P::template atomic<count> word_{0};
    WaitLock<queue_platform> wait_lock_;
};

} // namespace holdfast
