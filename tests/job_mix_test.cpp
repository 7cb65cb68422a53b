// Job mixes: files and their mistakes, what users do, and that nothing is left behind.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "replay/job_mix_file.hpp"
#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"
#include "sim/world.hpp"
#include "workload/multi_user.hpp"
#include "workload/native_world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

std::string mix_of(const std::string& steps, const std::string& weights = "job = 1") {
    return "name = \"x\"\nsummary = \"y\"\nassumed = \"a test\"\n[[operations]]\nname = \"job\"\nabout = "
           "\"z\"\nassumed = \"a test\"\nsteps = [" +
           steps + "]\n[weights]\n" + weights + "\n";
}

std::string error_of(const std::string& text) {
    try {
        replay::parse_job_mix(text, "m.toml");
    } catch (const file_error& e) {
        return e.what();
    }
    return "no error";
}

TEST(job_mix, reads_steps) {
    const job_mix mix = replay::parse_job_mix(
        mix_of(
            R"({ user_ns = 5, times = 2.5 }, { lock = "journal", how = "write", which = "own", hold_ns = 7, as = "commit", inside = [{ disk_bytes = 4096 }] }, { child = "job2", command = "ls" }]
            [[operations]]
            name = "job2"
            about = "y"
            source = "a test"
            steps = [{ fault = 3 })",
            "job = 2\njob2 = 0"),
        "m.toml");
    ASSERT_EQ(mix.operations.size(), 2u);
    ASSERT_EQ(mix.jobs.size(), 2u);
    EXPECT_EQ(mix.jobs[0].weight, 2u);
    const std::vector<step>& steps = mix.operations[0].steps;
    ASSERT_EQ(steps.size(), 3u);
    EXPECT_EQ(steps[0].what, step::kind::user);
    EXPECT_EQ(steps[0].duration, 5ns);
    EXPECT_EQ(steps[0].times, 2.5);
    EXPECT_EQ(steps[1].taken, step::lock::journal);
    EXPECT_TRUE(steps[1].exclusive);
    EXPECT_EQ(steps[1].instance, step::which::own);
    EXPECT_EQ(steps[1].frame, "commit");
    ASSERT_EQ(steps[1].inside.size(), 1u);
    EXPECT_EQ(steps[1].inside[0].amount, 4096u);
    EXPECT_EQ(steps[2].operation, 1u);
    EXPECT_EQ(steps[2].command, "ls");
}

TEST(job_mix, mistakes_are_named_by_file_line_and_key) {
    const struct {
        std::string text;
        std::string error;
    } table[] = {
        {mix_of("{ user_ns = 1 }", "jobb = 1"),
         "m.toml:10: weights.jobb: there is no operation 'jobb'; did you mean 'job'?"},
        {mix_of("{ user_ns = 1 }", "job = -1"), "m.toml:10: weights.job: is -1; give 0 to 10000"},
        {mix_of("{ user_ns = 1 }", "job = 0"),
         "m.toml:9: weights: has no weight above 0; give an operation one"},
        {mix_of("{ user_ns = 1 }", "job = 1.5"),
         "m.toml:10: weights.job: is 1.5, not whole; give a whole number"},
        {mix_of("{ lock = \"journall\", how = \"read\", which = \"own\", hold_ns = 1 }"),
         "m.toml:8: operations[1].steps[1].lock: there is no lock 'journall'; did you mean 'journal'?"},
        {mix_of("{ how = \"read\", which = \"own\", hold_ns = 1 }"),
         "m.toml:8: operations[1].steps[1].how: is not known here; did you mean 'do'?"},
        {mix_of("{ lock = \"journal\", which = \"own\", hold_ns = 1 }"),
         "m.toml:8: operations[1].steps[1].how: is missing; add it"},
        {mix_of("{ lock = \"i_mmap\", how = \"write\", which = \"own\", hold_ns = 1 }"),
         "m.toml:8: operations[1].steps[1].how: is for locks that can be taken in two ways, and this can't; "
         "remove it"},
        {mix_of(
             "{ lock = \"root_anon_vma\", how = \"read\", which = \"own\", hold_ns = 1, tree = \"erase\" }"),
         "m.toml:8: operations[1].steps[1].how: is read, and the tree is changed; make it write"},
        {mix_of("{ user_ns = -1 }"),
         "m.toml:8: operations[1].steps[1].user_ns: is -1; give 0 to 60000000000"},
        {mix_of("{ user_ns = 1, sleep_ns = 1 }"), "m.toml:8: operations[1].steps[1].sleep_ns: a step does "
                                                  "one thing, and this has user_ns, too; make it "
                                                  "two"},
        {mix_of("{ do = \"jab\" }"),
         "m.toml:8: operations[1].steps[1].do: there is no operation 'jab'; did you mean 'job'?"},
        {mix_of("{ do = \"job\" }"), "m.toml:8: operations[1].steps: is performed by an operation that it "
                                     "performs, or is more than 32 steps deep; take one out"},
        {mix_of("{ user_ns = 1, times = -2 }"),
         "m.toml:8: operations[1].steps[1].times: is -2; give 0 to 1000000"},
        {mix_of("{ lock = \"dentry\", how = \"reference\", which = \"any\", hold_ns = 1, inside = [{ lock = "
                "\"journal\", "
                "how = \"read\", which = \"own\", hold_ns = 1 }] }"),
         "m.toml:8: operations[1].steps: takes journal with dentry held, so threads could wait for each "
         "other for ever; "
         "locks go inside each other in this order: directory, journal, i_mmap, root_anon_vma, dentry"},
        {mix_of("{ lock = \"dentry\", how = \"lock\", which = \"any\", hold_ns = 1, inside = [{ sleep_ns = 1 "
                "}] }"),
         "m.toml:8: operations[1].steps: sleeps with a dentry's spinlock held; take that out of 'inside'"},
        {"name = \"x\"", "m.toml:1: summary: is missing; add it"},
    };
    for (const auto& row : table)
        EXPECT_EQ(error_of(row.text), row.error);
}

