// The optimistic spin queue, explored: one spinner at a time, and leaving the queue at every point, alone,
// beside a neighbour that leaves as well, and beside an unlock.
#include "check/locks.hpp"

#include <holdfast/osq.hpp>

#include "check/traces.hpp"
#include "model/checking.hpp"

namespace holdfast::model {
namespace {

// Each thread queues `Rounds` times; whoever is let through is alone. Whether somebody else wants the CPU
// is the explorer's choice, as often as the scenario's limits allow.
template <unsigned Threads, unsigned Rounds = 1>
struct spinners {
    static constexpr unsigned threads = Threads;
    osq_lock<platform> queue;
    platform::var<unsigned> sum{0};
    unsigned left[Threads] = {};

    spinners() { leave_traces(Threads); }

    void thread(unsigned me) {
        for (unsigned i = 0; i < Rounds; ++i) {
            const platform::no_preempt stay;
            platform::node_slot slot;
            if (!queue.lock(slot)) {
                ++left[me];
                continue;
            }
            sum.set(sum.get() + 1);
            queue.unlock(slot);
        }
    }
    void end() {
        unsigned gone = 0;
        for (const unsigned n : left)
            gone += n;
        check(sum.get() == Threads * Rounds - gone, "a turn was lost");
        check(!queue.is_locked(), "somebody is left in the queue");
    }
};

// Thread 0 spins and does not go before all others have left: to leave, nobody needs an unlock.
template <unsigned Threads>
struct leavers {
    static constexpr unsigned threads = Threads;
    osq_lock<platform> queue;
    platform::node_slot spinner;
    platform::atomic<unsigned> left{0};

    leavers() {
        leave_traces(Threads);
        check(queue.lock(spinner), "free, and turned away");
    }
    void thread(unsigned me) {
        if (me == 0) {
            platform::await(
                std::memory_order_relaxed, [](unsigned n) { return n == Threads - 1; }, left);
            queue.unlock(spinner);
        } else {
            const platform::no_preempt stay;
            platform::node_slot slot;
            check(!queue.lock(slot), "two spinners");
            left.fetch_add(1, std::memory_order_relaxed);
        }
    }
    void end() { check(!queue.is_locked(), "somebody is left in the queue"); }
};

// Thread 0 queues for one lock beside thread 1, which may leave, and then, with the same node, for another beside thread 2. What
// thread 1 has written to the node must not outlive what the node begins with anew.
struct one_after_another {
    static constexpr unsigned threads = 3;
    osq_lock<platform> queues[2];

    one_after_another() { leave_traces(threads); }

    void thread(unsigned me) {
        if (me != 2)
            turn(queues[0]);
        if (me != 1)
            turn(queues[1]);
    }
    static void turn(osq_lock<platform>& queue) {
        const platform::no_preempt stay;
        platform::node_slot slot;
        if (queue.lock(slot))
            queue.unlock(slot);
    }
    void end() { check(!queues[0].is_locked() && !queues[1].is_locked(), "somebody is left in the queue"); }
};

// Thread 0 has no node left: it is turned away and the others do not notice.
struct without_node {
    static constexpr unsigned threads = 2;
    osq_lock<platform> queue;
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        if (me == 0) {
            const platform::node_slot taken[platform::node_depth];
            platform::node_slot slot;
            check(!queue.lock(slot), "let through without a node");
        } else {
            platform::node_slot slot;
            check(queue.lock(slot), "turned away");
            sum.set(1);
            queue.unlock(slot);
        }
    }
};

template <unsigned Threads>
using wide = spinners<Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite osq_lock_suite() {
    using namespace holdfast::model;
    suite test("holdfast::osq_lock", "holdfast/osq.hpp");
    test.add<without_node>("no node left");
    test.add<spinners<2>>("all stay");
    test.add<spinners<2>>("one may leave", {.allowed = {.resched = 1}});
    test.add<leavers<3>>("all leave",
                         {.preemptions = 3, .old_values = 2, .allowed = {.resched = chances::always}});
    test.add<spinners<2, 2>>("one may leave, and come again", {.allowed = {.resched = 1}});
    test.add<spinners<3>>("all stay");
    test.add<spinners<3>>("one may leave", {.allowed = {.resched = 1}});
    test.add<leavers<4>>("all leave",
                         {.preemptions = 2, .old_values = 1, .allowed = {.resched = chances::always}});
    test.add<one_after_another>("one may leave, and another come to another queue",
                                {.preemptions = 2, .old_values = 3, .allowed = {.resched = 1}});
    test.add<spinners<3>>("two may leave", {.preemptions = 2, .allowed = {.resched = 2}});
    test.widen<wide>("some may leave", {.resched = 2});
    return test;
}

} // namespace holdfast::check
