// What a simulated run says of itself: whose time it was, who waited, what was counted.
#include "sim_mixed_program.hpp"

#include <string_view>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

// The only node of that name.
const profile_node& node(const report& r, std::string_view name) {
    const profile_node* found = nullptr;
    for (const profile_node& n : r.profile) {
        if (n.name == name) {
            EXPECT_EQ(found, nullptr) << name << " twice";
            found = &n;
        }
    }
    if (found == nullptr)
        throw std::runtime_error("no such function: " + std::string(name));
    return *found;
}

// CPU 0 works 3 ms as user, CPU 1 2 ms as system, CPU 2 not at all.
TEST(sim_accounting, time_is_users_the_systems_or_idle) {
    const report r = run_on_first(free_machine(1, 3), [] {
        together(
            {{0, [] { W::compute(3ms, cpu_mode::user); }}, {1, [] { W::compute(2ms, cpu_mode::system); }}});
    });
    EXPECT_EQ(r.elapsed, 3 * ms);
    EXPECT_EQ(r.user, 3 * ms);
    EXPECT_EQ(r.system, 2 * ms);
    EXPECT_EQ(r.idle, 4 * ms);
}

// What a program does with memory is the system's time, as the locks of the cases are a kernel's.
TEST(sim_accounting, memory_operations_and_spinning_are_system_time) {
    const report r = run_on_first(memory_machine(1, 2), [] {
        auto& lock = W::make<ticket_lock<P>>();
        const auto hold = [&lock] {
            lock.lock();
            W::compute(1ms, cpu_mode::user);
            lock.unlock();
        };
        together({{0, hold}, {1, hold}});
    });
    EXPECT_EQ(r.user, 2 * ms);
    const profile_node& spinning = node(r, "spin_lock");
    EXPECT_EQ(spinning.user, 0);
    EXPECT_GT(spinning.system, 1 * ms - 1 * us);
    EXPECT_LT(spinning.system, 1 * ms + 1 * us);
}

