// The case of lockref: stat() of one path from many threads, with and without a pause after a failed
// exchange.
//
// The variants differ in lockref's policy alone; which spinlock shares the word is part of the machine's
// history (s390 had test-and-set, ia64 and x86 ticket locks), so there is a set of the three for each.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>

#include <holdfast/lockref.hpp>

#include "replay/code.hpp"
#include "replay/statistics.hpp"
#include "sim/world.hpp"
#include "workload/native_world.hpp"
#include "workload/path_walk.hpp"

namespace holdfast::replay {

namespace {

constexpr lockref_policy lock_policy{.compare_exchange = false};
// The retry limit came in 2019.
constexpr lockref_policy cas_policy{.retry_limit = std::numeric_limits<std::uint32_t>::max()};
constexpr lockref_policy cas_pause_policy{.failure_pauses = 1,
                                          .retry_limit = std::numeric_limits<std::uint32_t>::max()};

path_walk_parameters parameters_of(const run_request& r) {
    return {.threads = r.whole("threads"),
            .duration = r.duration("seconds", 1e9),
            .work_before = r.duration("work_before_ns"),
            .work_after = r.duration("work_after_ns"),
            .jitter_percent = r.whole("jitter_percent"),
            .name_near_percent = r.whole("name_near_percent"),
            .chain_depth = r.whole("chain_depth"),
            .pinned = false};
}

// The scores, as they would be had the threads looped for as long as in the published run.
named_numbers metrics_of(const std::vector<path_walk_score>& scores, const run_request& r) {
    const double scale = r.scaled_by("seconds");
    std::vector<double> loops;
    double total = 0;
    for (const path_walk_score& score : scores) {
        loops.push_back(static_cast<double>(score.loops) * scale);
        total += loops.back();
    }
    const auto [slowest, fastest] = std::minmax_element(loops.begin(), loops.end());
    const double near_slowest = *slowest * 1.1;
    named_numbers m = {
        {"loops", total},
        {"slowest", *slowest},
        {"fastest", *fastest},
        {"plateau", static_cast<double>(std::count_if(loops.begin(), loops.end(),
                                                      [&](double score) { return score <= near_slowest; }))},
        {"jain", jain_index(loops)}};
    if (*slowest > 0)
        m["fastest/slowest"] = *fastest / *slowest;
    return m;
}

// How many cores had more than one of the threads when they began.
double shared_cores(const std::vector<path_walk_score>& scores, const sim::machine& on) {
    std::set<std::int64_t> seen;
    std::set<std::int64_t> shared;
    for (const path_walk_score& score : scores) {
        const std::int64_t core = on.core_of(score.cpu);
        if (!seen.insert(core).second)
            shared.insert(core);
    }
    return static_cast<double>(shared.size());
}

template <lockref_policy Policy, template <class, class, unsigned> class Algorithm>
run_result stat_like_mad(const run_request& r) {
    const path_walk_parameters p = parameters_of(r);
    std::vector<path_walk_score> scores;
    run_result result;
    if (r.on == nullptr) {
        native_world::run(r.seed, [&] {
            scores = path_walk<native_world, lockref<native_world::platform, Policy, Algorithm>>::run(p);
        });
        result.metrics = metrics_of(scores, r);
        return result;
    }
    result.report = sim::run({.on = r.on, .seed = r.seed}, [&] {
        scores = path_walk<sim::world, lockref<sim::platform, Policy, Algorithm>>::run(p);
    });
    result.metrics = metrics_of(scores, r);
    result.metrics["cores_shared"] = shared_cores(scores, *r.on);
    return result;
}

template <template <class, class, unsigned> class Algorithm>
void add_variants(std::vector<runnable>& variants, const std::string& spinlock) {
    variants.push_back({spinlock + ".lock", stat_like_mad<lock_policy, Algorithm>});
    variants.push_back({spinlock + ".cas_pause", stat_like_mad<cas_pause_policy, Algorithm>});
    variants.push_back({spinlock + ".cas", stat_like_mad<cas_policy, Algorithm>});
}

} // namespace

case_code lockref_case() {
    case_code code{.name = "lockref",
                   .constants = {{"threads", 1, 1000},
                                 {"seconds", 1e-6, 3600},
                                 {"work_before_ns", 0, 1e9},
                                 {"work_after_ns", 0, 1e9},
                                 {"jitter_percent", 0, 99},
                                 {"name_near_percent", 0, 100},
                                 {"chain_depth", 1, 100}},
                   .metrics = {{"loops", "loops"},
                               {"slowest", "loops"},
                               {"fastest", "loops"},
                               {"fastest/slowest", ""},
                               {"plateau", "threads"}, // within 10 % of the slowest
                               {"jain", ""},
                               {"cores_shared", "cores"}},
                   .variants = {}};
    add_variants<tas_word>(code.variants, "tas");
    add_variants<ticket_word>(code.variants, "ticket");
    return code;
}

} // namespace holdfast::replay
