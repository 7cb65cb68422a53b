// The condition variable, explored: no notification is lost, none goes to a waiter that has left, and a notified one never
// touches the condition again.
#include "check/locks.hpp"

#include <holdfast/condition_variable.hpp>

#include <holdfast/mutex.hpp>
#include <holdfast/ticket_lock.hpp>

#include "model/checking.hpp"

namespace holdfast::model {
namespace {

using condition = basic_condition_variable<platform>;
using sleeping = basic_mutex<platform>;
using plain = ticket_lock<platform>;
using std::chrono::hours;

// Thread 0 opens the gate, the others wait for that. With `All` it notifies them together, otherwise each on its own; with
// the lock or after it. The first `Timed` of the others wait for a time only, over and over.
template <class Lock, unsigned Waiters, unsigned Timed, bool All, bool WithLock>
struct gate {
    static constexpr unsigned threads = Waiters + 1;
    Lock lock;
    condition opened;
    platform::var<bool> open{false};

    void thread(unsigned me) {
        lock.lock();
        if (me == 0) {
            open.set(true);
            if (!WithLock)
                lock.unlock();
            if (All)
                opened.notify_all();
            else
                for (unsigned i = 0; i < Waiters; ++i)
                    opened.notify_one();
            if (WithLock)
                lock.unlock();
            return;
        }
        const auto is_open = [this] { return open.get(); };
        if (me <= Timed)
            while (!opened.wait_for(lock, hours(1), is_open)) {
            }
        else
            opened.wait(lock, is_open);
        lock.unlock();
    }
    void end() {
        // Whoever has left is forgotten: a new notification finds nobody.
        opened.notify_all();
        check(lock.try_lock(), "left locked");
        lock.unlock();
    }
};

// One item, and two that want it, one of whom may give up: the notification goes to one that takes the item, or finds it.
struct hand_over {
    static constexpr unsigned threads = 3;
    plain lock;
    condition filled;
    platform::var<int> items{0};
    platform::var<int> taken{0};
    bool over_for_me = false; // thread 2's

    void thread(unsigned me) {
        lock.lock();
        if (me == 0) {
            items.set(1);
            filled.notify_one();
        } else {
            const auto over = [this] { return items.get() != 0 || taken.get() != 0; };
            if (me == 1)
                filled.wait(lock, over);
            else if (!filled.wait_for(lock, hours(1), over))
                over_for_me = true;
            if (me == 1 || !over_for_me)
                take();
            filled.notify_one(); // the other wants to know, too
        }
        lock.unlock();
    }
    void take() {
        if (items.get() != 0) {
            items.set(0);
            taken.set(1);
        }
    }
    void end() { check(taken.get() == 1 && items.get() == 0, "an item was lost"); }
};

// The condition ends right after notify_all, which found all waiters there; so none may touch it any more, not even one whose
// time is up.
template <unsigned Waiters>
struct ended_after_notify {
    static constexpr unsigned threads = Waiters + 1;
    plain lock;
    platform::var<unsigned> waiting{0};
    platform::var<bool> over{false};
    platform::atomic<unsigned> all_here{0};
    union {
        condition told;
    };

    ended_after_notify() { new (&told) condition; }
    ~ended_after_notify() {}

    void thread(unsigned me) {
        if (me != 0) {
            lock.lock();
            waiting.set(waiting.get() + 1);
            all_here.store(waiting.get(), std::memory_order_relaxed);
            static_cast<void>(told.wait_for(lock, hours(1)));
            lock.unlock();
            return;
        }
        platform::await(
            std::memory_order_relaxed, [](unsigned here) { return here == Waiters; }, all_here);
        lock.lock();
        told.notify_all();
        told.~condition();
        lock.unlock();
    }
};

// Two conditions, passed back and forth.
struct ping_pong {
    static constexpr unsigned threads = 2;
    sleeping lock;
    condition turned;
    platform::var<unsigned> turn{0};

    void thread(unsigned me) {
        lock.lock();
        for (unsigned i = 0; i < 2; ++i) {
            turned.wait(lock, [this, me] { return turn.get() % 2 == me; });
            turn.set(turn.get() + 1);
            turned.notify_one();
        }
        lock.unlock();
    }
    void end() { check(turn.get() == 4, "a turn was lost"); }
};

template <unsigned Threads>
using wide = gate<plain, Threads - 1, 1, false, false>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite condition_variable_suite() {
    using namespace holdfast::model;
    suite test("holdfast::condition_variable", "holdfast/condition_variable.hpp");
    constexpr chances timed{.time_out = 1, .spurious_wake = 1};
    test.add<gate<plain, 1, 0, true, false>>("gate");
    test.add<gate<plain, 1, 0, false, true>>("gate, notified with the lock");
    test.add<gate<plain, 1, 1, true, false>>("gate, for a time", {.allowed = timed});
    test.add<gate<sleeping, 1, 0, true, true>>("gate, with a mutex",
                                               {.allowed = {.off_cpu = chances::always}});
    test.add<ping_pong>("ping-pong",
                        {.preemptions = 3, .old_values = 2, .allowed = {.off_cpu = chances::always}});
    test.add<ended_after_notify<1>>("ended after notify", {.allowed = timed});
    test.add<hand_over>("hand-over", {.preemptions = 2, .old_values = 1, .allowed = timed});
    test.add<gate<plain, 2, 0, true, false>>("gate");
    test.add<gate<plain, 2, 1, false, false>>("gate, one by one",
                                              {.preemptions = 2, .old_values = 1, .allowed = timed});
    test.add<ended_after_notify<2>>("ended after notify",
                                    {.preemptions = 2, .old_values = 1, .allowed = {.time_out = 2}});
    test.widen<wide>("gate, one by one", {.time_out = 1, .spurious_wake = 1});
    return test;
}

} // namespace holdfast::check
