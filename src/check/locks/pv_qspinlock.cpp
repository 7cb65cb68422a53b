// The paravirtual queued spinlock, explored: waiters that halt in the queue and at its head, newcomers that steal, and one
// that has no node. Running out of patience is a choice of the explorer's.
#include "check/locks.hpp"

#include <holdfast/pv_qspinlock.hpp>

#include "check/queueing.hpp"

namespace holdfast::model {
namespace {

using lock = pv_qspinlock<platform>;
using fair = pv_qspinlock<platform, pv_qspin_rules{.steals = false}>;

template <unsigned Threads>
using wide = queueing<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite pv_qspinlock_suite() {
    using namespace holdfast::model;
    suite test("holdfast::pv_qspinlock", "holdfast/pv_qspinlock.hpp");
    const chances one_deadline{.time_out = 1, .spurious_wake = 1};
    const chances three_deadlines{.time_out = 3, .spurious_wake = 1};
    test.add<queueing<lock, 2>>("exclusion", {.allowed = one_deadline});
    test.add<destruction<lock>>("destroyed by its last user", {.allowed = one_deadline});
    test.add<without_node<fair, 2, 2>>("one has no node", {.allowed = one_deadline});
    test.add<crowd<fair, 3>>("held from the start, nobody steals",
                             {.preemptions = 2, .old_values = 1, .allowed = three_deadlines});
    test.add<queueing<lock, 2, 2>>("exclusion, two sections",
                                   {.preemptions = 3, .old_values = 2, .allowed = {.time_out = 1}});
    test.add<crowd<lock, 3>>("held from the start",
                             {.preemptions = 2, .old_values = 1, .allowed = one_deadline});
    test.add<queueing_with_try<lock, 3>>("exclusion, one tries");
    test.widen<wide>("exclusion", {.time_out = 2, .spurious_wake = 1});
    test.survives("wait_as_head fetch_and(relaxed): write dropped",
                  "nobody passes the queue while its head sleeps: slower, but no less right");
    const std::string same =
        "where who halted is handed the queue, sleeper_ gets the value that it would write itself";
    test.survives("wait_in_queue compare_exchange_strong(relaxed): failure order -> relaxed", same);
    test.survives("wait_in_queue load(acquire): acquire -> relaxed", same);
    test.survives("hand_on store(release): release -> relaxed", same);
    return test;
}

} // namespace holdfast::check
