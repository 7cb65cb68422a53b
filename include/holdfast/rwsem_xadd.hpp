// The read-write semaphore of Linux 3.15 to 4.x: one word of biases, a wait list, optimistic spinning.
//
// count is signed, 64 bits, a sum of biases:
//   active   +1       each reader and the writer that has the lock, and each that is trying to get it
//   waiting  -2^32    once, while the wait list isn't empty
//   a writer adds waiting + active, so that whoever adds less than a writer's bias sees a negative sum
//
//   count                     state
//   0                         free, nobody waits
//   n                         n readers (or readers trying), nobody waits
//   waiting + active          a writer alone; or waiters, and one active: a reader, or a writer that is giving up
//   waiting                   free, with waiters: the first of them is about to be woken
//   waiting + n               waiters, and n active
//   2 waiting + active + ...  a writer, and waiters (or another writer trying)
//
// A reader adds `active` and has the lock if the sum is positive. A writer adds `waiting + active` and has it if the
// sum is just that. Who fails goes to the slow path: it takes wait_lock, joins the list (the first adds `waiting`), and
// sleeps. Readers at the head are granted the lock by the waker, in one batch up to the next writer: it adds their
// biases, then grants (wait_list.hpp), then wakes. A writer at the head is only woken, and competes.
//
// Optimistic spinning (since 3.16): a writer that fails may spin instead of sleeping, one at a time (osq.hpp) while the
// owner runs, and take the lock past the waiters when it comes free. Writers record themselves as owner; readers
// don't. So the owner is also nobody while readers hold the lock, or a hand-over is under way, and what a spinner
// makes of that is what the history of this lock turns on: see rwsem_xadd_rules.
//
// Algorithm: David Howells 2001, Michel Lespinasse and Davidlohr Bueso 2013-14 (kernel/locking/rwsem-xadd.c), from
// descriptions. Differences: the word of the wait list holds no list head but two pointers; signals are cancel tokens.
#pragma once

#include <holdfast/cancel_token.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/ticket_lock.hpp>
#include <holdfast/wait_list.hpp>

namespace holdfast {

// What the lock's history changed, as choices. Presets below.
struct rwsem_xadd_rules {
    // What the entry check of optimistic spinning answers when there is no owner.
    enum class ownerless : std::uint8_t {
        spin,            // spin: the owner may be about to record itself
        refuse,          // sleep: readers may hold the lock
        spin_if_inactive // spin unless somebody is active
    };

    bool optimistic_spinning = false;
    ownerless without_owner = ownerless::refuse;
    bool early_reader_release =
        false; // a reader that fails takes its bias back at once, not after it has wait_lock
    bool wake_defers_to_spinner = false; // a wake-up is left out if somebody spins and wait_lock is busy
};

namespace rwsem_xadd_presets {
inline constexpr rwsem_xadd_rules linux_3_15{};
inline constexpr rwsem_xadd_rules linux_3_16_rc1{.optimistic_spinning = true,
                                                 .without_owner = rwsem_xadd_rules::ownerless::spin};
inline constexpr rwsem_xadd_rules linux_3_16{.optimistic_spinning = true,
                                             .without_owner = rwsem_xadd_rules::ownerless::refuse};
inline constexpr rwsem_xadd_rules linux_4_7{.optimistic_spinning = true,
                                            .without_owner = rwsem_xadd_rules::ownerless::spin_if_inactive,
                                            .wake_defers_to_spinner = true};
inline constexpr rwsem_xadd_rules rfc_2016_v4{.optimistic_spinning = true,
                                              .without_owner = rwsem_xadd_rules::ownerless::spin_if_inactive,
                                              .early_reader_release = true,
                                              .wake_defers_to_spinner = true};
} // namespace rwsem_xadd_presets

// A SharedLockable of the standard, with downgrade and killable waits. Not recursive; to be unlocked by the thread that
// locked it for writing, by any for reading. 40 bytes natively, as in Linux 3.16 after the encoded spin queue.
template <class P, rwsem_xadd_rules Rules = rwsem_xadd_presets::linux_3_16,
          template <class> class WaitLock = ticket_lock>
class rwsem_xadd {
    using bias = std::int64_t;
    static constexpr bias active = 1;
    static constexpr bias active_mask = 0xffffffff;
    static constexpr bias waiting = -(bias{1} << 32);
    static constexpr bias write = waiting + active;

public:
    constexpr rwsem_xadd() = default;
    rwsem_xadd(const rwsem_xadd&) = delete;
    rwsem_xadd& operator=(const rwsem_xadd&) = delete;

