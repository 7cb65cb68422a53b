// From a recording to what a person asks: which lock, how long was waited for it, where, and for whom.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/symbols.hpp"
#include "trace/reader.hpp"

namespace holdfast::profile {

// A place that waited for a lock (or condition), or let go of it while others waited. Figures but `samples` and
// `longest_ns` are estimates from samples.
struct site {
    trace::site_role role = trace::site_role::none;
    std::vector<place> stack; // leaf first
    place let_go;             // of a wait: where the thread that it waited for let go; no function: unknown
    std::uint64_t samples = 0;
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t waiters = 0;
};

// Waits in a distribution of power-of-two buckets.
struct distribution {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::array<std::uint64_t, trace::histogram_buckets> histogram{};

    // The upper end of the bucket that has the share-quantile (0 to 1), at most longest_ns; 0 if there are none.
    [[nodiscard]] std::uint64_t quantile_ns(double share) const;
};

struct lock {
    std::string name; // a variable, or where it was initialised or first used
    trace::lock_read figures;
    distribution waits;      // both sides
    std::vector<site> sites; // longest wait first

    [[nodiscard]] std::uint64_t acquisitions() const {
        return figures.acquisitions + figures.shared_acquisitions;
    }
};

struct profile {
    trace::recording recording;
    std::vector<lock> locks;                // without conditions, longest wait in sum first
    std::vector<lock> conditions;           // the same
    std::uint64_t thread_ns = 0;            // lifetimes of threads, summed
    std::uint64_t lock_wait_ns = 0;         // waits for locks, of all threads
    std::uint64_t condition_ns = 0;         // waits for conditions
    std::vector<std::string> without_names; // files that gave no names

    // Thread time that wasn't spent in waits for conditions, and the share of it that went to waits for locks.
    [[nodiscard]] std::uint64_t busy_ns() const;
    [[nodiscard]] double lock_share() const;
};

// From this share on, a verdict says that locks hold the program back.
inline constexpr double bad_share = 0.05;

// Reads the files that the recording names, for symbols.
profile make_profile(trace::recording recording);

} // namespace holdfast::profile
