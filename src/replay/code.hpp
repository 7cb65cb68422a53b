// What a case consists of in code: the variants that can be run, the constants that their workload takes, and
// the metrics that come out. What was published, and which variants run where for how long, stands in the
// case's file.
//
// A case is one source file that defines a function giving its case_code, and one line in all_cases(). A run
// is a pure function of its request (on the simulated machine), so runs may go on in parallel and in any
// order.
#pragma once

#include <any>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "sim/machine.hpp"
#include "sim/sim.hpp"

namespace holdfast::replay {

using named_numbers = std::map<std::string, double, std::less<>>;

struct run_request {
    const sim::machine* on = nullptr; // null: this machine, natively
    std::uint64_t seed = 1;
    named_numbers constants;                               // of the workload, as they are in this run
    named_numbers published;                               // as they were in the published one
    std::map<std::string, std::any, std::less<>> inputs{}; // of the workload, by key; as they were read

    // A constant that the case's code declares; it is there, and within its bounds.
    double constant(std::string_view key) const { return constants.find(key)->second; }
    // The same as a whole number, and as a duration if it counts units of so many nanoseconds.
    std::uint32_t whole(std::string_view key) const { return static_cast<std::uint32_t>(constant(key)); }
    std::chrono::nanoseconds duration(std::string_view key, double unit_ns = 1) const {
        return std::chrono::nanoseconds(std::llround(constant(key) * unit_ns));
    }
    // What a count of this run would be in the published one, going by a constant that both are proportional
    // to.
    double scaled_by(std::string_view key) const { return published.find(key)->second / constant(key); }
};

struct run_result {
    named_numbers metrics; // finite; what was not measured is absent
    sim::report report;    // of the simulated machine; empty on native
};

struct constant_description {
    std::string key;
    double minimum;
    double maximum;
    bool whole = false; // fractions are refused
};

// A file of data that the workload reads, besides its constants.
struct input_description {
    std::string key;
    std::string folder; // of data, where it is looked for if it is given by name
    std::function<std::any(const std::filesystem::path&)> read; // throws file_error if it can't be used
};

struct metric_description {
    std::string name;
    std::string unit;
};

struct runnable {
    std::string name; // as case files refer to it
    std::function<run_result(const run_request&)> run;
};

struct case_code {
    std::string name;
    std::vector<constant_description> constants;
    std::vector<metric_description> metrics;
    std::vector<runnable> variants;
    std::vector<input_description> inputs{};
};

// All cases, in the order in which they are shown.
const std::vector<case_code>& all_cases();

// The metrics that every simulated run has, from its report.
const std::vector<metric_description>& report_metrics();
void add_report_metrics(run_result& result);

// The unit of a metric of the case or of report_metrics(); empty: it has none.
std::string unit_of(const case_code& code, std::string_view metric);

// Defined by the case's own file.
case_code lockref_case();
case_code mmap_sem_case();
case_code anon_vma_case();
case_code aim7_case();
case_code rwsem_asap_case();
case_code inodegc_case();

} // namespace holdfast::replay
