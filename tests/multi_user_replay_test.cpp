// The cases of many users, made small: what the threads are about can be seen, and the control does not move.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "replay/case_file.hpp"
#include "replay/runner.hpp"

namespace holdfast::replay {
namespace {

case_result small_replay(const char* name, const std::vector<std::string>& only, double size_percent) {
    static std::map<std::string, case_description> read;
    const case_description& c = read.try_emplace(name, read_case(data_file("cases", name))).first->second;
    const case_plan plan = plan_case(c, {.runs = 1, .only = only});
    std::vector<planned_run> runs = runs_of(plan);
    for (planned_run& run : runs)
        run.request.constants["size_percent"] = size_percent;
    return collect(plan, run_all(runs, 1, [](std::size_t, std::size_t, std::string_view) {}));
}

// The variants of the only experiment that was run.
std::map<std::string, const variant_result*> variants_of(const case_result& result) {
    std::map<std::string, const variant_result*> variants;
    for (const experiment_result& e : result.experiments) {
        for (const variant_result& v : e.variants) {
            EXPECT_EQ(v.error, "");
            variants[v.what->name] = &v;
        }
    }
    return variants;
}

TEST(anon_vma_replay, a_semaphore_that_never_spins_leaves_the_machine_idle) {
    const case_result result = small_replay("anon_vma", {}, 0.3);
    const auto variants = variants_of(result);
    const auto of = [&](const char* variant, const char* metric) {
        return variants.at(variant)->value(metric).value_or(0);
    };
    EXPECT_GT(of("rwlock", "jpm"), 1.3 * of("rwsem", "jpm"));
    EXPECT_GT(of("qrwlock", "jpm"), 1.3 * of("rwsem", "jpm"));
    EXPECT_GT(of("rwsem", "idle"), 2 * of("qrwlock", "idle"));
    EXPECT_LT(of("qrwlock", "share.write_slowpath"), of("rwlock", "share.write_slowpath"));
    EXPECT_EQ(result.checks.size(), 8u);
    for (const check_result& check : result.checks)
        EXPECT_TRUE(check.replayed) << check.what->name;
}

TEST(aim7_replay, no_lock_moves_what_computes_in_user_space) {
    const case_result result = small_replay("aim7", {"all_utime"}, 0.1);
    std::vector<double> scores;
    for (const auto& [name, variant] : variants_of(result))
        scores.push_back(variant->value("jpm").value_or(0));
    ASSERT_GE(scores.size(), 5u);
    const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
    EXPECT_GT(*least, 0);
    EXPECT_LT(*most, 1.02 * *least);
}

TEST(aim7_replay, spinning_without_an_owner_costs_where_readers_sleep) {
    const case_result result = small_replay("aim7", {"disk"}, 0.5);
    const auto variants = variants_of(result);
    EXPECT_GT(variants.at("fixed")->value("jpm").value_or(0), variants.at("rc")->value("jpm").value_or(0));
}

} // namespace
} // namespace holdfast::replay
