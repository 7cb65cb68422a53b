// A simulated machine with only some of its CPUs online: which those are, and that nothing of the engine knows of
// the others.
#include <cstdint>
#include <set>
#include <stdexcept>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "sim_mixed_program.hpp"
#include "sim_support.hpp"

namespace holdfast::sim {
namespace {

machine limited(machine m, std::int64_t online_cpus) {
    m.online_cpus = online_cpus;
    return m;
}

std::vector<std::int64_t> cores_of(const machine& m) {
    std::vector<std::int64_t> cores;
    for (std::int64_t cpu = 0; cpu < m.cpus(); ++cpu)
        cores.push_back(m.core_of(cpu));
    return cores;
}

// Two sockets of two cores of two threads.
TEST(sim_online_cpus, cores_before_hardware_threads_and_socket_after_socket) {
    const machine m = free_machine(2, 2, 2);
    using list = std::vector<std::int64_t>;
    EXPECT_EQ(cores_of(m), (list{0, 0, 1, 1, 2, 2, 3, 3}));
    EXPECT_EQ(cores_of(limited(m, 1)), list{0});
    EXPECT_EQ(cores_of(limited(m, 3)), (list{0, 1, 2}));
    EXPECT_EQ(cores_of(limited(m, 4)), (list{0, 1, 2, 3}));
    EXPECT_EQ(cores_of(limited(m, 5)), (list{0, 0, 1, 2, 3}));
    EXPECT_EQ(cores_of(limited(m, 8)), cores_of(m));
    EXPECT_EQ(limited(m, 3).socket_of(1), 0);
    EXPECT_EQ(limited(m, 3).socket_of(2), 1);
    EXPECT_EQ(limited(m, 6).socket_of(3), 0);
    EXPECT_EQ(limited(m, 6).socket_of(4), 1);
    EXPECT_EQ(cores_of(limited(free_machine(2, 2), 3)), (list{0, 1, 2}));
}

TEST(sim_online_cpus, programs_count_and_use_no_others) {
    const machine m = limited(free_machine(2, 4, 2), 5);
    std::set<std::uint32_t> used;
    run({&m, 1, 0}, [&used] {
        EXPECT_EQ(W::cpu_count(), 5u);
        std::vector<W::thread> threads;
        threads.reserve(20);
        for (int i = 0; i < 20; ++i) {
            threads.push_back(W::spawn([&used] {
                for (int turn = 0; turn < 10; ++turn) {
                    used.insert(P::cpu());
                    W::compute(100us, cpu_mode::user);
                    W::sleep(50us);
                }
            }));
        }
        for (W::thread& t : threads)
            W::join(t);
    });
    EXPECT_EQ(used, (std::set<std::uint32_t>{0, 1, 2, 3, 4}));
}

TEST(sim_online_cpus, a_pin_to_another_is_refused) {
    const machine m = limited(free_machine(1, 4), 2);
    EXPECT_THROW(run({&m, 1, 0}, [] { W::pin(2); }), std::logic_error);
    EXPECT_THROW(run({&m, 1, 0},
                     [] {
                         W::thread t = W::spawn_on(2, [] {});
                         W::join(t);
                     }),
                 std::logic_error);
    EXPECT_NO_THROW(run({&m, 1, 0}, [] { W::pin(1); }));
}

// Pinned or not, woken, stolen, balanced, swapped, interrupted, on every kind of machine and with any number of
// CPUs: all CPU time is somebody's, and idle time that of CPUs that are online.
TEST(sim_online_cpus, no_time_is_lost) {
    for (const machine& m : mixed_machines()) {
        for (std::int64_t online = 1; online <= m.all_cpus(); ++online) {
            const machine fewer = limited(m, online);
            mixed_result seen;
            const report r = run_on_first(fewer, [&seen] { mixed_program(seen).run(); });
            SCOPED_TRACE(m.name + ", CPUs: " + std::to_string(online));
            EXPECT_EQ(seen.counted, seen.sections);
            EXPECT_EQ(r.user + r.system + r.idle, online * r.elapsed);
            EXPECT_GE(r.idle, 0);
        }
    }
}

// Two sockets of which one is online are a machine of one socket; cores with one hardware thread online each,
// one whose cores have but one.
TEST(sim_online_cpus, a_part_is_as_a_machine_of_its_size) {
    const auto figures = [](const machine& m) {
        mixed_result seen;
        const report r = run_on_first(m, [&seen] { mixed_program(seen).run(); });
        return std::tuple(r.elapsed, r.user, r.system, r.idle, r.migrations, r.line_transfers);
    };
    machine one = memory_machine(1, 4);
    one.slice = one.wakeup_granularity = 100 * us;
    machine two = one;
    two.sockets = 2;
    machine twice = one;
    twice.threads_per_core = 2;
    twice.smt_slowdown_ppm = 1'700'000;
    EXPECT_EQ(figures(limited(two, 4)), figures(one));
    EXPECT_EQ(figures(limited(twice, 4)), figures(one));
    EXPECT_NE(figures(two), figures(one));
    EXPECT_NE(figures(twice), figures(one));
}

} // namespace
} // namespace holdfast::sim
