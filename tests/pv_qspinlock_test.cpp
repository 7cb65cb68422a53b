// pv_qspinlock on the real machine and on a simulated one: what a few threads see of it, and that waiters halt.
#include "lockable.hpp"

#include <atomic>
#include <cstdint>
#include <vector>

#include <holdfast/native/native.hpp>
#include <holdfast/pv_qspinlock.hpp>

#include "sim_support.hpp"

namespace holdfast {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(paravirtual, lockable, pv_qspinlock<native>);

static_assert(sizeof(pv_qspinlock<native>) == 8);
constinit pv_qspinlock<native> before_main;

using impatient = pv_qspin_rules;
template <class P>
using halting = pv_qspinlock<P, impatient{.spin_us = 10}>;
template <class P>
using fair = pv_qspinlock<P, impatient{.spin_us = 10, .steals = false}>;

// Natively a waiter that halts sleeps. All sleep here before the lock is released.
TEST(pv_qspinlock, wakes_waiters_that_sleep) {
    halting<native> lock;
    int sum = 0; // plain: the lock orders it
    lock.lock();
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 100; ++n) {
                lock.lock();
                ++sum;
                if (n % 10 == 0)
                    std::this_thread::sleep_for(std::chrono::microseconds(50));
                lock.unlock();
            }
        });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    lock.unlock();
    for (std::thread& t : threads)
        t.join();
    EXPECT_EQ(sum, 400);
    EXPECT_FALSE(lock.is_locked());
}

// On CPUs 1, 2 and 3 of a machine on which only a wake-up takes time (2 us) waiters come 1 us after each other, while CPU 0
// holds the lock for `hold`. When each got the lock, in us; and how long CPUs were busy.
struct waits {
    std::vector<std::int64_t> got = std::vector<std::int64_t>(3);
    std::int64_t busy = 0;
};
template <class Lock>
waits wait_for(std::chrono::nanoseconds hold) {
    sim::machine m = sim::free_machine(1, 4);
    m.wakeup_latency = 2 * sim::us;
    waits result;
    const sim::report r = sim::run_on_first(m, [&] {
        auto& lock = sim::W::make<Lock>();
        lock.lock();
        std::vector<sim::W::thread> threads;
        threads.reserve(3);
        for (std::uint32_t i = 0; i < 3; ++i) {
            threads.push_back(sim::W::spawn_on(i + 1, [&lock, &result, i] {
                sim::W::sleep(std::chrono::microseconds(i));
                lock.lock();
                result.got[i] = sim::now_ns() / 1000;
                lock.unlock();
            }));
        }
        sim::W::compute(hold, cpu_mode::system);
        lock.unlock();
        for (sim::W::thread& t : threads)
            sim::W::join(t);
    });
    result.busy = (r.user + r.system) / sim::us;
    return result;
}

TEST(pv_qspinlock_sim, waiters_spin_for_a_while_and_then_halt) {
    using namespace std::chrono_literals;
    const waits shortly = wait_for<fair<sim::P>>(8us);
    EXPECT_EQ(shortly.got, (std::vector<std::int64_t>{8, 8, 8}));
    EXPECT_GE(shortly.busy, 8 + 8 + 7 - 6);
    // All halt; each is woken by the one before it.
    const waits long_after = wait_for<fair<sim::P>>(1000us);
    EXPECT_EQ(long_after.got, (std::vector<std::int64_t>{1002, 1004, 1006}));
    EXPECT_LE(long_after.busy, 1000 + 3 * 10 + 10);
}

} // namespace
} // namespace holdfast
