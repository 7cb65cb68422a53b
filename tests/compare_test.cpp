// Comparisons: the test against published tables and on samples whose truth is known, the order of runs, the table, the gate.
#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <utility>
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

// Rounds that don't overlap are all alike, so that only the signs count: the fewest of one sign that a two-sided sign test at 5 % accepts,
// as textbooks have it.
TEST(rank_test, in_rounds_that_do_not_overlap_it_is_the_sign_test) {
    const struct {
        std::size_t rounds;
        std::size_t accepted;
    } table[] = {{6, 1}, {8, 1}, {9, 2}, {12, 3}, {15, 4}, {17, 5}, {20, 6}, {25, 8}, {30, 10}};
    for (const auto& row : table) {
        SCOPED_TRACE(row.rounds);
        const auto p = [&row](std::size_t of_one_sign) {
            values a;
            values b;
            for (std::size_t i = 0; i < row.rounds; ++i) {
                a.push_back(10.0 * static_cast<double>(i));
                b.push_back(a.back() + (i < of_one_sign ? -1 : 1));
            }
            return mann_whitney_in_rounds(a, b).p;
        };
        EXPECT_GT(p(row.accepted), 0.05);
        EXPECT_LE(p(row.accepted - 1), 0.05);
        EXPECT_DOUBLE_EQ(p(0), smallest_p(row.rounds));
    }
    EXPECT_EQ(smallest_p(1), 1);
    EXPECT_EQ(smallest_p(6), 2.0 / 64);
}

// By how far the pairs with b above a are from half of all, equal ones being half.
double distance(const values& a, const values& b) {
    double above = 0;
    for (const double x : a) {
        for (const double y : b)
            above += x < y ? 1 : x == y ? 0.5 : 0;
    }
    return std::abs(above - static_cast<double>(a.size() * b.size()) / 2);
}

TEST(rank_test, in_rounds_it_counts_all_swaps) {
    std::mt19937 random(7);
    for (const int different : {4, 9, 1000}) { // few: many are equal
        std::uniform_int_distribution<int> value(1, different);
        for (std::size_t rounds = 1; rounds <= 10; ++rounds) {
            values a(rounds);
            values b(rounds);
            std::generate(a.begin(), a.end(), [&] { return value(random); });
            std::generate(b.begin(), b.end(), [&] { return value(random) + different / 3; });
            unsigned as_far = 0;
            for (unsigned swapped = 0; swapped < 1u << rounds; ++swapped) {
                values c = a;
                values d = b;
                for (std::size_t i = 0; i < rounds; ++i) {
                    if ((swapped >> i & 1) != 0)
                        std::swap(c[i], d[i]);
                }
                as_far += distance(c, d) >= distance(a, b) ? 1 : 0;
            }
            const rank_test test = mann_whitney_in_rounds(a, b);
            EXPECT_TRUE(test.exact);
            EXPECT_DOUBLE_EQ(test.p, as_far / static_cast<double>(1u << rounds)) << rounds;
            EXPECT_DOUBLE_EQ(test.p, mann_whitney_in_rounds(b, a).p);
        }
    }
}

TEST(rank_test, many_rounds_are_approximated) {
    std::mt19937 random(5);
    std::normal_distribution<double> normal;
    values a;
    values b;
    for (std::size_t k = 0; k < most_exact_rounds; ++k) {
        a.push_back(normal(random));
        b.push_back(normal(random) + 0.3);
    }
    const rank_test exact = mann_whitney_in_rounds(a, b);
    EXPECT_TRUE(exact.exact);
    a.push_back(100); // an equal pair more is hardly a change
    b.push_back(100);
    const rank_test approximate = mann_whitney_in_rounds(a, b);
    EXPECT_FALSE(approximate.exact);
    EXPECT_NEAR(approximate.p, exact.p, 0.01);
    EXPECT_EQ(mann_whitney_in_rounds(values(60, 5), values(60, 5)).p, 1);
    EXPECT_EQ(mann_whitney_in_rounds(values(6, 5), values(6, 5)).p, 1);
}

