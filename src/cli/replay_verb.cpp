// holdfast replay: published against replayed.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "replay/case_file.hpp"
#include "replay/output.hpp"
#include "replay/runner.hpp"
#include "replay/scaling.hpp"
#include "replay/scaling_output.hpp"
#include "replay/sensitivity.hpp"
#include "sim/data_files.hpp"

namespace holdfast::cli {

namespace {

struct options {
    std::vector<std::string> cases;
    std::string platform = "sim";
    std::string scale = "default";
    std::optional<std::int64_t> runs;
    std::uint64_t seed = 1;
    unsigned jobs = std::max(std::thread::hardware_concurrency(), 1u);
    std::vector<std::string> only;
    std::string machine;
    std::string json;
    std::vector<std::int64_t> cpus;
    bool sensitivity = false;
    bool list = false;

    [[nodiscard]] bool native() const { return platform == "native"; }
    // Native runs would disturb each other.
    [[nodiscard]] unsigned host_threads() const { return native() ? 1 : jobs; }
    [[nodiscard]] bool tables() const { return json != "-"; }
};

replay::plan_options plan_options_of(const options& o) {
    return {.on = o.native() ? replay::target::native : replay::target::sim,
            .scale = o.scale == "full" ? replay::scale::full : replay::scale::standard,
            .runs = o.runs,
            .first_seed = o.seed,
            .only = o.only,
            .machine = o.machine};
}

// --cpus: every case's curves instead of its checks.
int scale_cases(const options& o, const std::vector<replay::case_description>& cases) {
    std::vector<std::vector<replay::case_plan>> plans;
    plans.reserve(cases.size());
    for (const replay::case_description& c : cases)
        plans.push_back(replay::plan_scaling(c, plan_options_of(o), o.cpus));

    bool failed = false;
    nlohmann::ordered_json curves = nlohmann::ordered_json::array();
    for (const std::vector<replay::case_plan>& plan : plans) {
        replay::case_scaling scaling;
        {
            progress_bar bar;
            scaling = replay::measure_scaling(plan, o.host_threads(),
                                              [&](std::size_t done, std::size_t total,
                                                  std::string_view what) { bar.show(done, total, what); });
        }
        failed |= replay::has_error(scaling);
        for (nlohmann::ordered_json& curve : replay::as_json(scaling))
            curves.push_back(std::move(curve));
        if (o.tables())
            print((&plan == &plans.front() ? "" : "\n") + replay::as_text(scaling, colour_wanted()));
    }
    if (!o.json.empty()) {
        write_json(o.json, {{"holdfast", HOLDFAST_VERSION},
                            {"cases", nlohmann::ordered_json::array()},
                            {"curves", std::move(curves)}});
    }
    return failed ? 1 : 0;
}

// Everything that can be wrong with the files is wrong before anything runs.
int replay_cases(const options& o) {
    if (o.native() && (o.sensitivity || !o.machine.empty()))
        throw usage_error(
            "--sensitivity and --machine are about simulated machines; drop them or --platform native");
    if (o.sensitivity && !o.cpus.empty())
        throw usage_error("--sensitivity is about checks, which --cpus does not judge; drop one of them");

    check_writable(o.json);
    std::vector<replay::case_description> cases;
    const std::vector<std::string> names = o.cases.empty() ? data_names("cases") : o.cases;
    if (names.empty())
        throw file_error("cases: no such folder of data; set HOLDFAST_DATA to the folder that has cases/");
    cases.reserve(names.size());
    for (const std::string& name : names)
        cases.push_back(replay::read_case(data_file("cases", name)));
    if (o.list) {
        for (const replay::case_description& c : cases)
            print(replay::listed(c, colour_wanted()));
        return 0;
    }
    if (!o.cpus.empty())
        return scale_cases(o, cases);
    std::vector<replay::case_plan> plans;
    plans.reserve(cases.size());
    for (const replay::case_description& c : cases)
        plans.push_back(replay::plan_case(c, plan_options_of(o)));

    const unsigned jobs = o.host_threads();
    bool bad = false;
    nlohmann::ordered_json entries = nlohmann::ordered_json::array();
    nlohmann::ordered_json sensitivities = nlohmann::ordered_json::array();
    for (const replay::case_plan& plan : plans) {
        std::optional<replay::case_result> result;
        std::optional<replay::sensitivity> moved;
        {
            progress_bar bar;
            const replay::progress show = [&](std::size_t done, std::size_t total, std::string_view what) {
                bar.show(done, total, what);
            };
            const std::vector<replay::planned_run> runs = replay::runs_of(plan);
            result = replay::collect(plan, replay::run_all(runs, jobs, show));
            if (o.sensitivity)
                moved = replay::vary_assumed(plan, *result, jobs, show);
        }
        bad |= replay::has_miss(*result) || replay::has_failure(*result);
        for (nlohmann::ordered_json& entry : replay::as_json(*result))
            entries.push_back(std::move(entry));
        if (moved)
            sensitivities.push_back({{"case", plan.what->name}, {"sensitivity", replay::as_json(*moved)}});
        if (o.tables()) {
            print((&plan == &plans.front() ? "" : "\n") + replay::as_text(*result, colour_wanted()));
            if (moved)
                print('\n' + replay::as_text(*moved, colour_wanted()));
        }
    }
    if (!o.json.empty()) {
        nlohmann::ordered_json all = {{"holdfast", HOLDFAST_VERSION}, {"cases", std::move(entries)}};
        if (o.sensitivity)
            all["sensitivity"] = std::move(sensitivities);
        write_json(o.json, all);
    }
    return bad ? 1 : 0;
}

} // namespace

action add_replay(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb = *app.add_subcommand("replay", "published cases, replayed");
    verb.add_option("CASE", o->cases, "names in cases/, or paths; all of them if none is given");
    verb.add_option("--platform", o->platform, "sim: the simulated machine; native: this one")
        ->check(CLI::IsMember({"sim", "native"}))
        ->capture_default_str();
    verb.add_option("--scale", o->scale, "full: as long as published, or as near as the case file says")
        ->check(CLI::IsMember({"default", "full"}))
        ->capture_default_str();
    verb.add_option("--runs", o->runs,
                    "seeds (on native: rounds) of each variant, instead of the case's own number")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000}));
    verb.add_option("--seed", o->seed, "the first seed; a seed stands for a boot")->capture_default_str();
    verb.add_option("--jobs", o->jobs, "host threads for simulated runs; results are the same for any number")
        ->check(CLI::Range(1u, 1024u))
        ->capture_default_str();
    verb.add_option("--only", o->only, "the experiments of this name only")->allow_extra_args(false);
    verb.add_option("--machine", o->machine,
                    "every experiment on this machine instead of its own: a name or a path");
    verb.add_option(
            "--cpus", o->cpus,
            "numbers of CPUs, as in 1,2,4: throughput against CPUs and its Universal Scalability Law, "
            "instead of checks. N CPUs of a simulated machine are cores before hardware threads, socket "
            "after socket; of this one the first N that the process may use")
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(CLI::PositiveNumber);
    verb.add_flag("--sensitivity", o->sensitivity,
                  "rerun with each assumed constant halved and doubled, and say which verdicts move");
    verb.add_flag("--list", o->list, "list the cases with their variants and machines");
    verb.add_option("--json", o->json, "write the results to this file; -: to stdout, instead of tables");
    verb.footer(
        "Verdicts: match (off by at most x1.25), close (x1.5), direction (on the same side), miss.\n"
        "Exit status: 0; 1 if a check is a miss or a run failed; 2 for wrong usage or an unreadable file.\n"
        "Example: holdfast replay lockref --json lockref.json\n"
        "Example: holdfast replay lockref --only xeon --cpus 1,2,4,8,16,32,64");
    return [o] { return replay_cases(*o); };
}

} // namespace holdfast::cli
