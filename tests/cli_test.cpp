// The program as a user meets it: exit statuses, one line for each mistake, no output where there is an
// error, and JSON that is there as a whole or not at all.
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/data_files.hpp"

#include "run_program.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using holdfast::test::outcome;

class cli : public holdfast::test::in_a_folder {
protected:
    void SetUp() override {
        in_a_folder::SetUp();
        program_ = build_ / "holdfast";
    }

    outcome run(const std::string& arguments, const std::string& environment = "") {
        return in_a_folder::run(fmt::format("{} {} {}", environment, program_.string(), arguments));
    }

    std::filesystem::path program_;
};

// One seed of the smallest experiment.
constexpr const char* quick = "replay lockref --only s390 --runs 1";

TEST_F(cli, a_mistake_is_one_line_on_stderr_and_status_2) {
    const struct {
        const char* arguments;
        const char* error;
    } mistakes[] = {
        {"", "subcommand is required"},
        {"replya", "there is no verb 'replya'; did you mean 'replay'?"},
        {"xyzzy", "there is no verb 'xyzzy'; there are: replay"},
        {"replay lokref", "cases/lokref.toml: no such file; did you mean 'lockref'?"},
        {"replay ./none.toml", "./none.toml: No such file or directory"},
        {"replay lockref --scale big", "--scale: big not in {default,full}"},
        {"replay lockref --runs 0", "--runs: "},
        {"replay lockref --runs x", "--runs"},
        {"replay lockref --only s930", "did you mean 's390'?"},
        {"replay lockref --machine itanum-4s", "did you mean 'itanium-4s'?"},
        {"replay lockref --machine ./bad.toml", "./bad.toml:1: "},
        {"replay lockref --frobnicate", "--frobnicate"},
        {"replay lockref --platform native --sensitivity", "drop them or --platform native"},
        {"replay lockref --cpus 1,2 --sensitivity", "--cpus does not judge; drop one of them"},
        {"replay lockref --cpus 0,1", "--cpus: "},
        {"replay lockref --cpus 1,x", "--cpus"},
        {"replay lockref --only s390 --cpus 2,300", "lockref.s390: can't run on 300 CPUs: s390-lpar has "},
        {"replay lockref --platform native --cpus 100000", "this process has "},
        {"replay lockref --json /nowhere/x.json",
         "/nowhere/x.json: can't be written: No such file or directory"},
        {"replay lockref --json .", ".: can't be written: Is a directory"},
        {"machines tinny", "machines/tinny.toml: no such file; did you mean 'tiny'?"},
        {"bench smi", "there is no bench 'smi'; did you mean 'sim'?"},
        {"bench grid --locks std::mutx", "there is no lock 'std::mutx'; did you mean 'std::mutex'?"},
        {"bench grid --platform sim --locks std::mutex",
         "there is no lock 'std::mutex' for simulated machines"},
        {"bench grid --threads 0", "--threads: "},
        {"bench grid --platform sim --machine tiny", "tiny has 2 CPUs; say --threads"},
        {"torture shred_mutex", "there is no lock 'shred_mutex' to torture; did you mean 'shared_mutex'?"},
        {"torture --threads 0", "--threads: "},
        {"torture --json /nowhere/x.json", "/nowhere/x.json: can't be written: No such file or directory"},
    };
    std::FILE* const bad = std::fopen((folder_ / "bad.toml").c_str(), "w");
    ASSERT_NE(bad, nullptr);
    std::fputs("name = ", bad);
    std::fclose(bad);
    for (const auto& m : mistakes) {
        const outcome o = run(m.arguments);
        EXPECT_EQ(o.status, 2) << m.arguments;
        EXPECT_EQ(o.out, "") << m.arguments;
        EXPECT_NE(o.error.find(m.error), std::string::npos) << m.arguments << " gives: " << o.error;
        EXPECT_EQ(o.error.find('\n'), o.error.size() - 1) << m.arguments << " gives: " << o.error;
    }
}

TEST_F(cli, help_has_an_example_for_each_verb) {
    for (const char* verb : {"", "replay", "machines", "bench", "bench grid", "record", "report", "run",
                             "compare", "history", "torture", "check"}) {
        const outcome o = run(fmt::format("{} --help", verb));
        EXPECT_EQ(o.status, 0);
        EXPECT_NE(o.out.find("Example: holdfast"), std::string::npos) << verb;
        EXPECT_EQ(o.error, "");
    }
    EXPECT_EQ(run("--version").out.find("holdfast "), 0u);
}

