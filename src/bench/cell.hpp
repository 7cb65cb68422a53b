// One measured point of a bench, and its JSON.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include <nlohmann/json.hpp>

namespace holdfast::bench {

// Of several runs.
struct spread {
    double median = 0;
    double min = 0;
    double max = 0;
};

// Of at least one value.
spread spread_of(std::span<const double> values);

struct cell {
    std::string bench;         // which bench
    std::string lock;          // what was measured, as its users write it
    std::string platform;      // "sim", "native", or "model": a formula
    std::string machine;       // the simulated one
    std::uint32_t threads = 0; // 0: as the program has it
    std::uint32_t write_percent = 100;
    std::int64_t section_ns = 0;
    std::int64_t think_ns = 0;
    spread ops_per_s; // all 0: not measured
    // Medians over the runs, where they were measured.
    std::optional<double> cpu_ns_per_op;
    std::optional<double> jain; // fairness between threads: 1 if all got the same, 1/threads if one got all
    struct wait {
        double p50 = 0;
        double p99 = 0;
        double p999 = 0;
        double max = 0; // of all runs
    };
    std::optional<wait> wait_ns;
    struct switches {
        double voluntary = 0;
        double involuntary = 0;
    };
    std::optional<switches> switches_per_op;   // of threads
    std::optional<double> foreign_load;        // CPUs that others kept busy meanwhile, on average
    std::optional<std::uint64_t> memory_bytes; // what the process grew by
    std::string failure;                       // why there is nothing of the above
};

nlohmann::ordered_json to_json(const cell& c);

// Told before each step of a long run: how many are done, of how many, and what comes next.
using progress = std::function<void(std::size_t done, std::size_t total, const std::string& next)>;

} // namespace holdfast::bench