    // Acquires for writing.
    void lock() {
        typename P::frame frame{"down_write"};
        // acquire: pairs with the releases of unlock and unlock_shared.
        if (count_.fetch_add(write, std::memory_order_acquire) != 0)
            lock_slow(nullptr);
        set_owner();
    }

    // Acquires for writing unless cancelled first: false then.
    [[nodiscard]] bool lock(cancel_token<P>& token) {
        typename P::frame frame{"down_write_killable"};
        // acquire: as in lock.
        if (count_.fetch_add(write, std::memory_order_acquire) != 0 && !lock_slow(&token))
            return false;
        set_owner();
        return true;
    }

    [[nodiscard]] bool try_lock() {
        bias free = 0;
        // acquire: as in lock.
        if (!count_.compare_exchange_strong(free, write, std::memory_order_acquire,
                                            std::memory_order_relaxed))
            return false;
        set_owner();
        return true;
    }

    void unlock() {
        typename P::frame frame{"up_write"};
        clear_owner();
        // release: pairs with the acquire of whoever gets the lock next, or grants it.
        const bias left = count_.fetch_sub(write, std::memory_order_release) - write;
        if (left < 0)
            wake();
    }

    // Acquires for reading.
    void lock_shared() {
        typename P::frame frame{"down_read"};
        // acquire: pairs with unlock's release.
        if (count_.fetch_add(active, std::memory_order_acquire) + active <= 0)
            lock_shared_slow();
    }

    [[nodiscard]] bool try_lock_shared() {
        bias count = count_.load(std::memory_order_relaxed);
        while (count >= 0) {
            // acquire: pairs with unlock's release.
            if (count_.compare_exchange_weak(count, count + active, std::memory_order_acquire,
                                             std::memory_order_relaxed))
                return true;
        }
        return false;
    }

    void unlock_shared() {
        typename P::frame frame{"up_read"};
        // release: pairs with the acquire of the writer that gets the lock next.
        const bias left = count_.fetch_sub(active, std::memory_order_release) - active;
        if (left < 0 && (left & active_mask) == 0)
            wake();
    }

    // Turns the caller's write lock into a read lock; nobody writes in between.
    void downgrade() {
        typename P::frame frame{"downgrade_write"};
        clear_owner();
        // release: pairs with the acquire of readers. Those that we grant the lock ourselves see what we did anyway.
        const bias left = count_.fetch_sub(waiting, std::memory_order_release) - waiting;
        if (left < 0) {
            wait_lock_.lock();
            if (!waiters_.empty())
                wake_readers(true);
            wait_lock_.unlock();
        }
    }

    // Whether anybody holds the lock. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const {
        return (count_.load(std::memory_order_relaxed) & active_mask) != 0;
    }

private:
    struct waiter : waiter_base<P, waiter> {
        explicit waiter(bool writing) : writes(writing) {}
        typename P::template var<bool> writes;
    };

    void set_owner() {
        // relaxed, as all of owner_: a hint.
        if constexpr (Rules.optimistic_spinning)
            owner_.store(P::self(), std::memory_order_relaxed);
    }
    void clear_owner() {
        if constexpr (Rules.optimistic_spinning)
            owner_.store(nobody, std::memory_order_relaxed);
    }

    [[gnu::cold, gnu::noinline]] void lock_shared_slow() {
        typename P::frame frame{"rwsem_down_read_failed"};
        bias adjustment = -active;
        if constexpr (Rules.early_reader_release) {
            // relaxed: gives nothing away but the bias. A writer that spins may take the lock from now on. If nobody is
            // active any more, those who wait depend on us: we look below, with wait_lock.
            count_.fetch_sub(active, std::memory_order_relaxed);
            adjustment = 0;
        }
        waiter mine(false);
        wait_lock_.lock();
        const bool first = waiters_.empty();
        if (first)
            adjustment += waiting;
        waiters_.append(mine);
        bias count;
        // relaxed: only says whether to wake.
        if (adjustment == 0)
            count = count_.load(std::memory_order_relaxed);
        else
            count = count_.fetch_add(adjustment, std::memory_order_relaxed) + adjustment;
        // Nobody active, so nobody will wake the head; or only readers were before us.
        if (count == waiting || (count > waiting && first))
            wake_head();
        wait_lock_.unlock();
        while (!mine.granted()) {
            P::count(event::rwsem_sleep_reader);
            P::park();
        }
        P::count(event::rwsem_rlock);
    }

