// bench grid: locks side by side over a grid of threads, writes, sections and think times, and over a few programs beside
// it that show what the grid doesn't.
//
// A cell is one program with one setting. All locks run it in turns, in an order that is turned round each time
// (A B, B A, A B), so that a change of the machine's speed meets all alike; ratios are of runs of the same round.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/cell.hpp"
#include "bench/locks.hpp"
#include "bench/measure.hpp"
#include "sim/machine.hpp"

namespace holdfast::bench {

struct grid_settings {
    const sim::machine* on = nullptr; // nullptr: this machine
    // That can run there; the first is the subject, whose ratios to others are told.
    std::vector<bench_lock> locks;
    std::vector<std::uint32_t> threads; // each at least 1
    std::vector<std::uint32_t> write_percents{0, 1, 10, 50, 100};
    std::vector<nanoseconds> sections{nanoseconds(0), nanoseconds(200), std::chrono::microseconds(5)};
    std::vector<nanoseconds> thinks{nanoseconds(0), std::chrono::microseconds(1)};
    bool beside = true;     // the other programs, too; on this machine only
    std::uint32_t runs = 5; // rounds, or seeds; at least 1
    // Of a run; 0: as is good for the threads and the machine, or what a quick grid has time for.
    nanoseconds duration{};
    // To end within a minute for each number of threads; where all cells would be too short then, some are left out.
    bool quick = false;
    std::chrono::milliseconds limit{5'000}; // what a run may take longer than its duration
    interruption interrupted = [] { return false; };
};

// What is run in a cell.
struct grid_point {
    std::string bench; // "grid", or the name of another program
    lock_program program = lock_program::contend;
    // The role of the threads, or of the loner, if there is one, is what the cell is about.
    contend_settings settings;

    // Whether there are cells with other numbers of threads of the same name, beside the grid.
    [[nodiscard]] bool one_of_several() const {
        return settings.loner || program == lock_program::references;
    }
};

// A lock in a cell.
struct grid_entry {
    std::size_t lock = 0; // of the settings'
    cell figures;
    struct round {
        double per_second = 0;
        double cpu_per_operation = 0;
    };
    std::vector<std::optional<round>> rounds; // nothing: it failed, or was not run again after it had
};

struct grid_cell {
    grid_point point;
    std::vector<grid_entry> entries; // of the locks that can run it
};

struct grid_result {
    std::vector<bench_lock> locks;
    std::vector<grid_cell> cells;
    std::vector<std::string> left_out; // for people: what was not measured
    bool interrupted = false;          // the last cell may lack rounds
};

// Throws std::system_error if the system has no room for another process.
grid_result run_grid(const grid_settings& s, const progress& show);

// How many times as fast a is as b, the median over the rounds that both have; nothing if they have none.
std::optional<double> speed_ratio(const grid_entry& a, const grid_entry& b);
// How many times the CPU time of a that b takes for an operation.
std::optional<double> thrift_ratio(const grid_entry& a, const grid_entry& b);

// The subject against one other lock, over the cells of the grid of so many threads that both have.
struct grid_comparison {
    std::size_t lock = 0;
    std::uint32_t threads = 0;
    std::size_t cells = 0;
    double speed = 0;  // geometric means; above 1 the subject is faster,
    double thrift = 0; // and takes less CPU time
    double least = 0;  // the worst cell's speed
    std::string least_at;
};
// For each lock and number of threads that have a cell in common with the subject.
std::vector<grid_comparison> compare_with_subject(const grid_result& r);

// The subject's worst cell for so many threads beside the best of those that park: the price of what others do better.
struct grid_worst {
    std::uint32_t threads = 0;
    double speed = 0;
    std::size_t best = 0; // the lock
    std::string at;
};
std::vector<grid_worst> worst_beside_best(const grid_result& r);

} // namespace holdfast::bench
