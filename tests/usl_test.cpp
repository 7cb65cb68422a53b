// The Universal Scalability Law's fit: it finds the law that made the points.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include "replay/usl.hpp"
#include "sim/random.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::replay;

constexpr double cpu_counts[] = {1, 2, 4, 8, 16, 32, 64};

std::vector<throughput> points_of(const usl& law) {
    std::vector<throughput> points;
    for (const double n : cpu_counts)
        points.push_back({n, law.at(n)});
    return points;
}

TEST(usl, finds_the_law_of_exact_points) {
    for (const double lambda : {1e-3, 1.0, 4.2e7}) {
        for (const double sigma : {0.0, 0.02, 0.5, 1.0, 3.0}) {
            for (const double kappa : {0.0, 1e-6, 1e-3, 0.2}) {
                SCOPED_TRACE(testing::Message() << lambda << ", " << sigma << ", " << kappa);
                const usl_fit fit = fit_usl(points_of({lambda, sigma, kappa}));
                ASSERT_TRUE(fit.law) << fit.why_not;
                EXPECT_NEAR(fit.law->lambda / lambda, 1, 1e-9);
                EXPECT_NEAR(fit.law->sigma, sigma, 1e-8);
                EXPECT_NEAR(fit.law->kappa, kappa, 1e-9);
                EXPECT_NEAR(fit.r2, 1, 1e-9);
            }
        }
    }
}

// Whatever it starts from: numbers of CPUs without 1, unordered and more than once.
TEST(usl, finds_it_in_any_three_numbers_of_cpus) {
    const usl law{100, 0.1, 0.004};
    const std::vector<throughput> points = {
        {48, law.at(48)}, {3, law.at(3)}, {12, law.at(12)}, {3, law.at(3)}};
    const usl_fit fit = fit_usl(points);
    ASSERT_TRUE(fit.law);
    EXPECT_NEAR(fit.law->lambda, 100, 1e-6);
    EXPECT_NEAR(fit.law->sigma, 0.1, 1e-8);
    EXPECT_NEAR(fit.law->kappa, 0.004, 1e-10);
}

// Throughputs off by up to 2 % each: predictions are off by little more, and no prediction is off by as much as
// if the error had been blown up.
TEST(usl, noise_moves_it_little) {
    random_source random(7);
    for (int turn = 0; turn < 200; ++turn) {
        const usl law{1000, static_cast<double>(random.below(500)) / 1000,
                      static_cast<double>(random.below(1000)) / 1e5};
        std::vector<throughput> points = points_of(law);
        for (throughput& p : points)
            p.value *= 0.98 + static_cast<double>(random.below(4001)) / 1e5;
        const usl_fit fit = fit_usl(points);
        ASSERT_TRUE(fit.law);
        EXPECT_GE(fit.law->sigma, 0);
        EXPECT_GE(fit.law->kappa, 0);
        for (const double n : cpu_counts)
            EXPECT_NEAR(fit.law->at(n) / law.at(n), 1, 0.04) << law.sigma << ", " << law.kappa << ", " << n;
    }
}

// Throughput that grows faster than the number of CPUs would take a negative coefficient.
TEST(usl, no_coefficient_is_negative) {
    const std::vector<throughput> superlinear = {{1, 10}, {2, 22}, {4, 48}, {8, 104}};
    const usl_fit fit = fit_usl(superlinear);
    ASSERT_TRUE(fit.law);
    EXPECT_EQ(fit.law->sigma, 0);
    EXPECT_EQ(fit.law->kappa, 0);
    EXPECT_NEAR(fit.law->lambda, 11.5, 0.5);
    EXPECT_FALSE(fit.law->peak());
}

// Of all laws near it, the one found has the least sum of squares of relative errors.
TEST(usl, is_nearest) {
    const std::vector<throughput> points = {{1, 10}, {2, 18}, {4, 35}, {8, 30}, {16, 12}, {32, 11}};
    const auto errors = [&](const usl& law) {
        double sum = 0;
        for (const throughput& p : points)
            sum += std::pow(p.value / law.at(p.cpus) - 1, 2);
        return sum;
    };
    const usl_fit fit = fit_usl(points);
    ASSERT_TRUE(fit.law);
    for (const double by : {0.9, 0.99, 1.01, 1.1}) {
        for (const double and_by : {0.9, 0.99, 1.0, 1.01, 1.1}) {
            const usl& law = *fit.law;
            EXPECT_GE(errors({law.lambda * by, law.sigma, law.kappa * and_by}), errors(law));
            EXPECT_GE(errors({law.lambda * and_by, law.sigma + by - 0.9, law.kappa}), errors(law));
        }
    }
}

TEST(usl, needs_three_different_numbers_and_positive_throughputs) {
    const auto why = [](const std::vector<throughput>& points) {
        const usl_fit fit = fit_usl(points);
        EXPECT_FALSE(fit.law);
        return fit.why_not;
    };
    const std::string few = "it takes three different numbers of CPUs";
    EXPECT_EQ(why({}), few);
    EXPECT_EQ(why({{1, 10}, {2, 18}}), few);
    EXPECT_EQ(why({{1, 10}, {2, 18}, {2, 19}}), few);
    EXPECT_EQ(why({{1, 10}, {2, 0}, {4, 20}}), "a throughput is not positive");
    EXPECT_EQ(why({{1, 10}, {2, NAN}, {4, 20}}), "a throughput is not positive");
    EXPECT_EQ(why({{8, 1}, {16, 0.2}, {32, 0.03}}), "throughput falls faster than by the law");
}

TEST(usl, equal_throughputs_are_full_contention) {
    const usl_fit fit = fit_usl(std::vector<throughput>{{1, 5}, {2, 5}, {4, 5}, {8, 5}});
    ASSERT_TRUE(fit.law);
    EXPECT_NEAR(fit.law->sigma, 1, 1e-9);
    EXPECT_EQ(fit.r2, 1);
}

TEST(usl, the_peak) {
    EXPECT_NEAR(usl({1, 0.19, 0.01}).peak().value(), 9, 1e-12);
    EXPECT_FALSE(usl({1, 0.1, 0}).peak());
    EXPECT_EQ(usl({1, 0, 4}).peak(), 1);
    EXPECT_EQ(usl({1, 1.5, 0}).peak(), 1);
    const usl law{50, 0.05, 0.002};
    const double peak = law.peak().value();
    EXPECT_GT(law.at(peak), law.at(peak * 0.9));
    EXPECT_GT(law.at(peak), law.at(peak * 1.1));
}

} // namespace
