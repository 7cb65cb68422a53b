// The queued spinlock, explored: by way of the pending bit, of the queue, and without a node.
#include <holdfast/qspinlock.hpp>

#include "exclusion.hpp"
#include "traces.hpp"

namespace holdfast::model {
namespace {

using lock = qspinlock<platform>;

// Exclusion on queue nodes as other locks may have left them.
template <unsigned Threads, unsigned Sections = 1>
struct queueing : exclusion<lock, Threads, Sections> {
    queueing() { leave_traces(Threads); }
};

// The same with one that tries.
template <unsigned Threads>
struct queueing_with_try : exclusion_with_try<lock, Threads> {
    queueing_with_try() { leave_traces(Threads); }
};

// Thread 0 holds the lock from the start and does no more than unlock it, so that three others meet: one
// pends, one queues, and one finds a queue where a moment ago there was none.
struct crowd {
    static constexpr unsigned threads = 4;
    lock word;
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
template <unsigned Threads>
struct without_node {
    static constexpr unsigned threads = Threads;
    lock word;
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        if (me == 0) {
            const platform::node_slot taken[platform::node_depth];
            section();
        } else {
            section();
        }
    }
    void section() {
        word.lock();
        sum.set(sum.get() + 1);
        word.unlock();
    }
    void end() {
        check(sum.get() == Threads, "a section was lost");
        check(!word.is_locked(), "left locked");
    }
};

} // namespace
} // namespace holdfast::model

int main(int argc, char** argv) {
    using namespace holdfast::model;
    suite test("qspinlock.hpp");
    test.scenario<queueing<2>>("exclusion");
    test.scenario<destruction<lock>>("destroyed by its last user");
    test.scenario<exclusion_with_try<lock, 2, 2>>("exclusion, one tries", {.preemptions = 3});
    test.scenario<queueing<2, 2>>("exclusion, two sections", {.preemptions = 3});
    test.scenario<queueing<3>>("exclusion, with a queue", {.preemptions = 2});
    test.scenario<without_node<3>>("one has no node", {.preemptions = 2});
    test.scenario<queueing_with_try<3>>("exclusion, one tries", {.preemptions = 2});
    test.scenario<crowd>("held from the start", {.preemptions = 2, .old_values = 1});
    return test.run(argc, argv);
}
