// Comparisons: the test against published tables and on samples whose truth is known, the order of runs, the table, the gate.
#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compare/experiment.hpp"
#include "compare/measure.hpp"
#include "compare/output.hpp"
#include "compare/rank_test.hpp"

namespace {

using namespace holdfast::compare;
using values = std::vector<double>;

// n values and m others with no ties, of which exactly u pairs have the first above.
std::pair<values, values> with_u(int n, int m, int u) {
    values a;
    values b;
    for (int i = 0; i < m; ++i)
        b.push_back(i + 1);
    // The k-th of a stands above as many of b as are left to give, m at most.
    for (int k = 0; k < n; ++k) {
        const int above = std::min(u, m);
        u -= above;
        a.push_back(above + 0.5 + 0.001 * k);
    }
    return {a, b};
}

// The largest U that a two-sided test at 5 % rejects; Mann and Whitney's table as textbooks have it.
TEST(rank_test, rejects_where_the_tables_do) {
    const struct {
        int n;
        int m;
        int critical;
    } table[] = {{4, 4, 0},  {5, 5, 2},    {6, 5, 3},    {6, 6, 5},    {7, 7, 8},     {8, 8, 13},
                 {9, 9, 17}, {10, 10, 23}, {12, 12, 37}, {15, 15, 64}, {20, 20, 127}, {3, 5, 0},
                 {4, 10, 5}, {5, 12, 11},  {8, 15, 29},  {10, 20, 55}};
    for (const auto& row : table) {
        SCOPED_TRACE(fmt::format("{} against {}", row.n, row.m));
        const auto [a, b] = with_u(row.n, row.m, row.critical);
        const auto [c, d] = with_u(row.n, row.m, row.critical + 1);
        EXPECT_LE(mann_whitney(a, b).p, 0.05);
        EXPECT_GT(mann_whitney(c, d).p, 0.05);
        EXPECT_TRUE(mann_whitney(a, b).exact);
        EXPECT_DOUBLE_EQ(mann_whitney(a, b).p, mann_whitney(b, a).p);
    }
}

TEST(rank_test, exact_values_can_be_counted_by_hand) {
    EXPECT_DOUBLE_EQ(mann_whitney(values{1, 2, 3}, values{4, 5, 6}).p, 2.0 / 20);
    EXPECT_DOUBLE_EQ(mann_whitney(values{1, 2, 4}, values{3, 5, 6}).p, 4.0 / 20);
    EXPECT_DOUBLE_EQ(mann_whitney(values{1, 2, 3, 4}, values{5, 6, 7, 8}).p, 2.0 / 70);
    EXPECT_DOUBLE_EQ(mann_whitney(values{1, 4}, values{2, 3}).p, 1);
    EXPECT_DOUBLE_EQ(smallest_p(3, 3), 0.1);
    EXPECT_DOUBLE_EQ(smallest_p(4, 4), 2.0 / 70);
    EXPECT_DOUBLE_EQ(smallest_p(1, 1), 1);
}

TEST(rank_test, equal_values_are_approximated) {
    EXPECT_EQ(mann_whitney(values{5, 5, 5}, values{5, 5, 5}).p, 1);
    // By hand: U = 0.5; two pairs of equal ones.
    const rank_test t = mann_whitney(values{1, 2, 2, 3}, values{3, 4, 5, 6});
    EXPECT_FALSE(t.exact);
    const double z = (8 - 0.5 - 0.5) / std::sqrt(16.0 / 12 * (9 - 12.0 / 56));
    EXPECT_NEAR(t.p, std::erfc(z / std::sqrt(2)), 1e-12);
}

TEST(rank_test, the_approximation_meets_the_exact_values) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    for (int i = 0; i < 50; ++i) {
        values a;
        values b;
        for (int k = 0; k < 30; ++k) {
            a.push_back(normal(random));
            b.push_back(normal(random) + 0.3);
        }
        const rank_test exact = mann_whitney(a, b);
        ASSERT_TRUE(exact.exact);
        // One tie makes it approximate, and is hardly a change.
        b[0] = a[0];
        const rank_test approximate = mann_whitney(a, b);
        ASSERT_FALSE(approximate.exact);
        a[0] = std::nextafter(a[0], -100);
        EXPECT_NEAR(approximate.p, mann_whitney(a, b).p, 0.02);
    }
}

