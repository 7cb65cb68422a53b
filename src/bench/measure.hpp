// One run of a program with a lock, measured: on this machine in a process of its own, so that a lock that hangs, crashes
// or leaves something behind does it to nobody else; or on a simulated machine.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "bench/cell.hpp"
#include "bench/locks.hpp"
#include "sim/machine.hpp"

namespace holdfast::bench {

struct measurement {
    bool exclusive = true; // false: the lock let in whom it must not
    double seconds = 0;
    double operations = 0; // of all threads: acquisitions, turns passed, or sleeps
    double cpu_ns = 0;     // that the program used; for sleeping_owner: that its waiters did
    double other_cpu_ns =
        0;           // that everybody else did meanwhile, the hypervisor's other guests included; not on sim
    double jain = 1; // fairness between threads, without the loner
    double voluntary = 0; // context switches; on sim all of them are counted here
    double involuntary = 0;
    wait_times waits; // the loner's, if there is one

    [[nodiscard]] double per_second() const { return operations / seconds; }
    [[nodiscard]] double cpu_per_operation() const { return cpu_ns / operations; }
};

struct run_outcome {
    measurement measured;
    std::string failure; // empty: it was measured. "hung" and the like if not
    bool interrupted = false;
};

// Whether the user wants no more of it. May be called at any time; a run that waits looks when a signal comes.
using interruption = std::function<bool()>;

// Runs the program with a lock, which must be able to, on this machine. `limit` is how long it may take beyond the
// duration; then it is ended by force.
run_outcome measure_native(const bench_lock& lock, lock_program program, const contend_settings& s,
                           std::uint64_t seed, std::chrono::milliseconds limit,
                           const interruption& interrupted);

// The same for contend() on a simulated machine.
run_outcome measure_on_sim(const bench_lock& lock, const sim::machine& m, const contend_settings& s,
                           std::uint64_t seed);

// Sets the cell's figures to those of its runs, at least one: medians, what waits come to over all runs together, and the
// foreign load over all of their time.
void set_figures(cell& c, std::span<const measurement> runs);

// What reading native_world's clock costs. Also measures how fast this machine computes, once for all runs of this
// process: they do the same work then.
nanoseconds prepare_native();

} // namespace holdfast::bench
