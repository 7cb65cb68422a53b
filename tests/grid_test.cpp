// bench grid: its statistics, by hand; that it measures every lock in every way it says; and that locks which break, hang
// or crash are told as such.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <set>
#include <thread>

#include <gtest/gtest.h>

#include "bench/grid.hpp"
#include "bench/grid_output.hpp"
#include "replay/statistics.hpp"
#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"

namespace holdfast::bench {
namespace {

using namespace std::chrono_literals;

const progress silent = [](std::size_t, std::size_t, const std::string&) {};

// ---- Statistics ---------------------------------------------------------------------------------------------

TEST(statistics, a_geometric_mean_has_twice_and_half_make_one) {
    EXPECT_DOUBLE_EQ(replay::geometric_mean(std::vector<double>{2, 0.5}), 1);
    EXPECT_NEAR(replay::geometric_mean(std::vector<double>{1, 10, 100}), 10, 1e-12);
    EXPECT_DOUBLE_EQ(replay::geometric_mean(std::vector<double>{3}), 3);
}

grid_entry entry(std::size_t lock, std::vector<std::optional<grid_entry::round>> rounds) {
    return {.lock = lock, .figures = {}, .rounds = std::move(rounds)};
}
using round_of = grid_entry::round;

TEST(grid, a_ratio_is_the_median_of_rounds_that_both_have) {
    const grid_entry a =
        entry(0, {round_of{100, 10}, round_of{50, 20}, round_of{300, 30}, round_of{1, 1}, std::nullopt});
    const grid_entry b =
        entry(1, {round_of{50, 20}, round_of{100, 10}, round_of{100, 30}, std::nullopt, round_of{1, 1}});
    EXPECT_DOUBLE_EQ(*speed_ratio(a, b), 2);  // of 2, 0.5 and 3
    EXPECT_DOUBLE_EQ(*thrift_ratio(a, b), 1); // of 2, 0.5 and 1
    EXPECT_FALSE(speed_ratio(a, entry(1, {})));
    EXPECT_FALSE(thrift_ratio(entry(0, {round_of{1, 0}}), entry(1, {round_of{1, 0}})));
}

// Three locks of which the second parks, in two cells with two threads, one with four, and one beside the grid.
grid_result by_hand() {
    const auto lock = [](const char* name, waiting waits) {
        bench_lock row = native_lock<std::mutex>(name, waits, asked::full);
        return row;
    };
    const auto cell_with = [](const char* bench, std::uint32_t threads, std::vector<double> speeds) {
        grid_cell c{.point = {.bench = bench, .program = lock_program::contend, .settings = {}},
                    .entries = {}};
        c.point.settings.threads = threads;
        for (std::size_t i = 0; i < speeds.size(); ++i) {
            c.entries.push_back(speeds[i] > 0 ? entry(i, {round_of{speeds[i], 1 / speeds[i]}})
                                              : entry(i, {std::nullopt}));
        }
        return c;
    };
    return {.locks = {lock("ours", waiting::parks), lock("parker", waiting::parks),
                      lock("spinner", waiting::spins)},
            .cells = {cell_with("beside", 2, {1, 100, 100}), cell_with("grid", 2, {4, 1, 8}),
                      cell_with("grid", 2, {1, 2, 8}), cell_with("grid", 4, {1, 0, 2})},
            .left_out = {}};
}

TEST(grid, means_are_over_the_cells_of_the_grid_that_both_have) {
    const std::vector<grid_comparison> all = compare_with_subject(by_hand());
    ASSERT_EQ(all.size(), 3u);
    EXPECT_EQ(all[0].lock, 1u);
    EXPECT_EQ(all[0].threads, 2u);
    EXPECT_EQ(all[0].cells, 2u);
    EXPECT_DOUBLE_EQ(all[0].speed, std::sqrt(4 * 0.5));
    EXPECT_DOUBLE_EQ(all[0].thrift, std::sqrt(4 * 0.5));
    EXPECT_DOUBLE_EQ(all[0].least, 0.5);
    // None for the parker with four threads, which failed there.
    EXPECT_EQ(all[1].lock, 2u);
    EXPECT_DOUBLE_EQ(all[1].speed, 0.25);
    EXPECT_EQ(all[2].threads, 4u);
    EXPECT_DOUBLE_EQ(all[2].speed, 0.5);
}

TEST(grid, the_worst_cell_is_beside_the_best_that_parks) {
    const std::vector<grid_worst> all = worst_beside_best(by_hand());
    ASSERT_EQ(all.size(), 1u);
    EXPECT_EQ(all[0].threads, 2u);
    EXPECT_EQ(all[0].best, 1u);
    EXPECT_DOUBLE_EQ(all[0].speed, 0.5);
}

// ---- Measuring ----------------------------------------------------------------------------------------------

grid_settings one_cell(std::vector<bench_lock> locks) {
    grid_settings s;
    s.locks = std::move(locks);
    s.threads = {2};
    s.write_percents = {50};
    s.sections = {200ns};
    s.thinks = {0ns};
    s.beside = false;
    s.runs = 2;
    s.duration = 20ms;
    return s;
}

TEST(grid, every_lock_is_measured_in_every_program_that_it_can_run) {
    grid_settings s = one_cell({});
    std::set<std::string> names;
    for (const bench_lock& lock : all_locks()) {
        EXPECT_TRUE(names.insert(lock.name).second) << lock.name << " is there twice";
        s.locks.push_back(lock);
    }
    s.write_percents = {50, 100};
    s.runs = 1;
    s.duration = 1ms;
    s.beside = true;
    s.limit = 30s; // for slow machines: nothing hangs here
    const grid_result r = run_grid(s, silent);
    EXPECT_FALSE(r.interrupted);
    EXPECT_EQ(r.left_out, std::vector<std::string>{});
    ASSERT_EQ(r.cells.size(), 16u);
    for (const grid_cell& c : r.cells) {
        EXPECT_FALSE(c.entries.empty()) << c.point.bench;
        for (const grid_entry& e : c.entries) {
            const cell& f = e.figures;
            EXPECT_EQ(f.failure, "") << c.point.bench << ' ' << f.lock;
            EXPECT_GT(f.ops_per_s.median, 0) << c.point.bench << ' ' << f.lock;
            EXPECT_TRUE(f.cpu_ns_per_op && f.jain && f.switches_per_op && f.foreign_load) << f.lock;
            EXPECT_EQ(f.wait_ns.has_value(), c.point.program == lock_program::contend) << f.lock;
        }
    }
    // Exclusive locks are measured where all write.
    EXPECT_LT(r.cells[r.cells.size() - 2].entries.size(), r.cells.back().entries.size());
    const std::string text = as_text(r, true, false);
    for (const std::string& name : names)
        EXPECT_NE(text.find(name), std::string::npos) << name;
}

TEST(grid, simulated_machines_have_the_same_grid) {
    const sim::machine m = sim::read_machine(data_file("machines", "tiny"));
    std::vector<bench_lock> locks;
    for (const bench_lock& lock : all_locks()) {
        if (lock.on_sim != nullptr)
            locks.push_back(lock);
    }
    EXPECT_GE(locks.size(), 10u);
    grid_settings s = one_cell(locks);
    s.on = &m;
    s.beside = true; // there is nothing beside it there
    s.write_percents = {50, 100};
    s.duration = 100us;
    const grid_result r = run_grid(s, silent);
    ASSERT_EQ(r.cells.size(), 2u);
    EXPECT_EQ(r.cells[1].entries.size(), locks.size());
    for (const grid_entry& e : r.cells[1].entries) {
        EXPECT_EQ(e.figures.failure, "") << e.figures.lock;
        EXPECT_EQ(e.figures.platform, "sim");
        EXPECT_GT(e.figures.ops_per_s.median, 0) << e.figures.lock;
        EXPECT_FALSE(e.figures.foreign_load) << e.figures.lock;
    }
}

// Lets everybody in.
struct no_lock {
    void lock() {}
    void unlock() {}
    void lock_shared() {}
    void unlock_shared() {}
};
// Writers shut each other out, and no reader.
struct no_readers_lock : std::mutex {
    void lock_shared() {}
    void unlock_shared() {}
};
// Whoever comes second never gets it.
struct hanging_lock {
    std::atomic<bool> taken{false};
    void lock() {
        while (taken.exchange(true))
            std::this_thread::sleep_for(1h);
    }
    void unlock() {}
};
struct crashing_lock {
    void lock() { std::abort(); }
    void unlock() {}
};

// The lock in one cell; a good one goes before it where all write.
template <class Lock>
grid_result measure(std::uint32_t write_percent) {
    grid_settings s = one_cell({native_lock<std::mutex>("mutex", waiting::parks, asked::full),
                                native_lock<Lock>("bad", waiting::spins, asked::full)});
    s.threads = {4};
    s.sections = {20us}; // enough of them that one CPU switches within some
    s.write_percents = {write_percent};
    s.duration = 200ms;
    s.limit = 200ms;
    return run_grid(s, silent);
}

void expect_broken(const grid_result& r) {
    const cell& bad = r.cells.at(0).entries.back().figures;
    EXPECT_EQ(bad.lock, "bad");
    EXPECT_EQ(bad.failure, "broken: let two in");
    EXPECT_EQ(bad.ops_per_s.median, 0);
    EXPECT_TRUE(has_broken_lock(r));
    EXPECT_NE(as_text(r, false, false).find("bad: broken"), std::string::npos);
    EXPECT_EQ(as_json(r)["cells"].back()["failure"], bad.failure);
}

TEST(grid, a_lock_that_lets_in_whom_it_must_not_is_told) {
    expect_broken(measure<no_lock>(100));
    expect_broken(measure<no_lock>(50));
    expect_broken(measure<no_readers_lock>(50));
    EXPECT_FALSE(has_broken_lock(measure<std::mutex>(100)));
}

TEST(grid, a_lock_that_hangs_is_a_row_that_says_so) {
    const grid_result r = measure<hanging_lock>(100);
    EXPECT_EQ(r.cells.at(0).entries.at(1).figures.failure, "hung: no end within 0.2 s");
    EXPECT_GT(r.cells[0].entries[0].figures.ops_per_s.median, 0);
    EXPECT_TRUE(compare_with_subject(r).empty());
}

TEST(grid, a_lock_that_crashes_takes_nobody_with_it) {
    const grid_result r = measure<crashing_lock>(100);
    EXPECT_EQ(r.cells.at(0).entries.at(1).figures.failure, "died of signal 6");
    EXPECT_GT(r.cells[0].entries[0].figures.ops_per_s.median, 0);
}

TEST(grid, an_interruption_leaves_what_there_is) {
    grid_settings s = one_cell({native_lock<std::mutex>("a", waiting::parks, asked::full)});
    s.write_percents = {100};
    s.threads = {1, 2, 3};
    int runs = 0;
    const progress count = [&runs](std::size_t, std::size_t, const std::string&) { ++runs; };
    s.interrupted = [&runs] { return runs > 3; };
    const grid_result r = run_grid(s, count);
    EXPECT_TRUE(r.interrupted);
    EXPECT_EQ(runs, 4);
    ASSERT_EQ(r.cells.size(), 2u);
    EXPECT_GT(r.cells[0].entries[0].figures.ops_per_s.median, 0);
    EXPECT_EQ(r.cells[1].entries[0].rounds.at(0).has_value(), true);
    EXPECT_EQ(r.cells[1].entries[0].rounds.at(1).has_value(), false);
    EXPECT_NE(as_text(r, false, false).find("Interrupted"), std::string::npos);
}

TEST(grid, a_quick_one_says_what_it_leaves_out) {
    grid_settings s;
    s.locks.assign(40, native_lock<no_lock>("a", waiting::spins, asked::full));
    s.threads = {16};
    s.beside = false;
    s.quick = true;
    int steps = 0;
    s.interrupted = [&steps] { return ++steps > 3; };
    const grid_result r = run_grid(s, silent);
    ASSERT_EQ(r.left_out.size(), 1u);
    EXPECT_NE(r.left_out[0].find("16 threads: 24 of 30 cells"), std::string::npos) << r.left_out[0];
}

} // namespace
} // namespace holdfast::bench
