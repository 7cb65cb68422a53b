// Whether two sets of runs differ by more than luck: the Mann-Whitney U test, which asks only for the order of the values, so that
// no run of a busy moment can decide it. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace holdfast::compare {

// What is smaller counts as told apart.
constexpr double significance = 0.05;

struct rank_test {
    double p = 1;       // two-sided
    bool exact = false; // from all orders there are; else from the normal approximation

    [[nodiscard]] bool told_apart() const { return p < significance; }
};

// Of at least one value each. Exact if no two values are equal and neither set has more than largest_exact of them; else the normal
// approximation, corrected for ties and continuity.
constexpr std::size_t largest_exact = 30;
rank_test mann_whitney(std::span<const double> a, std::span<const double> b);

// The smallest p that so many runs of each can give: all of one below all of the other.
double smallest_p(std::size_t a, std::size_t b);

// p values of tests that belong together, by Holm's method: each is what remains of it when any of them might have come by luck.
// In the order given.
std::vector<double> holm(std::span<const double> p);

} // namespace holdfast::compare
