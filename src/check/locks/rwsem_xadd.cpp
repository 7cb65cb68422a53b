// The read-write semaphore of 2014 to 2016, explored: exclusion, sharing, downgrade, and writers that give up, by sleeping and
// by spinning, under each of its rules.
#include "check/locks.hpp"

#include <holdfast/rwsem_xadd.hpp>

#include "check/queueing.hpp"
#include "model/exclusion.hpp"
#include "model/rw_exclusion.hpp"

namespace holdfast::model {
namespace {

using sleeping_only = rwsem_xadd<platform, rwsem_xadd_presets::linux_3_15>;
using always_spins = rwsem_xadd<platform, rwsem_xadd_presets::linux_3_16_rc1>;
using spins = rwsem_xadd<platform, rwsem_xadd_presets::linux_3_16>;
using defers = rwsem_xadd<platform, rwsem_xadd_presets::linux_4_7>;
using releases = rwsem_xadd<platform, rwsem_xadd_presets::rfc_2016_v4>;

template <unsigned Threads>
using wide = exclusion<spins, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite rwsem_xadd_suite() {
    using namespace holdfast::model;
    using enum role;
    suite test("holdfast::rwsem_xadd", "holdfast/rwsem_xadd.hpp");
    constexpr chances mixed{.resched = 1, .off_cpu = 1};
    const auto three = [](chances allowed = {}, unsigned old_values = 2) {
        return limits{.preemptions = 2, .old_values = old_values, .allowed = allowed};
    };

    test.add<rw_sections<sleeping_only, write, read>>("one writes, one reads");
    test.add<rw_sections<sleeping_only, write, write>>("two write");
    test.add<rw_sections<sleeping_only, try_write, downgrade>>("one downgrades, one tries to write");
    test.add<rw_sections<sleeping_only, try_read, downgrade>>("one downgrades, one tries to read");
    test.add<sharing<sleeping_only, 2>>("readers share");
    test.add<rw_sections<sleeping_only, killable_write, write_and_cancel>>("writer cancelled");
    test.add<rw_sections<spins, write, write>>("two write, spinning or not", {.allowed = mixed});
    test.add<rw_sections<always_spins, write, read>>("one writes, one reads, 3.16-rc1", {.allowed = mixed});
    test.add<rw_sections<defers, write, write>>("two write, 4.7", {.allowed = mixed});
    test.add<crowd<defers, 3>>("held from the start, 4.7",
                               {.preemptions = 1, .old_values = 3, .allowed = {.resched = 2}});
    test.add<sharing_after_writer<sleeping_only, 2>>("readers share after a writer");
    test.add<rw_sections<sleeping_only, write, write, read>>("two write, one reads", three());
    test.add<rw_sections<sleeping_only, write, read, read>>("one writes, two read", three());
    test.add<rw_sections<sleeping_only, downgrade, read, write>>("one downgrades", three());
    test.add<rw_sections<sleeping_only, killable_write, write_and_cancel, read>>(
        "writer cancelled, a reader behind", three());
    test.add<rw_sections<sleeping_only, killable_write, write_and_cancel, write>>(
        "writer cancelled, a writer behind", three());
    test.add<rw_sections<defers, write, write, read>>("two write, one reads, 4.7", three(mixed, 1));
    test.add<rw_sections<defers, write, write, write>>("three write, 4.7", three(mixed, 1));
    test.add<rw_sections<defers, downgrade, read, write>>("one downgrades, 4.7", three(mixed, 1));
    test.add<rw_sections<releases, write, write, read>>("two write, one reads, 2016", three(mixed, 1));
    test.add<rw_sections<releases, write, read, read>>("one writes, two read, 2016", three(mixed, 1));
    test.widen<wide>("all write, some spinning", {.resched = 1, .off_cpu = 2});
    // What went wrong in the history of this lock: docs/locks/rwsem_xadd.md.
    test.mistake("readers told before they are counted", "wake_readers fetch_add(relaxed)",
                 "wake_readers unpark(release)");
    test.survives("set_owner store(relaxed): write dropped",
                  "the owner is a hint: who spins for it finds nobody");
    test.survives("spin_first await(relaxed) #1: wait skipped", "who doesn't wait for the owner sleeps");
    return test;
}

} // namespace holdfast::check
