// Statistics and verdicts.
#include "replay/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace holdfast::replay {

namespace {

constexpr double match_bound = 1.25;
constexpr double close_bound = 1.5;

double mean_of(std::span<const double> values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double sd_of(std::span<const double> values) {
    if (values.size() < 2)
        return 0;
    const double mean = mean_of(values);
    double squares = 0;
    for (const double value : values)
        squares += (value - mean) * (value - mean);
    return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

double median_of(std::span<const double> values) {
    std::vector<double> sorted(values.begin(), values.end());
    std::sort(sorted.begin(), sorted.end());
    const std::size_t middle = sorted.size() / 2;
    return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

// Whether both are on the same side of what divides them.
bool same_side(const comparison& c) {
    if (!c.published_divide || !c.replayed_divide)
        return false;
    return (c.published < *c.published_divide && *c.replayed < *c.replayed_divide) ||
           (c.published > *c.published_divide && *c.replayed > *c.replayed_divide);
}

} // namespace

double compute(statistic what, std::span<const double> values) {
    switch (what) {
    case statistic::median:
        break;
    case statistic::mean:
        return mean_of(values);
    case statistic::min:
        return *std::min_element(values.begin(), values.end());
    case statistic::max:
        return *std::max_element(values.begin(), values.end());
    case statistic::sd:
        return sd_of(values);
    case statistic::sd_over_mean:
        return sd_of(values) / mean_of(values);
    }
    return median_of(values);
}

std::optional<column> parse_column(std::string_view text) {
    const std::size_t space = text.rfind(' ');
    if (space == std::string_view::npos)
        return column{std::string(text), statistic::median};
    constexpr std::pair<std::string_view, statistic> known[] = {
        {"median", statistic::median}, {"mean", statistic::mean}, {"min", statistic::min},
        {"max", statistic::max},       {"sd", statistic::sd},     {"sd/mean", statistic::sd_over_mean}};
    for (const auto& [name, what] : known) {
        if (text.substr(space + 1) == name)
            return column{std::string(text.substr(0, space)), what};
    }
    return {};
}

std::optional<double> ratio_error(double replayed, double published) {
    if (!std::isfinite(replayed) || !std::isfinite(published) || replayed <= 0 || published <= 0)
        return {};
    return std::max(replayed / published, published / replayed);
}

double geometric_mean(std::span<const double> values) {
    double logarithms = 0;
    for (const double value : values)
        logarithms += std::log(value);
    return std::exp(logarithms / static_cast<double>(values.size()));
}

double jain_index(std::span<const double> shares) {
    double sum = 0;
    double squares = 0;
    for (const double share : shares) {
        sum += share;
        squares += share * share;
    }
    return squares == 0 ? 1 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

std::string_view name_of(verdict v) {
    switch (v) {
    case verdict::match:
        return "match";
    case verdict::close:
        return "close";
    case verdict::direction:
        return "direction";
    case verdict::miss:
        return "miss";
    case verdict::needs_full:
        return "needs --scale full";
    case verdict::not_run:
        return "not run";
    case verdict::not_comparable:
        break;
    }
    return "-";
}

verdict judge(const comparison& c) {
    if (!c.replayed || !std::isfinite(*c.replayed))
        return verdict::miss;
    if (c.direction_only)
        return same_side(c) ? verdict::direction : verdict::miss;
    if (c.within > 0)
        return std::abs(*c.replayed - c.published) <= c.within ? verdict::match : verdict::miss;
    const std::optional<double> error = ratio_error(*c.replayed, c.published);
    if (error && *error <= match_bound)
        return verdict::match;
    if (error && *error <= close_bound)
        return verdict::close;
    return same_side(c) ? verdict::direction : verdict::miss;
}

} // namespace holdfast::replay
