// The read-write semaphores on simulated machines: nobody is where he must not be, and nobody is left waiting, whatever the
// machine, the number of threads and the seed. And the pathology of 3.16-rc1, which this simulator is to show.
#include "sim_support.hpp"

#include <gtest/gtest.h>

#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>

namespace holdfast::sim {
namespace {

machine busy_machine(std::int64_t cpus) {
    machine m = memory_machine(1, cpus);
    m.pause = 10 * ns;
    m.slice = 4 * ms;
    m.wakeup_granularity = 1 * ms;
    m.context_switch = 1'500 * ns;
    m.wakeup_latency = 2 * us;
    m.wake_cost = 1 * us;
    m.balance_interval = 4 * ms;
    return m;
}

struct mix {
    std::int64_t cpus;
    int threads;
    std::uint64_t seed = 1;
    std::chrono::nanoseconds duration = 5ms;
};

// Every thread writes in one round of three, reads in the others, and sleeps now and then. The result is how many rounds
// there were.
template <class Lock>
std::uint64_t rounds(const mix& how) {
    std::uint64_t done = 0;
    bool bad = false;
    const machine m = busy_machine(how.cpus);
    run({&m, how.seed, 60'000 * ms}, [&] {
        auto& lock = W::make<Lock>();
        auto& sum = W::make<P::var<std::int64_t>>(std::int64_t{0});
        // Plain: one simulated thread runs at a time.
        int readers = 0;
        bool writer = false;
        std::int64_t written = 0;
        const auto hold = [](std::chrono::nanoseconds time) { W::compute(time, cpu_mode::system); };
        std::vector<W::thread> threads;
        threads.reserve(static_cast<std::size_t>(how.threads));
        for (int i = 0; i < how.threads; ++i) {
            threads.push_back(W::spawn([&] {
                for (; W::now() < how.duration; ++done) {
                    if (W::random().below(3) == 0) {
                        lock.lock();
                        bad = bad || writer || readers != 0;
                        writer = true;
                        sum.set(sum.get() + 1);
                        ++written;
                        hold(2us);
                        writer = false;
                        if (W::random().below(4) == 0) {
                            ++readers;
                            lock.downgrade();
                            hold(500ns);
                            --readers;
                            lock.unlock_shared();
                        } else {
                            lock.unlock();
                        }
                    } else {
                        lock.lock_shared();
                        bad = bad || writer;
                        ++readers;
                        hold(3us);
                        --readers;
                        lock.unlock_shared();
                    }
                    W::compute(5us, cpu_mode::user);
                    if (W::random().below(3) == 0)
                        W::sleep(50us);
                }
            }));
        }
        for (W::thread& thread : threads)
            W::join(thread);
        bad = bad || lock.is_locked() || sum.get() != written;
    });
    EXPECT_FALSE(bad);
    return done;
}

template <class Lock>
class rwsem_sim : public testing::Test {};
using locks = testing::Types<
    rwsem<P, rwsem_presets::linux_5_3>, rwsem<P, rwsem_presets::linux_6>,
    rwsem_xadd<P, rwsem_xadd_presets::linux_3_15>, rwsem_xadd<P, rwsem_xadd_presets::linux_3_16_rc1>,
    rwsem_xadd<P, rwsem_xadd_presets::linux_3_16>, rwsem_xadd<P, rwsem_xadd_presets::linux_4_7>,
    rwsem_xadd<P, rwsem_xadd_presets::rfc_2016_v4>>;
TYPED_TEST_SUITE(rwsem_sim, locks);

TYPED_TEST(rwsem_sim, excludes_and_leaves_nobody_waiting) {
    for (const std::int64_t cpus : {1, 2, 4, 16}) {
        for (const int threads : {4, 40}) {
            for (const std::uint64_t seed : {1u, 2u, 3u})
                EXPECT_GT(rounds<TypeParam>({.cpus = cpus, .threads = threads, .seed = seed}), 0u);
        }
    }
}

// More threads than CPUs, which sleep in between. In 3.16-rc1 writers spin whenever there is no owner, so while
// readers have the lock: one does on every CPU, until its time is up, and the readers that are to let go can't
// run. None of the others does less than half of what 3.15 does, which never spins.
TEST(rwsem_sim_pathology, collapses_in_rc1_and_only_there) {
    using namespace rwsem_xadd_presets;
    for (const std::int64_t cpus : {2, 4, 16}) {
        const mix how{.cpus = cpus, .threads = 140, .duration = 20ms};
        const std::uint64_t before = rounds<rwsem_xadd<P, linux_3_15>>(how);
        const std::uint64_t fixed = rounds<rwsem_xadd<P, linux_3_16>>(how);
        EXPECT_GT(fixed, before / 2);
        EXPECT_GT((rounds<rwsem_xadd<P, linux_4_7>>(how)), before / 2);
        EXPECT_GT((rounds<rwsem_xadd<P, rfc_2016_v4>>(how)), before / 2);
        EXPECT_GT((rounds<rwsem<P, rwsem_presets::linux_5_3>>(how)), before / 2);
        EXPECT_GT((rounds<rwsem<P, rwsem_presets::linux_6>>(how)), before / 2);
        EXPECT_LT((rounds<rwsem_xadd<P, linux_3_16_rc1>>(how)) * 5, fixed);
    }
}

} // namespace
} // namespace holdfast::sim
