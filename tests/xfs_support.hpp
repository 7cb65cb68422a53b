// What the tests of the metadata engine share: a file system in which all meet, a machine to have it on, and runs of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/pv_qspinlock.hpp>

#include "sim/world.hpp"
#include "sim_support.hpp"
#include "workload/xfs/load.hpp"

namespace holdfast::xfs {

template <class P>
using spinlock = pv_qspinlock<P>;
using sim_load = load<sim::world, spinlock>;

// All ways to free inodes and to keep them until then.
inline std::vector<settings> all_settings() {
    std::vector<settings> all;
    for (unsigned bits = 0; bits < 32; ++bits) {
        const auto bit = [bits](unsigned which) { return (bits >> which & 1) != 0; };
        settings s{.deferred = bit(0), .log_list_per_cpu = bit(1), .at_tail = bit(2)};
        s.lists = bit(3) ? 1 : 64;
        s.back_links_in_inodes = bit(3);
        s.gc.bound = bit(4);
        s.gc.work_above = bit(4) ? 4 : 0;
        s.gc.throttle_above = bit(4) ? 8 : 0;
        if (s.deferred || !s.gc.bound)
            all.push_back(s);
    }
    return all;
}

// Two threads in each of two groups, so that all meet.
inline constexpr geometry small{.groups = 2, .directories = 8, .files = 12};
inline constexpr costs cheap{.lookup = nanoseconds(2000),
                             .free_inode = nanoseconds(1000),
                             .evict = nanoseconds(500),
                             .jitter_percent = 50,
                             .cluster_bytes = 4096,
                             .device = {.latency = nanoseconds(5000)},
                             .reservation = 10'000};
inline constexpr log_parameters small_log{.bytes = 100'000,
                                          .soft_limit = 20'000,
                                          .commit = nanoseconds(300),
                                          .device = {.latency = nanoseconds(20'000)}};
inline constexpr load_parameters four_threads{.threads = 4, .interval = nanoseconds(10'000)};
inline constexpr std::uint64_t all_inodes = 1 + 8 + 8 * 12; // with directories and the root

inline sim::machine machine_of_four() {
    sim::machine m = sim::memory_machine(1, 4);
    m.context_switch = sim::us;
    m.wakeup_latency = 3 * sim::us;
    m.wake_cost = sim::us;
    m.slice = 100 * sim::us;
    m.wakeup_granularity = 10 * sim::us;
    return m;
}

template <class... Arguments>
load_result simulate(const settings& s, const load_parameters& p, std::uint64_t seed,
                     Arguments... arguments) {
    load_result result;
    const sim::machine m = machine_of_four();
    sim::run({.on = &m, .seed = seed},
             [&] { result = sim_load::run(s, small, cheap, small_log, p, arguments...); });
    return result;
}

inline void expect_sound(const check_report& r) {
    for (const std::string& fault : r.faults)
        ADD_FAILURE() << fault;
    EXPECT_EQ(r.named + r.unlinked + r.freed, all_inodes);
}

// A crash after `point` transactions have begun: what was queued is forgotten, and a mount frees what is on the lists. Gives
// how many that were.
inline std::uint64_t crash_and_recover(const settings& s, std::uint64_t point, std::uint64_t seed) {
    load_parameters p = four_threads;
    p.crash_after = point;
    const load_result r = simulate(s, p, seed);
    expect_sound(r.before_recovery);
    expect_sound(r.end);
    EXPECT_EQ(r.end.unlinked, 0u);
    EXPECT_EQ(r.end.freed, r.before_recovery.freed + r.before_recovery.unlinked);
    return r.before_recovery.unlinked;
}

} // namespace holdfast::xfs
