// The mutex, explored: exclusion by the fast path, by spinning and from the line; the hand-off; waiters that give up; the
// mutex's end right after its last unlock.
#include "check/locks.hpp"

#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

#include "model/exclusion.hpp"

namespace holdfast::model {
namespace {

using lock = basic_mutex<platform>;

// The first `Timed` threads may give up; the mutex is as good as new whether they got in or not.
template <class Mutex, unsigned Threads, unsigned Timed>
struct giving_up {
    static constexpr unsigned threads = Threads;
    Mutex mutex;
    platform::var<unsigned> sum{0};
    unsigned given_up[Threads] = {};

    void thread(unsigned me) {
        if (me >= Timed) {
            mutex.lock();
        } else if (!mutex.try_lock_for(std::chrono::hours(1))) {
            given_up[me] = 1;
            return;
        }
        sum.set(sum.get() + 1);
        mutex.unlock();
    }
    void end() {
        unsigned got = Threads;
        for (const unsigned one : given_up)
            got -= one;
        check(sum.get() == got, "a section was lost");
        check(mutex.try_lock(), "free, and not to be had");
        check(mutex.is_locked(), "taken, and not held");
        mutex.unlock();
        check(!mutex.is_locked(), "left locked");
    }
};

// As `destruction`, of more threads: some sleep when the last but one unlocks.
template <unsigned Threads>
struct last_one_destroys {
    static constexpr unsigned threads = Threads;
    platform::atomic<unsigned> users{Threads};
    union {
        lock mutex; // ended by the last user
    };

    last_one_destroys() { new (&mutex) lock; }
    ~last_one_destroys() {}

    void thread(unsigned) {
        mutex.lock();
        const bool last = users.fetch_sub(1, std::memory_order_relaxed) == 1;
        mutex.unlock();
        if (last)
            mutex.~lock();
    }
};

// Each thread locks the mutex twice over.
struct twice_over {
    static constexpr unsigned threads = 2;
    basic_recursive_mutex<platform> mutex;
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        mutex.lock();
        if (me == 0)
            mutex.lock();
        else
            check(mutex.try_lock(), "refused to its owner");
        sum.set(sum.get() + 1);
        mutex.unlock();
        sum.set(sum.get() + 1);
        mutex.unlock();
    }
    void end() {
        check(sum.get() == 4, "a section was lost");
        check(!mutex.is_locked(), "left locked");
    }
};

template <unsigned Threads>
using wide = exclusion<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite mutex_suite() {
    using namespace holdfast::model;
    suite test("holdfast::mutex", "holdfast/mutex.hpp");
    constexpr chances sleepy{.off_cpu = chances::always};
    constexpr chances patient{.off_cpu = chances::always, .time_out = 2};
    constexpr chances fickle{.off_cpu = 1, .time_out = 1, .spurious_wake = 1, .weak_failure = 1};
    test.add<exclusion<lock, 2>>("sleeping", {.allowed = sleepy});
    test.add<exclusion<lock, 2>>("spinning");
    test.add<exclusion_with_try<lock, 2>>("one tries", {.allowed = sleepy});
    test.add<destruction<lock>>("destroyed by its last user", {.allowed = sleepy});
    test.add<twice_over>("recursive", {.allowed = sleepy});
    test.add<giving_up<lock, 2, 1>>("one gives up", {.allowed = patient});
    test.add<exclusion<lock, 2, 2>>("sleeping, twice", {.preemptions = 3, .allowed = sleepy});
    test.add<exclusion<lock, 2>>("hand-off to a spinner", {.allowed = {.off_cpu = 2, .time_out = 1}});
    test.add<exclusion<lock, 2>>(
        "hand-off, woken for nothing",
        {.allowed = {.off_cpu = chances::always, .time_out = 1, .spurious_wake = 2}});
    test.add<exclusion<lock, 2, 2>>("sleeping, twice, of two turns",
                                    {.preemptions = 5, .old_values = 0, .allowed = sleepy});
    test.add<exclusion<lock, 2, 2>>("hand-off, twice",
                                    {.preemptions = 2, .old_values = 1, .allowed = patient});
    test.add<exclusion<lock, 2, 2>>("anything", {.preemptions = 2, .old_values = 1, .allowed = fickle});
    test.add<exclusion<lock, 3>>("sleeping", {.preemptions = 2, .old_values = 2, .allowed = sleepy});
    test.add<exclusion<lock, 3>>("hand-off", {.preemptions = 2, .old_values = 1, .allowed = patient});
    test.add<last_one_destroys<3>>("destroyed by its last user",
                                   {.preemptions = 2, .old_values = 1, .allowed = sleepy});
    test.add<giving_up<lock, 3, 2>>("two give up", {.preemptions = 2, .old_values = 0, .allowed = patient});
    test.widen<wide>("some spinning", {.off_cpu = 2, .time_out = 1, .spurious_wake = 1});
    test.survives("spin compare_exchange_weak(relaxed) #1: write dropped",
                  "advice: unlock then wakes a waiter although somebody spins");
    return test;
}

} // namespace holdfast::check
