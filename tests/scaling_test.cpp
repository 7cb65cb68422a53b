// Throughput against CPUs: what is run on which CPUs, and the curves that come of it.
#include <sched.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "replay/scaling.hpp"
#include "replay/scaling_output.hpp"
#include "sim/sim.hpp"
#include "sim/world.hpp"
#include "workload/cpu_limit.hpp"
#include "workload/native_world.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::replay;

const progress no_progress = [](std::size_t, std::size_t, std::string_view) {};

// The number of CPUs that a run of the request has.
double cpus_of(const run_request& r) {
    std::uint32_t cpus = 0;
    if (r.on == nullptr)
        native_world::run(r.seed, [&] { cpus = native_world::cpu_count(); });
    else
        sim::run({.on = r.on, .seed = r.seed}, [&] { cpus = sim::world::cpu_count(); });
    return cpus;
}

// A case that obeys the law with lambda 10, sigma 0.25 and kappa 0, and one percent more or less by seed;
// "time" is how long 120 operations take.
std::vector<case_code> lawful() {
    const auto run = [](const run_request& r) {
        const double n = cpus_of(r);
        const double rate = 10 * n / (1 + 0.25 * (n - 1)) * (1 + 0.01 * (static_cast<double>(r.seed) - 2));
        return run_result{.metrics = {{"rate", rate}, {"time", 120 / rate}}, .report = {}};
    };
    const auto broken = [run](const run_request& r) {
        if (cpus_of(r) > 1)
            throw std::runtime_error("it broke");
        return run(r);
    };
    return {{.name = "lawful",
             .constants = {},
             .metrics = {{"rate", "operations/s"}, {"time", "s"}},
             .variants = {{"good", run}, {"broken", broken}}}};
}

std::string lawful_file(const std::string& metric, const std::string& code = "good") {
    return R"(name = "lawful"
summary = "obeys"
thread = "none"
[[experiments]]
name = "e"
about = "obeys"
machine = "xeon-e5-4650-4s"
metric = ")" +
           metric + R"("
default = { seeds = 3 }
native = { seeds = 3 }
[experiments.workload]
[[experiments.variants]]
name = "v"
about = "obeys"
code = ")" +
           code + "\"\n";
}

class scaling : public testing::Test {
protected:
    case_scaling measure(const std::string& file, const std::vector<std::int64_t>& cpus,
                         target on = target::sim) {
        described_ = parse_case(file, "c.toml", code_);
        return measure_scaling(plan_scaling(*described_, {.on = on}, cpus), on == target::native ? 1 : 2,
                               no_progress);
    }

    const std::vector<case_code> code_ = lawful();
    std::optional<case_description> described_;
};

TEST_F(scaling, a_curve_and_its_law) {
    const case_scaling s = measure(lawful_file("rate mean"), {64, 1, 4, 2, 4});
    ASSERT_EQ(s.experiments.size(), 1u);
    EXPECT_FALSE(s.experiments[0].is_time);
    const scaling_curve& c = s.experiments[0].curves.at(0);
    ASSERT_EQ(c.points.size(), 4u);
    const std::int64_t cpus[] = {1, 2, 4, 64};
    for (std::size_t i = 0; i < 4; ++i) {
        const double n = static_cast<double>(cpus[i]);
        const double rate = 10 * n / (1 + 0.25 * (n - 1));
        EXPECT_EQ(c.points[i].cpus, cpus[i]);
        EXPECT_NEAR(c.points[i].median, rate, 1e-9);
        EXPECT_NEAR(c.points[i].min, 0.99 * rate, 1e-9);
        EXPECT_NEAR(c.points[i].max, 1.01 * rate, 1e-9);
        EXPECT_NEAR(c.points[i].speedup, rate / 10, 1e-9);
    }
    ASSERT_TRUE(c.fit.law);
    EXPECT_NEAR(c.fit.law->lambda, 10, 1e-6);
    EXPECT_NEAR(c.fit.law->sigma, 0.25, 1e-6);
    EXPECT_NEAR(c.fit.law->kappa, 0, 1e-9);
    EXPECT_FALSE(has_error(s));
}

TEST_F(scaling, of_a_time_throughput_is_one_divided_by_it) {
    const case_scaling s = measure(lawful_file("time"), {1, 2, 4});
    EXPECT_TRUE(s.experiments[0].is_time);
    EXPECT_EQ(s.experiments[0].unit, "1/s");
    const scaling_curve& c = s.experiments[0].curves.at(0);
    EXPECT_NEAR(c.points[0].median, 10.0 / 120, 1e-9);
    EXPECT_NEAR(c.points[1].speedup, 2 / 1.25, 1e-9);
    EXPECT_LT(c.points[0].min, c.points[0].max);
    EXPECT_NE(as_text(s, false).find("1 / time"), std::string::npos);
    EXPECT_EQ(as_json(s)[0]["unit"], "1/s");
}

TEST_F(scaling, too_few_for_a_law) {
    const case_scaling s = measure(lawful_file("rate"), {2, 4});
    EXPECT_FALSE(s.experiments[0].curves[0].fit.law);
    EXPECT_NE(as_text(s, false).find("v: no USL fit: it takes three different numbers of CPUs"),
              std::string::npos);
    EXPECT_TRUE(as_json(s)[0]["usl"].is_null());
    EXPECT_TRUE(as_json(s)[0]["points"][0]["usl"].is_null());
}

TEST_F(scaling, a_run_that_fails_is_told) {
    const case_scaling s = measure(lawful_file("rate", "broken"), {1, 2, 4});
    EXPECT_TRUE(has_error(s));
    EXPECT_NE(as_text(s, false).find("v failed with 2 CPUs: it broke"), std::string::npos);
    EXPECT_EQ(as_json(s)[0]["error"], "with 2 CPUs: it broke");
    EXPECT_TRUE(as_json(s)[0]["points"].empty());
}

TEST_F(scaling, natively_the_process_has_fewer_cpus_for_a_while) {
    const auto usable = static_cast<std::int64_t>(usable_cpus().size());
    const case_scaling s = measure(lawful_file("rate"), {1, usable}, target::native);
    const scaling_curve& c = s.experiments[0].curves.at(0);
    EXPECT_EQ(c.error, "");
    EXPECT_NEAR(c.points.front().median, 10, 1e-9);
    const double n = static_cast<double>(usable);
    EXPECT_NEAR(c.points.back().median, 10 * n / (1 + 0.25 * (n - 1)), 1e-9);
    EXPECT_EQ(static_cast<std::int64_t>(usable_cpus().size()), usable);
}

TEST(cpu_limit, takes_the_first_and_gives_the_others_back) {
    cpu_set_t before;
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    const std::vector<int> all = usable_cpus();
    {
        const cpu_limit one(1);
        EXPECT_EQ(usable_cpus(), std::vector<int>{all[0]});
    }
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

} // namespace
