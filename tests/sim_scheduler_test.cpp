// The physics of the scheduler: who runs where, from when on, and what that costs.
#include "sim_support.hpp"

#include <algorithm>
#include <set>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using word = P::atomic<std::uint32_t>;

void work(std::chrono::nanoseconds duration) {
    W::compute(duration, cpu_mode::user);
}
bool never(std::uint32_t) {
    return false;
}

// ---- Costs of switching and waking ------------------------------------------------------------------------

// One thread that works, sleeps and works for 1 ms each. A switch of 3 us begins each work, a wake-up latency
// of 5 us comes before the second.
TEST(sim_scheduler, switches_and_wake_ups_take_their_time) {
    const auto program = [] {
        work(1ms);
        W::sleep(1ms);
        work(1ms);
    };
    machine m = free_machine(1, 1);
    EXPECT_EQ(run({&m, 1, 0}, program).elapsed, 3 * ms);
    m.context_switch = 3 * us;
    EXPECT_EQ(run({&m, 1, 0}, program).elapsed, 3 * ms + 2 * 3 * us);
    m.wakeup_latency = 5 * us;
    const report r = run({&m, 1, 0}, program);
    EXPECT_EQ(r.elapsed, 3 * ms + 2 * 3 * us + 5 * us);
    EXPECT_EQ(r.context_switches, 2u); // off to sleep, and off at the end
}

// What a woken thread's wake-up costs: the waker wake_cost, itself latency and switch.
TEST(sim_scheduler, a_wake_up_costs_the_waker) {
    machine m = free_machine(1, 2);
    m.wake_cost = 700 * ns;
    m.wakeup_latency = 5 * us;
    m.context_switch = 3 * us;
    std::int64_t unpark = 0;
    std::int64_t unpark_again = 0;
    std::int64_t spawn = 0;
    std::int64_t called = 0;
    std::int64_t woken = 0;
    run_on_first(m, [&] {
        thread_id sleeper = nobody;
        W::thread t;
        spawn = took([&] {
            t = W::spawn_on(1, [&] {
                sleeper = P::self();
                P::park();
                woken = now_ns();
                work(1ms);
            });
        });
        work(1ms);
        called = now_ns();
        unpark = took([&] { P::unpark(sleeper); });
        unpark_again = took([&] { P::unpark(sleeper); });
        W::join(t);
    });
    EXPECT_EQ(spawn, 700);
    EXPECT_EQ(unpark, 700);
    EXPECT_EQ(unpark_again, 0); // only leaves a token
    EXPECT_EQ(woken, called + 5'000 + 3'000);
}

TEST(sim_scheduler, a_token_spares_the_sleep) {
    machine m = free_machine(1, 1);
    m.context_switch = 3 * us;
    std::int64_t t = -1;
    run_on_first(m, [&t] {
        P::unpark(P::self());
        P::unpark(P::self());
        t = took([] { P::park(); });
        EXPECT_FALSE(P::park(P::deadline::after(1us))); // it was one token
    });
    EXPECT_EQ(t, 0);
}