TEST_F(cli, machines_are_listed_and_explained) {
    const outcome list = run("machines");
    EXPECT_EQ(list.status, 0);
    EXPECT_NE(list.out.find("s390-lpar"), std::string::npos);
    const outcome one = run("machines itanium-4s");
    EXPECT_NE(one.out.find("coherence.transfer_remote_ns = "), std::string::npos);
    EXPECT_EQ(one.out.find('\x1b'), std::string::npos);
    const json all = json::parse(run("machines --json -").out);
    EXPECT_GE(all["machines"].size(), 4u);
    const json explained = json::parse(run("machines tiny --json -").out);
    EXPECT_EQ(explained["machines"][0]["parameters"][0]["key"], "topology.sockets");
    EXPECT_EQ(explained["machines"][0]["parameters"][0]["assumed"], "the smallest");
}

TEST_F(cli, data_is_found_in_a_checkout_and_beside_an_installed_program) {
    const fs::path machine = holdfast::data_file("machines", "tiny");
    for (const auto& [place, data] :
         {std::pair{"build/release", "machines"}, {"bin", "share/holdfast/machines"}}) {
        fs::create_directories(folder_ / place);
        fs::create_directories(folder_ / data);
        fs::copy_file(machine, folder_ / data / "tiny.toml");
        fs::copy_file(program_, folder_ / place / "holdfast");
        const std::string command = fmt::format(
            "env -u HOLDFAST_DATA {}/holdfast machines tiny >/dev/null 2>&1", (folder_ / place).string());
        EXPECT_EQ(std::system(command.c_str()), 0) << place;
        fs::remove_all(folder_ / data);
        EXPECT_NE(std::system(command.c_str()), 0) << place;
    }
}

TEST_F(cli, a_replay_gives_tables_or_json) {
    const outcome table = run(fmt::format("{} --json r.json", quick));
    EXPECT_TRUE(table.status == 0 || table.status == 1) << table.error;
    EXPECT_NE(table.out.find("s390.cas_pause/lock"), std::string::npos);
    EXPECT_EQ(table.error, "");
    const std::string file = holdfast::read_text(folder_ / "r.json");
    const outcome piped = run(fmt::format("{} --jobs 1 --json -", quick));
    EXPECT_EQ(piped.out, file);
    EXPECT_EQ(piped.status, table.status);
    const json all = json::parse(file);
    EXPECT_TRUE(all.contains("holdfast"));
    EXPECT_EQ(all["cases"][0]["case"], "lockref");
    // Nothing is left of the way there.
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
        EXPECT_NE(entry.path().extension(), ".tmp");
}

TEST_F(cli, the_status_is_1_only_for_a_miss) {
    for (const char* arguments : {quick, "replay lockref --only ia64 --runs 2"}) {
        const outcome o = run(fmt::format("{} --json -", arguments));
        bool missed = false;
        const json all = json::parse(o.out);
        for (const json& entry : all["cases"]) {
            for (const json& check : entry["checks"])
                missed |= check["verdict"] == "miss";
        }
        EXPECT_EQ(o.status, missed ? 1 : 0) << arguments;
    }
}

TEST_F(cli, throughput_against_cpus) {
    const outcome table = run(fmt::format("{} --cpus 4,1,2,4 --json r.json", quick));
    EXPECT_EQ(table.status, 0) << table.error;
    EXPECT_EQ(table.error, "");
    EXPECT_NE(table.out.find("coherency kappa"), std::string::npos);
    const json all = json::parse(holdfast::read_text(folder_ / "r.json"));
    EXPECT_TRUE(all["cases"].empty());
    ASSERT_EQ(all["curves"].size(), 3u);
    const json& curve = all["curves"][0];
    EXPECT_EQ(curve["case"], "lockref");
    EXPECT_EQ(curve["experiment"], "s390");
    EXPECT_EQ(curve["variant"], "lock");
    EXPECT_EQ(curve["metric"], "loops");
    ASSERT_EQ(curve["points"].size(), 3u);
    EXPECT_EQ(curve["points"][2]["cpus"], 4);
    for (const char* key : {"median", "min", "max", "speedup", "usl"})
        EXPECT_GT(curve["points"][2][key], 0) << key;
    EXPECT_GT(curve["usl"]["lambda"], 0);
    for (const char* key : {"sigma", "kappa", "peak_cpus", "r2"})
        EXPECT_TRUE(curve["usl"].contains(key)) << key;
}

