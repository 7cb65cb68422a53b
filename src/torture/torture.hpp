// Torture: real threads on one lock, disturbed in every way that we know, and checked.
//
// A lock is tortured in a process of its own (victim.cpp), so that one that hangs or crashes does it to nobody else, and so
// that the whole process can be stopped and go on. Its supervisor (torture.cpp) looks at what its threads show on a board
// in shared memory, ends it when its time is over, and says so if its threads don't get on.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "torture/board.hpp"
#include "torture/tortured.hpp"

namespace holdfast::torture {

struct settings {
    std::uint32_t threads = 4; // 1 to most_threads
    std::uint64_t seed =
        1; // of what each thread and the disturbances choose; when they do so is the machine's business
    std::chrono::nanoseconds duration = std::chrono::seconds(3);
    // With everybody pausing but those who wait, who wait for nobody: after so long without a sign of life they are lost.
    std::chrono::nanoseconds asleep = std::chrono::milliseconds(300);
    // Whatever they do: after so long without getting on they are stuck.
    std::chrono::nanoseconds stuck = std::chrono::seconds(30);
};

// Of all threads together.
struct result {
    std::string lock{};
    std::uint32_t threads = 0;
    std::uint64_t seed = 0;
    double seconds = 0;          // that the process ran, without those in which the machine stood still
    std::uint64_t exclusive = 0; // attempts that had the lock
    std::uint64_t shared = 0;
    std::uint64_t timed_out = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t in_vain = 0;
    std::uint64_t lives = 0; // threads that came; the last of them went in the end
    double least_share = 1;  // acquisitions of the place that had fewest, of the average
    double greatest_share = 1;
    double longest_wait = 0; // seconds, of those who wait for as long as it takes
    double longest_hold = 0;
    bool interrupted = false;
    std::string failure{};               // what the lock has done that it must not; empty: nothing
    std::vector<std::string> not_done{}; // disturbances that this machine didn't allow
};

// Asked every few milliseconds: false ends the torture at once, as its time does.
using asked = std::function<bool()>;

// Tortures the lock. The calling process must have one thread. Throws std::system_error if there can be no process.
result torture(const torture_lock& lock, const settings& s, const asked& goes_on);

} // namespace holdfast::torture
