#include "bench/lock_bench.hpp"

#include <algorithm>
#include <fstream>
#include <mutex>
#include <stdexcept>

#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include <holdfast/mcs_lock.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/tas_lock.hpp>
#include <holdfast/ticket_lock.hpp>

#include "bench/birth_death.hpp"
#include "replay/statistics.hpp"
#include "sim/world.hpp"
#include "workload/native_world.hpp"

namespace holdfast::bench {

namespace {

struct contender {
    const char* name;
    contend_result (*on_sim)(const contend_settings&); // nullptr: it is native only
    contend_result (*on_native)(const contend_settings&);
};

template <template <class> class Lock>
constexpr contender ours(const char* name) {
    return {name, &contend<sim::world, Lock<sim::platform>>, &contend<native_world, Lock<native>>};
}

template <class P>
using qrwlock_of_today = qrwlock<P>;

constexpr contender contenders[] = {ours<tas_lock>("holdfast::tas_lock"),
                                    ours<ticket_lock>("holdfast::ticket_lock"),
                                    ours<mcs_lock>("holdfast::mcs_lock"),
                                    ours<qspinlock>("holdfast::qspinlock"),
                                    ours<rwlock>("holdfast::rwlock"),
                                    ours<qrwlock_of_today>("holdfast::qrwlock"),
                                    {"std::mutex", nullptr, &contend<native_world, std::mutex>}};

const contender& find_contender(const std::string& name) {
    const auto* const found = std::find_if(std::begin(contenders), std::end(contenders),
                                           [&name](const contender& c) { return c.name == name; });
    if (found == std::end(contenders))
        throw std::invalid_argument("no such lock: " + name);
    return *found;
}

// ---- One run ----------------------------------------------------------------------------------------------

struct run_result {
    contend_result program;
    double cpu_ns = 0;       // that the program used
    double foreign_load = 0; // CPUs that others kept busy, on average
};

run_result run_on_sim(const contender& c, const sim::machine& m, const contend_settings& s,
                      std::uint64_t seed) {
    run_result result;
    const sim::report report = sim::run({&m, seed, 0}, [&] { result.program = c.on_sim(s); });
    result.cpu_ns = static_cast<double>(report.user + report.system) / 1000;
    return result;
}

double own_cpu_ns() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto ns = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
    };
    return ns(usage.ru_utime) + ns(usage.ru_stime);
}

// CPU time that all of the system has used since it was started; 0 if it doesn't say.
double system_cpu_ns() {
    std::ifstream stat("/proc/stat");
    std::string cpu;
    double user = 0;
    double nice = 0;
    double system = 0;
    stat >> cpu >> user >> nice >> system;
    return (user + nice + system) * 1e9 / static_cast<double>(sysconf(_SC_CLK_TCK));
}

run_result run_on_native(const contender& c, const contend_settings& s, std::uint64_t seed) {
    run_result result;
    const double own = own_cpu_ns();
    const double everybodys = system_cpu_ns();
    native_world::run(seed, [&] { result.program = c.on_native(s); });
    result.cpu_ns = own_cpu_ns() - own;
    const double others = system_cpu_ns() - everybodys - result.cpu_ns;
    result.foreign_load = std::max(
        0.0, others / static_cast<double>(std::max<std::int64_t>(result.program.elapsed.count(), 1)));
    return result;
}

// ---- Many -------------------------------------------------------------------------------------------------

double acquisitions_of(const run_result& r) {
    double sum = 0;
    for (const std::uint64_t n : r.program.acquisitions)
        sum += static_cast<double>(n);
    return sum;
}

double median_of(const std::vector<run_result>& runs, double (*value)(const run_result&)) {
    std::vector<double> values;
    values.reserve(runs.size());
    for (const run_result& r : runs)
        values.push_back(value(r));
    return replay::compute(replay::statistic::median, values);
}

