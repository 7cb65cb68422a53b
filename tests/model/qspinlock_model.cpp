// The queued spinlock, explored: by way of the pending bit, of the queue, and without a node.
#include <holdfast/qspinlock.hpp>

#include "queueing.hpp"

namespace holdfast::model {
namespace {

using lock = qspinlock<platform>;

} // namespace
} // namespace holdfast::model

int main(int argc, char** argv) {
    using namespace holdfast::model;
    suite test("qspinlock.hpp");
    test.scenario<queueing<lock, 2>>("exclusion");
    test.scenario<destruction<lock>>("destroyed by its last user");
    test.scenario<exclusion_with_try<lock, 2, 2>>("exclusion, one tries");
    test.scenario<queueing<lock, 2, 2>>("exclusion, two sections");
    test.scenario<queueing<lock, 3>>("exclusion, with a queue");
    test.scenario<without_node<lock, 3>>("one has no node");
    test.scenario<queueing_with_try<lock, 3>>("exclusion, one tries");
    test.scenario<crowd<lock, 4>>("held from the start", {.preemptions = 2, .old_values = 1});
    return test.run(argc, argv);
}
