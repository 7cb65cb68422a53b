// How fast the simulator is on this machine, on one core, and how much memory its threads take.
#pragma once

#include <cstdint>
#include <vector>

#include "bench/cell.hpp"
#include "sim/machine.hpp"

namespace holdfast::bench {

// Simulated memory operations for each second of our CPU time, of programs whose threads contend, one on each
// CPU of the machine, at most 64: locks with waiters that queue and that swarm, and a loop of
// compare-exchanges. `runs`, at least 1, is how often each is run.
std::vector<cell> measure_simulator(const sim::machine& m, std::uint32_t runs, const progress& show);

// By how many bytes the process grows at most while it simulates so many threads that mostly sleep. To be
// asked before the process has been larger.
std::uint64_t memory_of_sleepers(const sim::machine& m, std::uint32_t threads);

} // namespace holdfast::bench
