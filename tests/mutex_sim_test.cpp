// The mutex and the condition variable on simulated machines: nobody is where he must not be and nobody is left waiting,
// whatever the machine, the number of threads and the seed; who sleeps is passed over for 4 ms, not for ever; and who
// waits for a sleeping owner doesn't burn its CPU.
#include "sim_support.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <holdfast/condition_variable.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast::sim {
namespace {

using lock = basic_mutex<P>;

machine busy_machine(std::int64_t sockets, std::int64_t cpus) {
    machine m = memory_machine(sockets, cpus);
    m.pause = 10 * ns;
    m.slice = 1 * ms;
    m.context_switch = 1 * us;
    m.wakeup_latency = 2 * us;
    return m;
}

// Rounds of trying, of waiting for a time and of waiting; sleeps outside of sections and, now and then, inside.
void mixed_rounds(std::int64_t cpus, int threads, std::uint64_t seed) {
    constexpr std::chrono::nanoseconds duration = 2ms;
    std::int64_t sections = 0;
    bool bad = false;
    const machine m = busy_machine(2, cpus);
    run({&m, seed, 60'000 * ms}, [&] {
        auto& mutex = W::make<lock>();
        auto& sum = W::make<P::var<std::int64_t>>(std::int64_t{0});
        bool inside = false; // plain: one simulated thread runs at a time
        std::vector<W::thread> all;
        all.reserve(static_cast<std::size_t>(threads));
        for (int i = 0; i < threads; ++i) {
            all.push_back(W::spawn([&] {
                while (W::now() < duration) {
                    const auto kind = W::random().below(4);
                    const bool in = kind == 0   ? mutex.try_lock()
                                    : kind == 1 ? mutex.try_lock_for(20us)
                                                : (mutex.lock(), true);
                    if (in) {
                        bad = bad || inside;
                        inside = true;
                        sum.set(sum.get() + 1);
                        ++sections;
                        W::compute(2us, cpu_mode::user);
                        if (W::random().below(16) == 0)
                            W::sleep(30us);
                        inside = false;
                        mutex.unlock();
                    }
                    W::compute(5us, cpu_mode::user);
                    if (W::random().below(3) == 0)
                        W::sleep(50us);
                }
            }));
        }
        for (W::thread& thread : all)
            W::join(thread);
        bad = bad || mutex.is_locked() || sum.get() != sections;
    });
    EXPECT_FALSE(bad);
    EXPECT_GT(sections, 0);
}

TEST(mutex_sim, excludes_and_leaves_nobody_waiting) {
    for (const std::int64_t cpus : {1, 2, 8}) {
        for (const int threads : {4, 40}) {
            for (const std::uint64_t seed : {1u, 2u, 3u})
                mixed_rounds(cpus, threads, seed);
        }
    }
}

// Three threads that want the mutex all the time, on CPUs of their own, and a fourth that has gone to sleep in line: it is
// passed over by those that spin, but not for longer than the hand-off takes.
TEST(mutex_sim, nobody_is_passed_over_for_long) {
    constexpr std::chrono::nanoseconds duration = 40ms;
    std::chrono::nanoseconds longest = 0ns;
    const machine m = busy_machine(1, 4);
    run({&m, 1, 60'000 * ms}, [&] {
        auto& mutex = W::make<lock>();
        std::vector<W::thread> all;
        for (std::uint32_t i = 0; i < 4; ++i) {
            all.push_back(W::spawn_on(i, [&] {
                while (W::now() < duration) {
                    const auto begin = W::now();
                    mutex.lock();
                    longest = std::max(longest, W::now() - begin);
                    W::compute(1us, cpu_mode::user);
                    mutex.unlock();
                }
            }));
        }
        for (W::thread& thread : all)
            W::join(thread);
    });
    EXPECT_GT(longest, 0ns);
    EXPECT_LT(longest, 5ms);
}

// One sleeps for 50 ms with the mutex; seven wait for that, and sleep, too: they switch a few times each and their CPUs idle.
TEST(mutex_sim, waiters_for_a_sleeping_owner_sleep) {
    const machine m = busy_machine(1, 8);
    const report result = run({&m, 1, 60'000 * ms}, [&] {
        auto& mutex = W::make<lock>();
        mutex.lock();
        std::vector<W::thread> all;
        for (std::uint32_t i = 1; i < 8; ++i) {
            all.push_back(W::spawn_on(i, [&] {
                mutex.lock();
                mutex.unlock();
            }));
        }
        W::sleep(50ms);
        mutex.unlock();
        for (W::thread& thread : all)
            W::join(thread);
    });
    EXPECT_LT(result.user + result.system, 7 * 200 * us);
}

// A buffer of one, with producers and consumers of which some sleep.
TEST(condition_variable_sim, no_item_is_lost) {
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
        int made = 0;
        int taken = 0;
        const machine m = busy_machine(2, 2);
        run({&m, seed, 60'000 * ms}, [&] {
            auto& mutex = W::make<lock>();
            auto& not_full = W::make<basic_condition_variable<P>>();
            auto& not_empty = W::make<basic_condition_variable<P>>();
            auto& items = W::make<P::var<int>>(0);
            constexpr int each = 60;
            std::vector<W::thread> all;
            for (int i = 0; i < 5; ++i) {
                all.push_back(W::spawn([&] {
                    for (int n = 0; n < each; ++n) {
                        mutex.lock();
                        not_full.wait(mutex, [&] { return items.get() == 0; });
                        items.set(1);
                        ++made;
                        not_empty.notify_one();
                        mutex.unlock();
                        if (W::random().below(2) == 0)
                            W::sleep(20us);
                    }
                }));
                all.push_back(W::spawn([&] {
                    for (int n = 0; n < each; ++n) {
                        mutex.lock();
                        while (!not_empty.wait_for(mutex, 30us, [&] { return items.get() != 0; })) {
                        }
                        items.set(0);
                        ++taken;
                        not_full.notify_one();
                        mutex.unlock();
                    }
                }));
            }
            for (W::thread& thread : all)
                W::join(thread);
        });
        EXPECT_EQ(made, 300);
        EXPECT_EQ(taken, 300);
    }
}

} // namespace
} // namespace holdfast::sim
