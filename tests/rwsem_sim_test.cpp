// The read-write semaphores on simulated machines: nobody is where he must not be, and nobody is left waiting, whatever the
// machine, the number of threads and the seed. And what went wrong in their history and is a question of time: the pathology
// of 3.16-rc1; readers who never end; a hand-off that nobody takes up.
#include "sim_support.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>

namespace holdfast::sim {
namespace {

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
    const machine m = scheduling_machine(1, how.cpus);
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
    rwsem<P, rwsem_presets::linux_5_3>, rwsem<P, rwsem_presets::linux_5_11>,
    rwsem<P, rwsem_presets::linux_5_16>, rwsem<P, rwsem_presets::linux_5_19>,
    rwsem<P, rwsem_presets::linux_6>, rwsem_xadd<P, rwsem_xadd_presets::linux_3_15>,
    rwsem_xadd<P, rwsem_xadd_presets::linux_3_16_rc1>, rwsem_xadd<P, rwsem_xadd_presets::linux_3_16>,
    rwsem_xadd<P, rwsem_xadd_presets::linux_4_7>, rwsem_xadd<P, rwsem_xadd_presets::rfc_2016_v4>>;
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

// A writer waits in the list and is about to be woken when the first of four readers come, who overlap each other from
// then on. How long the writer waits; `enough` if it is still waiting then.
constexpr std::chrono::nanoseconds enough = 50ms;
template <rwsem_rules Rules>
std::chrono::nanoseconds wait_among_readers() {
    std::chrono::nanoseconds waited = enough;
    const machine m = scheduling_machine(1, 8);
    run({&m, 1, 0}, [&] {
        auto& lock = W::make<rwsem<P, Rules>>();
        auto& readers_go = W::make<P::atomic<int>>(0);
        std::vector<placed> bodies{{0,
                                    [&] {
                                        lock.lock();
                                        W::sleep(1ms); // off its CPU: nobody spins
                                        lock.unlock();
                                        readers_go.store(1, relaxed);
                                    }},
                                   {1, [&] {
                                        W::sleep(500us);
                                        lock.lock();
                                        waited = std::min(waited, W::now() - 1ms);
                                        lock.unlock();
                                    }}};
        for (std::uint32_t i = 0; i < 4; ++i) {
            bodies.emplace_back(2 + i, [&, i] {
                P::await(
                    relaxed, [](int go) { return go != 0; }, readers_go);
                W::compute(i * 5us, cpu_mode::user);
                while (W::now() < enough + 1ms) {
                    lock.lock_shared();
                    W::compute(20us, cpu_mode::user);
                    lock.unlock_shared();
                }
            });
        }
        together(bodies);
    });
    return waited;
}

// Up to 5.10 readers who spin join readers, so that the lock is never free, nobody is woken, and no hand-off is ever asked
// for. Since then the writer is woken, and after 4 ms asks for one.
TEST(rwsem_history, readers_may_never_end) {
    using namespace rwsem_presets;
    constexpr rwsem_rules stealing_as_well = [] {
        rwsem_rules rules = linux_6;
        rules.joins_readers = true;
        return rules;
    }();
    EXPECT_EQ(wait_among_readers<linux_5_3>(), enough);
    EXPECT_EQ(wait_among_readers<stealing_as_well>(), enough);
    EXPECT_LT(wait_among_readers<linux_5_11>(), 5ms);
    EXPECT_LT(wait_among_readers<linux_5_16>(), 5ms);
    EXPECT_LT(wait_among_readers<linux_5_19>(), 5ms);
    EXPECT_LT(wait_among_readers<linux_6>(), 5ms);
}

// Three writers wait. The first asks for a hand-off and gives up. The second is woken, but its CPU is busy for 20 ms. The third
// is awake. How long it takes from unlocking until one of the two has the lock.
template <rwsem_rules Rules>
std::chrono::nanoseconds free_after_hand_off() {
    std::chrono::nanoseconds unlocked{}, taken = 1s;
    const machine m = scheduling_machine(1, 4);
    run({&m, 1, 0}, [&] {
        auto& lock = W::make<rwsem<P, Rules>>();
        auto& token = W::make<cancel_token<P>>();
        thread_id third = nobody;
        bool gave_up = false;
        const auto take = [&] {
            lock.lock();
            taken = std::min(taken, W::now());
            lock.unlock();
        };
        together({{0,
                   [&] {
                       // Sleeps within its sections, so nobody spins.
                       lock.lock();
                       W::sleep(6ms);
                       lock.unlock();
                       lock.lock(); // ahead of the first, who is woken in vain
                       W::sleep(1ms);
                       token.cancel();
                       W::sleep(1ms);
                       EXPECT_TRUE(gave_up);
                       unlocked = W::now();
                       lock.unlock();
                       P::unpark(third);
                   }},
                  {1,
                   [&] {
                       W::sleep(1ms);
                       gave_up = !lock.lock(token);
                   }},
                  {2,
                   [&] {
                       W::sleep(2ms);
                       take();
                   }},
                  {2,
                   [&] {
                       W::sleep(4ms);
                       const P::no_preempt here_to_stay;
                       W::compute(20ms, cpu_mode::system);
                   }},
                  {3, [&] {
                       W::sleep(3ms);
                       third = P::self();
                       take();
                   }}});
    });
    return taken - unlocked;
}

// In 5.16 to 5.18 the third gives way to the second, who inherited the hand-off and doesn't know, and the lock stays free.
TEST(rwsem_history, a_hand_off_left_behind_stops_everybody) {
    using namespace rwsem_presets;
    EXPECT_GT(free_after_hand_off<linux_5_16>(), 10ms);
    EXPECT_LT(free_after_hand_off<linux_5_3>(), 1ms);
    EXPECT_LT(free_after_hand_off<linux_5_11>(), 1ms);
    EXPECT_LT(free_after_hand_off<linux_5_19>(), 1ms);
    EXPECT_LT(free_after_hand_off<linux_6>(), 1ms);
}

} // namespace
} // namespace holdfast::sim
