// The read-write spinlocks on simulated machines: nobody is where he must not be and nobody is left waiting,
// whatever the machine, the number of threads and the seed; and what sets the two apart, a writer among
// readers that never stop.
#include "sim_support.hpp"

#include <gtest/gtest.h>

#include <holdfast/qrwlock.hpp>
#include <holdfast/rwlock.hpp>

namespace holdfast::sim {
namespace {

using of_2013 = qrwlock<P, qrwlock_presets::patch_2013>;
using of_3_16 = qrwlock<P, qrwlock_presets::linux_3_16>;
using of_4_15 = qrwlock<P, qrwlock_presets::linux_4_15>;

template <class Lock>
class rwlock_sim : public testing::Test {};
using locks = testing::Types<rwlock<P>, of_2013, of_3_16, of_4_15>;
TYPED_TEST_SUITE(rwlock_sim, locks);

// Every thread writes in one round of three, reads in the others, and sleeps now and then.
template <class Lock>
void mixed_rounds(std::int64_t cpus, int threads, std::uint64_t seed) {
    constexpr std::chrono::nanoseconds duration = 1ms;
    std::int64_t written = 0;
    bool bad = false;
    machine m = memory_machine(2, cpus);
    m.pause = 10 * ns;
    m.slice = 1 * ms;
    m.context_switch = 1 * us;
    run({&m, seed, 60'000 * ms}, [&] {
        auto& lock = W::make<Lock>();
        auto& sum = W::make<P::var<std::int64_t>>(std::int64_t{0});
        // Plain: one simulated thread runs at a time.
        int readers = 0;
        bool writer = false;
        std::vector<W::thread> all;
        all.reserve(static_cast<std::size_t>(threads));
        for (int i = 0; i < threads; ++i) {
            all.push_back(W::spawn([&] {
                while (W::now() < duration) {
                    if (W::random().below(3) == 0) {
                        lock.lock();
                        bad = bad || writer || readers != 0;
                        writer = true;
                        sum.set(sum.get() + 1);
                        ++written;
                        W::compute(2us, cpu_mode::system);
                        writer = false;
                        lock.unlock();
                    } else {
                        lock.lock_shared();
                        bad = bad || writer;
                        ++readers;
                        W::compute(3us, cpu_mode::system);
                        --readers;
                        lock.unlock_shared();
                    }
                    W::compute(5us, cpu_mode::user);
                    if (W::random().below(3) == 0)
                        W::sleep(50us);
                }
            }));
        }
        for (W::thread& thread : all)
            W::join(thread);
        bad = bad || lock.is_locked() || sum.get() != written;
    });
    EXPECT_FALSE(bad);
    EXPECT_GT(written, 0);
}

TYPED_TEST(rwlock_sim, excludes_and_leaves_nobody_waiting) {
    for (const std::int64_t cpus : {1, 2, 8}) {
        for (const int threads : {4, 40}) {
            for (const std::uint64_t seed : {1u, 2u, 3u})
                mixed_rounds<TypeParam>(cpus, threads, seed);
        }
    }
}

// Seven readers, each on a CPU of its own, with sections so long and pauses so short that some are always in.
// How many sections begin from the moment when a writer comes to the moment when it gets in.
constexpr int readers = 7;
template <class Lock>
std::uint64_t reads_before_the_writer() {
    std::uint64_t reads = 0;
    std::uint64_t before = 0;
    const machine m = memory_machine(1, readers + 1);
    run({&m, 1, 60'000 * ms}, [&] {
        auto& lock = W::make<Lock>();
        std::vector<placed> bodies;
        for (std::uint32_t i = 0; i < readers; ++i) {
            bodies.emplace_back(i + 1, [&lock, &reads, i] {
                W::compute(i * 300ns, cpu_mode::user);
                while (W::now() < 1ms) {
                    lock.lock_shared();
                    ++reads;
                    W::compute(2us, cpu_mode::user);
                    lock.unlock_shared();
                    W::compute(100ns, cpu_mode::user);
                }
            });
        }
        bodies.emplace_back(0, [&] {
            W::compute(50us, cpu_mode::user);
            const std::uint64_t then = reads;
            lock.lock();
            before = reads - then;
            lock.unlock();
        });
        together(bodies);
    });
    return before;
}

// In a fair lock a reader gets in before the writer only if it comes before the writer closes the door; each
// does so once. In the others the writer waits until the readers have had enough: 1 ms, and 2.1 us and more
// for each section.
TEST(rwlock_sim_fairness, a_writer_waits_for_readers_that_came_first_or_for_all) {
    EXPECT_LE(reads_before_the_writer<of_4_15>(), readers);
    EXPECT_LE(reads_before_the_writer<of_3_16>(), readers);
    EXPECT_GT(reads_before_the_writer<of_2013>(), 100 * readers);
    EXPECT_GT(reads_before_the_writer<rwlock<P>>(), 100 * readers);
}

// Where a profile sees those that wait: of 1 CPU's share each, in the slow paths and the functions that those
// call.
bool profile_names(const report& r, const char* name) {
    for (const profile_node& node : r.profile) {
        if (node.name == name)
            return true;
    }
    return false;
}

template <class Lock>
report contended() {
    const machine m = memory_machine(2, 4);
    return run({&m, 1, 60'000 * ms}, [] {
        auto& lock = W::make<Lock>();
        std::vector<placed> bodies;
        for (std::uint32_t i = 0; i < 8; ++i) {
            bodies.emplace_back(i, [&lock, i] {
                for (int n = 0; n < 20; ++n) {
                    if (i % 2 == 0) {
                        lock.lock();
                        W::compute(500ns, cpu_mode::system);
                        lock.unlock();
                    } else {
                        lock.lock_shared();
                        W::compute(500ns, cpu_mode::system);
                        lock.unlock_shared();
                    }
                }
            });
        }
        together(bodies);
    });
}

TEST(rwlock_sim_profile, names_the_slow_paths_as_profiles_of_their_time_do) {
    const report unfair = contended<rwlock<P>>();
    EXPECT_TRUE(profile_names(unfair, "__write_lock_failed"));
    EXPECT_TRUE(profile_names(unfair, "__read_lock_failed"));
    for (const report& r : {contended<of_2013>(), contended<of_3_16>()}) {
        EXPECT_TRUE(profile_names(r, "queue_write_lock_slowpath"));
        EXPECT_TRUE(profile_names(r, "queue_read_lock_slowpath"));
        EXPECT_FALSE(profile_names(r, "queued_spin_lock_slowpath"));
    }
    EXPECT_TRUE(profile_names(contended<of_4_15>(), "queue_write_lock_slowpath"));
    EXPECT_TRUE(profile_names(contended<of_4_15>(), "queued_spin_lock_slowpath"));
}

} // namespace
} // namespace holdfast::sim
