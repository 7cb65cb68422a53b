// The counting semaphore: so many may pass, and who comes later waits its turn.
//
// A count and a wait list, both under a spinlock; there is no path without it, since a semaphore is not for the
// shortest of sections. down() takes one from the count, or joins the list and sleeps. up() grants to the first in
// the list directly, without touching the count, or adds one to it if nobody waits. So the order is strictly first come,
// first served: nobody can pass the waiters, as the count is 0 as long as there are any.
//
//   count_    how many may pass right away; 0 if the list isn't empty
//   waiters_  those who may not, in the order of their coming
//   lock_     guards both
//
// A waiter gives up when its deadline passes or its token is cancelled. It takes the lock for that, and under the lock
// it either is in the list, and leaves it, or was granted meanwhile, and then has it: no grant is lost.
//
// Any thread may call up(), so a semaphore has no owner, and nobody spins for one.
//
// Algorithm: Linux since 2.6.26 (Matthew Wilcox, kernel/locking/semaphore.c), from its description. Difference: the
// waiter is woken after the lock was released.
#pragma once

#include <holdfast/cancel_token.hpp>
#include <holdfast/ticket_lock.hpp>
#include <holdfast/wait_list.hpp>

namespace holdfast {

// 24 bytes natively, as the kernel's. Not to be destroyed before every up() has returned: the thread that it lets
// pass may get ahead of it.
template <class P, template <class> class WaitLock = ticket_lock>
class semaphore {
    using deadline = typename P::deadline;

public:
    constexpr explicit semaphore(std::uint32_t count) : count_(count) {}
    semaphore(const semaphore&) = delete;
    semaphore& operator=(const semaphore&) = delete;

    // Takes one, and waits for it.
    void down() {
        typename P::frame frame{"down"};
        static_cast<void>(take(nullptr, deadline::never()));
    }

    // The same, unless cancelled first: false then.
    [[nodiscard]] bool down(cancel_token<P>& token) {
        typename P::frame frame{"down_killable"};
        return take(&token, deadline::never());
    }

    // The same, unless the deadline passes first: false then. What is there can be had even when it has passed.
    [[nodiscard]] bool down(const deadline& until) {
        typename P::frame frame{"down_timeout"};
        return take(nullptr, until);
    }

    // Takes one if that needs no waiting.
    [[nodiscard]] bool try_down() {
        lock_.lock();
        const std::uint32_t count = count_.get();
        if (count > 0)
            count_.set(count - 1);
        lock_.unlock();
        return count > 0;
    }

    // Gives one back, or a new one.
    void up() {
        typename P::frame frame{"up"};
        lock_.lock();
        waiter* const first = waiters_.first();
        if (first == nullptr) {
            count_.set(count_.get() + 1);
            lock_.unlock();
            return;
        }
        waiters_.remove(*first);
        const thread_id thread = first->grant();
        lock_.unlock();
        P::unpark(thread);
    }

private:
    struct waiter : waiter_base<P, waiter> {};

    bool take(cancel_token<P>* token, const deadline& until) {
        lock_.lock();
        const std::uint32_t count = count_.get();
        if (count == 0)
            return wait_and_unlock(token, until);
        count_.set(count - 1);
        lock_.unlock();
        return true;
    }

    [[gnu::cold, gnu::noinline]] bool wait_and_unlock(cancel_token<P>* token, const deadline& until) {
        waiter mine;
        waiters_.append(mine);
        lock_.unlock();
        if (token != nullptr)
            token->begin_wait();
        bool granted = mine.granted();
        while (!granted) {
            if ((token != nullptr && token->cancelled()) || until.expired()) {
                granted = !leave(mine);
                break;
            }
            P::park(until);
            granted = mine.granted();
        }
        if (token != nullptr)
            token->end_wait();
        return granted;
    }

    // False: granted meanwhile.
    bool leave(waiter& mine) {
        lock_.lock();
        const bool waits = !mine.granted();
        if (waits)
            waiters_.remove(mine);
        lock_.unlock();
        return waits;
    }

    WaitLock<P> lock_;
    typename P::template var<std::uint32_t> count_;
    wait_list<P, waiter> waiters_;
};

} // namespace holdfast
