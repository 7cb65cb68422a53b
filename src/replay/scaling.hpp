// Throughput against CPUs: an experiment again and again on its machine with fewer of its CPUs, everything else being
// the same, and the Universal Scalability Law beside what came out.
//
// Which CPUs N of them are, sim::machine::online_cpus says; natively it is the first that the process may use.
// The throughput is the experiment's metric, or if that is a time (its unit is "s"), one divided by it. The checks of a
// case are about the full machine, so nothing is judged here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "replay/runner.hpp"
#include "replay/usl.hpp"

namespace holdfast::replay {

// A variant's throughput over the seeds.
struct scaling_point {
    std::int64_t cpus = 0;
    double median = 0;
    double min = 0;
    double max = 0;
    double speedup = 1; // of the median, over that of the fewest CPUs
};

struct scaling_curve {
    const variant_description* what = nullptr;
    std::string error{}; // of the first run that failed, or did not measure the metric; empty: none
    std::vector<scaling_point> points{}; // by CPUs; empty if there was an error
    usl_fit fit{};                       // to the medians
};

struct experiment_scaling {
    planned_experiment plan; // with the most CPUs
    std::string metric;
    std::string unit;     // of a throughput
    bool is_time = false; // the metric is a time, and throughput is one divided by it
    std::vector<scaling_curve> curves;
};

struct case_scaling {
    const case_description* what = nullptr;
    plan_options options;
    std::vector<experiment_scaling> experiments; // those that were run
};

// One plan for each number of CPUs, of which there is at least one; they are sorted, and duplicates left out. Throws as
// plan_case.
std::vector<case_plan> plan_scaling(const case_description& c, plan_options options,
                                    std::vector<std::int64_t> cpus);

// Runs such plans. Every run is done with each number of CPUs in turn, so that a change of this machine's
// speed meets all alike.
case_scaling measure_scaling(std::span<const case_plan> plans, unsigned jobs, const progress& show);

// Whether a run failed.
bool has_error(const case_scaling& s);

} // namespace holdfast::replay
