#include "bench/lock_bench.hpp"

#include <algorithm>
#include <chrono>
#include <stdexcept>

#include <fmt/format.h>

#include "bench/birth_death.hpp"
#include "bench/locks.hpp"
#include "bench/measure.hpp"

namespace holdfast::bench {

namespace {

// Our spinlocks, and what everybody has.
constexpr const char* curve_locks[] = {"holdfast::tas_lock",  "holdfast::ticket_lock", "holdfast::mcs_lock",
                                       "holdfast::qspinlock", "holdfast::rwlock",      "holdfast::qrwlock",
                                       "std::mutex"};

const bench_lock& find_curve_lock(const std::string& name) {
    const bench_lock* const found = find_lock(name);
    if (found == nullptr)
        throw std::invalid_argument("no such lock: " + name);
    return *found;
}

cell cell_of(const lock_bench& b, const std::string& lock, std::uint32_t threads,
             const std::vector<measurement>& runs) {
    cell c;
    c.bench = "locks";
    c.lock = lock;
    c.platform = b.on != nullptr ? "sim" : "native";
    c.machine = b.on != nullptr ? b.on->name : "";
    c.threads = threads;
    c.section_ns = b.section.count();
    c.think_ns = b.think.count();
    set_figures(c, runs);
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
    for (const char* const name : curve_locks) {
        if (native || find_curve_lock(name).on_sim != nullptr)
            names.emplace_back(name);
    }
    return names;
}

std::vector<cell> run_lock_bench(const lock_bench& b, const progress& show) {
    constexpr std::chrono::minutes limit(1);
    const std::size_t total = b.runs * b.locks.size() * b.threads.size();
    std::vector<std::vector<measurement>> results(b.locks.size() * b.threads.size());
    std::size_t done = 0;
    for (std::uint32_t run = 0; run < b.runs; ++run) {
        for (std::size_t t = 0; t < b.threads.size(); ++t) {
            for (std::size_t l = 0; l < b.locks.size(); ++l) {
                const bench_lock& lock = find_curve_lock(b.locks[l]);
                show(done++, total, fmt::format("{}, {} threads", lock.name, b.threads[t]));
                const contend_settings s = settings_of(b, b.threads[t]);
                const std::uint64_t seed = run + 1;
                const run_outcome r = b.on != nullptr ? measure_on_sim(lock, *b.on, s, seed)
                                                      : measure_native(lock, lock_program::contend, s, seed,
                                                                       limit, [] { return false; });
                if (!r.failure.empty())
                    throw std::runtime_error(fmt::format("{}: {}", lock.name, r.failure));
                results[l * b.threads.size() + t].push_back(r.measured);
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
