// Replays: statistics and verdicts as tables, case files and their mistakes, what is run and in which order,
// the shape of the results, and a real case on the smallest machine.
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "replay/case_file.hpp"
#include "replay/output.hpp"
#include "replay/runner.hpp"
#include "replay/sensitivity.hpp"
#include "replay/statistics.hpp"
#include "sim/random.hpp"
#include "text/text_table.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::replay;

const progress no_progress = [](std::size_t, std::size_t, std::string_view) {};

TEST(statistics, of_several_values) {
    const std::vector<double> values = {4, 1, 3, 2};
    EXPECT_EQ(compute(statistic::median, values), 2.5);
    EXPECT_EQ(compute(statistic::median, std::vector<double>{3, 1, 2}), 2);
    EXPECT_EQ(compute(statistic::mean, values), 2.5);
    EXPECT_EQ(compute(statistic::min, values), 1);
    EXPECT_EQ(compute(statistic::max, values), 4);
    EXPECT_DOUBLE_EQ(compute(statistic::sd, values), std::sqrt(5.0 / 3));
    EXPECT_DOUBLE_EQ(compute(statistic::sd_over_mean, values), std::sqrt(5.0 / 3) / 2.5);
    EXPECT_EQ(compute(statistic::sd, std::vector<double>{7}), 0);
}

TEST(statistics, jain_s_index) {
    EXPECT_EQ(jain_index(std::vector<double>{5, 5, 5}), 1);
    EXPECT_EQ(jain_index(std::vector<double>{1, 0, 0, 0}), 0.25);
    EXPECT_EQ(jain_index(std::vector<double>{0, 0}), 1);
    EXPECT_EQ(jain_index(std::vector<double>{}), 1);
}

TEST(statistics, columns) {
    EXPECT_EQ(parse_column("loops")->what, statistic::median);
    EXPECT_EQ(parse_column("fastest/slowest")->metric, "fastest/slowest");
    EXPECT_EQ(parse_column("loops sd/mean")->what, statistic::sd_over_mean);
    EXPECT_EQ(parse_column("loops sd/mean")->metric, "loops");
    EXPECT_FALSE(parse_column("loops mode"));
}

TEST(statistics, how_far_off) {
    EXPECT_EQ(ratio_error(2, 1), 2);
    EXPECT_EQ(ratio_error(1, 2), 2);
    EXPECT_FALSE(ratio_error(0, 1));
    EXPECT_FALSE(ratio_error(1, 0));
    EXPECT_FALSE(ratio_error(-1, 1));
    EXPECT_FALSE(ratio_error(INFINITY, 1));
}

TEST(verdicts, table) {
    const auto ratio = [](double published, std::optional<double> replayed) {
        return comparison{
            .published = published, .replayed = replayed, .published_divide = 1, .replayed_divide = 1};
    };
    const auto value = [](double published, std::optional<double> replayed) {
        return comparison{.published = published, .replayed = replayed};
    };
    const auto only = [&](double published, double replayed) {
        comparison c = ratio(published, replayed);
        c.direction_only = true;
        return c;
    };
    const auto within = [](double published, double replayed, double by) {
        return comparison{.published = published, .replayed = replayed, .within = by};
    };
    const auto beside = [](double published, double replayed, double other_published, double other_replayed) {
        return comparison{.published = published,
                          .replayed = replayed,
                          .published_divide = other_published,
                          .replayed_divide = other_replayed};
    };
    const struct {
        comparison c;
        verdict expected;
    } rows[] = {
        {ratio(2, 2), verdict::match},
        {ratio(2, 2.5), verdict::match},
        {ratio(2, 1.6), verdict::match},
        {ratio(2, 2.51), verdict::close},
        {ratio(2, 3), verdict::close},
        {ratio(2, 3.01), verdict::direction},
        {ratio(2, 1.01), verdict::direction},
        {ratio(2, 1), verdict::miss},
        {ratio(2, 0.9), verdict::miss},
        {ratio(0.5, 0.1), verdict::direction},
        {ratio(0.5, 0), verdict::direction},
        {ratio(0.5, 1.2), verdict::miss},
        {ratio(1, 2), verdict::miss}, // 1 has no side
        {ratio(1, 1.2), verdict::match},
        {ratio(2, NAN), verdict::miss},
        {ratio(2, INFINITY), verdict::miss},
        {ratio(2, {}), verdict::miss},
        {value(46.9, 50), verdict::match},
        {value(46.9, 100), verdict::miss},
        {value(0, 0), verdict::miss},
        {only(5, 1.1), verdict::direction},
        {only(5, 5), verdict::direction},
        {only(5, 0.9), verdict::miss},
        {within(0, 14, 15), verdict::match},
        {within(50, 66, 15), verdict::miss},
        {beside(3.5, 10, 46.9, 50), verdict::direction},
        {beside(3.5, 3.6, 46.9, 50), verdict::match},
        {beside(3.5, 60, 46.9, 50), verdict::miss},
    };
    for (const auto& row : rows) {
        EXPECT_EQ(name_of(judge(row.c)), name_of(row.expected))
            << row.c.published << " and " << row.c.replayed.value_or(-1);
    }
}

