// The paravirtual queued spinlock, explored: waiters that halt in the queue and at its head, newcomers that steal, and one
// that has no node. Running out of patience is a choice of the explorer's.
#include <holdfast/pv_qspinlock.hpp>

#include "exclusion.hpp"
#include "traces.hpp"

namespace holdfast::model {
namespace {

using lock = pv_qspinlock<platform>;
using fair = pv_qspinlock<platform, pv_qspin_rules{.steals = false}>;

// Exclusion on queue nodes as other locks may have left them.
template <class Lock, unsigned Threads, unsigned Sections = 1>
struct queueing : exclusion<Lock, Threads, Sections> {
    queueing() { leave_traces(Threads); }
};
template <class Lock, unsigned Threads>
struct queueing_with_try : exclusion_with_try<Lock, Threads> {
    queueing_with_try() { leave_traces(Threads); }
};

// Thread 0 holds the lock from the start and does no more than unlock it, so that the others meet in the queue.
template <class Lock>
struct crowd {
    static constexpr unsigned threads = 3;
    Lock word;
    platform::var<unsigned> sum{0};

    crowd() {
        leave_traces(threads);
        word.lock();
    }
    void thread(unsigned me) {
        if (me != 0) {
            word.lock();
            sum.set(sum.get() + 1);
        }
        word.unlock();
    }
    void end() {
        check(sum.get() == threads - 1, "a section was lost");
        check(!word.is_locked(), "left locked");
    }
};

// Thread 0 has no node left, as in the innermost of too many nested sections, and must get the lock without.
struct without_node {
    static constexpr unsigned threads = 2;
    fair word;
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        if (me == 0) {
            const platform::node_slot taken[platform::node_depth];
            section();
        } else {
            section();
            section();
        }
    }
    void section() {
        word.lock();
        sum.set(sum.get() + 1);
        word.unlock();
    }
    void end() {
        check(sum.get() == threads + 1, "a section was lost");
        check(!word.is_locked(), "left locked");
    }
};

} // namespace
} // namespace holdfast::model

int main(int argc, char** argv) {
    using namespace holdfast::model;
    suite test("pv_qspinlock.hpp");
    const chances one_deadline{.time_out = 1, .spurious_wake = 1};
    const chances three_deadlines{.time_out = 3, .spurious_wake = 1};
    test.scenario<queueing<lock, 2>>("exclusion", {.preemptions = 3, .allowed = one_deadline});
    test.scenario<destruction<lock>>("destroyed by its last user",
                                     {.preemptions = 3, .allowed = one_deadline});
    test.scenario<without_node>("one has no node", {.preemptions = 2, .allowed = one_deadline});
    test.scenario<crowd<fair>>("held from the start, nobody steals",
                               {.preemptions = 2, .old_values = 1, .allowed = three_deadlines});
    test.scenario<queueing<lock, 2, 2>>("exclusion, two sections",
                                        {.preemptions = 2, .old_values = 1, .allowed = {.time_out = 1}});
    test.scenario<crowd<lock>>("held from the start",
                               {.preemptions = 2, .old_values = 1, .allowed = one_deadline});
    test.scenario<queueing_with_try<lock, 3>>("exclusion, one tries", {.preemptions = 1});
    test.survives("wait_as_head fetch_and(relaxed): write dropped",
                  "nobody passes the queue while its head sleeps: slower, but no less right");
    return test.run(argc, argv);
}
