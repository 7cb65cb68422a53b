// shared_mutex on simulated machines: nobody is where he must not be, nobody waits for long, whoever else comes, and many CPUs
// that write get as much done as few.
#include "sim_support.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include <holdfast/shared_mutex.hpp>

namespace holdfast::sim {
namespace {

using lock = basic_shared_mutex<P>;

void hold(std::chrono::nanoseconds time) {
    W::compute(time, cpu_mode::user);
}

// Every thread writes, reads, upgrades, downgrades and gives up. Plain variables: one simulated thread runs at a time.
std::uint64_t rounds(std::int64_t cpus, int thread_count, std::uint64_t seed) {
    std::uint64_t done = 0;
    bool bad = false;
    const machine m = scheduling_machine(1, cpus);
    run({&m, seed, 60'000 * ms}, [&] {
        auto& mutex = W::make<lock>();
        int readers = 0;
        int upgraders = 0;
        bool writer = false;
        const auto write = [&] {
            bad = bad || writer || readers != 0 || upgraders != 0;
            writer = true;
            hold(2us);
            writer = false;
        };
        const auto read = [&](int& who) {
            bad = bad || writer || (&who == &upgraders && who != 0);
            ++who;
            hold(3us);
            --who;
        };
        const auto section = [&] {
            switch (W::random().below(8)) {
            case 0:
                mutex.lock();
                write();
                mutex.unlock();
                break;
            case 1:
                if (mutex.try_lock_for(50us)) {
                    write();
                    mutex.downgrade();
                    read(readers);
                    mutex.unlock_shared();
                }
                break;
            case 2:
                mutex.lock_upgrade();
                read(upgraders);
                mutex.unlock_upgrade_and_lock();
                write();
                mutex.unlock();
                break;
            case 3:
                if (mutex.try_lock_upgrade_for(50us)) {
                    read(upgraders);
                    mutex.unlock_upgrade_and_lock_shared();
                    read(readers);
                    mutex.unlock_shared();
                }
                break;
            case 4:
                if (mutex.try_lock_shared_for(20us)) {
                    read(readers);
                    mutex.unlock_shared();
                }
                break;
            default:
                mutex.lock_shared();
                read(readers);
                mutex.unlock_shared();
            }
        };
        std::vector<W::thread> threads;
        threads.reserve(static_cast<std::size_t>(thread_count));
        for (int i = 0; i < thread_count; ++i) {
            threads.push_back(W::spawn([&] {
                for (; W::now() < 5ms; ++done) {
                    section();
                    hold(5us);
                    if (W::random().below(3) == 0)
                        W::sleep(50us);
                }
            }));
        }
        for (W::thread& thread : threads)
            W::join(thread);
        bad = bad || mutex.is_locked();
    });
    EXPECT_FALSE(bad);
    return done;
}

TEST(shared_mutex_sim, excludes_and_leaves_nobody_waiting) {
    for (const std::int64_t cpus : {1, 2, 4, 16}) {
        for (const int threads : {4, 40}) {
            for (const std::uint64_t seed : {1u, 2u, 3u})
                EXPECT_GT(rounds(cpus, threads, seed), 0u);
        }
    }
}

// One thread takes the lock now and then, its own way; four others do without a pause, in another. The longest wait and the
// median of the one.
struct waits {
    std::chrono::nanoseconds longest{};
    std::chrono::nanoseconds median{};
};
template <class Take, class Crowd>
waits wait_among(std::int64_t cpus, const Take& take, const Crowd& crowd) {
    std::vector<std::chrono::nanoseconds> waited;
    const machine m = scheduling_machine(1, cpus);
    run({&m, 1, 0}, [&] {
        auto& mutex = W::make<lock>();
        bool done = false;
        std::vector<W::thread> threads;
        threads.reserve(5);
        for (int i = 0; i < 4; ++i) {
            threads.push_back(W::spawn([&, i] {
                hold(i * 2us);
                while (!done)
                    crowd(mutex);
            }));
        }
        threads.push_back(W::spawn([&] {
            for (int i = 0; i < 50; ++i) {
                W::sleep(300us);
                const auto begin = W::now();
                take(mutex);
                waited.push_back(W::now() - begin);
            }
            done = true;
        }));
        for (W::thread& thread : threads)
            W::join(thread);
    });
    std::sort(waited.begin(), waited.end());
    return {waited.back(), waited[waited.size() / 2]};
}

void write(lock& mutex) {
    mutex.lock();
    hold(5us);
    mutex.unlock();
}
void read(lock& mutex) {
    mutex.lock_shared();
    hold(5us);
    mutex.unlock_shared();
}
void upgrade(lock& mutex) {
    mutex.lock_upgrade();
    hold(5us);
    mutex.unlock_upgrade_and_lock();
    hold(5us);
    mutex.unlock();
}

// With CPUs for all, nobody needs the hand-off. On one CPU, a turn of each of the others may come before it.
TEST(shared_mutex_sim, a_writer_gets_in_among_endless_readers) {
    const waits plenty = wait_among(8, write, read);
    EXPECT_LT(plenty.median, 50us);
    EXPECT_LT(plenty.longest, 4ms);
    // It doesn't wait for readers who were woken and have no CPU.
    const waits few = wait_among(2, write, read);
    EXPECT_LT(few.median, 200us);
    EXPECT_LT(few.longest, 40ms);
}
TEST(shared_mutex_sim, a_reader_gets_in_among_endless_writers) {
    const waits plenty = wait_among(8, read, write);
    EXPECT_LT(plenty.median, 100us);
    EXPECT_LT(plenty.longest, 5ms);
    EXPECT_LT(wait_among(2, read, write).longest, 40ms);
}
TEST(shared_mutex_sim, an_upgrade_gets_in_among_endless_readers_and_writers) {
    EXPECT_LT(wait_among(8, upgrade, read).longest, 5ms);
    EXPECT_LT(wait_among(8, upgrade, write).longest, 10ms);
}

// 200 ns in and 200 ns out, all write; from 17 on they are on more than one socket. Sections a millisecond, and Jain's index of fairness between threads.
struct rate {
    double per_ms = 0;
    double jain = 0;
};
rate writers(std::int64_t count) {
    std::vector<double> each(static_cast<std::size_t>(count));
    const machine m = scheduling_machine(4, 16);
    run({&m, 1, 0}, [&] {
        auto& mutex = W::make<lock>();
        std::vector<placed> bodies;
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(count); ++i) {
            bodies.emplace_back(i, [&, i] {
                for (; W::now() < 10ms; ++each[i]) {
                    mutex.lock();
                    hold(200ns);
                    mutex.unlock();
                    hold(200ns);
                }
            });
        }
        together(bodies);
    });
    double sum = 0;
    double squares = 0;
    for (const double n : each) {
        sum += n;
        squares += n * n;
    }
    return {sum / 10, sum * sum / (static_cast<double>(count) * squares)};
}

TEST(shared_mutex_sim, many_writers_get_as_much_done_as_few) {
    double most = 0;
    for (const std::int64_t count : {2, 4, 16, 64}) {
        const rate now = writers(count);
        RecordProperty("writers_" + std::to_string(count), std::to_string(now.per_ms));
        most = std::max(most, now.per_ms);
        EXPECT_GE(now.per_ms, 0.6 * most) << count;
        EXPECT_GE(now.jain, 0.5) << count;
    }
}

} // namespace
} // namespace holdfast::sim
