// A simulated run depends on its machine, its program and its seed, and on nothing else: not on where the
// host put its memory, on which thread it runs, on what ran before, on the compiler. And a run that can't go
// on says why.
#include "sim_mixed_program.hpp"

#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include <sys/mman.h>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

// ---- The same bytes ---------------------------------------------------------------------------------------

// All that a run says of itself, as text.
std::string text_of(const report& r) {
    std::string text;
    const auto add = [&text](auto value) { text += std::to_string(value) + ' '; };
    for (const picoseconds time : {r.elapsed, r.user, r.system, r.idle})
        add(time);
    for (const std::uint64_t n : {r.context_switches, r.migrations, r.memory_operations, r.line_transfers})
        add(n);
    for (const std::uint64_t n : r.events)
        add(n);
    text += '\n';
    for (const profile_node& n : r.profile) {
        text += n.name + ' ';
        add(n.parent);
        for (const picoseconds time : {n.user, n.system, n.off_cpu})
            add(time);
        add(n.switches_out);
        text += '\n';
    }
    return text;
}

// Runs the mixed program; gives the report, and what the threads saw.
std::string run_mixed(const machine& m, std::uint64_t seed) {
    mixed_result seen;
    const report r = run_on_first(
        m, [&seen] { mixed_program(seen).run(); }, seed);
    return std::to_string(seen.trace) + '\n' + text_of(r);
}

std::string run_all(std::uint64_t seed) {
    std::string all;
    for (const machine& m : mixed_machines())
        all += m.name + ' ' + run_mixed(m, seed);
    return all;
}

TEST(sim_determinism, the_same_seed_gives_the_same_run) {
    EXPECT_EQ(run_all(1), run_all(1));
}

TEST(sim_determinism, another_seed_gives_another) {
    for (const machine& m : mixed_machines())
        EXPECT_NE(run_mixed(m, 1), run_mixed(m, 2)) << m.name;
}

TEST(sim_determinism, host_threads_do_not_matter) {
    const std::string here = run_all(1);
    std::vector<std::string> there(2);
    std::vector<std::thread> threads;
    threads.reserve(there.size());
    for (std::string& result : there)
        threads.emplace_back([&result] { result = run_all(1); });
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(there[0], here);
    EXPECT_EQ(there[1], here);
}

// Where the host puts the simulated memory, and the heap.
TEST(sim_determinism, addresses_do_not_matter) {
    const std::string before = run_all(1);
    for (std::size_t pages = 1; pages < 4; ++pages) {
        const std::size_t bytes = pages * 13 * 4096;
        void* const in_the_way =
            mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        ASSERT_NE(in_the_way, MAP_FAILED);
        const auto also_in_the_way = std::make_unique<char[]>(777 * pages);
        EXPECT_EQ(run_all(1), before);
        munmap(in_the_way, bytes);
    }
}

TEST(sim_determinism, what_ran_before_does_not_matter) {
    const std::vector<machine> machines = mixed_machines();
    const std::string alone = run_mixed(machines[0], 1);
    run_mixed(machines[1], 7);
    run_mixed(machines[2], 8);
    EXPECT_EQ(run_mixed(machines[0], 1), alone);
}

// The digest (FNV-1a) of what run_all(1) says. Whoever changes the model changes it, and writes the new one
// here; it is the same from every compiler, and under sanitizers.
constexpr std::uint64_t golden = 4248699338364405529u;

