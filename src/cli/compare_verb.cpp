// holdfast compare: a program under several locks, in turn, and whether they differ.
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <signal.h>

#include "cli/launch.hpp"
#include "cli/output.hpp"
#include "cli/substitution.hpp"
#include "cli/verbs.hpp"
#include "compare/experiment.hpp"
#include "compare/output.hpp"
#include "compare/store.hpp"
#include "sim/data_files.hpp"
#include "substitute/locks.hpp"

namespace holdfast::cli {

namespace {

struct options {
    std::vector<std::string> command;
    std::vector<std::string> locks;
    std::vector<std::string> only;
    std::vector<std::string> except;
    std::vector<std::string> lower; // figures, of which less is better
    std::vector<std::string> higher;
    std::size_t runs = 10;
    double gate_percent = -1; // none
    std::string json;
    std::string store;
    std::string label;
};

void add_figures(std::vector<compare::figure>& to, const std::vector<std::string>& patterns,
                 bool higher_is_better) {
    for (const std::string& pattern : patterns) {
        try {
            to.emplace_back(pattern, higher_is_better);
        } catch (const std::exception& error) {
            throw usage_error(fmt::format("--{} {}: {}", higher_is_better ? "higher-better" : "metric",
                                          printable(pattern), error.what()));
        }
    }
}

std::string in_a_line(const std::vector<std::string>& command) {
    std::string line;
    for (const std::string& word : command)
        line += (line.empty() ? "" : " ") + word;
    return line;
}

compare::plan plan_of(const options& o) {
    compare::plan p{.command = in_a_line(o.command), .locks = o.locks, .runs = o.runs, .figures = {}};
    if (p.locks.empty()) {
        for (const substitute::lock_choice& c : substitute::lock_choices())
            p.locks.emplace_back(c.name);
    }
    if (p.locks.size() == 1)
        throw usage_error("--lock: name two at least; the first is what the others are held against");
    add_figures(p.figures, o.lower, false);
    add_figures(p.figures, o.higher, true);
    return p;
}

// Runs them all. Its end takes the progress bar away.
compare::experiment measured(const options& o, const compare::plan& p) {
    const std::filesystem::path program = find_program(o.command.front());
    check_program(program);
    std::vector<substitution> locks;
    for (const std::string& name : p.locks)
        locks.emplace_back(name, o.only, o.except, program);
    sigset_t mask;
    sigprocmask(SIG_BLOCK, nullptr, &mask);
    const auto run = [&](std::size_t lock) {
        return compare::measure([&](const std::function<void()>& in_child) {
            return start(program, o.command, mask, [&] {
                in_child();
                locks[lock].prepare();
            });
        });
    };
    progress_bar bar;
    return compare::perform(p, run, [&bar](std::size_t done, std::size_t all, const std::string& next) {
        bar.show(done, all, next);
    });
}

int compare_locks(const options& o) {
    if (o.command.empty())
        throw usage_error("CMD is required");
    const compare::plan p = plan_of(o);
    check_writable(o.json);
    check_writable(o.store);
    if (!o.store.empty())
        compare::check_store(o.store);
    compare::experiment e;
    try {
        e = measured(o, p);
    } catch (const compare::run_failed& failed) {
        std::fwrite(failed.ended.output.data(), 1, failed.ended.output.size(), stderr);
        return tell_end(fmt::format("{}, {},", failed.run, o.command.front()), failed.ended.status);
    }
    if (!o.store.empty())
        compare::append(o.store, e, compare::here_and_now(o.label));
    if (o.json != "-")
        print(compare::as_text(e, colour_wanted()));
    if (!o.json.empty())
        write_json(o.json, compare::as_json(e));
    if (o.gate_percent < 0)
        return 0;
    const std::vector<std::string> worse = compare::regressions(e, o.gate_percent);
    for (const std::string& sentence : worse)
        fmt::print(stderr, "holdfast: gate: {}\n", sentence);
    return worse.empty() ? 0 : 1;
}

} // namespace

action add_compare(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb = *app.add_subcommand(
        "compare", "run a program with several locks, in turn, and tell whether they differ");
    const auto several = [&verb](const char* name, std::vector<std::string>& into, const char* about) {
        verb.add_option(name, into, about)->allow_extra_args(false);
    };
    several("--lock", o->locks,
            "a lock, as holdfast run takes it; repeated; the first is what the others are held against; "
            "without it, all");
    several("--only", o->only, "replace only this lock, as a report names it; may be repeated");
    several("--not", o->except, "replace all but this one; may be repeated");
    several("--metric", o->lower,
            "a figure that the program prints, less being better: a regular expression with one group, the "
            "number; "
            "may be repeated");
    several("--higher-better", o->higher, "the same, more being better");
    verb.add_option("--runs", o->runs, "of each lock, beside one to warm up")
        ->check(CLI::Range(1u, 10'000u))
        ->capture_default_str();
    verb.add_option("--gate", o->gate_percent,
                    "exit with 1 if a lock is worse than the first by more than so many per cent, and not by "
                    "luck: in "
                    "wall time, or in the figures that are named")
        ->check(CLI::NonNegativeNumber);
    verb.add_option("--json", o->json, "write the results to this file; -: to stdout, instead of the table");
    verb.add_option("--store", o->store, "add the results to this SQLite file, for holdfast history");
    verb.add_option("--label", o->label, "what --store calls them, beside the commit of the current folder");
    verb.add_option("CMD", o->command, "the program and its arguments, after --");
    verb.positionals_at_end();
    verb.footer(
        "The program reads nothing; its output is looked through for figures, and shown if it fails.\n"
        "Exit status: 0; 1 if the gate is shut; 2 if it can't be run so; 3 if the program failed.\n"
        "Example: holdfast compare --lock glibc --lock mutex --lock mcs -- ./program --threads 8\n"
        "         holdfast compare --lock glibc --lock mutex --higher-better '([0-9.]+) ops/s' --gate 5 -- "
        "./program");
    return [o] { return compare_locks(*o); };
}

} // namespace holdfast::cli
