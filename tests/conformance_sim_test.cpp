// The simulated machine keeps both contracts, on machines of different shapes and with different seeds.
#include "conformance.hpp"

#include "sim_support.hpp"

#include <type_traits>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

struct names {
    template <class Scenario>
    static std::string GetName(int) {
        return Scenario::name;
    }
};

// Small machines of different shapes: each seed places threads differently and gives them another order. In
// the last two, hardware threads take turns on a core, and all threads on the one CPU.
std::vector<machine> machines() {
    machine turns = memory_machine(2, 1, 2);
    turns.sharing = smt::switch_on_event;
    turns.pausing = pause_kind::switch_thread;
    turns.smt_quantum = 3 * us;
    turns.smt_switch = 9 * ns;
    turns.pause = 40 * ns;
    turns.placing = placement::random;
    turns.rmw_always_fences = 1;
    turns.fence = 10 * ns;
    turns.tick = 50 * us;
    turns.tick_cost = 2 * us;
    turns.merge = read_merge::socket;
    machine crowded = memory_machine(1, 1);
    crowded.slice = 20 * us;
    crowded.wakeup_granularity = 5 * us;
    crowded.context_switch = 1 * us;
    crowded.wakeup_latency = 2 * us;
    return {memory_machine(1, 2), memory_machine(2, 2, 2), memory_machine(4, 8), turns, crowded};
}

template <class Scenario>
void run_simulated() {
    // With preemption disabled, two that wait for each other need two CPUs.
    constexpr bool need_two = std::is_same_v<Scenario, conformance::others_nodes<P>>;
    for (const machine& m : machines()) {
        if (need_two && m.cpus() < 2)
            continue;
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            bool ok = false;
            run({&m, seed, 10'000 * ms}, [&ok] {
                auto& scenario = W::make<Scenario>();
                std::vector<W::thread> threads;
                for (unsigned index = 0; index < Scenario::threads; ++index)
                    threads.push_back(W::spawn([&scenario, index] { scenario.thread(index); }));
                for (W::thread& thread : threads)
                    W::join(thread);
                ok = scenario.ok();
            });
            ASSERT_TRUE(ok) << Scenario::name << " with " << m.cpus() << " CPUs and seed " << seed;
        }
    }
}

template <class Scenario>
class conformance_sim : public testing::Test {};
using lock_scenarios = conformance::lock_scenarios<P, testing::Types>;
TYPED_TEST_SUITE(conformance_sim, lock_scenarios, names);
TYPED_TEST(conformance_sim, holds) {
    run_simulated<TypeParam>();
}

template <class Scenario>
class conformance_sim_timed : public testing::Test {};
using timed_scenarios = conformance::timed_scenarios<P, testing::Types>;
TYPED_TEST_SUITE(conformance_sim_timed, timed_scenarios, names);
TYPED_TEST(conformance_sim_timed, holds) {
    run_simulated<TypeParam>();
}

template <class Scenario>
class conformance_sim_world : public testing::Test {};
using program_scenarios = conformance::program_scenarios<world, testing::Types>;
TYPED_TEST_SUITE(conformance_sim_world, program_scenarios, names);
TYPED_TEST(conformance_sim_world, holds) {
    for (const machine& m : machines()) {
        for (std::uint64_t seed = 1; seed <= 10; ++seed) {
            bool ok = false;
            run({&m, seed, 10'000 * ms}, [&ok] { ok = TypeParam::run(); });
            ASSERT_TRUE(ok) << TypeParam::name << " with " << m.cpus() << " CPUs and seed " << seed;
        }
    }
}

} // namespace
} // namespace holdfast::sim
