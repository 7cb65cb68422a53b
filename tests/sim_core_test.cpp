// The physics of a core: what pausing costs, and how hardware threads share it.
#include "sim_support.hpp"

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using word = P::atomic<std::uint32_t>;

// ---- Pausing ----------------------------------------------------------------------------------------------

TEST(sim_core, pause_costs_what_the_machine_says) {
    machine m = free_machine(1, 1);
    std::int64_t t = 0;
    const auto pause_twice = [&t] {
        t = took([] {
            P::pause();
            P::pause();
        });
    };
    run_on_first(m, pause_twice);
    EXPECT_EQ(t, 0);
    m.pause = 140 * ns;
    run_on_first(m, pause_twice);
    EXPECT_EQ(t, 2 * 140);
}

// When a waiter that pauses so many times a look sees a store of time 1000.
std::int64_t noticed(std::uint32_t pauses) {
    machine m = memory_machine(1, 2);
    m.pause = 40 * ns;
    std::int64_t end = 0;
    run_on_first(m, [&] {
        auto& w = W::make<word>(0u);
        together({{0,
                   [&] {
                       W::compute(1us, cpu_mode::user);
                       w.store(1, relaxed);
                   }},
                  {1, [&] {
                       P::await(
                           relaxed, [](std::uint32_t v) { return v == 1; }, {}, relax{pauses}, w);
                       end = now_ns();
                   }}});
    });
    return end;
}

// The waiter has its copy at 101 and looks from then on every 1 (a hit) + pauses * 40. The store has
// invalidated the copy at 1050. Without pauses it looks at once; with one at 101 + 24 * 41 = 1085; with ten
// at 101 + 3 * 401 = 1304. The line comes back 50 later, and is read.
TEST(sim_core, a_waiter_notices_when_it_looks_next) {
    EXPECT_EQ(noticed(0), 1050 + 50 + 1);
    EXPECT_EQ(noticed(1), 1085 + 50 + 1);
    EXPECT_EQ(noticed(10), 1304 + 50 + 1);
}

// ---- Threads that share a core ----------------------------------------------------------------------------

machine shared_core(std::int64_t slowdown_ppm) {
    machine m = memory_machine(1, 1, 2);
    m.smt_slowdown_ppm = slowdown_ppm;
    return m;
}

// How long CPU 0 takes for 1 ms of work while its sibling does `other`.
std::int64_t work_beside(const machine& m, const std::function<void()>& other) {
    std::int64_t t = 0;
    run_on_first(m, [&] {
        together({{0,
                   [&] {
                       W::compute(1us, cpu_mode::user); // until the sibling is at it, too
                       t = took([] {
                           for (int i = 0; i < 1000; ++i)
                               W::compute(1us, cpu_mode::user);
                       });
                   }},
                  {1, other}});
    });
    return t;
}

TEST(sim_core, a_shared_core_is_slower_while_both_its_threads_work) {
    const auto work = [] { W::compute(10ms, cpu_mode::user); };
    EXPECT_EQ(work_beside(shared_core(1'600'000), work), 1'600'000);
    EXPECT_EQ(work_beside(shared_core(1'000'000), work), 1'000'000);
}

// The sibling's steps end at 0.16 us and every 1.6 us from then on, the last at 500.96 us. The speed of a
// step is decided when it begins: those that begin at 1.6, 3.2, ... 500.8 us are slow, 313 of them.
TEST(sim_core, and_only_as_long_as_they_do) {
    EXPECT_EQ(work_beside(shared_core(1'600'000), [] { W::sleep(20ms); }), 1'000'000);
    const auto half = [] {
        W::compute(100ns, cpu_mode::user);
        while (W::now() < 500us)
            W::compute(1us, cpu_mode::user);
    };
    EXPECT_EQ(work_beside(shared_core(1'600'000), half), 313 * 1'600 + 687 * 1'000);
}

// What waits for memory, or spins on its own copy of it, leaves the core's units to its sibling.
TEST(sim_core, a_spinning_sibling_does_not_slow_a_shared_core) {
    EXPECT_EQ(work_beside(shared_core(1'600'000),
                          [] {
                              auto& w = W::make<word>(0u);
                              const auto until = P::deadline::after(10ms);
                              P::await(
                                  relaxed, [](std::uint32_t v) { return v == 1; }, {.deadline = &until},
                                  relax{}, w);
                          }),
              1'000'000);
}

// ---- Threads that take turns on a core --------------------------------------------------------------------

// CPUs 0 and 1 are a core; the program's first thread keeps out of its way, on CPU 2.
machine switch_on_event_core() {
    machine m = memory_machine(1, 2, 2);
    m.sharing = smt::switch_on_event;
    m.pausing = pause_kind::switch_thread;
    m.smt_quantum = 100 * us;
    m.smt_switch = 9 * ns;
    m.pause = 40 * ns;
    return m;
}

