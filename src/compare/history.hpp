// How a command's figures moved from one comparison to the next, and where they changed.
#pragma once

#include <string>
#include <vector>

#include "compare/store.hpp"

namespace holdfast::compare {

// One comparison's runs, held against those of the one before it.
struct moment {
    circumstances when;
    std::vector<double> values;
    double change_percent = 0; // of the median; 0 for the first one, and from 0
    double p = 1;              // Mann-Whitney against the one before, after Holm's correction over the course
    bool changed = false;      // p is below the significance
};

// One command, lock and metric, on one machine and kernel, as time went.
struct course {
    std::string command;
    std::string lock;
    metric what;
    std::string machine; // "host, 2 CPUs, Linux 6.1.0"
    std::vector<moment> moments;
};

// In the order of their first comparisons. What was measured on another machine, or another kernel, makes a course of its own.
std::vector<course> courses_of(const std::vector<stored_series>& all);

// Tables, a course each; of what the system measures the wall time alone, unless `all_metrics`.
std::string as_text(const std::vector<course>& courses, bool all_metrics, bool colour);

} // namespace holdfast::compare
