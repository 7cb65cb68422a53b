// Threads at one file: requests add up, semaphores are taken as the mode says and given back, and a seed says all.
#include <array>
#include <atomic>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/rwsem_xadd.hpp>

#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"
#include "sim/world.hpp"
#include "workload/file_io.hpp"
#include "workload/native_world.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using sim::world;

file_io_parameters small() {
    return {.threads = 4,
            .queue_depth = 2,
            .blocks = 100,
            .read_percent = 50,
            .warm_up = 50us,
            .duration = 500us,
            .tick = 100us,
            .allocate_percent = 10,
            .entry = 200ns,
            .reserve = 300ns,
            .stamp = 500ns,
            .allocate = 1us,
            .map = 200ns,
            .user = 500ns,
            .jitter_percent = 20};
}

// A file that takes no time, and looks who moves data at the same time.
template <class W>
class watched_file {
    using count = typename W::platform::template atomic<std::uint32_t>;

public:
    struct buffer {
        explicit buffer(const watched_file&) {}
    };

    watched_file(const file_io_parameters& p, bool writers_alone)
        : blocks_(p.blocks), writers_alone_(writers_alone), readers_(W::template make<count>(0u)),
          writers_(W::template make<count>(0u)) {}

    void read(std::uint64_t block, buffer&) {
        EXPECT_LT(block, blocks_);
        readers_.fetch_add(1, std::memory_order_relaxed);
        if (writers_alone_) {
            EXPECT_EQ(writers_.load(std::memory_order_relaxed), 0u);
        }
        W::compute(1us, cpu_mode::system);
        readers_.fetch_sub(1, std::memory_order_relaxed);
        reads.fetch_add(1);
    }
    void write(std::uint64_t block, buffer&) {
        EXPECT_LT(block, blocks_);
        const std::uint32_t others = writers_.fetch_add(1, std::memory_order_relaxed);
        if (writers_alone_) {
            EXPECT_EQ(others, 0u);
            EXPECT_EQ(readers_.load(std::memory_order_relaxed), 0u);
        }
        W::compute(1us, cpu_mode::system);
        writers_.fetch_sub(1, std::memory_order_relaxed);
        writes.fetch_add(1);
    }

    std::atomic<std::uint64_t> reads{0};
    std::atomic<std::uint64_t> writes{0};

private:
    std::uint64_t blocks_;
    bool writers_alone_;
    count& readers_;
    count& writers_;
};

// A semaphore that looks whether it is one, and is free at the end.
template <class W>
class checked_semaphore {
public:
    ~checked_semaphore() { EXPECT_EQ(holders_.load(), 0); }
    void lock() {
        lock_.lock();
        EXPECT_EQ(holders_.exchange(writer), 0);
    }
    void unlock() {
        EXPECT_EQ(holders_.exchange(0), writer);
        lock_.unlock();
    }
    void lock_shared() {
        lock_.lock_shared();
        EXPECT_GE(holders_.fetch_add(1), 0);
    }
    void unlock_shared() {
        EXPECT_GE(holders_.fetch_sub(1), 1);
        lock_.unlock_shared();
    }

private:
    static constexpr int writer = -1;

    rwsem_xadd<typename W::platform, rwsem_xadd_presets::rfc_2016_v4> lock_;
    std::atomic<int> holders_{0}; // readers, or the writer
};

// As the program of a world: all that was asked for was done, once.
template <class W>
file_io_result checked(const file_io_parameters& p) {
    watched_file<W> file(p, p.writers_alone);
    const file_io_result r = file_io<W, checked_semaphore<W>, watched_file<W>>::run(p, file);
    EXPECT_EQ(file.reads.load() + file.writes.load(), r.all_requests);
    EXPECT_LE(r.reads, file.reads.load());
    EXPECT_LE(r.writes, file.writes.load());
    EXPECT_TRUE(r.reads == 0 || p.read_percent > 0);
    EXPECT_TRUE(r.writes == 0 || p.read_percent < 100);
    const std::uint64_t stamps = p.stamp_each_write ? file.writes.load() : 0;
    EXPECT_GE(r.exclusive, stamps + (p.writers_alone ? file.writes.load() : 0));
    return r;
}

std::vector<file_io_parameters> all_modes() {
    std::vector<file_io_parameters> modes;
    for (const std::uint32_t read_percent : {0u, 50u, 100u}) {
        for (const bool writers_alone : {false, true}) {
            for (const bool each : {false, true}) {
                file_io_parameters p = small();
                p.read_percent = read_percent;
                p.writers_alone = writers_alone;
                p.cached = writers_alone && each;
                p.stamp_each_write = each;
                modes.push_back(p);
            }
        }
    }
    return modes;
}

