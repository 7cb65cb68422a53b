// The case of rwsem_asap, briefly: the patch gains where an exclusive taker that spins meets readers that fail, and
// changes nothing where one of them is missing.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "replay/case_file.hpp"
#include "replay/runner.hpp"

namespace holdfast::replay {
namespace {

case_result brief_replay(const case_description& c, target on, std::vector<std::string> only) {
    const case_plan plan = plan_case(c, {.on = on, .runs = 1, .only = std::move(only)});
    std::vector<planned_run> runs = runs_of(plan);
    for (planned_run& run : runs) {
        run.request.constants["seconds"] = on == target::sim ? 0.01 : 0.005;
        run.request.constants["warm_up_seconds"] = on == target::sim ? 0.003 : 0.001;
        if (on == target::native) {
            run.request.constants["threads"] = 4;
            run.request.constants["file_blocks"] = 10;
        }
    }
    return collect(plan, run_all(runs, 1, [](std::size_t, std::size_t, std::string_view) {}));
}

// By experiment, the metrics of its two variants.
class outcome {
public:
    explicit outcome(const case_result& r) {
        for (const experiment_result& e : r.experiments) {
            for (const variant_result& v : e.variants) {
                EXPECT_EQ(v.error, "") << e.plan.what->name << '.' << v.what->name;
                variants_[e.plan.what->name + '.' + v.what->name] = &v;
            }
        }
    }
    double of(const std::string& variant, const char* metric) const {
        return variants_.at(variant)->value(metric).value_or(-1);
    }
    double gain(const std::string& experiment) const {
        return of(experiment + ".after", "MB/s") / of(experiment + ".before", "MB/s");
    }

private:
    std::map<std::string, const variant_result*> variants_;
};

TEST(rwsem_asap_replay, the_patch_gains_where_an_exclusive_taker_meets_failing_readers) {
    const case_description c = read_case(data_file("cases", "rwsem_asap"));
    const case_result r =
        brief_replay(c, target::sim, {"dax_randrw", "dax_randwrite", "dax_randread", "alone_randwrite"});
    const outcome seen(r);
    for (const std::string experiment : {"dax_randrw", "dax_randwrite"}) {
        EXPECT_GT(seen.gain(experiment), 1.05) << experiment;
        EXPECT_LT(seen.of(experiment + ".after", "writer_sleeps"),
                  0.8 * seen.of(experiment + ".before", "writer_sleeps"))
            << experiment;
    }
    // No writer; no reader at the semaphore that writers wait for.
    EXPECT_NEAR(seen.gain("dax_randread"), 1, 0.03);
    EXPECT_NEAR(seen.gain("alone_randwrite"), 1, 0.03);

    ASSERT_EQ(r.checks.size(), 2u);
    for (const check_result& check : r.checks) {
        EXPECT_TRUE(check.replayed) << check.what->name;
        EXPECT_TRUE(check.outcome == verdict::match || check.outcome == verdict::close) << check.what->name;
    }
}

TEST(rwsem_asap_replay, natively_on_a_real_file) {
    const case_description c = read_case(data_file("cases", "rwsem_asap"));
    const case_result r = brief_replay(c, target::native, {"dax_randrw", "direct_randwrite"});
    const outcome seen(r);
    for (const std::string variant : {"dax_randrw.before", "direct_randwrite.after"})
        EXPECT_GE(seen.of(variant, "MB/s"), 0) << variant;
    EXPECT_EQ(seen.of("dax_randrw.before", "o_direct"), 0);
    EXPECT_GE(seen.of("direct_randwrite.before", "o_direct"), 0); // as the file system has it
}

} // namespace
} // namespace holdfast::replay
