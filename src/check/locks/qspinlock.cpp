// The queued spinlock, explored: by way of the pending bit, of the queue, and without a node.
#include "check/locks.hpp"

#include <holdfast/qspinlock.hpp>

#include "check/queueing.hpp"

namespace holdfast::model {
namespace {

using lock = qspinlock<platform>;

template <unsigned Threads>
using wide = queueing<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite qspinlock_suite() {
    using namespace holdfast::model;
    suite test("holdfast::qspinlock", "holdfast/qspinlock.hpp");
    test.add<queueing<lock, 2>>("exclusion");
    test.add<destruction<lock>>("destroyed by its last user");
    test.add<exclusion_with_try<lock, 2, 2>>("exclusion, one tries");
    test.add<queueing<lock, 2, 2>>("exclusion, two sections");
    test.add<queueing<lock, 3>>("exclusion, with a queue");
    test.add<without_node<lock, 3>>("one has no node");
    test.add<queueing_with_try<lock, 3>>("exclusion, one tries");
    test.add<crowd<lock, 4>>("held from the start", {.preemptions = 2, .old_values = 1});
    test.widen<wide>("exclusion, with a queue");
    return test;
}

} // namespace holdfast::check