TEST(job_mix, shipped_mixes_weigh_what_their_sources_say) {
    const struct {
        const char* name;
        std::uint32_t weights;
    } table[] = {{"high_systime", 260}, {"custom", 410}, {"disk", 400}, {"short", 340}, {"all_utime", 170}};
    for (const auto& row : table) {
        const job_mix mix = replay::read_job_mix(data_file("job_mixes", row.name));
        std::uint32_t sum = 0;
        for (const weighted_job& job : mix.jobs)
            sum += job.weight;
        EXPECT_EQ(sum, row.weights) << row.name;
    }
}

constexpr std::uint32_t users = 12;
constexpr std::uint32_t mappings = 4;

multi_user_parameters small() {
    return {.users = users,
            .jobs = 20,
            .size = 0.02,
            .work = 0.1,
            .jitter_percent = 20,
            .kernel = {.roots = 2,
                       .mappings = mappings,
                       .files = 2,
                       .directories = 2,
                       .dentries = 2,
                       .memory_nodes = 2,
                       .pagevec = 14,
                       .page_fault = 100ns,
                       .page_listed = 50ns,
                       .disk = {.latency = 10us}}};
}

void expect_nothing_left(const multi_user_result& r) {
    EXPECT_EQ(r.mappings, users * mappings) << "the users' own";
    EXPECT_GT(r.children, 0u);
    EXPECT_GT(r.jobs_per_minute, 0);
}

TEST(multi_user, whatever_the_lock_all_children_end_and_leave_no_mapping) {
    const job_mix mix = replay::read_job_mix(data_file("job_mixes", "high_systime"));
    const sim::machine m = sim::read_machine(data_file("machines", "tiny"));
    for (const named<rw_lock>& lock : rw_locks<sim::world>()) {
        multi_user_result r;
        sim::run({&m, 3, 0}, [&] {
            r = multi_user<sim::world>::run(small(), mix, lock, reference_counts<sim::world>()[0]);
        });
        SCOPED_TRACE(lock.name);
        expect_nothing_left(r);
    }
}

TEST(multi_user, runs_on_this_machine) {
    const job_mix mix = replay::read_job_mix(data_file("job_mixes", "high_systime"));
    for (const named<rw_lock>& lock : rw_locks<native_world>()) {
        multi_user_result r;
        native_world::run(5, [&] {
            r = multi_user<native_world>::run(small(), mix, lock, reference_counts<native_world>()[1]);
        });
        SCOPED_TRACE(lock.name);
        expect_nothing_left(r);
    }
}

TEST(multi_user, a_seed_is_a_run) {
    const job_mix mix = replay::read_job_mix(data_file("job_mixes", "disk"));
    const sim::machine m = sim::read_machine(data_file("machines", "tiny"));
    const auto elapsed = [&](std::uint64_t seed) {
        multi_user_result r;
        sim::run({&m, seed, 0}, [&] {
            r = multi_user<sim::world>::run(small(), mix, rw_locks<sim::world>()[0],
                                            reference_counts<sim::world>()[0]);
        });
        return r.elapsed;
    };
    EXPECT_EQ(elapsed(1), elapsed(1));
    EXPECT_NE(elapsed(1), elapsed(2));
}

TEST(job_mix, says_whether_a_read_write_lock_is_held_asleep) {
    const auto sleeps = [](const char* name) {
        return replay::read_job_mix(data_file("job_mixes", name)).sleeps_in_rw_lock;
    };
    EXPECT_TRUE(sleeps("disk"));
    EXPECT_TRUE(sleeps("custom"));
    EXPECT_FALSE(sleeps("high_systime")) << "though the library has transactions, no job of this mix does";
}

TEST(multi_user, a_child_that_leaves_its_mappings_is_refused) {
    const job_mix mix = replay::parse_job_mix(
        mix_of(R"({ lock = "root_anon_vma", how = "write", which = "each", hold_ns = 1, tree = "insert" },
                  { child = "lost" }]
                  [[operations]]
                  name = "lost"
                  about = "never erases"
                  assumed = "a test"
                  steps = [{ user_ns = 1 })"),
        "m.toml");
    multi_user_parameters p = small();
    p.size = 1;
    EXPECT_THROW(native_world::run(1,
                                   [&] {
                                       multi_user<native_world>::run(p, mix, rw_locks<native_world>()[0],
                                                                     reference_counts<native_world>()[0]);
                                   }),
                 std::logic_error);
}

} // namespace
} // namespace holdfast
