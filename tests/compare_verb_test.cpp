// `holdfast compare` and `history` as their users meet them, on a program whose figure its environment says.
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_program.hpp"

namespace {

using holdfast::test::outcome;
using nlohmann::json;

#ifdef HOLDFAST_HAVE_SQLITE
constexpr bool keeps_results = true;
#else
constexpr bool keeps_results = false;
#endif

// Runs count up in the file `n`; with two locks the order is A B, A B, B A, A B, ...
class compare_verb : public holdfast::test::in_a_folder {
protected:
    void script(const std::string& text) {
        std::ofstream(folder_ / "program") << "#!/bin/sh\necho x >>n\nn=$(wc -l <n)\n" << text << '\n';
        std::filesystem::permissions(folder_ / "program", std::filesystem::perms::owner_all);
        std::filesystem::remove(folder_ / "n");
    }
    // The second lock's figure is BASE + n + STEP, the first one's BASE + n.
    void with_a_step() {
        script("case $(( (n + 1) % 4 )) in 1|2) b=1;; *) b=0;; esac\n"
               "echo noise; echo \"figure $(( 1000 + n + b * ${STEP:-0} ))\" >&2");
    }
    outcome compare(const std::string& arguments) {
        return holdfast_run(fmt::format("compare --lock glibc --lock glibc {} -- ./program", arguments));
    }
};

TEST_F(compare_verb, a_gate_is_shut_by_what_is_both_large_and_no_luck) {
    const struct {
        int step;
        const char* arguments;
        int status;
    } cases[] = {
        {200, "--metric 'figure (\\d+)' --gate 10 --runs 6", 1},
        {200, "--metric 'figure (\\d+)' --gate 30 --runs 6", 0},        // not so large
        {200, "--metric 'figure (\\d+)' --gate 10 --runs 3", 0},        // may be luck
        {200, "--metric 'figure (\\d+)' --runs 6", 0},                  // no gate
        {200, "--higher-better 'figure (\\d+)' --gate 10 --runs 6", 0}, // better
        {-200, "--higher-better 'figure (\\d+)' --gate 10 --runs 6", 1},
        {-200, "--metric 'figure (\\d+)' --gate 10 --runs 6", 0},
        {0, "--metric 'figure (\\d+)' --gate 0 --runs 6", 0},
    };
    for (const auto& c : cases) {
        with_a_step();
        const outcome o = run(fmt::format("STEP={} {} compare --lock glibc --lock glibc {} -- ./program",
                                          c.step, (build_ / "holdfast").string(), c.arguments));
        EXPECT_EQ(o.status, c.status) << c.step << ' ' << c.arguments << o.out << o.error;
        EXPECT_EQ(o.error.find("gate: ") != std::string::npos, c.status == 1) << o.error;
        EXPECT_EQ(o.out.find("noise"), std::string::npos);
    }
}

TEST_F(compare_verb, json_has_all_runs) {
    with_a_step();
    const outcome o = compare("--metric 'figure (\\d+)' --runs 2 --json -");
    ASSERT_EQ(o.status, 0) << o.error;
    const json j = json::parse(o.out);
    EXPECT_EQ(j["command"], "./program");
    EXPECT_EQ(j["variants"].size(), 14u);
    EXPECT_EQ(j["variants"][6]["values"], (json{1003, 1006}));
    EXPECT_EQ(j["variants"][13]["values"], (json{1004, 1005}));
    EXPECT_FALSE(j["warnings"].empty());
    EXPECT_GT(j["variants"][0]["median"], 0);
}

TEST_F(compare_verb, a_run_that_fails_ends_it_with_3_and_nothing_written) {
    script("echo so far; [ $n -lt 5 ] || { echo broken >&2; exit 9; }");
    const outcome o = compare(fmt::format("--runs 3 --json a.json {}", keeps_results ? "--store a.db" : ""));
    EXPECT_EQ(o.status, 3);
    EXPECT_EQ(o.out, "");
    EXPECT_EQ(o.error, "so far\nbroken\nholdfast: run 2 with glibc, ./program, exited with status 9\n");
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a.json"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "a.db"));
}

TEST_F(compare_verb, every_run_gets_the_same_signals_and_no_input) {
    script("cat; kill -INT $$; echo ignored");
    const std::string compare = fmt::format(
        "env --default-signal=INT {} compare --lock glibc --lock glibc --runs 2 -- ./program <program",
        (build_ / "holdfast").string());
    const outcome o = run(compare);
    EXPECT_EQ(o.status, 3);
    EXPECT_NE(o.error.find("the warm-up with glibc, ./program, was killed by signal 2"), std::string::npos)
        << o.error;
    EXPECT_EQ(o.error.find("#!/bin/sh"), std::string::npos);
    script("[ $n -ne 3 ] || kill -INT $$");
    EXPECT_EQ(run(compare).status, 3); // not the first process that is started
}

TEST_F(compare_verb, mistakes_are_one_line_and_2) {
    script("echo hello");
    const struct {
        const char* arguments;
        const char* error;
    } mistakes[] = {
        {"compare --lock glibc -- ./program", "--lock: name two at least"},
        {"compare --lock glibc --lock ticke -- ./program", "did you mean 'ticket'?"},
        {"compare --lock glibc --lock glibc", "CMD is required"},
        {"compare --lock glibc --lock glibc -- ./none", "./none: No such file"},
        {"compare --lock glibc --lock glibc --metric '(' -- ./program",
         "--metric (: not a regular expression"},
        {"compare --lock glibc --lock glibc --higher-better 'a' -- ./program",
         "--higher-better a: has 0 groups"},
        {"compare --lock glibc --lock glibc --metric 'a(b)' -- ./program",
         "--metric a(b): no number like this in the output of the warm-up with glibc"},
        {"compare --lock glibc --lock glibc --runs 0 -- ./program", "--runs"},
        {"compare --lock glibc --lock glibc --json /nowhere/x -- ./program", "/nowhere/x: can't be written"},
        {"compare --lock glibc --lock glibc --store program -- ./program", "program: "},
        {"history none.db", "none.db: "},
        {"history program", "program: "},
        {"history", "FILE is required"},
    };
    for (const auto& m : mistakes) {
        const outcome o = holdfast_run(m.arguments);
        EXPECT_EQ(o.status, 2) << m.arguments;
        EXPECT_EQ(o.out, "") << m.arguments;
        EXPECT_NE(o.error.find(m.error), std::string::npos) << m.arguments << " gives: " << o.error;
        EXPECT_EQ(o.error.find('\n'), o.error.size() - 1) << m.arguments << " gives: " << o.error;
    }
}

TEST_F(compare_verb, a_build_that_keeps_no_results_says_so_before_it_runs_anything) {
    if (keeps_results)
        GTEST_SKIP() << "built with SQLite";
    script("echo x >>ran");
    for (const outcome& o : {compare("--store a.db"), holdfast_run("history a.db")}) {
        EXPECT_EQ(o.status, 2);
        EXPECT_EQ(o.error, "holdfast: a.db: this holdfast was built without SQLite (libsqlite3-dev), so it "
                           "keeps no results\n");
    }
    EXPECT_FALSE(std::filesystem::exists(folder_ / "ran"));
}

TEST_F(compare_verb, history_tells_of_what_was_stored) {
    if (!keeps_results)
        GTEST_SKIP() << "built without SQLite";
    with_a_step();
    const outcome first = compare("--metric 'figure (\\d+)' --runs 5 --store a.db --label before");
    ASSERT_EQ(first.status, 0) << first.error;
    ASSERT_EQ(compare("--metric 'figure (\\d+)' --runs 5 --store a.db --label after").status, 0);
    const outcome o = holdfast_run("history a.db --command program");
    EXPECT_EQ(o.status, 0);
    EXPECT_EQ(o.error, "");
    EXPECT_NE(o.out.find("figure (\\d+) with glibc, on "), std::string::npos) << o.out;
    EXPECT_NE(o.out.find("before"), std::string::npos);
    EXPECT_EQ(o.out.find("forced switches"), std::string::npos);
    EXPECT_NE(holdfast_run("history a.db --all").out.find("forced switches"), std::string::npos);
    const outcome none = holdfast_run("history a.db --command xyzzy");
    EXPECT_EQ(none.status, 2);
    EXPECT_EQ(none.error, "holdfast: a.db: no command with 'xyzzy' in it\n");
}

} // namespace
