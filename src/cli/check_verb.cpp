// holdfast check: locks on the model, explored instead of run; and the mutants that show what that is worth.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "check/output.hpp"
#include "check/suites.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "model/jobs.hpp"
#include "sim/data_files.hpp"

namespace holdfast::cli {

namespace {

using model::suite;
using model::task;

struct options {
    std::vector<std::string> locks;
    std::optional<unsigned> threads;
    std::optional<unsigned> bound;
    double seconds = 150;
    bool list = false;
    bool mutants = false;
    std::string scenario;
    std::string mutant;
    std::string replay;
    std::string json;
    bool markdown = false;
    unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
};

std::vector<const suite*> suites_of(const options& o) {
    std::vector<const suite*> chosen;
    std::vector<std::string> names;
    for (const suite& s : check::all_suites()) {
        names.push_back(check::short_name(s));
        if (o.locks.empty())
            chosen.push_back(&s);
    }
    for (const std::string& name : o.locks) {
        const suite* const found = check::find_suite(name);
        if (found == nullptr) {
            throw usage_error(fmt::format("there is no lock '{}' to check{}", printable(name),
                                          suggestion_or_all(name, names)));
        }
        chosen.push_back(found);
    }
    return chosen;
}

// The scenarios of a lock that the options ask for: those of that name or, if there is none, those whose name contains it.
std::vector<task> tasks_of(const suite& s, const options& o) {
    std::vector<task> tasks = model::tasks_of(s);
    if (o.threads) {
        const bool more_than_listed = std::all_of(
            tasks.begin(), tasks.end(), [&o](const task& t) { return t.what->threads < *o.threads; });
        if (const model::scenario* wide = s.wide(*o.threads); more_than_listed && wide != nullptr)
            tasks.push_back({&s, wide, wide->bounds});
        std::erase_if(tasks, [&o](const task& t) { return t.what->threads != *o.threads; });
    }
    const bool is_a_name =
        std::any_of(tasks.begin(), tasks.end(), [&o](const task& t) { return t.what->name == o.scenario; });
    std::erase_if(tasks, [&](const task& t) {
        return is_a_name ? t.what->name != o.scenario : t.what->name.find(o.scenario) == std::string::npos;
    });
    for (task& t : tasks) {
        if (o.bound && t.bounds.random == 0)
            t.bounds.preemptions = *o.bound;
    }
    return tasks;
}

std::vector<task> tasks_of(const std::vector<const suite*>& suites, const options& o) {
    std::vector<task> tasks;
    for (const suite* s : suites) {
        const std::vector<task> more = tasks_of(*s, o);
        tasks.insert(tasks.end(), more.begin(), more.end());
    }
    if (tasks.empty())
        throw usage_error("no scenario is like that; see holdfast check --list");
    return tasks;
}

check::look look_of(const options& o) {
    winsize window{};
    const bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    return {.colour = colour_wanted(),
            .width = known ? std::clamp<std::size_t>(window.ws_col, 80, 160) : 100,
            .each = o.locks.size() == 1 || !o.scenario.empty()};
}

void write(const options& o, nlohmann::ordered_json results) {
    if (o.json.empty())
        return;
    nlohmann::ordered_json all{{"holdfast", HOLDFAST_VERSION}};
    all.update(results);
    write_json(o.json, all);
}

int list(const options& o, const std::vector<const suite*>& suites) {
    if (o.json != "-")
        print(o.markdown ? check::list_as_markdown(suites) : check::list_as_text(suites, look_of(o)));
    write(o, check::list_as_json(suites));
    return 0;
}

// The only mutant of that name.
model::mutant mutant_of(const suite& s, const options& o, const model::job_settings& settings) {
    const suite* const suites[] = {&s};
    const std::vector<model::mutant_list> lists = model::mutants_of(suites, settings);
    for (const model::mutant& m : lists[0].mutants) {
        if (m.name == o.mutant)
            return m;
    }
    throw usage_error(fmt::format("{} has no mutant '{}'; see holdfast check {} --mutants", s.lock(),
                                  printable(o.mutant), check::short_name(s)));
}

int replay(const options& o, const std::vector<const suite*>& suites, const model::job_settings& settings) {
    if (suites.size() != 1)
        throw usage_error("--replay: name the one lock whose execution it is");
    model::mutant changed;
    if (!o.mutant.empty())
        changed = mutant_of(*suites[0], o, settings);
    std::vector<task> tasks;
    if (changed.only != nullptr)
        tasks.push_back({suites[0], changed.only, changed.only->bounds});
    else
        tasks = tasks_of(suites, o);
    if (tasks.size() != 1) {
        throw usage_error(fmt::format(
            "--replay: {} scenarios are like that; say which with --scenario and --threads", tasks.size()));
    }
    try {
        const model::outcome result =
            model::replay(*tasks[0].what->make(), tasks[0].bounds, o.replay, changed.what);
        print(check::as_text(result, look_of(o)));
        return result.failure.empty() ? 0 : 1;
    } catch (const std::invalid_argument& error) {
        throw usage_error(fmt::format("--replay: {}", error.what()));
    }
}

int judge(const options& o, const std::vector<const suite*>& suites, const model::job_settings& settings) {
    const std::vector<model::judgement> judged = model::judge_all(suites, o.mutant, settings);
    const bool none = std::all_of(judged.begin(), judged.end(),
                                  [](const model::judgement& j) { return j.list.mutants.empty(); });
    if (none && !o.mutant.empty())
        throw usage_error("no mutant is called that; see holdfast check --mutants");
    if (o.json != "-")
        print(o.markdown ? check::as_markdown(judged)
                         : check::as_text(judged, !o.mutant.empty(), look_of(o)));
    write(o, check::as_json(judged));
    return std::all_of(judged.begin(), judged.end(), [](const model::judgement& j) { return j.good(); }) ? 0
                                                                                                         : 1;
}

int explore(const options& o, const std::vector<const suite*>& suites, const model::job_settings& settings) {
    const std::vector<model::exploration> done = model::explore_all(tasks_of(suites, o), settings);
    if (o.json != "-")
        print(o.markdown ? check::as_markdown(done) : check::as_text(done, look_of(o)));
    write(o, check::as_json(done));
    const bool good = std::all_of(done.begin(), done.end(), [](const model::exploration& e) {
        return e.reached() != model::extent::failed && e.result.executions != 0;
    });
    return good ? 0 : 1;
}

int run_check(const options& o) {
    check_writable(o.json);
    const std::vector<const suite*> suites = suites_of(o);
    if (o.list)
        return list(o, suites);
    progress_bar bar;
    const model::job_settings settings{
        .threads = o.jobs,
        .seconds = o.seconds,
        .progress = [&bar](std::size_t done, std::size_t total, const std::string& what) {
            bar.show(done, total, what);
        }};
    if (!o.replay.empty())
        return replay(o, suites, settings);
    if (o.mutants || !o.mutant.empty())
        return judge(o, suites, settings);
    return explore(o, suites, settings);
}

} // namespace

action add_check(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb = *app.add_subcommand(
        "check", "explore locks in every order that their threads can take, on C++'s memory model");
    verb.add_option("LOCK", o->locks, "which; all if none is given");
    verb.add_option("--threads", o->threads,
                    "only scenarios with so many; with more than the others have, one explored by chance")
        ->check(CLI::Range(1u, model::max_threads));
    CLI::Option* const bound =
        verb.add_option("--bound", o->bound, "so many preemptions at most, whatever a scenario says")
            ->check(CLI::Range(0u, 1000u));
    verb.add_option("--seconds", o->seconds, "for all scenarios together; who isn't done then is incomplete")
        ->check(CLI::Range(0.01, 1e6))
        ->capture_default_str();
    CLI::Option* const list_it = verb.add_flag("--list", o->list, "list the scenarios");
    CLI::Option* const mutants =
        verb.add_flag("--mutants", o->mutants,
                      "change each lock in every way that should break it, and see whether that is noticed");
    verb.add_option("--scenario", o->scenario,
                    "only the scenario of that name, or those that have it in their name");
    CLI::Option* const mutant =
        verb.add_option("--mutant", o->mutant,
                        "only mutants that have this in their name, each with the execution that caught it");
    verb.add_option("--replay", o->replay, "the one execution that these choices make, which a failure names")
        ->excludes(mutants)
        ->excludes(list_it);
    verb.add_option("--json", o->json, "write the results to this file; -: to stdout, instead of the table");
    verb.add_flag("--markdown", o->markdown, "tables as the docs have them");
    verb.add_option("--jobs", o->jobs, "so many explorations at once")
        ->check(CLI::Range(1u, 1024u))
        ->capture_default_str();
    mutants->excludes(bound);
    mutant->excludes(bound);
    list_it->excludes(mutants)->excludes(mutant);
    verb.footer(
        "Exit status: 0; 1 if a lock fails, or a mutant is not caught that should be; 2 for wrong usage.\n"
        "Example: holdfast check\n"
        "Example: holdfast check rwsem --threads 3 --bound 3 --seconds 600\n"
        "Example: holdfast check mcs_lock --mutants\n"
        "Example: holdfast check mcs_lock --mutant 'unlock load(acquire): acquire -> relaxed'");
    return [o] { return run_check(*o); };
}

} // namespace holdfast::cli
