// Throughput of our spinlocks by number of threads, on a simulated machine or on this one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/cell.hpp"
#include "sim/machine.hpp"
#include "workload/contend.hpp"

namespace holdfast::bench {

struct lock_bench {
    const sim::machine* on = nullptr;   // nullptr: this machine
    std::vector<std::string> locks;     // of lock_names()
    std::vector<std::uint32_t> threads; // each at least 1
    std::uint32_t runs = 3;             // seeds, or rounds; at least 1
    nanoseconds section{};
    nanoseconds think{};
    nanoseconds duration{}; // of each run
    bool pinned = false;
};

// The locks that can be measured there, as their users write them.
std::vector<std::string> lock_names(bool native);

// One cell for each lock and number of threads, locks in the outer order. On this machine the runs of all are
// interleaved, so that a change of its speed meets all alike. Throws std::runtime_error if a lock let two in.
std::vector<cell> run_lock_bench(const lock_bench& b, const progress& show);

// What the birth-death chain says of a ticket lock on such a machine, for the same numbers of threads. The
// lock moves over as many sockets as the threads fill.
std::vector<cell> predict_ticket_lock(const lock_bench& b);

} // namespace holdfast::bench
