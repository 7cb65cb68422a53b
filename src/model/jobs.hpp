// Explorations by several host threads at once. Each exploration runs in one of them from beginning to end; what comes of it
// does not depend on how many there are, but for what is cut off by time.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "model/checking.hpp"

namespace holdfast::model {

struct job_settings {
    unsigned threads = 1; // of the host
    // All explorations together, by the clock: each has its share of what is left.
    double seconds = std::numeric_limits<double>::infinity();
    // Called by one host thread at a time, before it begins: so many of so many are done.
    std::function<void(std::size_t done, std::size_t total, const std::string& what)> progress = nullptr;
};

// What is to be explored.
struct task {
    const suite* of;
    const scenario* what;
    limits bounds; // the scenario's, or the caller's own
};

enum class extent {
    complete,   // all executions
    bounded,    // all within bounds on preemptions or old values
    random,     // so many by chance
    incomplete, // less, as the time or the number of executions was used up
    failed,
};

struct exploration {
    task of;
    outcome result;
    extent reached() const;
};

// The tasks of a suite, as its scenarios say.
std::vector<task> tasks_of(const suite& s);

// Explores; results in the order of the tasks.
std::vector<exploration> explore_all(const std::vector<task>& tasks, const job_settings& settings = {});

// A suite's mutants and how they fared, one for one.
struct judgement {
    const suite* of;
    mutant_list list;
    std::vector<verdict> verdicts;

    // Whether all were caught but those that are argued to be as good, and none of these.
    bool good() const;
};

// The mutants of each suite, found by executions of its scenarios. `seconds` is not kept, here and below.
std::vector<mutant_list> mutants_of(std::span<const suite* const> suites, const job_settings& settings = {});

// Judges the mutants whose name contains `text`; results in the order of the suites.
std::vector<judgement> judge_all(std::span<const suite* const> suites, const std::string& text = "",
                                 const job_settings& settings = {});

} // namespace holdfast::model
