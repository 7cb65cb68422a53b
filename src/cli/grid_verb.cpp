// holdfast bench grid: locks side by side, ours and everybody's.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <sys/utsname.h>

#include <fmt/format.h>

#include "bench/grid.hpp"
#include "bench/grid_output.hpp"
#include "cli/interruption.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"

namespace holdfast::cli {

namespace {

using json = nlohmann::ordered_json;

struct options {
    std::string platform = "native";
    std::string machine = "haswell-ex-4s";
    std::vector<std::string> locks;
    std::vector<std::uint32_t> threads;
    std::vector<std::uint32_t> write_percents;
    std::vector<std::int64_t> sections_ns;
    std::vector<std::int64_t> thinks_ns;
    std::uint32_t runs = 0; // 0: as is usual
    double duration_ms = 0;
    bool quick = false;
    bool only_grid = false;
    bool cells = false;
    std::string json;

    [[nodiscard]] bool native() const { return platform == "native"; }
};

bool can_run(const bench::bench_lock& lock, bool native) {
    return native ? lock.on_native != nullptr : lock.on_sim != nullptr;
}

std::vector<bench::bench_lock> locks_of(const options& o) {
    std::vector<std::string> known;
    std::vector<bench::bench_lock> usual;
    for (const bench::bench_lock& lock : bench::all_locks()) {
        if (!can_run(lock, o.native()))
            continue;
        if (lock.when != bench::asked::uncontended_only)
            known.push_back(lock.name);
        const bool wanted =
            o.native() ? lock.when != bench::asked::by_name && (!o.quick || lock.when != bench::asked::full)
                       : !o.quick || lock.when != bench::asked::by_name;
        if (wanted)
            usual.push_back(lock);
    }
    if (o.locks.empty())
        return usual;
    std::vector<bench::bench_lock> chosen;
    for (const std::string& name : o.locks) {
        const bench::bench_lock* const found = bench::find_lock(name);
        if (found == nullptr || !can_run(*found, o.native())) {
            throw usage_error(fmt::format("there is no lock '{}'{}{}", printable(name),
                                          o.native() ? "" : " for simulated machines",
                                          suggestion_or_all(name, known)));
        }
        bench::bench_lock lock = *found;
        // A lock against itself shows what differences mean nothing.
        const auto same = std::count_if(chosen.begin(), chosen.end(), [&found](const bench::bench_lock& c) {
            return c.on_native == found->on_native && c.on_sim == found->on_sim;
        });
        if (same > 0)
            lock.name += fmt::format(" #{}", same + 1);
        chosen.push_back(std::move(lock));
    }
    return chosen;
}

std::vector<nanoseconds> as_times(const std::vector<std::int64_t>& ns) {
    std::vector<nanoseconds> times;
    times.reserve(ns.size());
    for (const std::int64_t t : ns)
        times.emplace_back(t);
    return times;
}

// What ran it, as far as it can be told.
json this_machine() {
    std::string model;
    std::ifstream cpuinfo("/proc/cpuinfo");
    for (std::string line; model.empty() && std::getline(cpuinfo, line);) {
        if (line.starts_with("model name"))
            model = line.substr(std::min(line.find(':') + 2, line.size()));
    }
    utsname system{};
    uname(&system);
    return {{"cpus", std::thread::hardware_concurrency()},
            {"model", model},
            {"kernel", system.release},
            {"compiler", __VERSION__}};
}

int run_grid(const options& o) {
    check_writable(o.json);
    bench::grid_settings s;
    sim::machine m;
    if (!o.native()) {
        m = sim::read_machine(data_file("machines", o.machine));
        s.on = &m;
    }
    s.locks = locks_of(o);
    s.threads = o.threads;
    if (o.threads.empty() && o.native())
        s.threads = {1, 2, 4, 16, 140};
    if (o.threads.empty() && !o.native()) {
        for (const std::uint32_t n : {16u, 32u, 64u, 128u}) {
            if (n <= m.cpus())
                s.threads.push_back(n);
        }
    }
    if (s.threads.empty())
        throw usage_error(fmt::format("{} has {} CPUs; say --threads", m.name, m.cpus()));
    if (!o.write_percents.empty())
        s.write_percents = o.write_percents;
    if (!o.sections_ns.empty())
        s.sections = as_times(o.sections_ns);
    if (!o.thinks_ns.empty())
        s.thinks = as_times(o.thinks_ns);
    s.beside = !o.only_grid;
    s.quick = o.quick;
    s.runs = o.runs != 0 ? o.runs : o.quick ? (o.native() ? 3 : 1) : (o.native() ? 5 : 3);
    s.duration = nanoseconds(static_cast<std::int64_t>(o.duration_ms * 1e6));
    s.interrupted = interrupted;

    bench::grid_result r;
    {
        const until_interrupted watching;
        progress_bar bar;
        r = bench::run_grid(s, [&bar](std::size_t done, std::size_t total, const std::string& next) {
            bar.show(done, total, next);
        });
    }
    if (o.quick && o.native() && o.locks.empty()) {
        std::string others;
        for (const bench::bench_lock& lock : bench::all_locks()) {
            if (lock.when == bench::asked::full)
                others += (others.empty() ? "" : ", ") + lock.name;
        }
        r.left_out.push_back("the locks that only a whole grid has: " + others);
    }
    if (o.json != "-")
        print(bench::as_text(r, o.cells, colour_wanted()));
    if (!o.json.empty()) {
        json all{{"holdfast", HOLDFAST_VERSION}, {"machine", this_machine()}};
        all.update(bench::as_json(r));
        write_json(o.json, all);
    }
    return bench::has_broken_lock(r) ? 1 : 0;
}

} // namespace

action add_grid(CLI::App& bench) {
    const auto o = std::make_shared<options>();
    CLI::App& verb =
        *bench.add_subcommand("grid", "our locks beside everybody's, over threads, writes and times");
    const auto list = [&verb](const char* name, auto& values, const char* about) {
        return verb.add_option(name, values, about)
            ->delimiter(',')
            ->expected(1)
            ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    };
    constexpr std::int64_t second = 1'000'000'000;
    list("--threads", o->threads,
         "numbers of threads; 1,2,4,16,140 without it, on simulated machines 16,32,64,128")
        ->check(CLI::Range(1u, 1'024u));
    list("--locks,--lock", o->locks,
         "locks, the first being the one that is compared with the others; one named twice is compared with "
         "itself");
    list("--writes", o->write_percents, "per cent of sections that write; 0,1,10,50,100 without it")
        ->check(CLI::Range(0u, 100u));
    list("--section", o->sections_ns, "nanoseconds of work with the lock held; 0,200,5000 without it")
        ->check(CLI::Range(std::int64_t{0}, second));
    list("--think", o->thinks_ns, "nanoseconds of work between two sections, on average; 0,1000 without it")
        ->check(CLI::Range(std::int64_t{0}, second));
    verb.add_option("--runs", o->runs,
                    "rounds, or seeds of a simulated machine; 5 and 3 without it, fewer if quick")
        ->check(CLI::Range(1u, 1'000u));
    verb.add_option("--duration", o->duration_ms,
                    "milliseconds of each run; 300, from five threads on 1000, without it")
        ->check(CLI::Range(0.001, 60'000.0));
    verb.add_flag(
        "--quick", o->quick,
        "at most a minute for each number of threads: shorter runs, fewer locks, and above four threads "
        "fewer cells; says what was left out");
    verb.add_flag("--only-grid", o->only_grid, "not the programs beside the grid");
    verb.add_flag("--cells", o->cells, "print every cell, too");
    verb.add_option("--platform", o->platform, "native: this machine; sim: a simulated one")
        ->check(CLI::IsMember({"sim", "native"}))
        ->capture_default_str();
    verb.add_option("--machine", o->machine, "the simulated one: a name in machines/, or a path")
        ->capture_default_str();
    verb.add_option("--json", o->json, "write all to this file; -: to stdout, instead of the tables");
    std::string names;
    for (const bench::bench_lock& lock : bench::all_locks()) {
        if (lock.when != bench::asked::uncontended_only)
            names += (names.empty() ? "" : ", ") + lock.name;
    }
    verb.footer(
        "Locks: " + names +
        ".\nOther libraries' locks are there if they were installed when this program was built: tools/setup "
        "installs them.\nExit status: 0; 1 if a lock let in whom it must not; 2 for wrong usage.\n"
        "Example: holdfast bench grid --quick --threads 2\n"
        "Example: holdfast bench grid --threads 16 --locks rwsem,std::shared_mutex --json grid.json\n"
        "Example: holdfast bench grid --platform sim --threads 64 --writes 100 --section 200\n"
        "Example: holdfast bench grid --threads 2 --locks std::shared_mutex,std::shared_mutex");
    return [o] { return run_grid(*o); };
}

} // namespace holdfast::cli