    // The caller has added a writer's bias in vain. False: cancelled.
    [[gnu::cold, gnu::noinline]] bool lock_slow(cancel_token<P>* token) {
        typename P::frame frame{"rwsem_down_write_failed"};
        // relaxed: gives nothing away but the bias.
        count_.fetch_sub(write, std::memory_order_relaxed);
        if constexpr (Rules.optimistic_spinning) {
            if (spin())
                return true;
        }
        waiter mine(true);
        if (token != nullptr)
            token->begin_wait();
        wait_lock_.lock();
        const bool first = waiters_.empty();
        waiters_.append(mine);
        bias count;
        if (first) {
            // relaxed: taking the lock below acquires.
            count = count_.fetch_add(waiting, std::memory_order_relaxed) + waiting;
        } else {
            count = count_.load(std::memory_order_relaxed);
            // Nobody writes, so readers at the head may go ahead.
            if (count > waiting && !waiters_.first()->writes.get())
                wake_readers(false);
        }
        for (;;) {
            if (try_take_queued(mine))
                break;
            wait_lock_.unlock();
            bool cancelled = false;
            do {
                if (token != nullptr && token->cancelled()) {
                    cancelled = true;
                    break;
                }
                P::count(event::rwsem_sleep_writer);
                P::park();
                // relaxed: only says when to try again.
            } while ((count_.load(std::memory_order_relaxed) & active_mask) != 0);
            wait_lock_.lock();
            if (cancelled) {
                give_up(mine);
                token->end_wait();
                P::count(event::rwsem_wlock_fail);
                return false;
            }
        }
        waiters_.remove(mine);
        wait_lock_.unlock();
        if (token != nullptr)
            token->end_wait();
        P::count(event::rwsem_wlock);
        return true;
    }

    // A queued writer takes the lock if nobody is active. With wait_lock.
    bool try_take_queued(waiter& mine) {
        bias count = waiting;
        const bool alone = waiters_.first() == &mine && mine.next.get() == nullptr;
        // acquire: pairs with the releases of unlock and unlock_shared. If the list goes empty, so does its bias.
        return count_.load(std::memory_order_relaxed) == waiting &&
               count_.compare_exchange_strong(count, alone ? write : write + waiting,
                                              std::memory_order_acquire, std::memory_order_relaxed);
    }

    // A queued writer leaves without the lock. With wait_lock, which it gives up.
    void give_up(waiter& mine) {
        waiters_.remove(mine);
        if (waiters_.empty())
            count_.fetch_sub(waiting, std::memory_order_relaxed);
        else
            wake_head(); // it may have been we that the last unlock woke
        wait_lock_.unlock();
    }

    // A writer that isn't queued takes the lock past the waiters, if nobody is active.
    bool try_steal() {
        bias count = count_.load(std::memory_order_relaxed);
        while (count == 0 || count == waiting) {
            // acquire: pairs with the releases of unlock and unlock_shared.
            if (count_.compare_exchange_weak(count, count + write, std::memory_order_acquire,
                                             std::memory_order_relaxed))
                return true;
        }
        return false;
    }

    bool may_spin() const {
        if (P::need_resched())
            return false;
        const thread_id owner = owner_.load(std::memory_order_relaxed);
        if (owner != nobody)
            return P::on_cpu(owner);
        using ownerless = rwsem_xadd_rules::ownerless;
        if constexpr (Rules.without_owner == ownerless::spin_if_inactive)
            return (count_.load(std::memory_order_relaxed) & active_mask) == 0;
        return Rules.without_owner == ownerless::spin;
    }

    bool spin() {
        typename P::no_preempt here_to_stay;
        if (!may_spin())
            return false;
        typename P::node_slot slot;
        bool taken = false;
        if (spinners_.lock(slot)) {
            taken = spin_first();
            spinners_.unlock(slot);
        }
        // seq_cst: pairs with wake's fence. Either that sees that we spin no more, or we see the count that it comes with.
        if constexpr (Rules.wake_defers_to_spinner)
            P::fence(std::memory_order_seq_cst);
        P::count(taken ? event::rwsem_opt_lock : event::rwsem_opt_fail);
        return taken;
    }

