// The fit. With a = 1 / lambda, b = sigma / lambda and c = kappa / lambda the law reads
//
//     N / X = a + b (N - 1) + c N (N - 1),
//
// which is linear in what is sought. Throughputs of few and of many CPUs differ in size, and so do their errors; thus
// each equation is divided by its left side, and what is least is the sum of the squares of
//
//     (a + b (N - 1) + c N (N - 1)) X / N - 1  =  X / X(N) - 1,
//
// relative errors. This is convex, so the best solution without negative a, b, c has some of them at 0 and is,
// in the others, the plain least-squares solution: all seven choices are tried, and the best of those that have
// nothing negative is it.
#include "replay/usl.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <utility>
#include <vector>

namespace holdfast::replay {

namespace {

constexpr std::size_t unknowns = 3;
using row = std::array<double, unknowns>;

// The solution with all unknowns but the `chosen` at 0 that is nearest to rows * x = 1; by the normal
// equations, whose columns are scaled to length 1 first. Nothing if the rows don't determine it.
std::optional<row> least_squares(const std::vector<row>& rows, const std::vector<std::size_t>& chosen) {
    const std::size_t n = chosen.size();
    row length{};
    for (std::size_t i = 0; i < n; ++i) {
        for (const row& r : rows)
            length[i] += r[chosen[i]] * r[chosen[i]];
        length[i] = std::sqrt(length[i]);
    }
    std::array<std::array<double, unknowns + 1>, unknowns> m{}; // the last column is the right side
    for (std::size_t i = 0; i < n; ++i) {
        for (const row& r : rows) {
            const double left = r[chosen[i]] / length[i];
            for (std::size_t j = 0; j < n; ++j)
                m[i][j] += left * r[chosen[j]] / length[j];
            m[i][n] += left;
        }
    }
    // Gauss and Jordan's elimination; the matrix is positive definite, so the diagonal will do as pivots.
    for (std::size_t p = 0; p < n; ++p) {
        if (!(m[p][p] > 1e-14))
            return {};
        for (std::size_t i = 0; i < n; ++i) {
            const double factor = i == p ? 0 : m[i][p] / m[p][p];
            for (std::size_t j = p; j <= n; ++j)
                m[i][j] -= factor * m[p][j];
        }
    }
    row solution{};
    for (std::size_t i = 0; i < n; ++i)
        solution[chosen[i]] = m[i][n] / m[i][i] / length[i];
    return solution;
}

double squared_errors(const std::vector<row>& rows, const row& x) {
    double sum = 0;
    for (const row& r : rows) {
        const double error = r[0] * x[0] + r[1] * x[1] + r[2] * x[2] - 1;
        sum += error * error;
    }
    return sum;
}

row without_negatives(const std::vector<row>& rows) {
    row best{};
    double least = std::numeric_limits<double>::infinity();
    for (unsigned choice = 1; choice < 1u << unknowns; ++choice) {
        std::vector<std::size_t> chosen;
        for (std::size_t i = 0; i < unknowns; ++i) {
            if ((choice >> i & 1u) != 0)
                chosen.push_back(i);
        }
        const std::optional<row> x = least_squares(rows, chosen);
        if (!x || *std::min_element(x->begin(), x->end()) < 0)
            continue;
        const double errors = squared_errors(rows, *x);
        if (errors < least) {
            least = errors;
            best = *x;
        }
    }
    return best;
}

double r2_of(const usl& law, std::span<const throughput> points) {
    double mean = 0;
    for (const throughput& p : points)
        mean += p.value / static_cast<double>(points.size());
    double errors = 0;
    double deviations = 0;
    for (const throughput& p : points) {
        errors += (p.value - law.at(p.cpus)) * (p.value - law.at(p.cpus));
        deviations += (p.value - mean) * (p.value - mean);
    }
    // All alike, but for rounding: sigma = 1 gives just that.
    const bool alike = deviations <= 1e-24 * mean * mean;
    return alike ? 1 : 1 - errors / deviations;
}

} // namespace

std::optional<double> usl::peak() const {
    if (sigma >= 1)
        return 1;
    if (kappa == 0)
        return {};
    return std::max(std::sqrt((1 - sigma) / kappa), 1.0);
}

usl_fit fit_usl(std::span<const throughput> points) {
    std::set<double> different;
    std::vector<row> rows;
    rows.reserve(points.size());
    for (const throughput& p : points) {
        if (!std::isfinite(p.value) || p.value <= 0)
            return {.why_not = "a throughput is not positive"};
        different.insert(p.cpus);
        const double of_one = p.value / p.cpus;
        rows.push_back({of_one, of_one * (p.cpus - 1), of_one * p.cpus * (p.cpus - 1)});
    }
    if (different.size() < unknowns)
        return {.why_not = "it takes three different numbers of CPUs"};
    const row x = without_negatives(rows);
    if (x[0] == 0)
        return {.why_not = "throughput falls faster than by the law"};
    const usl law{1 / x[0], x[1] / x[0], x[2] / x[0]};
    return {law, r2_of(law, points), {}};
}

} // namespace holdfast::replay