// Another thread on that CPU has to wait until the halted one has gone on (10 us, and 2 for the wake-up) and parks again
// with preemption enabled. The 10 us are idle.
TEST(sim_scheduler, parking_with_preemption_disabled_halts_the_cpu) {
    machine m = free_machine(1, 2);
    m.wakeup_latency = 2 * us;
    std::int64_t went_on = -1;
    std::int64_t other_ran = -1;
    const report r = run_on_first(m, [&] {
        const thread_id me = P::self();
        W::thread other = W::spawn_on(0, [&] { other_ran = now_ns(); });
        W::thread waker = W::spawn_on(1, [me] {
            work(10us);
            P::unpark(me);
        });
        P::preempt_disable();
        P::park();
        went_on = now_ns();
        EXPECT_FALSE(P::park(P::deadline::after(5us))); // it may time out
        P::preempt_enable();
        W::join(other);
        W::join(waker);
    });
    EXPECT_EQ(went_on, 12'000);
    EXPECT_GE(other_ran, 19'000);
    EXPECT_EQ(r.user + r.system, 10 * us);
}

// ---- Slices -----------------------------------------------------------------------------------------------

// When each of two that share a CPU has worked for 2.5 ms.
std::vector<std::int64_t> two_on_a_cpu(picoseconds slice) {
    machine m = free_machine(1, 1);
    m.slice = slice;
    std::vector<std::int64_t> end(2);
    run_on_first(m, [&end] {
        std::vector<placed> bodies;
        for (std::size_t i = 0; i < 2; ++i) {
            bodies.emplace_back(0, [&end, i] {
                work(2'500us);
                end[i] = now_ns();
            });
        }
        together(bodies);
    });
    return end;
}

// A from 0, B from 1, A from 2, B from 3, A from 4 to 4.5, B to 5.
TEST(sim_scheduler, a_slice_ends_when_others_wait) {
    EXPECT_EQ(two_on_a_cpu(1 * ms), (std::vector<std::int64_t>{4'500'000, 5'000'000}));
    EXPECT_EQ(two_on_a_cpu(10 * ms), (std::vector<std::int64_t>{2'500'000, 5'000'000}));
}

TEST(sim_scheduler, a_slice_goes_on_when_nobody_waits) {
    machine m = free_machine(1, 1);
    m.slice = 1 * ms;
    EXPECT_EQ(run_on_first(m, [] { work(10ms); }).context_switches, 1u);
}

// ---- Wake-up preemption -----------------------------------------------------------------------------------

// One works for 10 ms from 0 on; another wakes up at 2 ms. When does that one run?
std::int64_t woken_beside_work(picoseconds granularity) {
    machine m = free_machine(1, 1);
    m.slice = 5 * ms;
    m.wakeup_granularity = granularity;
    std::int64_t runs = 0;
    run_on_first(m, [&runs] {
        together({{0,
                   [&runs] {
                       W::sleep(2ms);
                       runs = now_ns();
                   }},
                  {0, [] { work(10ms); }}});
    });
    return runs;
}

TEST(sim_scheduler, a_woken_thread_preempts_one_that_has_run_for_the_granularity) {
    EXPECT_EQ(woken_beside_work(1 * ms), 2'000'000);
    EXPECT_EQ(woken_beside_work(2 * ms), 2'000'000);
}

TEST(sim_scheduler, or_waits_for_the_end_of_its_slice) {
    EXPECT_EQ(woken_beside_work(3 * ms), 5'000'000);
}

// ---- Preemption disabled ----------------------------------------------------------------------------------

// A holds the CPU with preemption disabled, doing `hold`, from 0 on; B wakes up there at 1 ms. When does B
// run?
std::int64_t woken_beside_holder(const std::function<void()>& hold) {
    machine m = free_machine(1, 1);
    m.wakeup_granularity = 0;
    std::int64_t runs = 0;
    run_on_first(m, [&] {
        together({{0,
                   [&runs] {
                       W::sleep(1ms);
                       runs = now_ns();
                   }},
                  {0, [&hold] {
                       const P::no_preempt here;
                       hold();
                   }}});
    });
    return runs;
}

awaited<std::uint32_t> spin(bool ends_by_resched) {
    const auto& w = W::make<word>(0u);
    const auto until = P::deadline::after(10ms);
    return P::await(relaxed, never, {.resched = ends_by_resched, .deadline = &until}, relax{}, w);
}

TEST(sim_scheduler, preemption_disabled_keeps_a_woken_thread_from_its_cpu) {
    EXPECT_EQ(woken_beside_holder([] { work(10ms); }), 10'000'000);
    EXPECT_EQ(woken_beside_holder([] { EXPECT_EQ(spin(false).why, wake::expired); }), 10'000'000);
}

TEST(sim_scheduler, need_resched_ends_a_spin_that_asks_for_it) {
    EXPECT_EQ(woken_beside_holder([] {
                  EXPECT_FALSE(P::need_resched());
                  EXPECT_EQ(spin(true).why, wake::resched);
                  EXPECT_TRUE(P::need_resched());
              }),
              1'000'000);
}

// Preemption comes back with the outermost of nested pairs only.
TEST(sim_scheduler, preemption_is_disabled_in_pairs) {
    EXPECT_EQ(woken_beside_holder([] {
                  {
                      const P::no_preempt nested;
                      work(2ms);
                  }
                  work(1ms);
              }),
              3'000'000);
}

TEST(sim_scheduler, a_spinner_that_may_be_preempted_is) {
    machine m = free_machine(1, 1);
    m.wakeup_granularity = 0;
    std::int64_t runs = 0;
    run_on_first(m, [&] {
        together({{0,
                   [&runs] {
                       W::sleep(1ms);
                       runs = now_ns();
                   }},
                  {0, [] { EXPECT_EQ(spin(false).why, wake::expired); }}});
    });
    EXPECT_EQ(runs, 1'000'000);
}

// ---- The owner of a lock ----------------------------------------------------------------------------------

// CPU 1's thread does `leave` after 1 ms. When, and why, does a spin of CPU 0 end that watches it?
std::pair<std::int64_t, wake> spin_on_owner(const std::function<void()>& leave, bool watch) {
    machine m = free_machine(1, 2);
    m.wakeup_granularity = 0;
    std::pair<std::int64_t, wake> end{0, wake::satisfied};
    run_on_first(m, [&] {
        thread_id owner = nobody;
        together({{1,
                   [] {
                       W::sleep(3ms);
                       work(1ms);
                   }},
                  {1,
                   [&] {
                       owner = P::self();
                       work(1ms);
                       leave();
                   }},
                  {0, [&] {
                       work(1us);
                       const auto& w = W::make<word>(0u);
                       const auto until = P::deadline::after(10ms);
                       end.second =
                           P::await(relaxed, never,
                                    {.owner_off_cpu = watch ? owner : nobody, .deadline = &until}, relax{}, w)
                               .why;
                       end.first = now_ns();
                   }}});
    });
    return end;
}

TEST(sim_scheduler, a_spin_ends_when_the_owner_leaves_its_cpu) {
    const auto sleeps = [] { W::sleep(20ms); };
    EXPECT_EQ(spin_on_owner(sleeps, true), std::pair(std::int64_t{1'000'000}, wake::owner_off_cpu));
    EXPECT_EQ(spin_on_owner(sleeps, false), std::pair(std::int64_t{10'001'000}, wake::expired));
    EXPECT_EQ(spin_on_owner([] {}, true), std::pair(std::int64_t{1'000'000}, wake::owner_off_cpu));
    // Another thread of its CPU wakes up at 3 ms and preempts it.
    EXPECT_EQ(spin_on_owner([] { work(20ms); }, true),
              std::pair(std::int64_t{3'000'000}, wake::owner_off_cpu));
}

// ---- Deadlines --------------------------------------------------------------------------------------------

TEST(sim_scheduler, park_and_await_end_at_their_deadlines) {
    machine m = free_machine(1, 1);
    m.wakeup_latency = 5 * us;
    m.context_switch = 3 * us;
    std::int64_t parked = 0;
    std::int64_t spun = 0;
    std::int64_t late = -1;
    run_on_first(m, [&] {
        parked = took([] { EXPECT_FALSE(P::park(P::deadline::after(1ms))); });
        spun = took([] { EXPECT_EQ(spin(false).why, wake::expired); });
        const auto gone = P::deadline::after(0ns);
        late = took([&] { EXPECT_FALSE(P::park(gone)); });
        EXPECT_TRUE(gone.expired());
        EXPECT_FALSE(P::deadline::never().expired());
    });
    EXPECT_EQ(parked, 1'000'000 + 5'000 + 3'000);
    EXPECT_EQ(spun, 10'000'000);
    EXPECT_EQ(late, 0);
}

// ---- Placement --------------------------------------------------------------------------------------------

struct used {
    std::size_t sockets, cores;
};

// How many sockets and cores four threads, the first included, are put on.
used by_four(placement placing, const machine& shape, std::uint64_t seed) {
    machine m = shape;
    m.placing = placing;
    std::set<std::int64_t> sockets;
    std::set<std::int64_t> cores;
    run({&m, seed, 0}, [&] {
        const auto note = [&] {
            sockets.insert(m.socket_of(P::cpu()));
            cores.insert(m.core_of(P::cpu()));
            work(1ms);
        };
        std::vector<W::thread> threads;
        threads.reserve(3);
        for (int i = 0; i < 3; ++i)
            threads.push_back(W::spawn(note));
        note();
        for (W::thread& t : threads)
            W::join(t);
    });
    return {sockets.size(), cores.size()};
}

// On two sockets of two cores of two threads: a core each; two in each socket, wherever there; or anywhere.
TEST(sim_scheduler, new_threads_are_spread_over_cores_or_sockets_or_fall_anywhere) {
    const machine m = free_machine(2, 2, 2);
    std::size_t fewest_cores_by_socket = 4;
    std::size_t fewest_cores = 4;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        EXPECT_EQ(by_four(placement::spread, m, seed).cores, 4u) << seed;
        const used by_socket = by_four(placement::sockets, m, seed);
        EXPECT_EQ(by_socket.sockets, 2u) << seed;
        EXPECT_GE(by_socket.cores, 2u) << seed;
        fewest_cores_by_socket = std::min(fewest_cores_by_socket, by_socket.cores);
        fewest_cores = std::min(fewest_cores, by_four(placement::random, m, seed).cores);
    }
    EXPECT_LT(fewest_cores_by_socket, 4u);
    EXPECT_LT(fewest_cores, 4u);
}

TEST(sim_scheduler, new_threads_are_spread_over_all_sockets_or_fall_anywhere) {
    const machine m = free_machine(4, 4, 2);
    std::size_t fewest = 4;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        EXPECT_EQ(by_four(placement::spread, m, seed).sockets, 4u) << seed;
        EXPECT_EQ(by_four(placement::sockets, m, seed).sockets, 4u) << seed;
        fewest = std::min(fewest, by_four(placement::random, m, seed).sockets);
    }
    EXPECT_LT(fewest, 4u);
}

// ---- Stealing, balancing, swapping ------------------------------------------------------------------------

// Two CPUs, one thread of 10 ms and two of 1 ms. When are the short ones done?
std::int64_t short_ones_done(bool pinned) {
    std::int64_t end = 0;
    const std::function<void()> brief = [&end] {
        work(1ms);
        end = std::max(end, now_ns());
    };
    run_on_first(free_machine(1, 2), [&] {
        const auto start = [pinned](std::uint32_t cpu, const std::function<void()>& body) {
            return pinned ? W::spawn_on(cpu, body) : W::spawn(body);
        };
        W::thread a = start(1, [] { work(10ms); });
        W::thread b = start(0, brief);
        W::thread c = start(1, brief);
        W::join(a);
        W::join(b);
        W::join(c);
    });
    return end;
}

TEST(sim_scheduler, an_idle_cpu_takes_a_thread_from_anothers_queue) {
    EXPECT_EQ(short_ones_done(false), 2'000'000);
    EXPECT_EQ(short_ones_done(true), 11'000'000);
}

// CPU 0 takes eight naps, while CPU 1 works for 10 ms. Then each gets a thread of 1 ms; the one on CPU 1 has
// to wait, or is taken by CPU 0 when that is done with its own. When are both done?
std::int64_t both_done_after_naps(std::chrono::nanoseconds nap, picoseconds steal_after) {
    machine m = free_machine(1, 2);
    m.steal_after = steal_after;
    std::int64_t end = 0;
    const std::function<void()> brief = [&end] {
        work(1ms);
        end = std::max(end, now_ns());
    };
    run_on_first(m, [&] {
        W::thread busy = W::spawn_on(1, [] { work(10ms); });
        for (int i = 0; i < 8; ++i)
            W::sleep(nap);
        W::thread a = W::spawn(brief);
        W::thread b = W::spawn(brief);
        W::join(busy);
        W::join(a);
        W::join(b);
    });
    return end;
}

TEST(sim_scheduler, a_cpu_that_is_never_idle_for_long_takes_no_threads) {
    EXPECT_EQ(both_done_after_naps(10us, 0), 2'080'000);
    EXPECT_EQ(both_done_after_naps(10us, 500 * us), 11'000'000);
    EXPECT_EQ(both_done_after_naps(1ms, 500 * us), 10'000'000);
}

// Two threads whose socket has one CPU wake up at 5 ms and work for 10 ms, while the other socket sleeps.
picoseconds two_waking_in_one_socket(picoseconds balance_interval) {
    machine m = free_machine(2, 1);
    m.balance_interval = balance_interval;
    return run_on_first(m,
                        [] {
                            std::vector<W::thread> threads;
                            threads.reserve(6);
                            // So that the two are put on CPU 0.
                            for (int i = 0; i < 4; ++i)
                                threads.push_back(W::spawn_on(1, [] { work(500us); }));
                            for (int i = 0; i < 2; ++i) {
                                threads.push_back(W::spawn([] {
                                    W::sleep(5ms);
                                    work(10ms);
                                }));
                            }
                            for (W::thread& t : threads)
                                W::join(t);
                        })
        .elapsed;
}

TEST(sim_scheduler, a_balancer_moves_waiting_threads_to_idle_cpus) {
    EXPECT_EQ(two_waking_in_one_socket(0), 25 * ms);
    EXPECT_EQ(two_waking_in_one_socket(1 * ms), 15 * ms);
}

struct swapped {
    picoseconds elapsed;
    std::uint64_t migrations;
};

// `threads` threads of 100 ms on two sockets of two, with so many swaps a thousand seconds.
swapped work_with_swaps(int threads, std::int64_t swaps_per_1000s, std::int64_t cores) {
    machine m = free_machine(2, cores);
    m.swaps_per_1000s = swaps_per_1000s;
    const report r = run({&m, 1, 0}, [threads] {
        std::vector<W::thread> started;
        for (int i = 1; i < threads; ++i)
            started.push_back(W::spawn([] { work(100ms); }));
        work(100ms);
        for (W::thread& t : started)
            W::join(t);
    });
    return {r.elapsed, r.migrations};
}

// A thousand a second for 0.1 s, of which half choose two CPUs of one socket. Each moves one thread to an
// idle CPU, or two of them; nobody loses time.
TEST(sim_scheduler, threads_are_swapped_between_sockets) {
    EXPECT_EQ(work_with_swaps(2, 0, 2).migrations, 0u);
    const swapped half_full = work_with_swaps(2, 1'000'000, 2);
    EXPECT_GT(half_full.migrations, 20u);
    EXPECT_EQ(half_full.elapsed, 100 * ms);
}

TEST(sim_scheduler, threads_are_swapped_on_a_full_machine) {
    EXPECT_EQ(work_with_swaps(4, 0, 2).migrations, 0u);
    const swapped full = work_with_swaps(4, 1'000'000, 2);
    EXPECT_GT(full.migrations, 50u);
    EXPECT_EQ(full.elapsed, 100 * ms);
}

// ---- Interrupts -------------------------------------------------------------------------------------------

struct interrupted {
    std::int64_t sender, worker, spinner;
};

interrupted shoot_down(const machine& m) {
    interrupted t{};
    run_on_first(m, [&t] {
        together({{0,
                   [&t] {
                       work(100us);
                       t.sender = took([] { W::shootdown(); });
                   }},
                  {1,
                   [&t] {
                       work(1ms);
                       t.worker = now_ns();
                   }},
                  {2, [&t] {
                       const auto& w = W::make<word>(0u);
                       const auto until = P::deadline::after(200us);
                       P::await(relaxed, never, {.deadline = &until}, relax{}, w);
                       work(1ms);
                       t.spinner = now_ns();
                   }}});
    });
    return t;
}

// Two targets; the fourth CPU has no thread.
TEST(sim_scheduler, a_shootdown_costs_sender_and_targets) {
    machine m = free_machine(1, 4);
    EXPECT_EQ(shoot_down(m).sender, 0);
    m.ipi = 1 * us;
    m.ipi_send = 100 * ns;
    m.ipi_handler = 500 * ns;
    const interrupted t = shoot_down(m);
    EXPECT_EQ(t.sender, 2 * 100 + 1'000);
    EXPECT_EQ(t.worker, 1'000'000 + 500);
    EXPECT_EQ(t.spinner, 1'200'000 + 500);
}

} // namespace
} // namespace holdfast::sim
