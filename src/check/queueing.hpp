// Scenarios of spinlocks whose waiters queue on the platform's nodes.
#pragma once

#include "check/traces.hpp"
#include "model/exclusion.hpp"

namespace holdfast::model {

// Exclusion on queue nodes as other locks may have left them.
template <class Lock, unsigned Threads, unsigned Sections = 1>
struct queueing : exclusion<Lock, Threads, Sections> {
    queueing() { leave_traces(Threads); }
};

// The same with one that tries.
template <class Lock, unsigned Threads>
struct queueing_with_try : exclusion_with_try<Lock, Threads> {
    queueing_with_try() { leave_traces(Threads); }
};

// Thread 0 holds the lock from the start and does no more than unlock it, so that the others meet in the queue.
template <class Lock, unsigned Threads>
struct crowd {
    static constexpr unsigned threads = Threads;
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

// Thread 0 has no node left, as in the innermost of too many nested sections, and must get the lock without. The others
// have so many sections each.
template <class Lock, unsigned Threads, unsigned Sections = 1>
struct without_node {
    static constexpr unsigned threads = Threads;
    Lock word;
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        if (me == 0) {
            const platform::node_slot taken[platform::node_depth];
            section();
        } else {
            for (unsigned i = 0; i < Sections; ++i)
                section();
        }
    }
    void section() {
        word.lock();
        sum.set(sum.get() + 1);
        word.unlock();
    }
    void end() {
        check(sum.get() == 1 + (Threads - 1) * Sections, "a section was lost");
        check(!word.is_locked(), "left locked");
    }
};

} // namespace holdfast::model