TEST(sim_determinism, compilers_do_not_matter) {
    mixed_result digest;
    for (const char c : run_all(1))
        digest.note(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    EXPECT_EQ(digest.trace, golden) << run_all(1);
}

// ---- Size -------------------------------------------------------------------------------------------------

// A line of /proc/self/status, in KiB.
long status_kib(const std::string& what) {
    std::ifstream status("/proc/self/status");
    for (std::string word; status >> word;) {
        if (word == what + ":") {
            long value = 0;
            status >> value;
            return value;
        }
    }
    ADD_FAILURE() << "no " << what << " in /proc/self/status";
    return 0;
}

TEST(sim_determinism, two_thousand_sleeping_threads_are_small) {
#if defined(HOLDFAST_FIBER_ASAN) || defined(HOLDFAST_FIBER_TSAN)
    GTEST_SKIP() << "sanitizers keep memory of their own";
#endif
    const long before = status_kib("VmRSS");
    const report r = run_on_first(mixed_machines()[0], [] {
        auto& lock = W::make<qspinlock<P>>();
        std::vector<W::thread> threads;
        threads.reserve(2'000);
        for (int i = 0; i < 2'000; ++i) {
            threads.push_back(W::spawn([&lock] {
                for (int round = 0; round < 10; ++round) {
                    W::sleep(std::chrono::microseconds(W::random().below(100'000)));
                    lock.lock();
                    W::compute(1us, cpu_mode::system);
                    lock.unlock();
                }
            }));
        }
        for (W::thread& t : threads)
            W::join(t);
    });
    EXPECT_GE(r.context_switches, 20'000u);
    EXPECT_LE(status_kib("VmHWM") - before, 100L * 1024);
}

// ---- Runs that can't go on --------------------------------------------------------------------------------
//
// What such a run leaves behind is never unwound, so these programs own nothing on the heap.

// What a program on two CPUs is stopped with.
std::string why_stuck(const std::function<void()>& program, const machine& m, picoseconds limit = 0) {
    try {
        run({&m, 1, limit}, program);
    } catch (const stuck& e) {
        return e.what();
    }
    return "it ended";
}

void forget_to_unlock() {
    auto& lock = W::make<ticket_lock<P>>();
    lock.lock();
    P::preempt_enable(); // so that the first thread can go and wait
    W::thread t = W::spawn([&lock] { lock.lock(); });
    const P::frame here("waiting_for_the_other");
    W::join(t);
}

void sleep_for_ever() {
    W::thread t = W::spawn([] {
        const P::frame here("nobody_wakes_me");
        P::park();
    });
    W::join(t);
}

void work_for_ever() {
    const P::frame here("working");
    for (;;)
        W::compute(1ms, cpu_mode::user);
}

TEST(sim_determinism, a_deadlock_names_who_waits_where) {
    EXPECT_EQ(
        why_stuck(forget_to_unlock, free_machine(1, 2)),
        "sim: deadlock; unfinished threads: 1 blocked in waiting_for_the_other; 2 running in spin_lock;");
    EXPECT_EQ(why_stuck(sleep_for_ever, free_machine(1, 2)),
              "sim: deadlock; unfinished threads: 1 blocked in all; 2 blocked in nobody_wakes_me;");
}

TEST(sim_determinism, ticks_and_balancing_do_not_hide_it) {
    machine m = free_machine(2, 1);
    m.tick = 1 * ms;
    m.tick_cost = 1 * us;
    m.balance_interval = 1 * ms;
    m.swaps_per_1000s = 1'000'000;
    EXPECT_EQ(why_stuck(sleep_for_ever, m),
              "sim: deadlock; unfinished threads: 1 blocked in all; 2 blocked in nobody_wakes_me;");
}

TEST(sim_determinism, the_limit_of_time_names_them_too) {
    EXPECT_EQ(why_stuck(work_for_ever, free_machine(1, 2), 1000 * ms),
              "sim: the time limit is over; unfinished threads: 1 running in working;");
    EXPECT_EQ(why_stuck([] { W::compute(1s, cpu_mode::user); }, free_machine(1, 2), 1000 * ms), "it ended");
}

// 5 hours is what the clock counts.
TEST(sim_determinism, no_run_takes_longer_than_5_hours) {
    constexpr void (*hours[])() = {
        [] { W::compute(1h, cpu_mode::user); },
        [] { W::sleep(1h); },
        [] { P::park(P::deadline::after(1h)); },
        [] { W::make<W::device>(device_limits{.latency = 1h}).transfer(4096); },
    };
    for (void (*const hour)() : hours) {
        const auto so_many = [hour](int times) {
            return [hour, times] {
                for (int i = 0; i < times; ++i)
                    hour();
            };
        };
        EXPECT_EQ(why_stuck(so_many(5), free_machine(1, 2)), "it ended");
        const std::string why = why_stuck(so_many(6), free_machine(1, 2));
        EXPECT_TRUE(why.starts_with("sim: it takes longer than 5 simulated hours; unfinished threads: 1 "))
            << why;
    }
}

TEST(sim_determinism, a_time_too_long_to_count_is_not_taken_for_a_short_one) {
    static constexpr auto longest = std::chrono::nanoseconds::max();
    constexpr void (*too_long[])() = {
        [] { W::compute(longest, cpu_mode::user); },
        [] { W::sleep(longest); },
        [] { W::make<W::device>(device_limits{.latency = longest}).transfer(1); },
        [] { W::make<W::device>(device_limits{.bytes_per_second = 1}).transfer(~std::uint64_t{0}); },
    };
    machine m = free_machine(1, 1, 2);
    m.smt_slowdown_ppm = 2'000'000;
    for (void (*const work)() : too_long) {
        const std::string why = why_stuck(
            [work] {
                W::spawn([] { W::compute(1s, cpu_mode::user); });
                work();
            },
            m);
        EXPECT_TRUE(why.starts_with("sim: it takes longer than 5 simulated hours;")) << why;
    }
    // Of two threads of a core one at least takes twice its hour.
    const report r = run({&m, 1, 0}, [] {
        W::thread other = W::spawn([] { W::compute(1h, cpu_mode::user); });
        W::compute(1h, cpu_mode::user);
        W::join(other);
    });
    EXPECT_EQ(r.elapsed, 2 * 3'600'000 * ms);
}

TEST(sim_determinism, at_most_eight_are_named) {
    const std::string why = why_stuck(
        [] {
            for (int i = 0; i < 20; ++i)
                W::spawn([] { P::park(); });
            P::park();
        },
        free_machine(1, 2));
    EXPECT_NE(why.find(" 8 blocked in all;"), std::string::npos) << why;
    EXPECT_EQ(why.find(" 9 "), std::string::npos) << why;
    EXPECT_EQ(why.substr(why.size() - 4), " ...") << why;
}

TEST(sim_determinism, what_a_thread_throws_comes_out_of_run) {
    const machine m = free_machine(1, 2);
    const auto program = [] {
        W::thread t = W::spawn([] {
            W::compute(1ms, cpu_mode::user);
            throw std::runtime_error("out of paper");
        });
        W::join(t);
    };
    try {
        run({&m, 1, 0}, program);
        FAIL() << "it ended";
    } catch (const std::runtime_error& e) {
        EXPECT_STREQ(e.what(), "out of paper");
    }
    EXPECT_EQ(run({&m, 1, 0}, [] { W::compute(1ms, cpu_mode::user); }).elapsed,
              1 * ms); // and all is well after it
}

TEST(sim_determinism, atomics_outside_of_simulated_memory_are_refused) {
    const machine m = free_machine(1, 1);
    EXPECT_THROW(run({&m, 1, 0}, [] { std::make_unique<P::atomic<int>>(0); }), std::logic_error);
    EXPECT_THROW(run({&m, 1, 0}, [] { std::make_unique<P::var<int>>(0); }), std::logic_error);
    EXPECT_NO_THROW(run({&m, 1, 0}, [] {
        alignas(P::line_size) P::atomic<int> on_the_stack(0);
        on_the_stack.store(1, relaxed);
    }));
}

} // namespace
} // namespace holdfast::sim
