// The metadata engine on simulated and on real threads: whatever happens, its structures are as the checker wants them; and
// the checker finds what is broken.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "workload/native_world.hpp"
#include "xfs_support.hpp"

namespace holdfast::xfs {
namespace {

using native_load = load<native_world, spinlock>;

TEST(xfs_sim, all_is_removed_and_freed_once) {
    for (const settings& s : all_settings()) {
        const load_result r = simulate(s, four_threads, 1);
        expect_sound(r.end);
        EXPECT_EQ(r.end.named, 1u); // the root
        EXPECT_EQ(r.end.freed, all_inodes - 1);
        EXPECT_EQ(r.files, 96u);
        EXPECT_EQ(r.commits, 2 * (all_inodes - 1));
        EXPECT_GT(r.checkpoints, 1u);
    }
}

TEST(xfs_sim, changing_modes_removes_nothing) {
    load_parameters p = four_threads;
    p.what = operation::change_mode;
    const load_result r = simulate({}, p, 1, [](auto& fs) {
        for (const auto* const d : fs.root().below) {
            for (const auto* const i : d->entries)
                EXPECT_EQ(i->mode, 0600u);
        }
    });
    expect_sound(r.end);
    EXPECT_EQ(r.end.named, all_inodes);
    EXPECT_EQ(r.commits, 96u);
}

TEST(xfs_sim, the_same_seed_gives_the_same_run) {
    settings s{.deferred = true};
    const load_result a = simulate(s, four_threads, 7);
    const load_result b = simulate(s, four_threads, 7);
    EXPECT_EQ(a.all_done, b.all_done);
    EXPECT_EQ(a.by_interval, b.by_interval);
    EXPECT_EQ(a.log_bytes, b.log_bytes);
}

TEST(xfs_sim, light_pressure_wakes_few_workers_or_all_of_them) {
    load_parameters p = four_threads;
    p.pressure = nanoseconds(50'000);
    settings s{.deferred = true};
    s.gc.work_above = 1000; // nobody but the shrinker tells the workers, until the end
    const load_result by_priority = simulate(s, p, 1);
    s.gc.shrinker_by_priority = false;
    const load_result one_shot = simulate(s, p, 1);
    expect_sound(by_priority.end);
    expect_sound(one_shot.end);
    // What a few queues hold is nothing at the lightest pressure: all is left to the end.
    EXPECT_GT(by_priority.all_done - by_priority.threads_done, one_shot.all_done - one_shot.threads_done);
}

TEST(xfs_sim, a_mount_after_a_crash_frees_what_was_unlinked) {
    std::uint64_t left_to_recovery = 0;
    const std::vector<settings> all = all_settings();
    for (std::uint64_t point = 1; point <= 208; ++point)
        left_to_recovery += crash_and_recover(all[point % all.size()], point, point);
    EXPECT_GT(left_to_recovery, 208u);
}

// The checker's mutants: what each breaks, once all else was sound. A word of the fault must be found.
struct mutant {
    const char* what;
    const char* found;
    std::function<void(sim_load::fs_type&)> mutate;
};

TEST(xfs_checker, finds_what_is_broken) {
    using fs_type = sim_load::fs_type;
    // A file system that crashed with inodes on its lists; one of them that has another behind it.
    const auto listed = [](fs_type & fs) -> auto& {
        for (auto* const g : fs.groups()) {
            for (auto* const list : g->lists) {
                if (list->head != no_inode && g->inodes[list->head]->next_unlinked != no_inode)
                    return *g->inodes[list->head];
            }
        }
        throw std::logic_error("nothing is on a list");
    };
    const mutant mutants[] = {
        {"an inode is freed twice", "freed exactly once",
         [](fs_type& fs) {
             // As if recovery had met it again: it goes back onto its list, and is inactivated once more.
             auto& g = *fs.groups()[0];
             auto& i = **std::find_if(g.inodes.begin(), g.inodes.end(),
                                      [](const auto* each) { return !each->allocated; });
             g.list_of(i.number).head = i.number;
             fs.start();
             fs.inactivate(i);
             fs.stop();
         }},
        {"a link is dropped", "neither a name nor a list",
         [&](fs_type& fs) {
             auto& i = listed(fs);
             i.next_unlinked = fs.groups()[i.group]->inodes[i.next_unlinked]->next_unlinked;
         }},
        {"a back link is dropped", "back link is wrong",
         [&](fs_type& fs) {
             auto& i = listed(fs);
             fs.groups()[i.group]->back_links[i.next_unlinked] = no_inode;
         }},
        {"a list becomes a ring", "on lists twice",
         [&](fs_type& fs) {
             auto& i = listed(fs);
             fs.groups()[i.group]->inodes[i.next_unlinked]->next_unlinked = i.number;
         }},
        {"an inode is on the wrong list", "does not belong",
         [&](fs_type& fs) {
             auto& i = listed(fs);
             auto& lists = fs.groups()[i.group]->lists;
             std::swap(lists[i.number % lists.size()]->head, lists[(i.number + 1) % lists.size()]->head);
         }},
        {"a reservation is not returned", "still reserved",
         [](fs_type& fs) { fs.metadata_log().reserve(100); }},
        {"an item is never written", "not written",
         [](fs_type& fs) {
             log_item<sim::platform>& item = fs.groups()[0]->header.item;
             fs.metadata_log().reserve(128);
             const sim_load::fs_type::log_type::dirty d{&item, 128};
             fs.metadata_log().commit({&d, 1}, 128, [] {});
         }},
        {"a freed inode is not counted", "count of free", [](fs_type& fs) { --fs.groups()[0]->free; }},
        {"an inode is freed, and on its list", "free or has a link",
         [&](fs_type& fs) { listed(fs).allocated = false; }},
        {"a name is given to a second inode", "more than one name",
         [](fs_type& fs) {
             auto& entries = fs.root().entries;
             auto** const hole = &entries[0];
             auto** const other = &entries[7];
             *hole = *other;
         }},
    };
    settings s{.deferred = true};
    s.lists = 2;
    s.gc.work_above = 1000; // so that lists grow
    for (const mutant& m : mutants) {
        const std::string what = m.what;
        check_report before;
        check_report after;
        const sim::machine on = machine_of_four();
        sim::run({.on = &on, .seed = 3}, [&] {
            auto& fs = sim::world::make<fs_type>(s, small, cheap, small_log);
            fs.stop_after(60);
            fs.start();
            for (std::size_t d = 0; d < 8; ++d) {
                for (std::size_t file = 0; file < 12; ++file) {
                    if (!fs.stopped())
                        fs.unlink(*fs.root().below[d], file);
                }
                if (d == 1)
                    fs.gc().flush();
            }
            fs.stop();
            before = checker<sim::world, spinlock>::check(fs, false);
            fs.stop_after(~std::uint64_t{0});
            m.mutate(fs);
            after = checker<sim::world, spinlock>::check(fs, false);
        });
        EXPECT_EQ(before.faults, std::vector<std::string>{}) << what;
        EXPECT_GT(before.unlinked, 0u) << what;
        EXPECT_TRUE(std::any_of(after.faults.begin(), after.faults.end(),
                                [&](const std::string& f) { return f.find(m.found) != f.npos; }))
            << what << " was not found";
    }
}

TEST(xfs_native, all_is_removed_and_freed_once) {
    for (const settings& s : all_settings()) {
        load_result r;
        native_world::run(1, [&] {
            r = native_load::run(s, small, {.reservation = 10'000}, {.bytes = 100'000, .soft_limit = 20'000},
                                 four_threads);
        });
        expect_sound(r.end);
        EXPECT_EQ(r.end.freed, all_inodes - 1);
        EXPECT_EQ(r.commits, 2 * (all_inodes - 1));
    }
}

TEST(xfs_native, a_mount_after_a_crash_frees_what_was_unlinked) {
    const std::vector<settings> all = all_settings();
    for (std::uint64_t point = 5; point <= 200; point += 5) {
        load_parameters p = four_threads;
        p.crash_after = point;
        load_result r;
        native_world::run(point, [&] {
            r = native_load::run(all[point % all.size()], small, {.reservation = 10'000},
                                 {.bytes = 100'000, .soft_limit = 20'000}, p);
        });
        expect_sound(r.before_recovery);
        expect_sound(r.end);
        EXPECT_EQ(r.end.unlinked, 0u);
    }
}

} // namespace
} // namespace holdfast::xfs