// Run times: 3 % of noise to both sides, and now and then a run that something disturbed.
values run_times(std::mt19937& random, std::size_t n, double median) {
    std::normal_distribution<double> noise(0, 0.03);
    std::uniform_real_distribution<double> luck;
    values all;
    for (std::size_t i = 0; i < n; ++i)
        all.push_back(median * std::exp(noise(random)) * (luck(random) < 0.05 ? 1.3 : 1));
    return all;
}

int told_apart(std::mt19937& random, int times, double slower) {
    int told = 0;
    for (int i = 0; i < times; ++i) {
        const values a = run_times(random, 20, 1);
        told += mann_whitney(a, run_times(random, 20, slower)).told_apart() ? 1 : 0;
    }
    return told;
}

TEST(rank_test, the_same_program_is_seldom_told_from_itself_and_a_slower_one_is) {
    std::mt19937 random(20261201);
    EXPECT_LE(told_apart(random, 100, 1), 7);
    EXPECT_GE(told_apart(random, 100, 1.1), 95);
    // A test that never tells apart, or at another level, has no place here.
    const int of_2000 = told_apart(random, 2000, 1);
    EXPECT_GE(of_2000, 70);
    EXPECT_LE(of_2000, 130);
}

TEST(rank_test, holm_by_hand) {
    const std::vector<double> adjusted = holm(values{0.01, 0.04, 0.03, 0.005});
    const double expected[] = {0.03, 0.06, 0.06, 0.02};
    for (std::size_t i = 0; i < 4; ++i)
        EXPECT_DOUBLE_EQ(adjusted[i], expected[i]);
    EXPECT_EQ(holm(values{0.9, 0.8}), (values{1, 1}));
    EXPECT_TRUE(holm({}).empty());
}

TEST(figure, the_last_number_counts) {
    EXPECT_EQ(figure("rate: ([0-9.]+)").find("rate: 1\nrate: 2.5\nother 3\n"), 2.5);
    EXPECT_EQ(figure("(\\d+) ops").find("12 ops"), 12);
    EXPECT_EQ(figure("(\\d+) ops").find("none"), std::nullopt);
    EXPECT_EQ(figure("= (.*)").find("= 7 or so"), std::nullopt); // not a number
    EXPECT_EQ(figure("= (.*)").find("= -1e-3"), -1e-3);
    EXPECT_EQ(figure("a.*(\\d+)").find(std::string(1'000'000, 'a') + '\n'),
              std::nullopt); // no stack overflows
    EXPECT_THROW(figure("("), std::runtime_error);
    EXPECT_THROW(figure("a"), std::runtime_error);
    EXPECT_THROW(figure("(a)(b)"), std::runtime_error);
}

TEST(experiment, runs_are_in_turn_and_the_first_does_not_count) {
    std::vector<std::size_t> order;
    const plan p{.command = "x", .locks = {"a", "b", "c"}, .runs = 2, .figures = {figure("n=(\\d+)", true)}};
    const experiment e = perform(
        p,
        [&order](std::size_t lock) {
            order.push_back(lock);
            return sample{.wall_s = static_cast<double>(order.size()), .output = fmt::format("n={}", lock)};
        },
        [](std::size_t, std::size_t all, const std::string&) { EXPECT_EQ(all, 9u); });
    EXPECT_EQ(order, (std::vector<std::size_t>{0, 1, 2, 0, 1, 2, 2, 1, 0}));
    EXPECT_EQ(e.variants[0].values[0], (values{4, 9}));
    EXPECT_EQ(e.variants[2].values[0], (values{6, 7}));
    EXPECT_EQ(e.variants[1].values[6], (values{1, 1}));
    EXPECT_TRUE(e.metrics[6].higher_is_better);
}

TEST(experiment, a_failure_ends_it_and_is_named) {
    std::size_t count = 0;
    const plan p{.command = "x", .locks = {"a", "b"}, .runs = 3, .figures = {}};
    try {
        perform(
            p, [&count](std::size_t) { return sample{.status = ++count == 4 ? 7 << 8 : 0, .output = "oh"}; },
            [](std::size_t, std::size_t, const std::string&) {});
        FAIL();
    } catch (const run_failed& failed) {
        EXPECT_EQ(failed.run, "run 1 with b");
        EXPECT_EQ(failed.ended.output, "oh");
        EXPECT_EQ(count, 4u);
    }
}

