// The case of inodegc on a small file system: what the thread is about can be seen already.
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
    for (planned_run& run : runs) {
        run.request.constants["directories"] = 1;
        run.request.constants["files"] = 150;
    }
    return collect(plan, run_all(runs, 1, [](std::size_t, std::size_t, std::string_view) {}));
}

TEST(inodegc_replay, the_contention_moves) {
    const case_description c = read_case(data_file("cases", "inodegc"));
    const case_result result = small_replay(c);
    ASSERT_EQ(result.experiments.size(), 2u);
    std::map<std::string, const variant_result*> variants;
    for (const experiment_result& e : result.experiments) {
        for (const variant_result& v : e.variants) {
            EXPECT_EQ(v.error, "") << v.what->name; // the checker's word, too
            variants[v.what->name] = &v;
        }
    }
    const auto of = [&](const char* variant, const char* metric) {
        return variants.at(variant)->value(metric).value_or(0);
    };
    // Deferred, more commits want the one lock, and its holders have more to fetch.
    EXPECT_GT(of("deferred", "share.commit_spinlock"), 25);
    EXPECT_LT(of("scalable", "share.commit_spinlock"), 1);
    EXPECT_LT(of("scalable", "time"), of("deferred", "time"));
    EXPECT_GT(of("deferred", "time"), of("bound", "time"));
    // Without it, the two sides meet at the header, and sleep; who is inline does not.
    EXPECT_GT(of("scalable", "switches.agi"), of("scalable", "switches.inode_cluster"));
    EXPECT_LT(of("inline_scalable", "switches.agi"), 5);
    EXPECT_GT(of("scalable", "switches/s"), 5 * of("inline", "switches/s"));
    EXPECT_LT(of("list_per_cpu", "time"), of("one_list", "time"));
    EXPECT_EQ(result.checks.size(), 12u);
    for (const check_result& check : result.checks)
        EXPECT_TRUE(check.replayed) << check.what->name;
}

} // namespace
} // namespace holdfast::replay
