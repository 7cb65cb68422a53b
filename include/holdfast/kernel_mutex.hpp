// The sleeping mutex of the Linux kernel: one word that names the owner, optimistic spinning, a wait list.
//
// Who finds the mutex held and its owner running spins: sections are short, and to sleep and be woken costs more. One
// thread at a time spins, the others queue for that (osq.hpp). When the owner doesn't run, or somebody else wants the
// CPU, the thread joins the wait list and sleeps. Unlock makes the mutex free and wakes the first in the list, which
// competes with those who spin; so a stream of spinners may keep a sleeper out for ever. Since 4.10 a waiter that was
// woken and found the mutex taken asks for a hand-off: then unlock doesn't free the mutex but passes it to the first
// waiter. See kernel_mutex_rules.
//
//   owner_, bits 32..63   who holds the mutex; nobody: free
//   bit 0  waiters        the wait list isn't empty, or is about to be: unlock must look. Changed with wait_lock only
//   bit 1  handoff        unlock must pass the mutex on to the first waiter. Set with wait_lock, while there are waiters;
//                         gone as soon as anybody takes the mutex, or the list is empty
//   bit 2  pickup         passed on: the owner named is a waiter that doesn't know yet. Nobody else may take the mutex
//
//   operation            word before               word after
//   lock, try_lock       free, any bits            mine, waiters
//   the same             mine, pickup              mine, waiters
//   unlock               mine                      free
//   unlock               mine, waiters             free, waiters; then wakes the first
//   unlock               mine, waiters, handoff    the first waiter's, waiters, pickup; then wakes it
//
// Algorithm: Ingo Molnar 2005, Peter Zijlstra 2009 (spinning) and 2016 (the owner's word, hand-off), Waiman Long 2013
// (the spinners' queue); kernel/locking/mutex.c, from descriptions. Difference: up to 4.9 the kernel kept a count beside
// the owner; here the word of 4.10 serves for both, so there is no moment with the mutex held and the owner unknown.
#pragma once

#include <holdfast/cancel_token.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/ticket_lock.hpp>
#include <holdfast/wait_list.hpp>

namespace holdfast {

// What the mutex's history changed, as choices. Presets below.
struct kernel_mutex_rules {
    // A waiter that was woken in vain gets the mutex from the next unlock, and spins meanwhile if the owner runs.
    bool handoff = true;
};

namespace kernel_mutex_presets {
inline constexpr kernel_mutex_rules linux_3_12{.handoff = false};
inline constexpr kernel_mutex_rules linux_4_10{.handoff = true};
} // namespace kernel_mutex_presets

// Lockable of the standard, with killable waits. Not recursive; to be unlocked by the thread that locked it. 32 bytes
// natively, as the kernel's since 4.10. Not to be destroyed before every unlock has returned: the next owner may get
// ahead of it.
template <class P, kernel_mutex_rules Rules = kernel_mutex_presets::linux_4_10,
          template <class> class WaitLock = ticket_lock>
class kernel_mutex {
    using word = std::uint64_t;
    static constexpr word waiters = 1;
    static constexpr word handoff = 2;
    static constexpr word pickup = 4;

    static constexpr word owned_by(thread_id thread) { return word{thread} << 32; }
    static constexpr thread_id owner_of(word value) { return static_cast<thread_id>(value >> 32); }

public:
    constexpr kernel_mutex() = default;
    kernel_mutex(const kernel_mutex&) = delete;
    kernel_mutex& operator=(const kernel_mutex&) = delete;

    void lock() {
        typename P::frame frame{"mutex_lock"};
        if (!try_take_unused())
            lock_slow(nullptr);
    }

    // Acquires unless cancelled first: false then.
    [[nodiscard]] bool lock(cancel_token<P>& token) {
        typename P::frame frame{"mutex_lock_killable"};
        return try_take_unused() || lock_slow(&token);
    }

    // Takes the mutex if it is free, whoever waits for it.
    [[nodiscard]] bool try_lock() { return try_take() == nobody; }

    void unlock() {
        typename P::frame frame{"mutex_unlock"};
        word value = owned_by(P::self());
        // release: pairs with the acquire of whoever takes the mutex next.
        if (!owner_.compare_exchange_strong(value, 0, std::memory_order_release, std::memory_order_relaxed))
            unlock_slow(value);
    }

    // Whether anybody holds the mutex. Out of date as soon as it is known.
    [[nodiscard]] bool is_locked() const {
        return owner_of(owner_.load(std::memory_order_relaxed)) != nobody;
    }

private:
    struct waiter : waiter_base<P, waiter> {};