// Two threads of 2.5 ms take five turns on a CPU; each begins with a switch of 3 us. So do the first thread's
// beginning and its two joins (the first wakes up when A ends and waits for B's turn).
TEST(sim_accounting, switches_are_system_time_even_in_the_middle_of_user_time) {
    machine m = free_machine(1, 1);
    m.slice = 1 * ms;
    m.context_switch = 3 * us;
    const report r = run_on_first(m, [] {
        const auto work = [] { W::compute(2'500us, cpu_mode::user); };
        together({{0, work}, {0, work}});
    });
    EXPECT_EQ(r.user, 5 * ms);
    EXPECT_EQ(r.system, static_cast<picoseconds>(r.context_switches) * 3 * us);
    EXPECT_EQ(r.idle, 0);
}

TEST(sim_accounting, interrupts_are_system_time) {
    machine m = free_machine(1, 2);
    m.ipi_handler = 500 * ns;
    const report r = run_on_first(m, [] {
        together({{0,
                   [] {
                       W::compute(100us, cpu_mode::user);
                       W::shootdown();
                   }},
                  {1, [] { W::compute(1ms, cpu_mode::user); }}});
    });
    EXPECT_EQ(r.user, 1 * ms + 100 * us);
    EXPECT_EQ(r.system, 500 * ns);
}

// A tick every ms, the first somewhere in the first ms: ten or eleven in 10 ms.
TEST(sim_accounting, ticks_are_system_time) {
    machine m = free_machine(1, 1);
    m.tick = 1 * ms;
    m.tick_cost = 10 * us;
    const report r = run_on_first(m, [] { W::compute(10ms, cpu_mode::user); });
    EXPECT_EQ(r.user, 10 * ms);
    EXPECT_TRUE(r.system == 100 * us || r.system == 110 * us) << r.system;
}

TEST(sim_accounting, time_goes_to_the_function_and_its_callers_are_known) {
    const report r = run_on_first(free_machine(1, 1), [] {
        const auto inner = [] {
            const P::frame here("inner");
            W::compute(2ms, cpu_mode::system);
        };
        W::compute(1ms, cpu_mode::user);
        {
            const P::frame here("outer");
            W::compute(3ms, cpu_mode::user);
            inner();
            W::compute(4ms, cpu_mode::user);
            inner();
        }
        W::compute(5ms, cpu_mode::user);
    });
    ASSERT_EQ(r.profile.size(), 3u);
    EXPECT_EQ(r.profile[0].user, 6 * ms);
    const profile_node& outer = node(r, "outer");
    EXPECT_EQ(outer.parent, 0u);
    EXPECT_EQ(outer.user, 7 * ms);
    EXPECT_EQ(outer.system, 0);
    const profile_node& inner = node(r, "inner");
    EXPECT_EQ(&r.profile[inner.parent], &outer);
    EXPECT_EQ(inner.system, 4 * ms);
}

// A function called from two places has a node for each.
TEST(sim_accounting, functions_are_told_apart_by_their_callers) {
    const report r = run_on_first(free_machine(1, 1), [] {
        for (const char* const caller : {"one", "other", "one"}) {
            const P::frame outer(caller);
            const P::frame inner("common");
            W::compute(1ms, cpu_mode::user);
        }
    });
    ASSERT_EQ(r.profile.size(), 5u);
    picoseconds common = 0;
    for (const profile_node& n : r.profile)
        common += n.name == "common" ? n.user : 0;
    EXPECT_EQ(common, 3 * ms);
}

// Blocked in "sleeper" for 4 ms; and for want of a CPU, which another has from 3 ms to 8 ms, for another 3
// ms.
TEST(sim_accounting, who_is_off_the_cpu_is_so_in_a_function) {
    const report r = run_on_first(free_machine(1, 1), [] {
        together({{0,
                   [] {
                       const P::frame here("sleeper");
                       W::compute(1ms, cpu_mode::user);
                       W::sleep(4ms);
                   }},
                  {0, [] {
                       const P::frame here("other");
                       W::compute(7ms, cpu_mode::user);
                   }}});
    });
    EXPECT_EQ(node(r, "sleeper").off_cpu, 7 * ms);
    EXPECT_EQ(node(r, "sleeper").switches_out, 1u); // it ends outside of the frame
    EXPECT_EQ(node(r, "other").off_cpu, 0);
    EXPECT_EQ(node(r, "other").switches_out, 0u);
    // The first thread's join, until 8 ms, and the other's wait for its first turn, until 1 ms.
    EXPECT_EQ(r.profile[0].off_cpu, 9 * ms);
}

// ---- Whatever the program and the machine -----------------------------------------------------------------

TEST(sim_accounting, no_time_is_lost) {
    for (const machine& m : mixed_machines()) {
        mixed_result seen;
        const report r = run_on_first(m, [&seen] { mixed_program(seen).run(); });
        SCOPED_TRACE(m.name);
        EXPECT_EQ(seen.counted, seen.sections);
        EXPECT_EQ(r.user + r.system + r.idle, m.cpus() * r.elapsed);
        EXPECT_GT(r.idle, 0);
        EXPECT_GT(r.migrations, 0u);
        EXPECT_GT(r.context_switches, 100u);

        picoseconds lifetimes = 0;
        picoseconds on_cpu = 0;
        std::uint64_t switches = 0;
        for (std::size_t i = 0; i < r.profile.size(); ++i) {
            const profile_node& n = r.profile[i];
            EXPECT_GE(n.user, 0) << n.name;
            EXPECT_GE(n.system, 0) << n.name;
            EXPECT_GE(n.off_cpu, 0) << n.name;
            EXPECT_TRUE(i == 0 || n.parent < i) << n.name;
            on_cpu += n.user + n.system;
            lifetimes += n.user + n.system + n.off_cpu;
            switches += n.switches_out;
        }
        EXPECT_EQ(on_cpu, r.user + r.system);
        EXPECT_EQ(switches, r.context_switches);
        // Each thread was on a CPU or off it from its birth to its end.
        EXPECT_EQ(lifetimes, seen.lifetimes);
        EXPECT_GE(on_cpu, seen.computed * ns); // more: memory, switches, and work beside a busy sibling
    }
}

// ---- Lock events ------------------------------------------------------------------------------------------

std::uint64_t of(const report& r, event e) {
    return r.events[static_cast<std::size_t>(e)];
}

// `threads` threads want a qspinlock while the first of them holds it.
report queue_up(std::uint32_t threads) {
    return run_on_first(memory_machine(1, threads), [threads] {
        auto& lock = W::make<qspinlock<P>>();
        std::vector<placed> bodies;
        for (std::uint32_t cpu = 0; cpu < threads; ++cpu) {
            bodies.emplace_back(cpu, [&lock, cpu] {
                W::compute(std::chrono::microseconds(cpu), cpu_mode::user);
                lock.lock();
                W::compute(100us, cpu_mode::user);
                lock.unlock();
            });
        }
        together(bodies);
    });
}

// The second waits as pending, the third and later ones in the queue.
TEST(sim_accounting, lock_events_are_counted) {
    const report alone = queue_up(1);
    EXPECT_EQ(of(alone, event::lock_pending), 0u);
    EXPECT_EQ(of(alone, event::lock_slowpath), 0u);
    const report two = queue_up(2);
    EXPECT_EQ(of(two, event::lock_pending), 1u);
    EXPECT_EQ(of(two, event::lock_slowpath), 0u);
    const report five = queue_up(5);
    EXPECT_EQ(of(five, event::lock_pending), 1u);
    EXPECT_EQ(of(five, event::lock_slowpath), 3u);
}

} // namespace
} // namespace holdfast::sim
