// holdfast bench: how fast our own parts are.
//
// A bench is one function in the table below that gives cells; what an operation is, the bench says.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "bench/cpu_clock.hpp"
#include "bench/line_chart.hpp"
#include "bench/lock_bench.hpp"
#include "bench/sim_bench.hpp"
#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "replay/case_file.hpp"
#include "replay/runner.hpp"
#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"
#include "text/text_table.hpp"

namespace holdfast::cli {

namespace {

using json = nlohmann::ordered_json;
using bench::cell;

struct options {
    std::vector<std::string> benches;
    std::uint32_t runs = 3;
    std::string json;
    // For locks.
    std::string platform = "sim";
    std::string machine = "opteron-8s";
    std::vector<std::string> locks;
    std::vector<std::uint32_t> threads;
    std::int64_t section_ns = 200;
    std::int64_t think_ns = 3'000;
    double duration_ms = 0; // 0: as the platform has it
    bool pinned = false;
    std::string svg;

    [[nodiscard]] bool native() const { return platform == "native"; }
};

bench::progress told_to(progress_bar& bar) {
    return
        [&bar](std::size_t done, std::size_t total, const std::string& next) { bar.show(done, total, next); };
}

// ---- sim, cases -------------------------------------------------------------------------------------------

std::vector<cell> bench_simulator(const options& o, progress_bar& bar) {
    const sim::machine m = sim::read_machine(data_file("machines", "xeon-e5-4650-4s"));
    constexpr std::uint32_t sleepers = 2'000;
    // First, as it can only be told before the process has grown.
    const std::uint64_t bytes = bench::memory_of_sleepers(m, sleepers);
    std::vector<cell> cells = bench::measure_simulator(m, o.runs, told_to(bar));
    cell memory;
    memory.bench = "sim";
    memory.lock = "none: threads that sleep";
    memory.platform = "sim";
    memory.machine = m.name;
    memory.threads = sleepers;
    memory.memory_bytes = bytes;
    cells.push_back(memory);
    return cells;
}

std::vector<cell> bench_cases(const options& o, progress_bar& bar) {
    std::vector<cell> cells;
    for (const std::string& name : data_names("cases")) {
        const replay::case_description c = replay::read_case(data_file("cases", name));
        const replay::case_plan plan = replay::plan_case(c, {.runs = o.runs});
        for (const replay::planned_experiment& e : plan.experiments) {
            for (std::size_t v = 0; e.settings && v < e.what->variants.size(); ++v) {
                const replay::variant_description& variant = e.what->variants[v];
                const std::string what = fmt::format("{}: {}.{}", c.name, e.what->name, variant.name);
                std::vector<double> speeds;
                for (const std::uint64_t seed : e.seeds) {
                    bar.show(speeds.size(), e.seeds.size(), what);
                    const double begin = bench::cpu_seconds();
                    const replay::run_result result = variant.code->run({.on = &e.machine,
                                                                         .seed = seed,
                                                                         .constants = e.constants,
                                                                         .published = e.published,
                                                                         .inputs = e.inputs});
                    speeds.push_back(static_cast<double>(result.report.memory_operations) /
                                     (bench::cpu_seconds() - begin));
                }
                cell measured;
                measured.bench = "cases";
                measured.lock = what;
                measured.platform = "sim";
                measured.machine = e.machine.name;
                measured.ops_per_s = bench::spread_of(speeds);
                cells.push_back(measured);
            }
        }
    }
    return cells;
}

// ---- locks ------------------------------------------------------------------------------------------------

// The full name of a lock that the user may have named without our namespace.
std::string full_name(const std::string& name, const std::vector<std::string>& known) {
    constexpr std::string_view ours = "holdfast::";
    std::vector<std::string> candidates;
    for (const std::string& full : known) {
        candidates.push_back(full.starts_with(ours) ? full.substr(ours.size()) : full);
        if (name == full || name == candidates.back())
            return full;
    }
    throw usage_error(
        fmt::format("there is no lock '{}'{}", printable(name), suggestion_or_all(name, candidates)));
}

// Powers of two up to the CPUs, and their number itself.
std::vector<std::uint32_t> threads_up_to(std::uint32_t cpus) {
    std::vector<std::uint32_t> threads;
    for (std::uint32_t n = 1; n < cpus; n *= 2)
        threads.push_back(n);
    threads.push_back(cpus);
    return threads;
}

void draw(const options& o, const std::vector<cell>& cells) {
    bench::line_chart chart;
    chart.title = o.native() ? "Spinlocks on this machine" : "Spinlocks on a simulated " + o.machine;
    chart.note = fmt::format("{} ns with the lock, {} ns without; median of {}, and the spread", o.section_ns,
                             o.think_ns, o.runs);
    chart.x_label = "threads";
    chart.y_label = "million acquisitions a second";
    for (const cell& c : cells) {
        if (chart.curves.empty() || chart.curves.back().name != c.lock)
            chart.curves.push_back({.name = c.lock, .points = {}, .dashed = c.platform == "model"});
        chart.curves.back().points.push_back({static_cast<double>(c.threads), c.ops_per_s.median / 1e6,
                                              c.ops_per_s.min / 1e6, c.ops_per_s.max / 1e6});
    }
    write_text(o.svg, bench::to_svg(chart));
}

std::vector<cell> bench_locks(const options& o, progress_bar& bar) {
    const std::vector<std::string> known = bench::lock_names(o.native());
    sim::machine m;
    bench::lock_bench b;
    if (!o.native()) {
        m = sim::read_machine(data_file("machines", o.machine));
        b.on = &m;
    }
    for (const std::string& name : o.locks)
        b.locks.push_back(full_name(name, known));
    if (b.locks.empty())
        b.locks = known;
    const std::uint32_t cpus =
        o.native() ? std::max(std::thread::hardware_concurrency(), 1u) : static_cast<std::uint32_t>(m.cpus());
    b.threads = o.threads.empty() ? threads_up_to(cpus) : o.threads;
    b.runs = o.runs;
    b.section = nanoseconds(o.section_ns);
    b.think = nanoseconds(o.think_ns);
    const double duration_ms = o.duration_ms > 0 ? o.duration_ms : o.native() ? 100 : 10;
    b.duration = nanoseconds(static_cast<std::int64_t>(duration_ms * 1e6));
    b.pinned = o.pinned;
    std::vector<cell> cells = bench::run_lock_bench(b, told_to(bar));
    if (!o.native() && o.think_ns > 0) {
        for (cell& c : bench::predict_ticket_lock(b))
            cells.push_back(std::move(c));
    }
    if (!o.svg.empty())
        draw(o, cells);
    return cells;
}

// ---- The verb ---------------------------------------------------------------------------------------------

struct bench_entry {
    std::string_view name;
    std::string_view about;
    std::vector<cell> (*run)(const options&, progress_bar&);
};

constexpr bench_entry benches[] = {
    {"sim",
     "the simulator: simulated memory operations a second of CPU time, 64 threads; the memory of "
     "sleeping ones",
     bench_simulator},
    {"cases", "the same, for each variant of each case", bench_cases},
    {"locks", "our spinlocks by number of threads: acquisitions a second", bench_locks},
};

// "" for what was not measured.
std::string shown_if(const std::optional<double>& value) {
    return value ? shown(*value) : "";
}

text_table table_of(const std::vector<cell>& cells) {
    text_table table({"bench", "what", "threads", "operations/s", "min", "max", "CPU ns each", "fairness",
                      "wait p50 ns", "p99", "max", "memory MB"},
                     "ll");
    for (const cell& c : cells) {
        const bool rate = c.ops_per_s.median > 0;
        const auto wait = [&c](double cell::wait::*which) {
            return c.wait_ns ? shown((*c.wait_ns).*which) : "";
        };
        table.add({c.bench, c.lock, c.threads > 0 ? fmt::format("{}", c.threads) : "",
                   rate ? shown(c.ops_per_s.median) : "", rate ? shown(c.ops_per_s.min) : "",
                   rate ? shown(c.ops_per_s.max) : "", shown_if(c.cpu_ns_per_op), shown_if(c.jain),
                   wait(&cell::wait::p50), wait(&cell::wait::p99), wait(&cell::wait::max),
                   c.memory_bytes ? shown(static_cast<double>(*c.memory_bytes) / 1e6) : ""});
    }
    return table;
}

int run_benches(const options& o) {
    std::vector<std::string> names;
    for (const bench_entry& b : benches)
        names.emplace_back(b.name);
    for (const std::string& name : o.benches) {
        if (std::find(names.begin(), names.end(), name) == names.end()) {
            throw usage_error(
                fmt::format("there is no bench '{}'{}", printable(name), suggestion_or_all(name, names)));
        }
    }
    check_writable(o.json);
    check_writable(o.svg);
    std::vector<cell> cells;
    {
        progress_bar bar;
        for (const bench_entry& b : benches) {
            if (!o.benches.empty() &&
                std::find(o.benches.begin(), o.benches.end(), b.name) == o.benches.end())
                continue;
            for (cell& c : b.run(o, bar))
                cells.push_back(std::move(c));
        }
    }
    if (o.json != "-")
        print(table_of(cells).text(colour_wanted(), ""));
    if (!o.json.empty()) {
        json all = json::array();
        for (const cell& c : cells)
            all.push_back(bench::to_json(c));
        write_json(o.json, {{"holdfast", HOLDFAST_VERSION},
                            {"machine", {{"cpus", std::thread::hardware_concurrency()}}},
                            {"cells", all}});
    }
    return 0;
}

} // namespace

action add_bench(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb = *app.add_subcommand("bench", "how fast the program's own parts are");
    std::string about = "which; all of them if none is given";
    for (const bench_entry& b : benches)
        about += fmt::format("; {}: {}", b.name, b.about);
    verb.add_option("NAME", o->benches, about);
    verb.add_option("--runs", o->runs,
                    "how often each is run: seeds of a simulated machine, rounds on this one")
        ->check(CLI::Range(1u, 1'000u))
        ->capture_default_str();
    verb.add_option("--json", o->json, "write the results to this file; -: to stdout, instead of the table");

    const std::string group = "For locks";
    verb.add_option("--platform", o->platform, "sim: a simulated machine; native: this one")
        ->check(CLI::IsMember({"sim", "native"}))
        ->capture_default_str()
        ->group(group);
    verb.add_option("--machine", o->machine, "the simulated one: a name in machines/, or a path")
        ->capture_default_str()
        ->group(group);
    verb.add_option("--lock", o->locks, "a lock; may be given several times; all of them without it")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->group(group);
    verb.add_option("--threads", o->threads, "numbers of threads, as in 1,2,4; up to the CPUs without it")
        ->delimiter(',')
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
        ->check(CLI::Range(1u, 1'024u))
        ->group(group);
    verb.add_option("--section", o->section_ns, "nanoseconds of work with the lock held")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
        ->capture_default_str()
        ->group(group);
    verb.add_option("--think", o->think_ns, "nanoseconds of work between two sections, on average")
        ->check(CLI::Range(std::int64_t{0}, std::int64_t{1'000'000'000}))
        ->capture_default_str()
        ->group(group);
    verb.add_option("--duration", o->duration_ms,
                    "milliseconds of each run; 10 on a simulated machine, 100 on this one without it")
        ->check(CLI::Range(0.001, 60'000.0))
        ->group(group);
    verb.add_flag("--pin", o->pinned, "thread i stays on CPU i; else the scheduler decides")->group(group);
    verb.add_option("--svg", o->svg, "draw the curves into this file")->group(group);
    verb.footer(
        "Example: holdfast bench grid --quick --threads 2\n"
        "Example: holdfast bench sim\n"
        "Example: holdfast bench locks --lock ticket_lock --lock mcs_lock --threads 1,8,48 --svg locks.svg\n"
        "Example: holdfast bench locks --platform native --lock std::mutex --lock qspinlock");
    const action run_grid = add_grid(verb);
    return [o, run_grid, &verb] { return verb.got_subcommand("grid") ? run_grid() : run_benches(*o); };
}

} // namespace holdfast::cli