TEST_F(cli, torture_gives_a_table_and_json_and_fails_for_a_broken_lock) {
    const outcome sound = run("torture std::mutex mutex --threads 3 --seconds 0.05 --json t.json");
    EXPECT_EQ(sound.status, 0) << sound.out << sound.error;
    EXPECT_NE(sound.out.find("holdfast::mutex"), std::string::npos);
    const json runs = json::parse(holdfast::read_text(folder_ / "t.json"))["runs"];
    ASSERT_EQ(runs.size(), 2u);
    EXPECT_EQ(runs[0]["lock"], "std::mutex");
    EXPECT_EQ(runs[1]["verdict"], "ok");
    EXPECT_GT(runs[1]["exclusive"], 0);
    const outcome broken = run("torture broken::no_exclusion --seconds 20");
    EXPECT_EQ(broken.status, 1);
    EXPECT_NE(broken.out.find("again: holdfast torture broken::no_exclusion"), std::string::npos);
    EXPECT_NE(run("torture --list").out.find("broken::lost_wake_up"), std::string::npos);
}

TEST_F(cli, a_grid_gives_tables_and_json) {
    const outcome table =
        run("bench grid --threads 2 --writes 10 --section 200 --think 0 --runs 2 --duration 20 "
            "--locks rwsem,std::shared_mutex,rwsem --only-grid --cells --json g.json");
    EXPECT_EQ(table.status, 0) << table.error;
    EXPECT_EQ(table.error, "");
    EXPECT_NE(table.out.find("holdfast::rwsem (40 bytes)"), std::string::npos) << table.out;
    EXPECT_NE(table.out.find("holdfast::rwsem #2"), std::string::npos) << table.out;
    const json all = json::parse(holdfast::read_text(folder_ / "g.json"));
    EXPECT_GE(all["machine"]["cpus"], 1);
    ASSERT_EQ(all["cells"].size(), 3u);
    for (const json& c : all["cells"]) {
        EXPECT_EQ(c["bench"], "grid");
        EXPECT_EQ(c["platform"], "native");
        EXPECT_EQ(c["threads"], 2);
        EXPECT_EQ(c["write_percent"], 10);
        EXPECT_EQ(c["section_ns"], 200);
        EXPECT_EQ(c["think_ns"], 0);
        EXPECT_EQ(c["rounds"], 2);
        for (const char* key : {"median", "min", "max"})
            EXPECT_GT(c["ops_per_s"][key], 0) << key;
        for (const char* key : {"p50", "p99", "p999", "max"})
            EXPECT_TRUE(c["wait_ns"].contains(key)) << key;
        for (const char* key : {"voluntary", "involuntary"})
            EXPECT_TRUE(c["switches_per_op"].contains(key)) << key;
        EXPECT_GT(c["cpu_ns_per_op"], 0);
        EXPECT_GT(c["jain"], 0);
        EXPECT_GE(c["foreign_load"], 0);
        EXPECT_GT(c["lock_bytes"], 0);
    }
    EXPECT_FALSE(all["cells"][0].contains("ratio"));
    EXPECT_GT(all["cells"][1]["ratio"]["speed"], 0);
    ASSERT_EQ(all["comparisons"].size(), 2u);
    EXPECT_EQ(all["comparisons"][0]["subject"], "holdfast::rwsem");
    EXPECT_EQ(all["comparisons"][0]["lock"], "std::shared_mutex");
    EXPECT_EQ(all["comparisons"][0]["cells"], 1);
    EXPECT_EQ(all["worst"].size(), 1u);
}

TEST_F(cli, output_that_can_t_be_written_is_an_error) {
    const outcome o = run("machines >/dev/full");
    EXPECT_EQ(o.status, 2);
    EXPECT_NE(o.error.find("standard output: can't be written"), std::string::npos);
}

} // namespace
