// Whether two sets of runs differ by more than luck: Mann and Whitney's U, which asks only for the order of the values, so that no run
// of a busy moment can decide it. How large a U is luck depends on how the runs were made: apart from each other, or in rounds of one
// run each, as neighbours in time. Pure functions.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace holdfast::compare {

// What is smaller counts as told apart.
constexpr double significance = 0.05;

struct rank_test {
    double p = 1;       // two-sided
    bool exact = false; // from all that luck could have done; else from the normal approximation

    [[nodiscard]] bool told_apart() const { return p < significance; }
};

// Runs made apart, at least one each: luck is any order of all of them. Exact if no two values are equal and neither set has more than
// largest_exact of them; else the normal approximation, corrected for ties and continuity.
constexpr std::size_t largest_exact = 30;
rank_test mann_whitney(std::span<const double> a, std::span<const double> b);

// Runs made in rounds, at least one: a[i] and b[i] beside each other. Luck is which of the two is which, in each round by itself; so what
// changes from round to round, such as the machine's speed, is no luck and hides nothing. Exact, with equal values too, up to
// most_exact_rounds; then the normal approximation.
constexpr std::size_t most_exact_rounds = 50;
rank_test mann_whitney_in_rounds(std::span<const double> a, std::span<const double> b);

// The smallest p that so many rounds can give: one below the other in all of them.
double smallest_p(std::size_t rounds);

// p values of tests that belong together, by Holm's method: each is what remains of it when any of them might have come by luck.
// In the order given.
std::vector<double> holm(std::span<const double> p);

} // namespace holdfast::compare
