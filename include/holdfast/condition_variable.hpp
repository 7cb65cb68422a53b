// A condition variable for any lock: a list of those who wait, each in its own stack frame, and a word that is the list's
// spinlock.
//
// Who waits puts itself in the list, then gives the caller's lock back, then sleeps. So whoever has the lock afterwards, and
// notifies, finds it there: no wake-up is lost. Notify takes waiters out of the list, in the order of their coming, and tells
// them after it has let go of the list. A waiter that was told never touches the condition variable again.
//
// Destroying it. It may be destroyed once every waiter has been notified, although none may have returned yet. The hard case
// is a waiter whose time is up at just that moment: it must take itself out of the list, and there might be no list any more.
// So it says first that it is leaving. Notify doesn't count it then, but takes it out of the list and waits until it
// has seen that; which is soon, as it is awake.
//
//   a waiter's state   who                                            next
//   waiting            the waiter, when its time is up                leaving
//   waiting            notify, having the list: out of it             chosen; granted, that is: notified
//   leaving            the waiter, having the list: out of it         (returns)
//   leaving            notify, having the list: out of it             asked
//   asked              the waiter, after it had the list              left; granted, that is: may return
//
//   word_, bit 0       busy      somebody changes the list
//          bits 1..31  waiters   how many are in it
//
// Lock and count are one word, so that notify sees in one look that there is nobody, nor anybody who is just leaving. Those who
// waited before the caller last had their lock are seen.
//
// Source: the list of waiters in their frames from Linux's wait queues and wait_list.hpp; that a time-out has a state of its own
// is folklore of futex-less conditions (Birrell, "Implementing condition variables with semaphores", 2003).
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <limits>
#if __has_include(<stop_token>)
#include <stop_token>
#endif

#include <holdfast/native/native.hpp>
#include <holdfast/platform.hpp>
#include <holdfast/timed_wait.hpp>
#include <holdfast/wait_list.hpp>

namespace holdfast {

// The interface of std::condition_variable_any: waits with any BasicLockable, as std::unique_lock<mutex> or
// std::shared_lock<shared_mutex>; different waiters may have different ones. A wait may end without a notification. If
// locking again throws, the program ends. 24 bytes.
template <class P>
class basic_condition_variable {
    using deadline = typename P::deadline;
    using count = std::uint32_t;
    static constexpr count busy = 1;
    static constexpr count one_waiter = 2;

public:
    constexpr basic_condition_variable() = default;
    basic_condition_variable(const basic_condition_variable&) = delete;
    basic_condition_variable& operator=(const basic_condition_variable&) = delete;

    // Ends the wait of the one that has waited longest, if anybody waits.
    void notify_one() {
        if (anybody())
            notify(1);
    }

    // Ends all waits that have begun.
    void notify_all() {
        if (anybody())
            notify(std::numeric_limits<count>::max());
    }

    // Gives `lock` back, which the caller holds, waits for a notification, and takes it again.
    template <class Lock>
    void wait(Lock& lock) {
        block(lock, deadline::never(), [] { return false; });
    }

    // Waits until predicate(), which is called with the lock held.
    template <class Lock, class Predicate>
    void wait(Lock& lock, Predicate predicate) {
        while (!predicate())
            wait(lock);
    }

    // As wait, for at most `time`.
    template <class Lock, class Rep, class Period>
    std::cv_status wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& time) {
        return block(lock, deadline_after(to_wait(time)), [] { return false; }) ? std::cv_status::no_timeout
                                                                                : std::cv_status::timeout;
    }

    // Waits until predicate(), for at most `time`. The result is the predicate's.
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock& lock, const std::chrono::duration<Rep, Period>& time, Predicate predicate) {
        const deadline until = deadline_after(to_wait(time));
        while (!predicate()) {
            if (!block(lock, until, [] { return false; }))
                return predicate();
        }
        return true;
    }

    // As wait, until `moment` at most.
    template <class Lock, class Clock, class Duration>
    std::cv_status wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& moment) {
        const bool over = !holdfast::wait_until(moment, [&](std::chrono::nanoseconds time) {
            return wait_for(lock, time) == std::cv_status::no_timeout;
        });
        return over ? std::cv_status::timeout : std::cv_status::no_timeout;
    }

    // Waits until predicate(), until `moment` at most. The result is the predicate's.
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock& lock, const std::chrono::time_point<Clock, Duration>& moment, Predicate predicate) {
        while (!predicate()) {
            if (wait_until(lock, moment) == std::cv_status::timeout)
                return predicate();
        }
        return true;
    }

#if defined(__cpp_lib_jthread)
    // Waits until predicate(), or until `stop` is requested. The result is the predicate's.
    template <class Lock, class Predicate>
    bool wait(Lock& lock, std::stop_token stop, Predicate predicate) {
        return wait_or_stop(lock, stop, deadline::never(), predicate);
    }

    // The same, for at most `time`.
    template <class Lock, class Rep, class Period, class Predicate>
    bool wait_for(Lock& lock, std::stop_token stop, const std::chrono::duration<Rep, Period>& time,
                  Predicate predicate) {
        return wait_or_stop(lock, stop, deadline_after(to_wait(time)), predicate);
    }

    // The same, until `moment` at most.
    template <class Lock, class Clock, class Duration, class Predicate>
    bool wait_until(Lock& lock, std::stop_token stop, const std::chrono::time_point<Clock, Duration>& moment,
                    Predicate predicate) {
        bool held = false;
        holdfast::wait_until(moment, [&](std::chrono::nanoseconds time) {
            held = wait_for(lock, stop, time, predicate);
            return held || stop.stop_requested();
        });
        return held;
    }
