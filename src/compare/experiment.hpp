// A program under several locks, run in turn, and what of it can be told apart.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "compare/measure.hpp"
#include "compare/rank_test.hpp"

namespace holdfast::compare {

struct metric {
    std::string name;
    std::string unit;
    bool higher_is_better = false;
    bool printed = false; // by the program; else measured from outside

    bool operator==(const metric&) const = default;
};

struct variant {
    std::string lock;
    std::vector<std::vector<double>> values; // a row for each metric, with a value for each round
};

struct experiment {
    std::string command;
    std::size_t runs = 0; // of each variant
    std::vector<metric> metrics;
    std::vector<variant> variants; // the first is what the others are held against
    unsigned cpus = 1;
    double foreign_cpus = 0; // CPUs that others kept busy meanwhile, on average
};

// What is measured of every run, before the figures that the program prints.
std::vector<metric> metrics_with(const std::vector<figure>& figures);

// A run that ended badly.
struct run_failed : std::runtime_error {
    run_failed(std::string which, sample how)
        : std::runtime_error("the program failed"), run(std::move(which)), ended(std::move(how)) {}

    std::string run; // "run 3 with mcs"
    sample ended;
};

struct plan {
    std::string command;
    std::vector<std::string> locks; // at least one
    std::size_t runs = 1;
    std::vector<figure> figures;
};

// Runs each lock once to warm up, which doesn't count, then so many rounds, each in the reverse order of the one before, so that what
// drifts meanwhile drifts for all. `run` is given the number of a lock; `tell` what is done, of how many, and the next run. Throws
// run_failed, or std::runtime_error if a figure is not in the output.
experiment perform(const plan& p, const std::function<sample(std::size_t)>& run,
                   const std::function<void(std::size_t, std::size_t, const std::string&)>& tell);

// A variant held against the first.
struct difference {
    std::optional<double> change_percent; // the median of the rounds' changes; nothing if that is one from 0
    rank_test test;

    // Whether it is told apart, and to the worse.
    [[nodiscard]] bool is_worse(const metric& m) const {
        return test.told_apart() && change_percent &&
               (m.higher_is_better ? *change_percent < 0 : *change_percent > 0);
    }
};

difference difference_of(const experiment& e, std::size_t metric, std::size_t variant);

// What a reader has to know before the figures are believed, a sentence each.
std::vector<std::string> warnings(const experiment& e);

// The metrics that a gate is about: what the program prints, or else its wall time. For each of them and each lock that is worse by more
// than so many per cent, and not by luck, a sentence.
std::vector<std::string> regressions(const experiment& e, double percent);

} // namespace holdfast::compare
