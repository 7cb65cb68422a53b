// The paravirtual queued spinlock, explored: waiters that halt in the queue and at its head, newcomers that steal, and one
// that has no node. Running out of patience is a choice of the explorer's.
#include <holdfast/pv_qspinlock.hpp>

#include "queueing.hpp"

namespace holdfast::model {
namespace {

using lock = pv_qspinlock<platform>;
using fair = pv_qspinlock<platform, pv_qspin_rules{.steals = false}>;

} // namespace
} // namespace holdfast::model

int main(int argc, char** argv) {
    using namespace holdfast::model;
    suite test("pv_qspinlock.hpp");
    const chances one_deadline{.time_out = 1, .spurious_wake = 1};
    const chances three_deadlines{.time_out = 3, .spurious_wake = 1};
    test.scenario<queueing<lock, 2>>("exclusion", {.allowed = one_deadline});
    test.scenario<destruction<lock>>("destroyed by its last user", {.allowed = one_deadline});
    test.scenario<without_node<fair, 2, 2>>("one has no node", {.allowed = one_deadline});
    test.scenario<crowd<fair, 3>>("held from the start, nobody steals",
                                  {.preemptions = 2, .old_values = 1, .allowed = three_deadlines});
    test.scenario<queueing<lock, 2, 2>>("exclusion, two sections",
                                        {.preemptions = 2, .old_values = 1, .allowed = {.time_out = 1}});
    test.scenario<crowd<lock, 3>>("held from the start",
                                  {.preemptions = 2, .old_values = 1, .allowed = one_deadline});
    test.scenario<queueing_with_try<lock, 3>>("exclusion, one tries");
    test.survives("wait_as_head fetch_and(relaxed): write dropped",
                  "nobody passes the queue while its head sleeps: slower, but no less right");
    const std::string same =
        "where who halted is handed the queue, sleeper_ gets the value that it would write itself";
    test.survives("wait_in_queue compare_exchange_strong(relaxed): failure order -> relaxed", same);
    test.survives("wait_in_queue load(acquire): acquire -> relaxed", same);
    test.survives("hand_on store(release): release -> relaxed", same);
    return test.run(argc, argv);
}