TEST(text, numbers_and_tables) {
    EXPECT_EQ(shown(1540293), "1,540,293");
    EXPECT_EQ(shown(3469553.8), "3,469,554");
    EXPECT_EQ(shown(-1234), "-1,234");
    EXPECT_EQ(shown(999), "999");
    EXPECT_EQ(shown(0.39268), "0.3927");
    EXPECT_EQ(shown(0), "0");
    text_table table({"a", "empty", "b"});
    table.add({"x", "", "10"});
    table.add({"yy", "", cell("9", style::good)});
    EXPECT_EQ(table.text(false), "  a    b\n  x   10\n  yy   9\n");
    EXPECT_NE(table.text(true).find("\x1b[32m9\x1b[0m"), std::string::npos);
}

// A case whose runs are arithmetic: "level" gives `base` plus the seed, "double" twice that, "broken" does
// not run.
std::vector<case_code> arithmetic() {
    const auto run = [](double factor) {
        return [factor](const run_request& r) {
            run_result result;
            result.metrics["score"] = factor * (r.constant("base") + static_cast<double>(r.seed));
            return result;
        };
    };
    return {
        {.name = "arithmetic",
         .constants = {{"base", 0, 1000}},
         .metrics = {{"score", "points"}},
         .variants = {{"level", run(1)}, {"double", run(2)}, {"broken", [](const run_request&) -> run_result {
                                                                  throw std::runtime_error("it broke");
                                                              }}}}};
}

const char* const arithmetic_file = R"(name = "arithmetic"
summary = "sums"
thread = "none"
[[experiments]]
name = "sums"
about = "sums"
machine = "tiny"
metric = "score"
baseline = "one"
default = { seeds = 3, base = 10 }
full = { seeds = 5 }
native = { seeds = 2, base = 20 }
[experiments.workload]
base = { value = 100, assumed = "round" }
[[experiments.variants]]
name = "one"
about = "once"
code = "level"
published = { score = 12 }
[[experiments.variants]]
name = "two"
about = "twice"
code = "double"
[[experiments]]
name = "long"
about = "only in full"
machine = "tiny"
metric = "score"
full = { seeds = 1 }
[experiments.workload]
base = { value = 5, source = "a source" }
[[experiments.variants]]
name = "one"
about = "once"
code = "level"
[[checks]]
name = "two/one"
kind = "ratio"
metric = "score"
variant = "sums.two"
baseline = "sums.one"
published = 2
[[checks]]
name = "one"
kind = "value"
metric = "score max"
variant = "sums.one"
published = 13
[[checks]]
name = "later"
kind = "value"
metric = "score"
variant = "long.one"
baseline = "sums.one"
published = 2
full = true
)";

