// Runs a program on a simulated machine, and says what happened.
//
// This is the simulator's front: machine.hpp says what a machine is, world.hpp what a program may ask of it, engine.hpp
// how it works.
#pragma once

#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include <holdfast/platform.hpp>

#include "sim/machine.hpp"

namespace holdfast::sim {

struct run_options {
    const machine* on = nullptr;
    std::uint64_t seed = 1; // draws placement, arbitration and what the program asks random() for: a boot
    picoseconds limit = 0;  // stops the run with an error when simulated time gets here; 0, or more: 5 hours
};

// One function of a profile, with the functions that called it.
struct profile_node {
    std::uint32_t parent = 0; // index of the caller's node; the root (index 0) is its own
    std::string name;
    picoseconds user = 0; // CPU time in the function itself
    picoseconds system = 0;
    picoseconds off_cpu = 0;        // time that threads were blocked in it, or runnable without a CPU
    std::uint64_t switches_out = 0; // context switches away from it
};

struct report {
    picoseconds elapsed = 0;
    picoseconds user = 0; // CPU time of all CPUs
    picoseconds system = 0;
    picoseconds idle = 0;
    std::uint64_t context_switches = 0;
    std::uint64_t migrations = 0;
    std::uint64_t memory_operations = 0; // loads, stores and read-modify-writes of shared memory
    std::uint64_t line_transfers = 0;
    std::uint64_t events[event_count] = {}; // by holdfast::event
    std::vector<profile_node> profile;      // a node's parent comes before it
};

// The program can't go on, or went past its limit. what() says which thread waits where.
struct stuck : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Runs `main` as the first thread of a program on the machine until it and all threads it started have ended. The same
// options and program give the same report, on any host. Throws stuck, or what a thread threw.
report run(const run_options& options, const std::function<void()>& main);

} // namespace holdfast::sim