// What the machine makes of a program that takes 1: two run times that follow each other.
using machine = std::function<std::pair<double, double>(std::mt19937&)>;

// 3 % of noise, and now and then a run that something disturbed.
double noise(std::mt19937& random) {
    return std::exp(std::normal_distribution<double>(0, 0.03)(random)) *
           (std::bernoulli_distribution(0.05)(random) ? 1.3 : 1);
}

std::pair<double, double> steady(std::mt19937& random) {
    const double first = noise(random);
    return {first, noise(random)};
}

// Falls to half its speed and back, for some seconds each, as one does whose neighbours come and go.
machine moody() {
    return [slow = false](std::mt19937& random) mutable {
        const auto next = [&] {
            slow = std::bernoulli_distribution(0.15)(random) ? !slow : slow;
            return noise(random) * (slow ? 1.8 : 1);
        };
        const double first = next();
        return std::pair{first, next()};
    };
}

// Gets slower and slower.
machine tiring() {
    return [speed = 1.0](std::mt19937& random) mutable {
        const auto next = [&] { return noise(random) / (speed *= 0.985); };
        const double first = next();
        return std::pair{first, next()};
    };
}

using test_of = rank_test (*)(std::span<const double>, std::span<const double>);

// How many of so many comparisons at 20 rounds, in the order that perform() keeps, tell a program from one that takes so many times as long.
int told_apart(const std::function<machine()>& make, int times, double slower, test_of test) {
    std::mt19937 random(20261201);
    int told = 0;
    for (int i = 0; i < times; ++i) {
        const machine run_both = make();
        values a;
        values b;
        for (int round = 0; round < 20; ++round) {
            const auto [first, second] = run_both(random);
            a.push_back(round % 2 == 0 ? first : second);
            b.push_back((round % 2 == 0 ? second : first) * slower);
        }
        told += test(a, b).told_apart() ? 1 : 0;
    }
    return told;
}

TEST(rank_test, the_same_program_is_seldom_told_from_itself_and_a_slower_one_is) {
    for (const std::function<machine()>& make :
         {std::function<machine()>([] { return steady; }), {moody}, {tiring}}) {
        EXPECT_GE(told_apart(make, 100, 1.1, mann_whitney_in_rounds), 95);
        EXPECT_LE(told_apart(make, 100, 1, mann_whitney_in_rounds), 7);
        // A test that never tells apart, or at another level, has no place here.
        const int of_2000 = told_apart(make, 2000, 1, mann_whitney_in_rounds);
        EXPECT_GE(of_2000, 60);
        EXPECT_LE(of_2000, 130);
    }
    // Of runs made apart. In rounds it would take the machine's moods for the program's spread.
    const int apart = told_apart([] { return steady; }, 2000, 1, mann_whitney);
    EXPECT_GE(apart, 70);
    EXPECT_LE(apart, 130);
    EXPECT_LT(told_apart(tiring, 100, 1.1, mann_whitney), 50);
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
    return {.command = "./program 8",
            .runs = 6,
            .metrics = {{.name = "wall", .unit = "s"},
                        {.name = "switches", .unit = ""},
                        {.name = "rate", .unit = "", .higher_is_better = true, .printed = true}},
            .variants = {{.lock = "glibc",
                          .values = {{2, 2.02, 1.98, 2.01, 2.04, 2.03},
                                     {0, 0, 0, 0, 0, 0},
                                     {100, 101, 102, 103, 104, 105}}},
                         {.lock = "mcs",
                          .values = {{1, 1.02, 0.98, 1.01, 1.04, 1.03},
                                     {9, 9, 9, 9, 9, 9},
                                     {90, 91, 92, 93, 94, 95}}},
                         {.lock = "ticket",
                          .values = {{2, 2.03, 1.99, 1.97, 2.06, 2.02},
                                     {0, 0, 0, 0, 0, 0},
                                     {200, 201, 202, 203, 204, 205}}}},
            .cpus = 2,
            .foreign_cpus = 0.01};
}

