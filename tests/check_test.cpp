// The checks of locks: that a suite finds what is wrong with a lock that is broken by design, says which execution it was, and
// shows it again; and that the program `holdfast check` does so, too.
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "check/output.hpp"
#include "check/suites.hpp"
#include "model/chart.hpp"
#include "model/exclusion.hpp"
#include "model/jobs.hpp"

#include "run_program.hpp"

namespace holdfast::model {
namespace {

using nlohmann::json;

// A flag, taken by an exchange; unless `Looks`, in which case it is looked at first and taken then.
template <bool Looks>
class flag_lock {
public:
    void lock() {
        for (;;) {
            platform::await(
                std::memory_order_relaxed, [](bool taken) { return !taken; }, taken_);
            if (Looks) {
                taken_.store(true, std::memory_order_relaxed);
                return;
            }
            if (!taken_.exchange(true, std::memory_order_acquire))
                return;
        }
    }
    void unlock() { taken_.store(false, std::memory_order_release); }
    bool is_locked() const { return taken_.load(std::memory_order_relaxed); }

private:
    platform::atomic<bool> taken_{false};
};

template <unsigned Threads>
using crowded = exclusion<flag_lock<false>, Threads>;

suite sound() {
    suite s("sound", "check_test.cpp");
    s.add<exclusion<flag_lock<false>, 2>>("exclusion");
    s.add<exclusion<flag_lock<false>, 2, 2>>("twice", {.preemptions = 2});
    s.widen<crowded>("exclusion");
    return s;
}

suite broken() {
    suite s("broken", "check_test.cpp");
    s.add<exclusion<flag_lock<true>, 2>>("exclusion");
    return s;
}

TEST(checking, explores_the_scenarios_in_their_order_whoever_has_done_them) {
    const suite s = sound();
    const std::vector<exploration> one = explore_all(tasks_of(s));
    const std::vector<exploration> two = explore_all(tasks_of(s), {.threads = 2});
    ASSERT_EQ(one.size(), 3u);
    EXPECT_EQ(one[0].reached(), extent::complete);
    EXPECT_EQ(one[1].reached(), extent::bounded);
    EXPECT_EQ(one[2].reached(), extent::random);
    for (std::size_t i = 0; i < one.size(); ++i) {
        EXPECT_EQ(one[i].of.what, &s.scenarios()[i]);
        EXPECT_EQ(one[i].result.executions, two[i].result.executions);
    }
    EXPECT_EQ(s.wide(8)->threads, 8u);
    EXPECT_EQ(s.wide(3), nullptr);
}

TEST(checking, who_is_cut_off_by_time_is_incomplete) {
    const suite s = sound();
    const std::vector<exploration> done = explore_all(tasks_of(s), {.seconds = 0});
    EXPECT_EQ(done[2].reached(), extent::incomplete);
    EXPECT_GT(done[2].result.executions, 0u);
}

TEST(checking, names_the_execution_in_which_a_lock_fails) {
    const suite s = broken();
    const exploration e = explore_all(tasks_of(s))[0];
    ASSERT_EQ(e.reached(), extent::failed);
    const outcome again = replay(*e.of.what->make(), e.of.bounds, e.result.choices);
    EXPECT_EQ(again.failure, e.result.failure);
    EXPECT_EQ(again.trace.size(), e.result.trace.size());
    const std::string text = check::as_text(std::vector{e}, {});
    EXPECT_NE(text.find("again: holdfast check broken --threads 2 --scenario 'exclusion' --replay=" +
                        e.result.choices + "\n"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find("1 FAILED"), std::string::npos) << text;
}

TEST(checking, judges_mutants_of_any_header) {
    const suite s = sound();
    const suite* const suites[] = {&s};
    const judgement j = judge_all(suites)[0];
    EXPECT_TRUE(j.good()) << check::as_text(std::vector{j}, false, {});
    EXPECT_EQ(j.list.mutants.size(), 5u);
    EXPECT_EQ(judge_all(suites, "write dropped")[0].verdicts.size(), 2u);
}

TEST(checking, an_argument_for_what_is_caught_or_is_not_there_is_wrong) {
    suite s = sound();
    s.survives("unlock store(release): release -> relaxed", "wishful thinking");
    s.survives("unlock store(seq_cst): write dropped", "nothing of the kind");
    const suite* const suites[] = {&s};
    const judgement j = judge_all(suites)[0];
    EXPECT_FALSE(j.good());
    ASSERT_EQ(j.list.unknown.size(), 1u);
    const std::string text = check::as_text(std::vector{j}, false, {});
    EXPECT_NE(text.find("UNEXPECTEDLY: data race"), std::string::npos) << text;
    EXPECT_NE(text.find("no such mutant or operation: unlock store(seq_cst)"), std::string::npos) << text;
    EXPECT_THROW(s.add<crowded<2>>("exclusion"), std::logic_error);
}

TEST(chart, has_a_column_for_each_thread_and_fits) {
    std::vector<step> trace{{step::alone, "store(relaxed): 1", {"f", "a/b.hpp", 1}}};
    for (unsigned t = 0; t < 8; ++t)
        trace.push_back({t,
                         "compare_exchange_strong(acq_rel): 0x7f21c6f86f40 -> 0x7f21c6f45f40",
                         {"lock_slow<T>", "a/rwsem.hpp", 123}});
    trace.push_back({step::alone, "fails: left locked", {}});
    for (const std::size_t width : {80u, 100u, 160u}) {
        const std::string text = chart(trace, width);
        std::size_t longest = 0, begin = 0;
        for (std::size_t end = text.find('\n'); end != text.npos;
             begin = end + 1, end = text.find('\n', begin))
            longest = std::max(longest, end - begin);
        EXPECT_LE(longest, width) << text;
        EXPECT_NE(text.find("rwsem.hpp:123 lock_slow\n"), std::string::npos) << text;
        EXPECT_NE(text.find("(before: 1 operation alone)"), std::string::npos) << text;
        EXPECT_NE(text.find("(alone) fails: left locked"), std::string::npos) << text;
    }
    EXPECT_EQ(
        chart({{0, "store(relaxed): 1", {"f", "a.cpp", 7}}, {1, "load(relaxed): 1", {"g", "a.cpp", 8}}}, 80),
        "thread 0                      thread 1\n"
        "store(relaxed): 1             |                                        a.cpp:7 f\n"
        "|                             load(relaxed): 1                         a.cpp:8 g\n");
}

class check_verb : public test::in_a_folder {};

TEST_F(check_verb, says_what_was_complete) {
    const test::outcome o = holdfast_run("check tas_lock mcs_lock --json c.json");
    EXPECT_EQ(o.status, 0) << o.out << o.error;
    EXPECT_NE(o.out.find("complete"), std::string::npos);
    EXPECT_NE(o.out.find("2 locks, "), std::string::npos) << o.out;
    const json rows = json::parse(read_text(folder_ / "c.json"))["locks"];
    EXPECT_EQ(rows[0]["lock"], "holdfast::tas_lock");
    EXPECT_EQ(rows[0]["result"], "ok");
    EXPECT_TRUE(rows[0]["complete"]);
    EXPECT_GT(rows[0]["executions"], 0);
}

TEST_F(check_verb, goes_beyond_the_scenarios_that_are_listed) {
    const json rows =
        json::parse(holdfast_run("check tas_lock --threads 6 --seconds 2 --json -").out)["locks"];
    ASSERT_EQ(rows.size(), 1u);
    EXPECT_EQ(rows[0]["threads"], 6);
    EXPECT_EQ(rows[0]["bound"], "random");
    const json bounded =
        json::parse(holdfast_run("check tas_lock --threads 3 --bound 1 --json -").out)["locks"];
    EXPECT_EQ(bounded[0]["bound"], "1 preemption");
}

TEST_F(check_verb, shows_the_execution_of_a_mutant_and_shows_it_again) {
    const test::outcome o =
        holdfast_run("check ticket_lock --mutant 'unlock fetch_add(release)' --json m.json");
    EXPECT_EQ(o.status, 0) << o.error;
    EXPECT_NE(o.out.find("thread 0  "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("ticket_lock.hpp:"), std::string::npos) << o.out;
    const json rows = json::parse(read_text(folder_ / "m.json"))["mutants"];
    ASSERT_EQ(rows.size(), 2u);
    for (const json& row : rows) {
        EXPECT_TRUE(row["caught"]);
        const std::string again = row["again"].get<std::string>().substr(sizeof "holdfast");
        const test::outcome replayed = holdfast_run(again);
        EXPECT_EQ(replayed.status, 1) << again << replayed.error;
        EXPECT_NE(replayed.out.find(row["failure"].get<std::string>()), std::string::npos) << replayed.out;
    }
    // Without the mutant the lock waits where it has not, so the choices are others.
    EXPECT_EQ(holdfast_run("check ticket_lock --threads 2 --scenario exclusion --replay=zz").status, 2);
}

TEST_F(check_verb, judges_the_mutants_of_a_lock) {
    const test::outcome o = holdfast_run("check mcs_lock --mutants");
    EXPECT_EQ(o.status, 0) << o.out << o.error;
    EXPECT_NE(o.out.find("unlock store(release): write dropped"), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("0 argued"), std::string::npos) << o.out;
}

TEST_F(check_verb, a_mistake_is_one_line_on_stderr_and_status_2) {
    const struct {
        const char* arguments;
        const char* error;
    } mistakes[] = {
        {"check mcs_lok", "there is no lock 'mcs_lok' to check; did you mean 'mcs_lock'?"},
        {"check --threads 9", "--threads: "},
        {"check mcs_lock --scenario xyzzy", "no scenario is like that; see holdfast check --list"},
        {"check mcs_lock --mutant xyzzy", "no mutant is called that; see holdfast check --mutants"},
        {"check --replay=0", "--replay: name the one lock"},
        {"check mcs_lock --replay=0", "say which with --scenario and --threads"},
        {"check mcs_lock --mutants --bound 2", "--mutants"},
        {"check --json /nowhere/x.json", "/nowhere/x.json: can't be written: No such file or directory"},
    };
    for (const auto& m : mistakes) {
        const test::outcome o = holdfast_run(m.arguments);
        EXPECT_EQ(o.status, 2) << m.arguments;
        EXPECT_EQ(o.out, "") << m.arguments;
        EXPECT_NE(o.error.find(m.error), std::string::npos) << m.arguments << " gives: " << o.error;
    }
}

// docs/check_scenarios.md is what the program says.
TEST_F(check_verb, the_docs_list_its_scenarios) {
    const std::string listed = holdfast_run("check --list --markdown").out;
    EXPECT_EQ(read_text("docs/check_scenarios.md"), listed)
        << "holdfast check --list --markdown >docs/check_scenarios.md";
}

} // namespace
} // namespace holdfast::model
