// The MCS lock, explored: the queue, the race of an unlock with a thread on its way in, nodes used again.
#include "check/locks.hpp"

#include <holdfast/mcs_lock.hpp>

#include "model/exclusion.hpp"

namespace holdfast::model {
namespace {

using mcs = mcs_lock<platform>;

// Nodes on the stack: made for each acquisition and gone after it, so that to touch one later is an error.
template <unsigned Threads, unsigned Sections = 1>
struct with_guard {
    static constexpr unsigned threads = Threads;
    mcs queue;
    platform::var<unsigned> sum{0};

    void thread(unsigned) {
        for (unsigned i = 0; i < Sections; ++i) {
            const mcs::guard held(queue);
            sum.set(sum.get() + 1);
        }
    }
    void end() { check(sum.get() == Threads * Sections, "a section was lost"); }
};

// Nodes that exist before and after, and are used again: what one use leaves behind must not disturb the
// next. Thread 0 only tries, if `Tries`.
template <unsigned Threads, unsigned Sections, bool Tries = false>
struct with_kept_nodes {
    static constexpr unsigned threads = Threads;
    mcs queue;
    mcs::node nodes[Threads];
    platform::var<unsigned> sum{0};
    unsigned refused = 0;

    void thread(unsigned me) {
        for (unsigned i = 0; i < Sections; ++i) {
            if (Tries && me == 0) {
                if (!queue.try_lock(nodes[me])) {
                    ++refused;
                    continue;
                }
            } else {
                queue.lock(nodes[me]);
            }
            sum.set(sum.get() + 1);
            queue.unlock(nodes[me]);
        }
    }
    void end() {
        check(sum.get() == Threads * Sections - refused, "a section was lost");
        check(queue.try_lock(nodes[0]), "free, and not to be had");
        check(!queue.try_lock(nodes[1]), "held, and had again");
        queue.unlock(nodes[0]);
    }
};

// mcs_lock with the interface of a lock, for the scenario in which it is destroyed: nodes by thread.
struct with_own_nodes {
    mcs queue;
    mcs::node nodes[2];
    void lock() { queue.lock(nodes[platform::cpu()]); }
    void unlock() { queue.unlock(nodes[platform::cpu()]); }
};

template <unsigned Threads>
using wide = with_guard<Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite mcs_lock_suite() {
    using namespace holdfast::model;
    suite test("holdfast::mcs_lock", "holdfast/mcs_lock.hpp");
    test.add<with_guard<2>>("exclusion, nodes on the stack");
    test.add<with_kept_nodes<2, 1>>("exclusion, kept nodes");
    test.add<destruction<with_own_nodes>>("destroyed by its last user");
    test.add<with_kept_nodes<2, 2, true>>("exclusion, one tries");
    test.add<with_kept_nodes<2, 2>>("exclusion, nodes used again");
    test.add<with_guard<3>>("exclusion, nodes on the stack");
    test.add<with_kept_nodes<3, 1>>("exclusion, kept nodes");
    test.widen<wide>("exclusion, nodes on the stack");
    // What no explorer sees that takes the order of execution for modification order: granted may stay as it was begun.
    test.once<with_kept_nodes<2, 1>>("the link weakened, with static nodes as the kernel has them",
                                     "exclusion, kept nodes", {}, "lock store(release): release -> relaxed");
    return test;
}

} // namespace holdfast::check
