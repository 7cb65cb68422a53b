// From a recording to what a person asks: which lock, how long was waited for it, where, and for whom.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "profile/symbols.hpp"
#include "trace/reader.hpp"

namespace holdfast::profile {

// Leaf first; inlined functions before the one that has their frame.
using call_stack = std::vector<const place*>;

// A place that waited for a lock (or condition), or let go of it while others waited. Figures but `samples` and
// `longest_ns` are estimates from samples. The stacks belong to the profile.
struct site {
    trace::site_role role = trace::site_role::none;
    const call_stack* stack = nullptr;
    const call_stack* holder = nullptr; // of a wait: with which the holder took the lock; empty: unknown
    const call_stack* let_go = nullptr; // of a wait: the call by which the holder let go; empty: unknown
    std::uint64_t samples = 0;
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t spun_ns = 0; // of a wait: CPU time that it took
    std::uint64_t waiters = 0; // summed: who waited when it let go, or still waited when this wait ended

    [[nodiscard]] bool waited_for_lock() const {
        return role == trace::site_role::wait || role == trace::site_role::read_wait;
    }
};

// Adds what waits and holds have in common, but for their numbers, which have different names.
template <class Times>
void add_times(Times& to, const Times& from) {
    to.ns += from.ns;
    to.longest_ns = std::max(to.longest_ns, from.longest_ns);
    for (std::size_t b = 0; b < to.histogram.size(); ++b)
        to.histogram[b] += from.histogram[b];
}

// Waits in a distribution of power-of-two buckets.
struct distribution {
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::array<std::uint64_t, trace::histogram_buckets> histogram{};

    distribution& operator+=(const distribution& other);

    // The upper end of the bucket that has the share-quantile (0 to 1), at most longest_ns; 0 if there are none.
    [[nodiscard]] std::uint64_t quantile_ns(double share) const;
};

struct lock {
    std::string name;        // a variable, or its address and origin, or of a class how many and their origin
    std::string origin;      // where it was initialised or first used; empty: it is a variable
    std::string type;        // of the struct that has it as a member, or empty
    std::size_t members = 1; // of a class (lock_classes.hpp)
    trace::lock_read figures;
    distribution waits;      // both sides
    std::vector<site> sites; // longest wait first

    [[nodiscard]] std::uint64_t acquisitions() const {
        return figures.acquisitions + figures.shared_acquisitions;
    }
    // The average hold of either side, of those that were timed; 0: none was.
    [[nodiscard]] std::uint64_t mean_hold_ns() const;
    // Timed holds' average times all acquisitions, each side with its own; an estimate.
    [[nodiscard]] std::uint64_t held_ns() const;
};

// What the sites of waits for a lock say in sum. Estimates, but `samples`.
struct wait_sums {
    std::uint64_t samples = 0;
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t spun_ns = 0;
    std::uint64_t behind = 0;    // who still waited when these waits ended
    std::uint64_t holder_ns = 0; // of waits of which it is known how the holder took the lock
};
wait_sums sums_of(const lock& l);

distribution distribution_of(const trace::waits_read& from);

struct profile {
    trace::recording recording;
    std::unique_ptr<symbols> names; // of the recording's modules; owns all places
    std::vector<call_stack> stacks; // as in the recording
    // Of calls that let go, by return address and generation.
    std::map<std::pair<std::uint64_t, std::uint32_t>, call_stack> single_frames;
    std::vector<lock> locks;                           // without conditions, longest wait in sum first
    std::vector<lock> conditions;                      // the same
    std::uint64_t thread_ns = 0;                       // lifetimes of threads, summed
    std::uint64_t lock_wait_ns = 0;                    // waits for locks, of all threads
    std::uint64_t condition_ns = 0;                    // waits for conditions
    std::uint64_t cpu_ns = 0;                          // CPU time of threads, as far as it is known
    std::vector<std::string> without_names;            // files that gave no names
    std::map<std::string, std::string> other_runtimes; // what else synchronises, each with a file that has it

    // Thread time that wasn't spent in waits for conditions, and the share of it that went to waits for locks.
    [[nodiscard]] std::uint64_t busy_ns() const;
    [[nodiscard]] double lock_share() const;
};

// From this share on, a verdict says that locks hold the program back.
inline constexpr double bad_share = 0.05;

// Reads the files that the recording names, for symbols. `classes`: locks of one origin are one, if they are many
// (lock_classes.hpp).
profile make_profile(trace::recording recording, bool classes = true);

// The first place that isn't of the wrappers that lie around a lock (std::mutex and the like), or else the first;
// null if there is none.
const place* user_of(const call_stack& stack);

// Jain's index of fairness, (sum x)^2 / (n sum x^2) (Jain, Chiu and Hawe, DEC-TR-301, 1984): 1 if all are alike, 1/n if
// one has all; 0 if there is nothing to share.
double jain(const std::vector<std::uint64_t>& shares);

} // namespace holdfast::profile