std::string with(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

case_result run_case(const case_description& c, const plan_options& options, unsigned jobs = 2) {
    const case_plan plan = plan_case(c, options);
    return collect(plan, run_all(runs_of(plan), jobs, no_progress));
}

class arithmetic_case : public testing::Test {
protected:
    const std::vector<case_code> code = arithmetic();
    const case_description c = parse_case(arithmetic_file, "c.toml", code);
};

TEST_F(arithmetic_case, scales_set_constants_and_seeds) {
    const case_result standard = run_case(c, {});
    ASSERT_EQ(standard.experiments.size(), 2u);
    ASSERT_EQ(standard.experiments[0].variants.size(), 2u);
    EXPECT_EQ(standard.experiments[0].variants[0].metrics[0].values, (std::vector<double>{11, 12, 13}));
    EXPECT_EQ(standard.experiments[0].variants[1].value("score"), 24);
    EXPECT_TRUE(standard.experiments[1].variants.empty());

    EXPECT_EQ(run_case(c, {.scale = scale::full}).experiments[0].variants[0].value("score min"), 101);
    EXPECT_EQ(run_case(c, {.on = target::native}).experiments[0].variants[0].value("score max"), 22);
    EXPECT_EQ(run_case(c, {.runs = 1, .first_seed = 7}).experiments[0].variants[0].metrics[0].values,
              std::vector<double>{17});
}

TEST_F(arithmetic_case, checks_are_judged_where_they_can_be) {
    const auto verdicts = [&](const plan_options& options) {
        std::vector<std::string> names;
        for (const check_result& check : run_case(c, options).checks)
            names.emplace_back(name_of(check.outcome));
        return names;
    };
    using names = std::vector<std::string>;
    EXPECT_EQ(verdicts({}), (names{"match", "match", "needs --scale full"}));
    EXPECT_EQ(verdicts({.scale = scale::full}), (names{"match", "miss", "direction"}));
    EXPECT_EQ(verdicts({.on = target::native}), (names{"-", "-", "not run"}));
    EXPECT_EQ(verdicts({.scale = scale::full, .only = {"long"}}), (names{"not run", "not run", "not run"}));
}

TEST_F(arithmetic_case, native_variants_take_turns) {
    const case_plan plan = plan_case(c, {.on = target::native});
    std::vector<std::string> labels;
    for (const planned_run& run : runs_of(plan)) {
        labels.push_back(run.label);
        EXPECT_EQ(run.request.on, nullptr);
    }
    EXPECT_EQ(labels,
              (std::vector<std::string>{"arithmetic: sums.one, seed 1", "arithmetic: sums.two, seed 1",
                                        "arithmetic: sums.one, seed 2", "arithmetic: sums.two, seed 2"}));
}

TEST_F(arithmetic_case, a_run_that_fails_is_a_miss_and_says_why) {
    const case_description broken =
        parse_case(with(arithmetic_file, "code = \"double\"", "code = \"broken\""), "c.toml", code);
    const case_result result = run_case(broken, {});
    EXPECT_EQ(result.experiments[0].variants[1].error, "it broke");
    EXPECT_EQ(result.checks[0].outcome, verdict::miss);
    EXPECT_TRUE(has_miss(result));
    EXPECT_NE(as_text(result, false).find("two failed: it broke"), std::string::npos);
    EXPECT_EQ(as_json(result)[0]["variants"][1]["error"], "it broke");
}

TEST_F(arithmetic_case, the_shape_of_the_json) {
    const nlohmann::ordered_json entries = as_json(run_case(c, {}));
    ASSERT_EQ(entries.size(), 1u);
    const auto& e = entries[0];
    EXPECT_EQ(e["case"], "arithmetic");
    EXPECT_EQ(e["platform"], "sim");
    EXPECT_EQ(e["machine"], "tiny");
    EXPECT_EQ(e["scale"], "default");
    EXPECT_EQ(e["seeds"], (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(e["workload"]["base"]["value"], 10);
    EXPECT_EQ(e["workload"]["base"]["published"], 100);
    EXPECT_EQ(e["workload"]["base"]["assumed"], "round");
    const auto& two = e["variants"][1];
    EXPECT_EQ(two["name"], "sums.two");
    EXPECT_EQ(two["metrics"]["score"]["median"], 24);
    EXPECT_EQ(two["metrics"]["score"]["min"], 22);
    EXPECT_EQ(two["metrics"]["score"]["max"], 26);
    EXPECT_EQ(two["metrics"]["score"]["unit"], "points");
    EXPECT_TRUE(two["profile"].is_array());
    EXPECT_TRUE(two["switches"].is_array());
    // The check whose experiment was not run is not lost.
    ASSERT_EQ(e["checks"].size(), 3u);
    const auto& check = e["checks"][0];
    EXPECT_EQ(check["name"], "two/one");
    EXPECT_EQ(check["variant"], "sums.two");
    EXPECT_EQ(check["baseline"], "sums.one");
    EXPECT_EQ(check["published"], 2);
    EXPECT_EQ(check["replayed"], 2);
    EXPECT_EQ(check["ratio_error"], 1);
    EXPECT_EQ(check["verdict"], "match");
    EXPECT_EQ(check["fitted"], false);
    EXPECT_TRUE(e["checks"][1]["baseline"].is_null());
    EXPECT_TRUE(e["checks"][2]["replayed"].is_null());
}

TEST_F(arithmetic_case, sensitivity_says_which_verdicts_move) {
    const case_plan plan = plan_case(c, {});
    const case_result base = collect(plan, run_all(runs_of(plan), 1, no_progress));
    const sensitivity s = vary_assumed(plan, base, 2, no_progress);
    EXPECT_GT(s.constants, 10u); // the machine's and the workload's
    ASSERT_EQ(s.moved.size(), 2u);
    for (const moved_verdict& m : s.moved) {
        EXPECT_EQ(m.where, "sums.workload");
        EXPECT_EQ(m.key, "base");
        EXPECT_EQ(m.check->name, "one");
        EXPECT_EQ(m.before, verdict::match);
        EXPECT_EQ(m.after, verdict::miss);
    }
    EXPECT_EQ(s.moved[0].other, "5");
    EXPECT_EQ(s.moved[1].other, "20");
}

std::string error_of(const std::string& text, const std::vector<case_code>& code) {
    try {
        parse_case(text, "c.toml", code);
        return {};
    } catch (const file_error& error) {
        return error.what();
    }
}

TEST_F(arithmetic_case, a_mistake_in_its_file_gets_its_line_its_key_and_its_mend) {
    const struct {
        const char* from;
        const char* to;
        const char* error;
    } mistakes[] = {
        {"name = \"arithmetic\"", "name = \"aritmetic\"",
         "c.toml:1: name: there is no 'aritmetic'; did you mean"},
        {"summary", "sumary", "c.toml:2: sumary: is not known here; did you mean 'summary'?"},
        {"metric = \"score\"", "metric = \"scores\"",
         "c.toml:8: experiments[1].metric: there is no 'scores'; did you mean 'score'?"},
        {"metric = \"score\"", "metric = \"score mode\"", "has no statistic after its metric"},
        {"baseline = \"one\"", "baseline = \"three\"",
         "experiments[1].baseline: there is no 'three'; there are: one, two"},
        {"seeds = 3", "seeds = 0", "experiments[1].default.seeds: is 0; give 1 to 10000"},
        {"seeds = 3", "seeds = 2.5", "experiments[1].default.seeds: is 2.5, not whole"},
        {"base = 10", "bass = 10", "experiments[1].default.bass: is not known here; did you mean 'base'?"},
        {"base = 10", "base = -1", "experiments[1].default.base: is -1; give 0 to 1000"},
        {"base = 10", "swap_rate = 0", "swap_rate: is 0; give a positive number"},
        {"value = 100", "value = 1e9", "experiments[1].workload.base.value: is 1000000000; give 0 to 1000"},
        {", assumed = \"round\"", "", "does not say where the number comes from"},
        {"code = \"level\"", "code = \"lever\"",
         "experiments[1].variants[1].code: there is no 'lever'; did you mean"},
        {"published = { score = 12 }", "published = { scare = 12 }", "published.scare: there is no 'scare'"},
        {"name = \"two\"", "name = \"one\"", "experiments[1].variants[2].name: 'one' is there already"},
        {"name = \"two\"", "name = \"t.wo\"", "has a dot in it"},
        {"kind = \"ratio\"", "kind = \"ration\"", "checks[1].kind: is 'ration'; give ratio or value"},
        {"variant = \"sums.two\"", "variant = \"sums.tow\"",
         "checks[1].variant: there is no 'sums.tow'; did you mean 'sums.two'?"},
        {"baseline = \"sums.one\"\n", "", "checks[1].baseline: is missing"},
        {"published = 2", "direction = 1\npublished = 2",
         "checks[1].direction: is a whole number; give true or false"},
        {"published = 13", "direction = true\npublished = 13", "needs a baseline to be on a side of"},
        {"published = { score = 12 }", "", "'sums.one' has no published 'score' to be on a side of"},
        {"[[checks]]", "[checks]", "is not TOML here"},
    };
    for (const auto& m : mistakes) {
        const std::string error = error_of(with(arithmetic_file, m.from, m.to), code);
        EXPECT_NE(error.find(m.error), std::string::npos) << m.to << " gives: " << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
}

TEST_F(arithmetic_case, mutated_files_do_no_harm) {
    random_source random(11);
    const std::string text = read_text(data_file("cases", "lockref"));
    for (int round = 0; round < 500; ++round) {
        std::string mutant = round % 2 == 0 ? arithmetic_file : text;
        if (round % 3 == 0)
            mutant.resize(random.below(mutant.size()));
        for (std::uint64_t flips = 1 + random.below(4); flips > 0 && !mutant.empty(); --flips)
            mutant[random.below(mutant.size())] = static_cast<char>(random.below(256));
        ASSERT_EQ(error_of(mutant, round % 2 == 0 ? code : all_cases()).find('\n'), std::string::npos);
    }
}

TEST_F(arithmetic_case, one_number_of_machine_and_workload_may_be_fitted) {
    const case_description fitted =
        parse_case(with(with(arithmetic_file, "machine = \"tiny\"", "machine = \"xeon-e5-4650-4s\""),
                        "assumed = \"round\"", "fitted = \"something\""),
                   "c.toml", code);
    try {
        plan_case(fitted, {});
        FAIL();
    } catch (const file_error& error) {
        EXPECT_NE(std::string(error.what()).find("base of the workload are fitted; one may be"),
                  std::string::npos)
            << error.what();
    }
    EXPECT_THROW(plan_case(c, {.only = {"sum"}}), file_error);
}

// Every case of the project, as far as its file goes.
TEST(cases, are_read_and_their_machines_too) {
    EXPECT_FALSE(data_names("cases").empty());
    for (const std::string& name : data_names("cases")) {
        const case_description c = read_case(data_file("cases", name));
        EXPECT_EQ(c.name, name);
        EXPECT_FALSE(c.checks.empty());
        for (const scale s : {scale::standard, scale::full})
            plan_case(c, {.scale = s});
    }
}

// The real thing, small: two threads for half a simulated millisecond.
TEST(lockref_case, runs_and_gives_the_same_bytes_for_any_number_of_host_threads) {
    const std::string text = R"(name = "lockref"
summary = "small"
thread = "none"
[[experiments]]
name = "tiny"
about = "two threads"
machine = "tiny"
metric = "loops"
baseline = "lock"
default = { seeds = 3, seconds = 0.0005 }
[experiments.workload]
threads = { value = 2, assumed = "small" }
seconds = { value = 10, assumed = "small" }
work_before_ns = { value = 200, assumed = "small" }
work_after_ns = { value = 100, assumed = "small" }
jitter_percent = { value = 10, assumed = "small" }
name_near_percent = { value = 50, assumed = "small" }
chain_depth = { value = 3, assumed = "small" }
[[experiments.variants]]
name = "lock"
about = "lock"
code = "ticket.lock"
[[experiments.variants]]
name = "cas_pause"
about = "pause"
code = "tas.cas_pause"
[[experiments.variants]]
name = "cas"
about = "cas"
code = "ticket.cas"
)";
    const case_description c = parse_case(text, "small.toml");
    const case_result result = run_case(c, {}, 1);
    for (const variant_result& v : result.experiments[0].variants) {
        EXPECT_EQ(v.error, "");
        EXPECT_GT(v.value("loops min").value_or(0), 0) << v.what->name;
        EXPECT_GE(v.value("fastest/slowest").value_or(0), 1) << v.what->name;
        EXPECT_LE(v.value("jain").value_or(2), 1) << v.what->name;
        EXPECT_FALSE(v.profile.empty());
        double percent = 0;
        for (const stack_share& s : v.profile)
            percent += s.percent;
        EXPECT_NEAR(percent, 100, 0.5);
    }
    EXPECT_EQ(as_json(result).dump(), as_json(run_case(c, {}, 4)).dump());
    EXPECT_NE(as_json(result).dump(), as_json(run_case(c, {.first_seed = 9}, 4)).dump());
}

} // namespace