const sim::machine& machine() {
    static const sim::machine m = sim::read_machine(data_file("machines", "haswell-ex-4s"));
    return m;
}

TEST(file_io, all_that_is_requested_is_done_once_whatever_the_mode) {
    for (const file_io_parameters& p : all_modes()) {
        for (const std::uint64_t seed : {1u, 2u}) {
            sim::run({&machine(), seed, 0}, [&] {
                const file_io_result r = checked<world>(p);
                EXPECT_GT(r.reads + r.writes, 0u);
                EXPECT_LT(r.reads + r.writes, r.all_requests); // those of the warm-up don't count
            });
        }
    }
}

TEST(file_io, natively_too) {
    for (const file_io_parameters& p : all_modes())
        native_world::run(1, [&] { checked<native_world>(p); });
}

TEST(file_io, who_only_reads_takes_nothing_exclusively_but_for_the_first_access_time) {
    file_io_parameters p = small();
    p.read_percent = 100;
    sim::run({&machine(), 1, 0}, [&] {
        const file_io_result r = checked<world>(p);
        EXPECT_GE(r.exclusive, 1u);
        EXPECT_LE(r.exclusive, p.threads * p.queue_depth);
    });
}

TEST(file_io, a_file_without_a_version_is_stamped_once_a_tick_or_so) {
    file_io_parameters p = small();
    p.read_percent = 0;
    p.allocate_percent = 0;
    p.threads = 1;
    p.queue_depth = 1;
    p.stamp_each_write = false;
    sim::run({&machine(), 1, 0}, [&] {
        const file_io_result r = checked<world>(p);
        // 550 us, and ticks of 100.
        EXPECT_GE(r.exclusive, 5u);
        EXPECT_LE(r.exclusive, 6u);
    });
}

// How long one block takes on its own.
nanoseconds time_to_move(const file_costs& costs, std::uint32_t at_once) {
    nanoseconds elapsed{};
    sim::run({&machine(), 1, 0}, [&] {
        using file = modelled_file<world>;
        auto& data = world::make<file>(costs);
        std::vector<world::thread> threads;
        threads.reserve(at_once);
        const nanoseconds begin = world::now();
        for (std::uint32_t i = 0; i < at_once; ++i) {
            threads.push_back(world::spawn([&] {
                file::buffer buffer(data);
                data.write(0, buffer);
            }));
        }
        for (world::thread& t : threads)
            world::join(t);
        elapsed = world::now() - begin;
    });
    return elapsed;
}

TEST(file_io, copies_share_the_memory_and_transfers_the_device) {
    // A copy of 1 MB takes a millisecond, by whatever many CPUs.
    const file_costs unlimited{
        .block_bytes = 1'000'000, .copy_bytes_per_second = 1'000'000'000, .submit = {}, .device = {}};
    EXPECT_NEAR(static_cast<double>(time_to_move(unlimited, 1).count()), 1e6, 5e4);
    EXPECT_NEAR(static_cast<double>(time_to_move(unlimited, 8).count()), 1e6, 5e4);
    file_costs limited = unlimited;
    limited.memory_bytes_per_second = 2'000'000'000;
    EXPECT_NEAR(static_cast<double>(time_to_move(limited, 2).count()), 1e6, 5e4);
    EXPECT_NEAR(static_cast<double>(time_to_move(limited, 8).count()), 4e6, 2e5);
    // Many bytes at once: 40 GB.
    const file_costs large{.block_bytes = 5'000'000'000,
                           .copy_bytes_per_second = 5'000'000'000,
                           .memory_bytes_per_second = 10'000'000'000,
                           .submit = {},
                           .device = {}};
    EXPECT_NEAR(static_cast<double>(time_to_move(large, 8).count()), 4e9, 1e8);
    const file_costs device{.block_bytes = 1'000'000,
                            .copy_bytes_per_second = 0,
                            .submit = {},
                            .device = {.latency = 100us, .bytes_per_second = 1'000'000'000}};
    EXPECT_NEAR(static_cast<double>(time_to_move(device, 1).count()), 1.1e6, 5e4);
    EXPECT_NEAR(static_cast<double>(time_to_move(device, 4).count()), 4.1e6, 1e5);
}

TEST(file_io, a_seed_says_all) {
    const auto once = [](std::uint64_t seed) {
        file_io_result done;
        const sim::report r = sim::run({&machine(), seed, 0}, [&] { done = checked<world>(small()); });
        return std::array{static_cast<std::uint64_t>(r.elapsed),
                          static_cast<std::uint64_t>(r.system),
                          r.memory_operations,
                          done.reads,
                          done.writes,
                          done.exclusive};
    };
    EXPECT_EQ(once(1), once(1));
    EXPECT_NE(once(1), once(2));
}

} // namespace
} // namespace holdfast
