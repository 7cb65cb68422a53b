// Mann and Whitney 1947; ties and continuity as in Lehmann, Nonparametrics, 1.3 and 1.4; swaps within pairs: Fisher, The Design of
// Experiments, 21, here of ranks; Holm 1979.
#include "compare/rank_test.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace holdfast::compare {

namespace {

// How many pairs have the value of `a` above that of `b`; equal ones count half.
double pairs_above(std::span<const double> a, std::span<const double> b) {
    double u = 0;
    for (const double x : a) {
        for (const double y : b)
            u += x > y ? 1 : x == y ? 0.5 : 0;
    }
    return u;
}

// The sum of t^3 - t over all sets of t equal values.
double ties(std::span<const double> a, std::span<const double> b) {
    std::vector<double> all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    std::sort(all.begin(), all.end());
    double sum = 0;
    for (auto at = all.begin(); at != all.end();) {
        const auto end = std::upper_bound(at, all.end(), *at);
        const auto t = static_cast<double>(end - at);
        sum += t * t * t - t;
        at = end;
    }
    return sum;
}

// The share of all orders of n and m different values that have at most u pairs above.
double at_most(std::size_t u, std::size_t n, std::size_t m) {
    // ways[k][v]: orders of the values looked at so far, from below, that have k of the n and v pairs.
    const std::size_t pairs = n * m;
    std::vector<std::vector<double>> ways(n + 1, std::vector<double>(pairs + 1, 0));
    ways[0][0] = 1;
    for (std::size_t i = 0; i < n + m; ++i) {
        // The next one is one of the n: it is above the i - k others so far.
        for (std::size_t k = std::min(i, n - 1) + 1; k-- > 0;) {
            const std::size_t below = i - k;
            if (below > m)
                break;
            for (std::size_t v = 0; v + below <= pairs; ++v)
                ways[k + 1][v + below] += ways[k][v];
        }
    }
    const std::vector<double>& all = ways[n];
    const auto end = all.begin() + static_cast<std::ptrdiff_t>(u) + 1;
    return std::accumulate(all.begin(), end, 0.0) / std::accumulate(all.begin(), all.end(), 0.0);
}

// For each round by how much b's rank among all values is above a's, twice: equal values share the middle of their ranks.
std::vector<double> twice_the_steps(std::span<const double> a, std::span<const double> b) {
    std::vector<double> all(a.begin(), a.end());
    all.insert(all.end(), b.begin(), b.end());
    std::sort(all.begin(), all.end());
    // The sum of the first and the last of its ranks, from 0.
    const auto twice_the_rank = [&all](double value) {
        const auto [first, end] = std::equal_range(all.begin(), all.end(), value);
        return static_cast<double>((first - all.begin()) + (end - all.begin()) - 1);
    };
    std::vector<double> steps;
    for (std::size_t i = 0; i < a.size(); ++i)
        steps.push_back(twice_the_rank(b[i]) - twice_the_rank(a[i]));
    return steps;
}

// The share of all choices of signs for the steps whose sum is as far from 0 as that of the steps, or farther.
double as_far(std::span<const double> steps) {
    const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
    std::vector<double> share{1}; // at v: of the choices whose negative steps are v together
    for (const double step : steps) {
        const auto size = static_cast<std::size_t>(std::abs(step));
        std::vector<double> next(share.size() + size, 0);
        for (std::size_t v = 0; v < share.size(); ++v) {
            next[v] += share[v] / 2;
            next[v + size] += share[v] / 2;
        }
        share = std::move(next);
    }
    const auto all = static_cast<double>(share.size() - 1);
    double p = 0;
    for (std::size_t v = 0; v < share.size(); ++v)
        p += std::abs(all - 2 * static_cast<double>(v)) >= std::abs(sum) ? share[v] : 0;
    return p;
}

} // namespace

rank_test mann_whitney(std::span<const double> a, std::span<const double> b) {
    const auto n = static_cast<double>(a.size());
    const auto m = static_cast<double>(b.size());
    const double above = pairs_above(a, b);
    const double u = std::min(above, n * m - above);
    const double tied = ties(a, b);
    if (tied == 0 && std::max(a.size(), b.size()) <= largest_exact)
        return {.p = std::min(1.0, 2 * at_most(static_cast<std::size_t>(u), a.size(), b.size())),
                .exact = true};
    const double all = n + m;
    const double variance = n * m / 12 * (all + 1 - tied / (all * (all - 1)));
    if (variance <= 0) // all are equal
        return {};
    const double z = std::max(0.0, n * m / 2 - u - 0.5) / std::sqrt(variance);
    return {.p = std::erfc(z / std::sqrt(2.0)), .exact = false};
}

rank_test mann_whitney_in_rounds(std::span<const double> a, std::span<const double> b) {
    const std::vector<double> steps = twice_the_steps(a, b);
    if (steps.size() <= most_exact_rounds)
        return {.p = as_far(steps), .exact = true};
    const double variance = std::inner_product(steps.begin(), steps.end(), steps.begin(), 0.0);
    if (variance <= 0) // equal in every round
        return {};
    const double sum = std::accumulate(steps.begin(), steps.end(), 0.0);
    return {.p = std::erfc(std::abs(sum) / std::sqrt(2 * variance)), .exact = false};
}

double smallest_p(std::size_t rounds) {
    return std::min(1.0, std::ldexp(2, -static_cast<int>(rounds)));
}

std::vector<double> holm(std::span<const double> p) {
    std::vector<std::size_t> order(p.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [p](std::size_t x, std::size_t y) { return p[x] < p[y]; });
    std::vector<double> adjusted(p.size());
    double so_far = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
        so_far = std::max(so_far, std::min(1.0, p[order[i]] * static_cast<double>(order.size() - i)));
        adjusted[order[i]] = so_far;
    }
    return adjusted;
}

} // namespace holdfast::compare
