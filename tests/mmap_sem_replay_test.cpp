// The case of mmap_sem on a small image: what the thread is about can be seen already.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "replay/case_file.hpp"
#include "replay/runner.hpp"

namespace holdfast::replay {
namespace {

case_result small_replay(const case_description& c) {
    const case_plan plan = plan_case(c, {.runs = 1});
    std::vector<planned_run> runs = runs_of(plan);
    for (planned_run& run : runs)
        run.request.constants["buffers"] = 15;
    return collect(plan, run_all(runs, 1, [](std::size_t, std::size_t, std::string_view) {}));
}

TEST(mmap_sem_replay, spinning_without_an_owner_is_what_costs) {
    const case_description c = read_case(data_file("cases", "mmap_sem"));
    const case_result result = small_replay(c);
    ASSERT_EQ(result.experiments.size(), 1u);
    std::map<std::string, const variant_result*> variants;
    for (const variant_result& v : result.experiments[0].variants) {
        EXPECT_EQ(v.error, "");
        variants[v.what->name] = &v;
    }
    const auto of = [&](const char* variant, const char* metric) {
        return variants.at(variant)->value(metric).value_or(0);
    };
    EXPECT_GT(of("rc", "time"), 1.5 * of("fixed", "time"));
    EXPECT_GT(of("rc", "cpu_sys"), 5 * of("fixed", "cpu_sys"));
    EXPECT_GT(of("rc", "time"), 1.5 * of("rc_unstrided", "time"));
    EXPECT_GT(of("rc", "share.osq_lock"), 50);
    EXPECT_LT(of("fixed", "share.osq_lock"), 5);
    EXPECT_NEAR(of("linux_3_15", "time") / of("fixed", "time"), 1, 0.25);
    double phases = 0;
    for (const char* phase : {"phase1", "phase2", "phase3", "phase4", "phase5", "phase6", "phase7"})
        phases += of("fixed", phase);
    EXPECT_NEAR(phases, of("fixed", "time"), 1e-6);
    EXPECT_EQ(result.checks.size(), 15u);
    for (const check_result& check : result.checks)
        EXPECT_TRUE(check.replayed) << check.what->name;
}

} // namespace
} // namespace holdfast::replay
