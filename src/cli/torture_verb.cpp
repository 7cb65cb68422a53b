// holdfast torture: real threads on a lock, disturbed in every way that we know, and checked.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "cli/interruption.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "sim/data_files.hpp"
#include "text/text_table.hpp"
#include "torture/locks.hpp"
#include "torture/output.hpp"
#include "torture/torture.hpp"

namespace holdfast::cli {

namespace {

using torture::torture_lock;

struct options {
    std::vector<std::string> locks;
    std::vector<std::uint32_t> threads;
    double seconds = 3;
    std::uint64_t seed = 1;
    bool list = false;
    std::string json;
};

int list() {
    text_table table({"lock", "ways in", "broken: only if named"}, "lll");
    for (const torture_lock& lock : torture::all_locks()) {
        std::string ways;
        for (const torture::way how : lock.ways)
            ways += fmt::format("{}{}", ways.empty() ? "" : ", ", torture::row_of(how).name);
        table.add({lock.name, ways, lock.broken != nullptr ? lock.broken : ""});
    }
    print(table.text(colour_wanted(), ""));
    return 0;
}

std::vector<const torture_lock*> locks_of(const options& o) {
    std::vector<const torture_lock*> chosen;
    std::vector<std::string> names;
    for (const torture_lock& lock : torture::all_locks()) {
        names.push_back(torture::short_name(lock));
        if (o.locks.empty() && lock.broken == nullptr)
            chosen.push_back(&lock);
    }
    for (const std::string& name : o.locks) {
        const torture_lock* const found = torture::find_lock(name);
        if (found == nullptr) {
            throw usage_error(fmt::format("there is no lock '{}' to torture{}", printable(name),
                                          suggestion_or_all(name, names)));
        }
        chosen.push_back(found);
    }
    return chosen;
}

int run_torture(const options& o) {
    if (o.list)
        return list();
    check_writable(o.json);
    const std::vector<const torture_lock*> locks = locks_of(o);
    const std::vector<std::uint32_t> threads =
        o.threads.empty() ? std::vector{std::max(4u, 2 * std::thread::hardware_concurrency())} : o.threads;
    std::vector<torture::result> results;
    bool failed = false;
    {
        const until_interrupted watching;
        progress_bar bar;
        const std::size_t total = locks.size() * threads.size();
        for (const torture_lock* const lock : locks) {
            for (const std::uint32_t n : threads) {
                if (interrupted())
                    break;
                bar.show(results.size(), total, fmt::format("{}, {} threads", lock->name, n));
                torture::settings s{.threads = n, .seed = o.seed};
                s.duration = std::chrono::nanoseconds(std::llround(o.seconds * 1e9));
                results.push_back(torture::torture(*lock, s, [] { return !interrupted(); }));
                failed |= !results.back().failure.empty();
            }
        }
    }
    if (o.json != "-")
        print(torture::as_text(results, colour_wanted()));
    if (!o.json.empty()) {
        nlohmann::ordered_json all{{"holdfast", HOLDFAST_VERSION}};
        all.update(torture::as_json(results));
        write_json(o.json, all);
    }
    return failed ? 1 : 0;
}

} // namespace

action add_torture(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb =
        *app.add_subcommand("torture", "stress locks with real threads, and check what they promise");
    verb.add_option("LOCK", o->locks, "which; all that are not broken by design if none is given");
    verb.add_option("--seconds", o->seconds, "how long for each lock and number of threads")
        ->check(CLI::Range(0.01, 86'400.0))
        ->capture_default_str();
    verb.add_option("--threads", o->threads,
                    "how many, or several numbers, as in 2,8,140; twice the CPUs, at least 4, without it")
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(CLI::Range(1u, torture::most_threads));
    verb.add_option("--seed", o->seed,
                    "of what threads and disturbances choose; their timing is the machine's")
        ->capture_default_str();
    verb.add_flag("--list", o->list, "list the locks, and in which ways each is taken");
    verb.add_option("--json", o->json, "write the results to this file; -: to stdout, instead of the table");
    verb.footer("Exit status: 0; 1 if a lock did what it must not; 2 for wrong usage. Ctrl-C ends the "
                "torture, and what there is "
                "is shown.\n"
                "Example: holdfast torture\n"
                "Example: holdfast torture shared_mutex std::shared_mutex --threads 2,8,140 --seconds 60\n"
                "Example: holdfast torture broken::lost_wake_up");
    return [o] { return run_torture(*o); };
}

} // namespace holdfast::cli