cell cell_of(const lock_bench& b, const std::string& lock, std::uint32_t threads,
             const std::vector<run_result>& runs) {
    std::vector<double> rates;
    wait_times waits;
    for (const run_result& r : runs) {
        rates.push_back(acquisitions_of(r) / static_cast<double>(r.program.elapsed.count()) * 1e9);
        waits.add(r.program.waits);
    }
    const auto ns = [](nanoseconds t) { return static_cast<double>(t.count()); };
    cell c;
    c.bench = "locks";
    c.lock = lock;
    c.platform = b.on != nullptr ? "sim" : "native";
    c.machine = b.on != nullptr ? b.on->name : "";
    c.threads = threads;
    c.section_ns = b.section.count();
    c.think_ns = b.think.count();
    c.ops_per_s = spread_of(rates);
    c.cpu_ns_per_op = median_of(runs, [](const run_result& r) { return r.cpu_ns / acquisitions_of(r); });
    c.jain = median_of(runs, [](const run_result& r) {
        const std::vector<double> shares(r.program.acquisitions.begin(), r.program.acquisitions.end());
        return replay::jain_index(shares);
    });
    c.wait_ns = {ns(waits.percentile(0.5)), ns(waits.percentile(0.99)), ns(waits.percentile(0.999)),
                 ns(waits.longest())};
    if (b.on == nullptr)
        c.foreign_load = median_of(runs, [](const run_result& r) { return r.foreign_load; });
    return c;
}

contend_settings settings_of(const lock_bench& b, std::uint32_t threads) {
    contend_settings s;
    s.threads = threads;
    s.think = b.think;
    s.section = b.section;
    s.duration = b.duration;
    s.sample_every = b.on != nullptr ? 1 : 64;
    s.pinned = b.pinned;
    return s;
}

} // namespace

std::vector<std::string> lock_names(bool native) {
    std::vector<std::string> names;
    for (const contender& c : contenders) {
        if (native || c.on_sim != nullptr)
            names.emplace_back(c.name);
    }
    return names;
}

std::vector<cell> run_lock_bench(const lock_bench& b, const progress& show) {
    const std::size_t total = b.runs * b.locks.size() * b.threads.size();
    std::vector<std::vector<run_result>> results(b.locks.size() * b.threads.size());
    std::size_t done = 0;
    for (std::uint32_t run = 0; run < b.runs; ++run) {
        for (std::size_t t = 0; t < b.threads.size(); ++t) {
            for (std::size_t l = 0; l < b.locks.size(); ++l) {
                const contender& c = find_contender(b.locks[l]);
                show(done++, total, fmt::format("{}, {} threads", c.name, b.threads[t]));
                const contend_settings s = settings_of(b, b.threads[t]);
                const std::uint64_t seed = run + 1;
                const run_result r =
                    b.on != nullptr ? run_on_sim(c, *b.on, s, seed) : run_on_native(c, s, seed);
                if (!r.program.exclusive)
                    throw std::runtime_error(fmt::format("{} let two threads in at a time", c.name));
                results[l * b.threads.size() + t].push_back(r);
            }
        }
    }
    std::vector<cell> cells;
    for (std::size_t l = 0; l < b.locks.size(); ++l) {
        for (std::size_t t = 0; t < b.threads.size(); ++t)
            cells.push_back(cell_of(b, b.locks[l], b.threads[t], results[l * b.threads.size() + t]));
    }
    return cells;
}

// A section takes its computing, and three transfers of the mean distance: the data's line for reading, and
// for writing, and the lock's line to release it. A waiter's fetch comes from its own socket unless it is the
// first there, and the line stays with it for a while.
std::vector<cell> predict_ticket_lock(const lock_bench& b) {
    const sim::machine& m = *b.on;
    const auto ns = [](sim::picoseconds t) { return static_cast<double>(t) / 1000; };
    std::vector<cell> cells;
    for (const std::uint32_t threads : b.threads) {
        const double n = threads;
        const double in_socket = static_cast<double>(m.cores_per_socket * m.threads_per_core);
        const double sockets = std::min(std::max(n / in_socket, 1.0), static_cast<double>(m.sockets));
        const double far = 1 - 1 / sockets; // of two random ones, how often they are of different sockets
        const double mean = n == 1 ? 0 : far * ns(m.transfer_remote) + (1 - far) * ns(m.transfer_socket);
        const double first = std::min((sockets - 1) / n, 1.0);
        const double fetch = first * ns(m.transfer_remote) + (1 - first) * ns(m.transfer_socket) + ns(m.stay);
        const double section = static_cast<double>(b.section.count()) + 3 * mean + 1;
        const double rate = birth_death_throughput(
            threads, static_cast<double>(std::max<std::int64_t>(b.think.count(), 1)), section, fetch);
        cell c;
        c.bench = "locks";
        c.lock = "ticket lock by the birth-death chain";
        c.platform = "model";
        c.machine = m.name;
        c.threads = threads;
        c.section_ns = b.section.count();
        c.think_ns = b.think.count();
        c.ops_per_s = {rate, rate, rate};
        cells.push_back(c);
    }
    return cells;
}

} // namespace holdfast::bench