    bool try_take_unused() {
        word unused = 0;
        // acquire: pairs with the releases of unlock and unlock_slow.
        return owner_.compare_exchange_strong(unused, owned_by(P::self()), std::memory_order_acquire,
                                              std::memory_order_relaxed);
    }

    // Takes the mutex if it is free or was passed on to us. The result is who is in the way: nobody, if it is ours.
    thread_id try_take() {
        const thread_id self = P::self();
        word value = owner_.load(std::memory_order_relaxed);
        for (;;) {
            const thread_id owner = owner_of(value);
            if (owner != nobody && (owner != self || (value & pickup) == 0))
                return owner;
            // acquire: pairs with the releases of unlock and unlock_slow.
            if (owner_.compare_exchange_weak(value, owned_by(self) | (value & waiters),
                                             std::memory_order_acquire, std::memory_order_relaxed))
                return nobody;
        }
    }

    // False: cancelled.
    [[gnu::cold, gnu::noinline]] bool lock_slow(cancel_token<P>* token) {
        typename P::frame frame{"__mutex_lock_slowpath"};
        if (spin())
            return true;
        if (token != nullptr)
            token->begin_wait();
        const bool taken = wait(token);
        if (token != nullptr)
            token->end_wait();
        return taken;
    }

    bool wait(cancel_token<P>* token) {
        waiter mine;
        wait_lock_.lock();
        waiters_.append(mine);
        // relaxed, as all changes of the bits: who acts on them has wait_lock.
        owner_.fetch_or(waiters, std::memory_order_relaxed);
        bool taken = false;
        bool asked = false; // for a hand-off
        for (;;) {
            // With wait_lock: what is passed on to us from now on comes with a wake-up.
            taken = try_take() == nobody;
            if (taken || (token != nullptr && token->cancelled()))
                break;
            wait_lock_.unlock();
            taken = asked && spin_as_waiter();
            if (!taken)
                P::park();
            wait_lock_.lock();
            if (taken)
                break;
            asked = Rules.handoff && waiters_.first() == &mine;
            if (asked)
                owner_.fetch_or(handoff, std::memory_order_relaxed);
        }
        waiters_.remove(mine);
        if (waiters_.empty())
            owner_.fetch_and(~(waiters | handoff), std::memory_order_relaxed);
        wait_lock_.unlock();
        return taken;
    }

    [[gnu::cold, gnu::noinline]] void unlock_slow(word value) {
        typename P::frame frame{"__mutex_unlock_slowpath"};
        // release: pairs with the acquire of whoever takes the mutex next, as from now on anybody may.
        while ((value & handoff) == 0 &&
               !owner_.compare_exchange_weak(value, value & waiters, std::memory_order_release,
                                             std::memory_order_relaxed)) {
        }
        wait_lock_.lock();
        const waiter* const first = waiters_.first();
        const thread_id heir = first != nullptr ? first->thread.load(std::memory_order_relaxed) : nobody;
        if ((value & handoff) != 0) {
            // The mutex is still ours and so are, with wait_lock, the bits. release: as above.
            owner_.store(heir != nobody ? owned_by(heir) | waiters | pickup : 0, std::memory_order_release);
        }
        wait_lock_.unlock();
        if (heir != nobody)
            P::unpark(heir);
    }

    bool spin() {
        typename P::no_preempt here_to_stay;
        if (P::need_resched())
            return false;
        const thread_id owner = owner_of(owner_.load(std::memory_order_relaxed));
        if (owner != nobody && !P::on_cpu(owner))
            return false;
        typename P::node_slot slot;
        if (!spinners_.lock(slot))
            return false;
        const bool taken = spin_on_owners();
        spinners_.unlock(slot);
        return taken;
    }

    // The first waiter doesn't queue: it spins beside the first spinner.
    bool spin_as_waiter() {
        typename P::no_preempt here_to_stay;
        return spin_on_owners();
    }

    // Until the mutex is ours, or its owner doesn't run, or we are to go.
    bool spin_on_owners() {
        typename P::frame frame{"mutex_spin_on_owner"};
        for (;;) {
            const thread_id owner = try_take();
            if (owner == nobody)
                return true;
            // relaxed: taking the mutex acquires.
            const auto seen = P::await(
                std::memory_order_relaxed, [owner](word value) { return owner_of(value) != owner; },
                stop_when<typename P::deadline>{.resched = true, .owner_off_cpu = owner}, relax{}, owner_);
            if (!seen)
                return false;
        }
    }

    typename P::template atomic<word> owner_{0};
    wait_list<P, waiter> waiters_;
    WaitLock<P> wait_lock_;
    osq_lock<P> spinners_;
};

} // namespace holdfast