void run_on_third(const machine& m, const std::function<void()>& main) {
    run({&m, 1, 0}, [&main] {
        W::pin(2);
        main();
    });
}

// CPU 0 spins. From 10 us on its sibling wants to work for 10 us; gives when it has.
std::int64_t work_beside_a_spinner(const machine& m, const std::function<void(word&)>& spin) {
    std::int64_t end = 0;
    run_on_third(m, [&] {
        auto& done = W::make<word>(0u);
        together({{0, [&] { spin(done); }}, {1, [&] {
                                                 W::sleep(10us);
                                                 W::compute(10us, cpu_mode::user);
                                                 end = now_ns();
                                                 done.store(1, relaxed);
                                             }}});
    });
    return end;
}

void spin_without_pause(word& done) {
    while (done.load(relaxed) == 0) {
    }
}
void spin_with_pause(word& done) {
    while (done.load(relaxed) == 0)
        P::pause();
}
template <std::uint32_t Pauses>
void wait_with_pauses(word& done) {
    P::await(
        relaxed, [](std::uint32_t v) { return v == 1; }, {}, relax{Pauses}, done);
}

// The spinner has the line, and the core, from 101 on. A quantum later its sibling gets the core, and 9 after
// that it works.
TEST(sim_core, a_spinner_that_does_not_pause_keeps_its_sibling_from_running_until_the_quantum_is_over) {
    constexpr std::int64_t after_quantum = 101 + 100'000 + 9 + 10'000;
    EXPECT_EQ(work_beside_a_spinner(switch_on_event_core(), spin_without_pause), after_quantum);
    EXPECT_EQ(work_beside_a_spinner(switch_on_event_core(), wait_with_pauses<0>), after_quantum);
    machine m = switch_on_event_core();
    m.pausing = pause_kind::wait;
    EXPECT_EQ(work_beside_a_spinner(m, spin_with_pause), after_quantum);
    EXPECT_EQ(work_beside_a_spinner(m, wait_with_pauses<1>), after_quantum);
    m.smt_quantum = 50 * us;
    EXPECT_EQ(work_beside_a_spinner(m, spin_with_pause), after_quantum - 50'000);
}

// The spinner pauses every 41 from 101 on: at 101 + 242 * 41 = 10023 for the first time since its sibling
// wants the core. One that awaits, and pauses between two looks, leaves the core alone from the beginning.
TEST(sim_core, a_spinner_that_pauses_lets_its_sibling_run) {
    EXPECT_EQ(work_beside_a_spinner(switch_on_event_core(), spin_with_pause), 10'023 + 9 + 10'000);
    EXPECT_EQ(work_beside_a_spinner(switch_on_event_core(), wait_with_pauses<1>), 10'000 + 10'000);
}

// CPU 0 misses at 0, and its sibling takes the free core until it ends, at 10000. CPU 0's line came at 100;
// it has the core from 10009 on.
TEST(sim_core, a_miss_gives_the_core_away) {
    const auto both = [](const machine& m) {
        std::pair<std::int64_t, std::int64_t> end;
        run_on_third(m, [&end] {
            auto& w = W::make<word>(0u);
            together({{0,
                       [&] {
                           w.load(relaxed);
                           W::compute(1us, cpu_mode::user);
                           end.first = now_ns();
                       }},
                      {1, [&] {
                           W::compute(10us, cpu_mode::user);
                           end.second = now_ns();
                       }}});
        });
        return end;
    };
    EXPECT_EQ(both(switch_on_event_core()), std::pair(std::int64_t{11'009}, std::int64_t{10'000}));
    EXPECT_EQ(both(memory_machine(1, 2, 2)), std::pair(std::int64_t{1'101}, std::int64_t{10'000}));
}

// Two of 300 us, a quantum of 100 and a switch of 9 ns: A from 0, B from 100.009, A from 200.018, B from
// 300.027, A from 400.036 to its end at 500.036, B from 500.045 to its end at 600.045.
TEST(sim_core, two_that_compute_take_turns) {
    std::vector<std::int64_t> end(2);
    run_on_third(switch_on_event_core(), [&end] {
        std::vector<placed> bodies;
        for (std::uint32_t cpu = 0; cpu < 2; ++cpu) {
            bodies.emplace_back(cpu, [&end, cpu] {
                W::compute(300us, cpu_mode::user);
                end[cpu] = now_ns();
            });
        }
        together(bodies);
    });
    EXPECT_EQ(end, (std::vector<std::int64_t>{500'036, 600'045}));
}

} // namespace
} // namespace holdfast::sim
