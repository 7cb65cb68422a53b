// Numbers about several runs of one variant, and how far a replayed number is from a published one. Pure
// functions.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::replay {

// What is asked about the runs' values.
enum class statistic { median, mean, min, max, sd, sd_over_mean };

// Of at least one value. The median of an even number is the mean of the middle two; the standard deviation
// is that of a sample (n - 1), and 0 for one value.
double compute(statistic what, std::span<const double> values);

// A metric and what is asked about its runs: "loops" (the median), "loops mean", "loops sd/mean".
struct column {
    std::string metric;
    statistic what = statistic::median;
};

// Nothing if the text names no statistic after its space.
std::optional<column> parse_column(std::string_view text);

// How far off: the larger of the two over the smaller, so 1 is exact. Nothing unless both are finite and
// positive.
std::optional<double> ratio_error(double replayed, double published);

// Of at least one value, all positive: what ratios are averaged by, so that a twice and a half make one.
double geometric_mean(std::span<const double> values);

// Jain's index of fairness, (sum)^2 / (n * sum of squares): 1 if all have the same, 1/n if one has all. 1 for
// nothing.
double jain_index(std::span<const double> shares);

// How a replayed number stands to a published one.
enum class verdict {
    match,     // off by at most x1.25
    close,     // by at most x1.5
    direction, // further off, but on the same side
    miss,
    needs_full,    // only runs of the published duration can say
    not_run,       // its variants were not asked for
    not_comparable // measured on another machine than the published one
};

std::string_view name_of(verdict v);

// One comparison of a replayed number with a published one.
struct comparison {
    double published = 0;
    std::optional<double> replayed; // nothing: the run failed
    bool direction_only = false;    // the published number is hearsay: only its side counts
    // What divides the sides: 1 for a ratio, the other variant's number for a value held against it.
    std::optional<double> published_divide{};
    std::optional<double> replayed_divide{};
    double within = 0; // positive: match if the two differ by at most this, else miss
};

verdict judge(const comparison& c);

} // namespace holdfast::replay