#endif

private:
    enum : std::uint32_t { is_waiting, is_leaving, is_chosen, is_asked, has_left };

    struct waiter : waiter_base<P, waiter> {
        typename P::template atomic<std::uint32_t> state{is_waiting};
    };

    static deadline deadline_after(std::chrono::nanoseconds time) {
        return time == std::chrono::nanoseconds::max() ? deadline::never() : deadline::after(time);
    }

    // False: `until` has passed. Waits for nothing if given_up(), which is asked once those who notify know of the waiter.
    template <class Lock, class GivenUp>
    bool block(Lock& lock, const deadline& until, GivenUp given_up) {
        waiter mine;
        const count others = take_list();
        list_.append(mine);
        give_list_back(others + 1);
        lock.unlock();
        const bool notified = given_up() ? !leave(mine) : sleep(mine, until);
        lock.lock();
        return notified;
    }

    bool sleep(waiter& mine, const deadline& until) {
        typename P::waiting waiting{this, waited_for::condition, false};
        while (!mine.granted()) {
            P::park(until);
            if (until.expired())
                return waiting.over(!leave(mine));
        }
        return waiting.over(true);
    }

    // Ends the caller's wait. False: it was notified.
    bool leave(waiter& mine) {
        std::uint32_t state = is_waiting;
        // relaxed, here and in the other changes of the state: word_ orders them, and grant the rest.
        const bool left = mine.state.compare_exchange_strong(state, is_leaving, std::memory_order_relaxed,
                                                             std::memory_order_relaxed);
        if (left) {
            const count waiters = take_list();
            const bool asked = mine.state.load(std::memory_order_relaxed) == is_asked;
            if (!asked)
                list_.remove(mine);
            give_list_back(asked ? waiters : waiters - 1);
            if (!asked)
                return true;
            // release: pairs with the acquire of notify: we are done with the list.
            mine.state.store(has_left, std::memory_order_release);
        }
        // acquire: pairs with the release of grant.
        P::await(
            std::memory_order_acquire, [](thread_id thread) { return thread == nobody; }, mine.thread);
        return left;
    }

    // Notifies the first `most` of the list that are not leaving.
    [[gnu::cold, gnu::noinline]] void notify(count most) {
        const count waiters = take_list();
        waiter* const first = list_.first();
        waiter* rest = first;
        count taken = 0;
        for (; rest != nullptr && most != 0; rest = rest->next.get(), ++taken) {
            std::uint32_t state = is_waiting;
            if (rest->state.compare_exchange_strong(state, is_chosen, std::memory_order_relaxed,
                                                    std::memory_order_relaxed))
                --most;
            else
                rest->state.store(is_asked, std::memory_order_relaxed);
        }
        list_.remove_before(rest);
        give_list_back(waiters - taken);
        // From here on the condition variable may be gone.
        for (waiter* each = first; taken != 0; --taken) {
            waiter* const after = each->next.get();
            if (each->state.load(std::memory_order_relaxed) != is_chosen) {
                // acquire: pairs with the release in leave.
                P::await(
                    std::memory_order_acquire, [](std::uint32_t state) { return state == has_left; },
                    each->state);
            }
            P::unpark(each->grant());
            each = after;
        }
    }

    bool anybody() const {
        // acquire: pairs with the release of give_list_back, lest the caller end what somebody has just left.
        return word_.load(std::memory_order_acquire) != 0;
    }

    // Makes the list the caller's. The result is how many are in it. Its thread keeps its CPU, where the platform can
    // promise it.
    count take_list() {
        P::preempt_disable();
        count value = word_.load(std::memory_order_relaxed);
        for (;;) {
            if ((value & busy) != 0)
                value = P::await(
                            std::memory_order_relaxed, [](count now) { return (now & busy) == 0; }, word_)
                            .value();
            // acquire: pairs with the release of give_list_back.
            else if (word_.compare_exchange_weak(value, value | busy, std::memory_order_acquire,
                                                 std::memory_order_relaxed))
                return value / one_waiter;
        }
    }

    // Afterwards the condition variable may be gone.
    void give_list_back(count waiters) {
        // release: pairs with the acquires of take_list and anybody.
        word_.store(waiters * one_waiter, std::memory_order_release);
        P::preempt_enable();
    }

#if defined(__cpp_lib_jthread)
    template <class Lock, class Predicate>
    bool wait_or_stop(Lock& lock, const std::stop_token& stop, const deadline& until, Predicate predicate) {
        // Whether anybody waits is not asked first: the requester has not had the waiters' lock.
        const std::stop_callback wake_up(stop, [this] { notify(std::numeric_limits<count>::max()); });
        while (!predicate()) {
            if (stop.stop_requested() || !block(lock, until, [&stop] { return stop.stop_requested(); }))
                return predicate();
        }
        return true;
    }
#endif

    typename P::template atomic<count> word_{0};
    wait_list<P, waiter> list_;
};

// The condition variable of this process's threads, for locks of any kind.
using condition_variable = basic_condition_variable<native>;

} // namespace holdfast