    // Spins as the one who may.
    bool spin_first() {
        for (;;) {
            const thread_id owner = owner_.load(std::memory_order_relaxed);
            if (owner != nobody) {
                // relaxed: a hint; taking the lock acquires.
                const auto seen = P::await(
                    std::memory_order_relaxed, [owner](thread_id now) { return now != owner; },
                    stop_when<typename P::deadline>{.resched = true, .owner_off_cpu = owner}, relax{},
                    owner_);
                // Another writer is the owner already, or this one sleeps, or we must go.
                if (!seen || seen.value() != nobody)
                    return false;
            }
            if (try_steal())
                return true;
            // Nobody is the owner, but the lock isn't free: wait for either to change.
            if (owner == nobody) {
                const auto seen = P::await(
                    std::memory_order_relaxed,
                    [](bias count, thread_id now) { return now != nobody || count == 0 || count == waiting; },
                    stop_when<typename P::deadline>{.resched = true}, relax{}, count_, owner_);
                if (!seen)
                    return false;
            }
        }
    }

    // Nobody is active any more, or a writer has gone, and there are waiters.
    [[gnu::cold, gnu::noinline]] void wake() {
        typename P::frame frame{"rwsem_wake"};
        if constexpr (Rules.wake_defers_to_spinner) {
            // Whoever has wait_lock or spins will see to it that the lock is taken.
            // seq_cst: pairs with spin's fence. Without, a spinner that has given up might still seem to spin, and not see
            // the count that we come with (Linux until 4.14, 9c29c31830a4).
            P::fence(std::memory_order_seq_cst);
            if (spinners_.is_locked()) {
                if (!wait_lock_.try_lock())
                    return;
                wake_queue_and_unlock();
                return;
            }
        }
        wait_lock_.lock();
        wake_queue_and_unlock();
    }

    void wake_queue_and_unlock() {
        if (!waiters_.empty())
            wake_head();
        wait_lock_.unlock();
    }

    // Wakes a writer at the head, or grants readers there the lock. With wait_lock, the list not empty.
    void wake_head() {
        waiter* const first = waiters_.first();
        if (first->writes.get()) {
            P::count(event::rwsem_wake_writer);
            P::unpark(first->thread.load(std::memory_order_relaxed));
        } else {
            wake_readers(false);
        }
    }

    // Grants the lock to the readers at the head, up to the next writer. `read_owned`: the caller holds the lock for
    // reading, so no writer can be active. With wait_lock, the list not empty.
    void wake_readers(bool read_owned) {
        bias granted = 0;
        if (!read_owned) {
            // A bias for the first reader, before anything else: if a writer has the lock, it stays with that.
            while (count_.fetch_add(active, std::memory_order_acquire) < waiting) {
                // acquire, above: pairs with the releases of unlock and downgrade, which the readers get from us.
                // relaxed: gives nothing away but the bias. If the writer went meanwhile, its wake-up may have missed us.
                const bias left = count_.fetch_sub(active, std::memory_order_relaxed) - active;
                if ((left & active_mask) != 0)
                    return;
            }
            granted = active;
        }
        bias readers = 0;
        waiter* last = waiters_.first();
        if (last->writes.get())
            return; // only possible if read_owned: nothing was added
        for (waiter* w = last; w != nullptr && !w->writes.get(); w = w->next.get()) {
            last = w;
            readers += active;
        }
        waiter* const rest = last->next.get();
        const bias adjustment = readers - granted - (rest == nullptr ? waiting : 0);
        if (adjustment != 0)
            count_.fetch_add(adjustment, std::memory_order_relaxed);
        waiter* w = waiters_.first();
        waiters_.remove_before(rest);
        while (w != rest) {
            waiter* const next = w->next.get();
            P::count(event::rwsem_wake_reader);
            P::unpark(w->grant());
            w = next;
        }
    }

    typename P::template atomic<bias> count_{0};
    wait_list<P, waiter> waiters_;
    WaitLock<P> wait_lock_;
    osq_lock<P> spinners_;
    typename P::template atomic<thread_id> owner_{nobody};
};

} // namespace holdfast
