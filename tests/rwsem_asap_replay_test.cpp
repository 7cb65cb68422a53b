// The case of rwsem_asap, briefly: the patch gains where an exclusive taker that spins meets readers that fail, and
// changes nothing where one of them is missing.
#include <csignal>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <sys/resource.h>

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

// With no file longer than 64 KiB.
TEST(rwsem_asap_replay, a_file_that_can_t_be_written_is_given_up_at_once) {
    const case_description c = read_case(data_file("cases", "rwsem_asap"));
    const case_plan plan = plan_case(c, {.on = target::native, .runs = 1, .only = {"dax_randrw"}});
    std::vector<planned_run> runs = runs_of(plan);
    runs.resize(1);
    runs[0].request.constants["file_blocks"] = 1e9;
    rlimit before{};
    ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
    const auto handler = signal(SIGXFSZ, SIG_IGN);
    const rlimit small{.rlim_cur = 64 << 10, .rlim_max = before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
    const std::vector<run_outcome> outcomes =
        run_all(runs, 1, [](std::size_t, std::size_t, std::string_view) {});
    setrlimit(RLIMIT_FSIZE, &before);
    signal(SIGXFSZ, handler);
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_EQ(outcomes[0].error, "a file of 4096000000000 bytes in " +
                                     std::filesystem::temp_directory_path().string() +
                                     " ($TMPDIR): File too large");
}

TEST(rwsem_asap_replay, direct_io_takes_whole_blocks) {
    const case_description c = read_case(data_file("cases", "rwsem_asap"));
    const case_plan plan = plan_case(c, {.on = target::native, .runs = 1, .only = {"direct_randwrite"}});
    std::vector<planned_run> runs = runs_of(plan);
    runs.resize(1);
    runs[0].request.constants["block_bytes"] = 5'000;
    const std::vector<run_outcome> outcomes =
        run_all(runs, 1, [](std::size_t, std::size_t, std::string_view) {});
    ASSERT_EQ(outcomes.size(), 1u);
    EXPECT_EQ(outcomes[0].error, "block_bytes is 5000; past the page cache it must be a multiple of 4096");
}

} // namespace
} // namespace holdfast::replay
