// The kernel's sleeping mutex, explored: exclusion by the fast path, by spinning and by sleeping, hand-over to a waiter,
// and waiters that give up.
#include "check/locks.hpp"

#include <holdfast/kernel_mutex.hpp>

#include "model/exclusion.hpp"

namespace holdfast::model {
namespace {

using without_handoff = kernel_mutex<platform, kernel_mutex_presets::linux_3_12>;
using with_handoff = kernel_mutex<platform, kernel_mutex_presets::linux_4_10>;

// Thread 1 may be cancelled by thread 0; the mutex is as good as new whether it got in or not. Not the other way round:
// end() is thread 0, which must not find the mutex passed on to itself.
template <class Lock, unsigned Threads>
struct killable {
    static constexpr unsigned threads = Threads;
    Lock lock;
    cancel_token<platform> token;
    platform::var<unsigned> sum{0};
    bool given_up = false;

    void thread(unsigned me) {
        if (me == 1 && !lock.lock(token)) {
            given_up = true;
            return;
        }
        if (me != 1)
            lock.lock();
        sum.set(sum.get() + 1);
        if (me == 0)
            token.cancel();
        lock.unlock();
    }
    void end() {
        check(sum.get() == threads - (given_up ? 1 : 0), "a section was lost");
        check(lock.try_lock(), "free, and not to be had");
        lock.unlock();
        check(!lock.is_locked(), "left locked");
    }
};

template <unsigned Threads>
using wide = exclusion<with_handoff, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite kernel_mutex_suite() {
    using namespace holdfast::model;
    suite test("holdfast::kernel_mutex", "holdfast/kernel_mutex.hpp");
    constexpr chances sleepy{.resched = 2, .off_cpu = chances::always};
    test.add<exclusion<with_handoff, 2>>("sleeping", {.allowed = sleepy});
    test.add<exclusion<with_handoff, 2>>("spinning");
    test.add<exclusion_with_try<with_handoff, 2>>("one tries", {.allowed = sleepy});
    test.add<killable<with_handoff, 2>>("cancelled", {.allowed = sleepy});
    test.add<exclusion<without_handoff, 2, 2>>("sleeping, without hand-off",
                                               {.preemptions = 4, .old_values = 2, .allowed = sleepy});
    test.add<exclusion<with_handoff, 2, 2>>(
        "spinning or sleeping", {.preemptions = 4, .old_values = 2, .allowed = {.resched = 1, .off_cpu = 1}});
    test.add<exclusion<with_handoff, 3>>("sleeping", {.preemptions = 2, .old_values = 2, .allowed = sleepy});
    test.add<exclusion<without_handoff, 3>>("sleeping, without hand-off",
                                            {.preemptions = 2, .old_values = 2, .allowed = sleepy});
    test.add<exclusion<with_handoff, 3>>(
        "spinning or sleeping", {.preemptions = 2, .old_values = 1, .allowed = {.resched = 1, .off_cpu = 1}});
    test.add<killable<with_handoff, 3>>("cancelled", {.preemptions = 2, .old_values = 2, .allowed = sleepy});
    test.widen<wide>("some spinning", {.resched = 1, .off_cpu = 2});
    test.survives("wait fetch_or(relaxed) #2: write dropped",
                  "without hand-off the first waiter competes, as up to 4.9: less fair, but no less right");
    test.survives("wait fetch_and(relaxed): write dropped",
                  "the bits then say that somebody may wait: unlock looks, and finds nobody");
    return test;
}

} // namespace holdfast::check