experiment fixed() {
    return {
        .command = "./program 8",
        .runs = 4,
        .metrics = {{.name = "wall", .unit = "s"},
                    {.name = "switches", .unit = ""},
                    {.name = "rate", .unit = "", .higher_is_better = true, .printed = true}},
        .variants = {{.lock = "glibc", .values = {{2, 2.02, 1.98, 2.01}, {0, 0, 0, 0}, {100, 101, 102, 103}}},
                     {.lock = "mcs", .values = {{1, 1.02, 0.98, 1.01}, {9, 9, 9, 9}, {90, 91, 92, 93}}},
                     {.lock = "ticket",
                      .values = {{2, 2.03, 1.99, 1.97}, {0, 0, 0, 0}, {200, 201, 202, 203}}}},
        .cpus = 2,
        .foreign_cpus = 0.01};
}

TEST(comparison_output, is_this_table) {
    EXPECT_EQ(as_text(fixed(), false), R"(./program 8

            glibc     +-    mcs     +-   change      p  ticket     +-   change      p
  wall, s   2.005  0.9 %  1.005  1.7 %  -49.9 %  0.029   1.995  1.3 %        ~  0.772
  switches      0      -      9  0.0 %   from 0  0.013       0      -        ~  1.000
  rate      101.5  1.3 %   91.5  1.4 %   -9.9 %  0.029   201.5  0.6 %  +98.5 %  0.029

Medians of 4 runs each, in turn. +-: standard deviation. ~: not told apart (p >= 0.05).
p: Mann-Whitney, exact; the normal approximation where values are equal, or many.
)");
}

TEST(comparison_output, the_JSON_has_the_runs) {
    const auto j = as_json(fixed());
    EXPECT_EQ(j["command"], "./program 8");
    EXPECT_EQ(j["runs"], 4);
    ASSERT_EQ(j["variants"].size(), 9u);
    EXPECT_TRUE(j["variants"][0]["p"].is_null());
    const auto& wall = j["variants"][3];
    EXPECT_EQ(wall["lock"], "mcs");
    EXPECT_EQ(wall["metric"], "wall");
    EXPECT_DOUBLE_EQ(wall["median"], 1.005);
    EXPECT_DOUBLE_EQ(wall["min"], 0.98);
    EXPECT_DOUBLE_EQ(wall["max"], 1.02);
    EXPECT_NEAR(wall["change_percent"], -49.875, 0.001);
    EXPECT_DOUBLE_EQ(wall["p"], 2.0 / 70);
    EXPECT_TRUE(j["variants"][4]["change_percent"].is_null()); // from 0
}

TEST(experiment, warns_of_few_runs_a_busy_machine_and_wide_spread) {
    EXPECT_TRUE(warnings(fixed()).empty());
    experiment e = fixed();
    e.runs = 3;
    e.foreign_cpus = 0.5;
    e.variants[2].values[0] = {1, 2, 3, 4};
    const std::vector<std::string> all = warnings(e);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_NE(all[0].find("3 against 3 runs are too few: p can't be less than 0.1"), std::string::npos)
        << all[0];
    EXPECT_NE(all[1].find("0.50 of 2 CPUs"), std::string::npos) << all[1];
    EXPECT_NE(all[2].find("wall of ticket spreads by 52 %"), std::string::npos) << all[2];
}

TEST(experiment, the_gate_is_about_printed_figures_if_there_are_any) {
    experiment e = fixed();
    ASSERT_EQ(regressions(e, 5).size(), 1u); // mcs: 9.9 % fewer; ticket: more
    EXPECT_NE(regressions(e, 5)[0].find("rate with mcs is -9.9 % from glibc"), std::string::npos);
    EXPECT_TRUE(regressions(e, 10).empty());
    e.metrics[2].printed = false;
    EXPECT_TRUE(regressions(e, 5).empty()); // wall time: one better, one not told apart
    e.metrics[0].higher_is_better = true;
    EXPECT_EQ(regressions(e, 5).size(), 1u);
}

} // namespace
