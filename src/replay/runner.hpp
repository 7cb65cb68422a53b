// From a case to its runs, and from their outcomes to results: what is to be run is planned first, then run
// in any order, then put together in the plan's order, so the results are the same for any number of host
// threads.
#pragma once

#include <any>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "replay/case_file.hpp"
#include "replay/code.hpp"
#include "replay/statistics.hpp"
#include "sim/machine.hpp"

namespace holdfast::replay {

enum class target { sim, native };

struct plan_options {
    target on = target::sim;
    replay::scale scale = replay::scale::standard; // native runs at `native` unless it is full
    std::optional<std::int64_t> runs{};            // seeds of each variant; nothing: as the case says
    std::uint64_t first_seed = 1;
    std::vector<std::string> only{}; // experiments by name; empty: all
    std::string machine{};           // a name or path that replaces every experiment's; empty: none
    std::int64_t cpus = 0;           // the first so many CPUs of the machine only; 0: all
};

// An experiment as it will be run.
struct planned_experiment {
    const experiment_description* what = nullptr;
    std::optional<scale_settings> settings{}; // nothing: not run at this scale, or not asked for
    sim::machine machine{};                   // with the scale's swap rate; nothing on native
    named_numbers constants{};                // with what the scale sets
    named_numbers published{};
    std::map<std::string, std::any, std::less<>> inputs{};
    std::vector<std::uint64_t> seeds{};
};

struct case_plan {
    const case_description* what = nullptr;
    plan_options options;
    std::vector<planned_experiment> experiments;
};

// Reads the machines. Throws file_error; or if `only` names no experiment of the case, or a machine has not so
// many CPUs as `cpus`.
case_plan plan_case(const case_description& c, const plan_options& options);

// Says so if more than one number of the machine and its workload together is fitted. Empty: it is not.
std::string too_many_fitted(const planned_experiment& e);

// One run. Refers to its plan.
struct planned_run {
    std::string label; // "lockref: ia64.cas, seed 3"
    const runnable* code = nullptr;
    run_request request;
    std::uint32_t native_cpus = 0; // natively: the first so many CPUs only; 0: all
};

// All runs of a plan: by experiment, seed, and variant, so that native variants take turns.
std::vector<planned_run> runs_of(const case_plan& plan);

struct run_outcome {
    run_result result;
    std::string error{}; // why the run failed; empty: it did not
};

// Called before each run starts, and at the end, from one thread at a time.
using progress = std::function<void(std::size_t done, std::size_t total, std::string_view starting)>;

// The outcomes, in the order of the runs, which go on in `jobs` host threads.
std::vector<run_outcome> run_all(std::span<const planned_run> runs, unsigned jobs, const progress& show);

// One metric over the runs of a variant.
struct metric_runs {
    std::string name;
    std::string unit;
    std::vector<double> values;
};

// A function with its callers, and its share.
struct stack_share {
    std::vector<std::string> frames; // the function first
    double percent = 0;
};

struct variant_result {
    const variant_description* what = nullptr;
    std::string error{}; // of the first run that failed; empty: none did
    std::vector<metric_runs> metrics{};
    std::vector<stack_share> profile{};  // of the CPU time that was not idle; largest first
    std::vector<stack_share> switches{}; // of the context switches

    // Nothing if no run measured it, or one failed.
    std::optional<double> value(std::string_view column) const;
};

struct experiment_result {
    planned_experiment plan;
    std::vector<variant_result> variants; // empty: not run
};

struct check_result {
    const check_description* what = nullptr;
    std::optional<double> replayed{};
    std::optional<double> error{}; // as ratio_error; nothing on native, whose machine is another
    verdict outcome = verdict::not_run;
};

struct case_result {
    const case_description* what = nullptr;
    plan_options options;
    std::vector<experiment_result> experiments;
    std::vector<check_result> checks; // in the order of the case
};

// The outcomes of runs_of(plan) put together, and the checks judged.
case_result collect(const case_plan& plan, std::span<const run_outcome> outcomes);

// The checks of a case against its experiments' results.
std::vector<check_result> judge_checks(const case_description& c, const plan_options& options,
                                       const std::vector<experiment_result>& experiments);

} // namespace holdfast::replay
