#include "bench/sim_bench.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <string>

#include <holdfast/lockref.hpp>
#include <holdfast/mcs_lock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/ticket_lock.hpp>

#include "bench/cpu_clock.hpp"
#include "sim/world.hpp"
#include "workload/contend.hpp"

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using sim::world;
using P = sim::platform;

// So long that a run takes about a tenth of a second.
constexpr nanoseconds simulated = 50ms;

template <class Lock>
void contend_for(std::uint32_t threads) {
    contend_settings s;
    s.threads = threads;
    s.think = 1us;
    s.section = 100ns;
    s.duration = simulated;
    contend<world, Lock>(s);
}

void count_references(std::uint32_t threads) {
    auto& reference = world::make<lockref<P>>(1);
    std::vector<world::thread> started;
    for (std::uint32_t i = 0; i < threads; ++i) {
        started.push_back(world::spawn([&reference] {
            while (world::now() < simulated) {
                reference.get();
                reference.put();
            }
        }));
    }
    for (world::thread& t : started)
        world::join(t);
}

struct program {
    const char* name;
    void (*run)(std::uint32_t threads);
};
constexpr program programs[] = {
    {"holdfast::ticket_lock", contend_for<ticket_lock<P>>},
    {"holdfast::mcs_lock", contend_for<mcs_lock<P>>},
    {"holdfast::qspinlock", contend_for<qspinlock<P>>},
    {"holdfast::lockref", count_references},
};

// A size in /proc/self/status, in bytes.
std::uint64_t own_size(const std::string& which) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == which + ":") {
            std::uint64_t kib = 0;
            status >> kib;
            return kib * 1024;
        }
    }
    return 0;
}

} // namespace

std::vector<cell> measure_simulator(const sim::machine& m, std::uint32_t runs, const progress& show) {
    const auto threads = static_cast<std::uint32_t>(std::min<std::int64_t>(m.cpus(), 64));
    std::vector<cell> cells;
    std::size_t done = 0;
    for (const program& p : programs) {
        std::vector<double> speeds;
        for (std::uint32_t run = 0; run < runs; ++run) {
            show(done++, runs * std::size(programs), p.name);
            const double begin = cpu_seconds();
            const sim::report r = sim::run({&m, run + 1, 0}, [&] { p.run(threads); });
            speeds.push_back(static_cast<double>(r.memory_operations) / (cpu_seconds() - begin));
        }
        cell c;
        c.bench = "sim";
        c.lock = p.name;
        c.platform = "sim";
        c.machine = m.name;
        c.threads = threads;
        c.ops_per_s = spread_of(speeds);
        cells.push_back(c);
    }
    return cells;
}

std::uint64_t memory_of_sleepers(const sim::machine& m, std::uint32_t threads) {
    const std::uint64_t before = own_size("VmRSS");
    sim::run({&m, 1, 0}, [threads] {
        std::vector<world::thread> started;
        for (std::uint32_t i = 0; i < threads; ++i) {
            started.push_back(world::spawn([] {
                for (int round = 0; round < 10; ++round) {
                    world::sleep(nanoseconds(world::random().below(10'000'000)));
                    world::compute(1us, cpu_mode::user);
                }
            }));
        }
        for (world::thread& t : started)
            world::join(t);
    });
    const std::uint64_t most = own_size("VmHWM");
    return most > before ? most - before : 0;
}

} // namespace holdfast::bench
