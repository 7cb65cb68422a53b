// The read-write semaphore of today, explored: exclusion, sharing, hand-off, downgrade, and waiters that give up, by sleeping
// and by spinning, under the rules of 5.3 and of 6.
#include "check/locks.hpp"

#include <holdfast/rwsem.hpp>

#include "model/exclusion.hpp"
#include "model/rw_exclusion.hpp"

namespace holdfast::model {
namespace {

using today = rwsem<platform>;
using first = rwsem<platform, rwsem_presets::linux_5_3>;
using of_5_11 = rwsem<platform, rwsem_presets::linux_5_11>;
using of_5_19 = rwsem<platform, rwsem_presets::linux_5_19>;

template <unsigned Threads>
using wide = exclusion<today, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite rwsem_suite() {
    using namespace holdfast::model;
    using enum role;
    using explorer::bits;
    suite test("holdfast::rwsem", "holdfast/rwsem.hpp");
    // Nobody spins; all ask for a hand-off as soon as they may; some of both.
    constexpr chances sleeping{.off_cpu = chances::always};
    constexpr chances impatient{.off_cpu = chances::always, .time_out = chances::always};
    constexpr chances mixed{.resched = 1, .off_cpu = 1, .time_out = 1};
    // The owner's word is a hint, and readers change it side by side: their stores have no order and need none.
    const auto three = [](chances allowed, unsigned old_values = 2) {
        return limits{.preemptions = 2, .old_values = old_values, .allowed = allowed};
    };

    test.add<rw_sections<today, write, read>>("one writes, one reads", {.allowed = sleeping});
    test.add<rw_sections<today, write, write>>("two write", {.allowed = sleeping});
    test.add<rw_sections<today, write, write>>("two write, spinning or not", {.allowed = mixed});
    test.add<rw_sections<today, try_write, downgrade>>("one downgrades, one tries to write",
                                                       {.allowed = sleeping});
    test.add<rw_sections<today, try_read, downgrade>>("one downgrades, one tries to read",
                                                      {.allowed = sleeping});
    test.add<sharing<today, 2>>("readers share", {.allowed = sleeping});
    test.add<rw_sections<today, killable_write, write_and_cancel>>("writer cancelled", {.allowed = sleeping});
    test.add<rw_sections<today, killable_read, write_and_cancel>>("reader cancelled", {.allowed = sleeping});
    test.add<sharing_after_writer<today, 2>>("readers share after a writer", {.allowed = sleeping});
    test.add<writer_after_readers<today>>("readers after a writer, then a writer", {.allowed = sleeping});
    test.add<rw_sections<today, write, write, read>>("two write, one reads", three(sleeping));
    test.add<rw_sections<today, downgrade, read, write>>("one downgrades", three(sleeping));
    test.add<rw_sections<today, write, write, read>>("two write, one reads, hand-off", three(impatient));
    test.add<rw_sections<today, write, read, read>>("one writes, two read, hand-off", three(impatient));
    test.add<rw_sections<today, write, write, write>>("three write, hand-off", three(impatient));
    test.add<rw_sections<today, killable_write, write_and_cancel, write>>("writer cancelled, hand-off",
                                                                          three(impatient));
    test.add<rw_sections<today, killable_write, write_and_cancel, read>>("writer cancelled, a reader behind",
                                                                         three(impatient));
    test.add<rw_sections<today, killable_read, write_and_cancel, write>>("reader cancelled, a writer behind",
                                                                         three(sleeping));
    test.add<rw_sections<today, write, write, read>>("two write, one reads, spinning or not",
                                                     three(mixed, 1));

    // Two queue, one of them asks for a hand-off, and one is woken in vain.
    constexpr chances one_asks{.off_cpu = 2, .time_out = 1, .spurious_wake = 1};
    test.add<rw_sections<today, write, write, write>>("three write, one asks", three(one_asks, 0));
    test.add<rw_sections<of_5_11, killable_write, write_and_cancel, write>>(
        "5.11: writer cancelled, hand-off", three(impatient));

    test.add<rw_sections<first, write, read>>("5.3: one writes, one reads, spinning or not",
                                              {.allowed = mixed});
    test.add<rw_sections<first, write, write, read>>("5.3: two write, one reads, hand-off", three(impatient));
    test.add<rw_sections<first, write, read, read>>("5.3: one writes, two read, spinning or not",
                                                    three(mixed, 1));
    test.add<rw_sections<first, downgrade, write, read>>("5.3: one downgrades, spinning or not",
                                                         three(mixed, 0));
    test.widen<wide>("all write, some spinning", {.resched = 1, .off_cpu = 2, .time_out = 1});
    // What went wrong in the history of this lock: docs/locks/rwsem.md.
    test.mistake("readers told before they are counted", "grant_to_readers fetch_add(relaxed)",
                 "unlock_and_tell unpark(release) #2");
    test.mistake("hand-off subtracted twice", "grant_to_readers fetch_add(relaxed)", [](bits count, bits by) {
        constexpr bits handoff = 4, waiters_and_handoff = 6;
        const bits flags = -by & 0xff;
        return count + by - (flags == handoff || flags == waiters_and_handoff ? handoff : 0);
    });
    test.mistake("subtracted, whether set or not", "give_up fetch_and(relaxed) #1",
                 [](bits count, bits kept) { return count - ~kept; });
    test.once<rw_sections<of_5_19, write, write, write>>(
        "a waiter that isn't first spins after a hand-off, until 6.3", "three write, one asks",
        three(one_asks, 0));

    const std::string hint = "the owner's word is a hint: it decides who spins";
    test.survives("set_owner store(relaxed): write dropped", hint);
    test.survives("spin_as_waiter await(relaxed): wait skipped", hint);
    test.survives("set_nonspinnable compare_exchange_weak(relaxed): write dropped", hint);
    test.survives("clear_nonspinnable fetch_and(relaxed): write dropped", hint);
    test.survives("lock_slow fetch_or(relaxed): write dropped", hint);
    test.survives("give_up fetch_and(relaxed) #2: write dropped",
                  "the hand-off is left to the next waiter, as since 5.16");
    test.survives(
        "try_take_queued compare_exchange_weak(relaxed): write dropped",
        "without a hand-off the waiter goes on to compete: how long is a question for rwsem_sim_test");
    return test;
}

} // namespace holdfast::check