TEST(comparison_output, is_this_table) {
    EXPECT_EQ(as_text(fixed(), false), R"(./program 8

            glibc     +-    mcs     +-   change      p  ticket     +-   change      p
  wall, s   2.015  1.1 %  1.015  2.1 %  -49.6 %  0.031    2.01  1.6 %        ~  0.812
  switches      0      -      9  0.0 %   from 0  0.031       0      -        ~  1.000
  rate      102.5  1.8 %   92.5  2.0 %   -9.8 %  0.031   202.5  0.9 %  +97.6 %  0.031

Medians of 6 runs each, in rounds. +-: standard deviation. change: the median of the rounds' changes.
~: not told apart (p >= 0.05). p: Mann-Whitney's U, by swaps within the rounds.
)");
}

TEST(comparison_output, the_JSON_has_the_runs) {
    const auto j = as_json(fixed());
    EXPECT_EQ(j["command"], "./program 8");
    EXPECT_EQ(j["runs"], 6);
    ASSERT_EQ(j["variants"].size(), 9u);
    EXPECT_TRUE(j["variants"][0]["p"].is_null());
    const auto& wall = j["variants"][3];
    EXPECT_EQ(wall["lock"], "mcs");
    EXPECT_EQ(wall["metric"], "wall");
    EXPECT_DOUBLE_EQ(wall["median"], 1.015);
    EXPECT_DOUBLE_EQ(wall["min"], 0.98);
    EXPECT_DOUBLE_EQ(wall["max"], 1.04);
    EXPECT_NEAR(wall["change_percent"], -49.628, 0.001);
    EXPECT_DOUBLE_EQ(wall["p"], 2.0 / 64);
    EXPECT_EQ(wall["exact"], true);
    EXPECT_TRUE(j["variants"][4]["change_percent"].is_null()); // from 0
}

TEST(experiment, a_change_is_the_median_of_those_of_the_rounds) {
    experiment e{
        .command = "x",
        .runs = 3,
        .metrics = {{.name = "wall", .unit = "s"}},
        .variants = {{.lock = "a", .values = {{1, 2, 10}}}, {.lock = "b", .values = {{1.1, 8, 11}}}}};
    const auto change = [&e] { return difference_of(e, 0, 1).change_percent; };
    EXPECT_NEAR(change().value(), 10, 1e-9); // of the medians: 300
    e.variants[0].values[0] = {0, 0, 10};
    EXPECT_EQ(change(), std::nullopt);
    e.variants[1].values[0] = {0, 8, 15};
    EXPECT_DOUBLE_EQ(change().value(), 50);
    e.variants[0].values[0] = {-4, -4, -4};
    e.variants[1].values[0] = {-5, -6, -3};
    EXPECT_DOUBLE_EQ(change().value(), -25);
}

TEST(experiment, warns_of_few_runs_a_busy_machine_and_wide_spread) {
    EXPECT_TRUE(warnings(fixed()).empty());
    experiment e = fixed();
    e.runs = 3;
    e.foreign_cpus = 0.5;
    e.variants[2].values[0] = {1, 2, 3, 4};
    const std::vector<std::string> all = warnings(e);
    ASSERT_EQ(all.size(), 3u);
    EXPECT_NE(all[0].find("3 runs of each are too few: p can't be less than 0.25"), std::string::npos)
        << all[0];
    EXPECT_NE(all[1].find("0.50 of 2 CPUs"), std::string::npos) << all[1];
    EXPECT_NE(all[2].find("wall of ticket spreads by 52 %"), std::string::npos) << all[2];
}

TEST(experiment, the_gate_is_about_printed_figures_if_there_are_any) {
    experiment e = fixed();
    ASSERT_EQ(regressions(e, 5).size(), 1u); // mcs: 9.9 % fewer; ticket: more
    EXPECT_NE(regressions(e, 5)[0].find("rate with mcs is -9.8 % from glibc"), std::string::npos);
    EXPECT_TRUE(regressions(e, 10).empty());
    e.metrics[2].printed = false;
    EXPECT_TRUE(regressions(e, 5).empty()); // wall time: one better, one not told apart
    e.metrics[0].higher_is_better = true;
    EXPECT_EQ(regressions(e, 5).size(), 1u);
}

} // namespace
