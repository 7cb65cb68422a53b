// The repair tool's work is all done, once, whatever the semaphore and the stride; and its locks are locks.
#include <array>
#include <atomic>

#include <gtest/gtest.h>

#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"
#include "sim/world.hpp"
#include "workload/native_world.hpp"
#include "workload/repair.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using sim::world;

repair_parameters small(std::uint32_t stride) {
    return {
        .groups = 7,
        .stride = stride,
        .scanners = 3,
        .readers = 2,
        .headers = 2,
        .buffers = 10,
        .start_reading = 4,
        .read_ahead = 5,
        .buffers_per_read = 3,
        .buffer_pages = 2,
        .record_percent = 50,
        .memory = {.syscall = 100ns, .mprotect = 2us, .trap = 500ns, .fault = 2us, .shootdown_percent = 50},
        .storage = {.latency = 20us},
        .submit = 1us,
        .queueing = 1us,
        .parsing = 2us,
        .processing = 5us,
        .duplicates_alone = 1us,
        .duplicates = 1us,
        .rebuilding = 1us,
        .directories = 1us,
        .jitter_percent = 20};
}

// 70 buffers, numbered from 1.
constexpr std::uint64_t all_buffers = 70;
constexpr std::uint64_t checksum = all_buffers * (all_buffers + 1) / 2;

void expect_all_work_done(const repair_result& r) {
    EXPECT_EQ(r.buffers_read, all_buffers);
    EXPECT_EQ(r.buffers_processed, all_buffers);
    EXPECT_EQ(r.checksum, checksum);
    EXPECT_EQ(r.reads[0], 1u);
    EXPECT_EQ(r.reads[1], 14u);
    // One to three buffers a read.
    EXPECT_GE(r.reads[2], 24u);
    EXPECT_LE(r.reads[2], all_buffers);
    for (const std::size_t from_the_cache : {3u, 4u, 5u, 6u})
        EXPECT_EQ(r.reads[from_the_cache], 0u);
    for (const nanoseconds phase : r.phases)
        EXPECT_GT(phase, 0ns);
}

sim::report simulated(const named<rw_lock>& semaphore, const repair_parameters& p, std::uint64_t seed) {
    static const sim::machine m = sim::read_machine(data_file("machines", "repair-vm-16p"));
    repair_result done;
    modelled_heap heap;
    sim::report report = sim::run({&m, seed, 0}, [&] { done = repair<world>::run(p, semaphore, heap); });
    expect_all_work_done(done);
    return report;
}

TEST(repair, all_work_is_done_once_whatever_the_semaphore_the_stride_and_the_boot) {
    for (const std::uint32_t stride : {0u, 1u, 3u, 7u, 100u}) {
        for (const std::uint64_t seed : {1u, 2u, 3u}) {
            for (const named<rw_lock>& semaphore : rw_locks<world>()) {
                SCOPED_TRACE(semaphore.name);
                simulated(semaphore, small(stride), seed);
            }
        }
    }
}

TEST(repair, the_smallest_read_ahead_still_gets_everything_read) {
    repair_parameters p = small(3);
    p.read_ahead = 1;
    simulated(rw_locks<world>()[0], p, 1);
}

TEST(repair, a_seed_says_all) {
    const auto once = [](std::uint64_t seed) {
        const sim::report r = simulated(rw_locks<world>()[0], small(3), seed);
        return std::array{r.elapsed, r.user, r.system, static_cast<std::int64_t>(r.memory_operations)};
    };
    EXPECT_EQ(once(1), once(1));
    EXPECT_NE(once(1), once(2));
}

// As modelled_heap, but it looks: each page is made usable before it is touched, and touched once.
class checked_heap {
public:
    std::uint64_t grow(std::uint32_t pages) { return used_.fetch_add(pages); }
    void touch(std::uint64_t page) {
        EXPECT_LT(page, used_.load());
        ++touched_[page];
    }
    std::uint64_t used() const { return used_.load(); }
    void expect_each_page_touched_once() const {
        for (std::uint64_t page = 0; page < used_.load(); ++page)
            EXPECT_EQ(touched_[page].load(), 1u) << page;
    }

private:
    std::atomic<std::uint64_t> used_{0};
    std::array<std::atomic<std::uint32_t>, 1000> touched_{};
};

TEST(repair, natively_too_and_every_page_is_touched_once) {
    checked_heap heap;
    repair_result done;
    native_world::run(1, [&] {
        done = repair<native_world, checked_heap>::run(small(3), rw_locks<native_world>()[0], heap);
    });
    expect_all_work_done(done);
    heap.expect_each_page_touched_once();
    // The superblock, headers, buffers, and some records.
    EXPECT_GE(heap.used(), 1 + (14 + all_buffers) * 2);
}

// ---- The tool's own locks ---------------------------------------------------------------------------------

// Threads that take turns by a mutex and a condition, held back by a semaphore of two.
template <class W>
void take_turns() {
    using P = typename W::platform;
    constexpr int threads = 4;
    constexpr int rounds = 25;
    auto& mutex = W::template make<futex_mutex<P>>();
    auto& changed = W::template make<futex_condition<P>>();
    auto& two = W::template make<futex_semaphore<P>>(2u);
    auto& inside = W::template make<typename P::template atomic<std::uint32_t>>(0u);
    auto& turn = W::template make<typename P::template var<int>>(0);
    std::vector<typename W::thread> started;
    started.reserve(threads);
    for (int i = 0; i < threads; ++i) {
        started.push_back(W::spawn([&, i] {
            for (int round = 0; round < rounds; ++round) {
                mutex.lock();
                while (turn.get() % threads != i)
                    changed.wait(mutex);
                turn.set(turn.get() + 1);
                changed.broadcast();
                mutex.unlock();
                two.wait();
                EXPECT_LT(inside.fetch_add(1, std::memory_order_relaxed), 2u);
                W::compute(1us, cpu_mode::user);
                inside.fetch_sub(1, std::memory_order_relaxed);
                two.post();
            }
        }));
    }
    for (typename W::thread& t : started)
        W::join(t);
    EXPECT_EQ(turn.get(), threads * rounds);
}

TEST(futex_locks, exclude_and_wake_on_the_simulated_machine) {
    const sim::machine m = sim::read_machine(data_file("machines", "repair-vm-16p"));
    for (const std::uint64_t seed : {1u, 2u, 3u})
        sim::run({&m, seed, 0}, take_turns<world>);
}

TEST(futex_locks, exclude_and_wake_natively) {
    native_world::run(1, take_turns<native_world>);
}

} // namespace
} // namespace holdfast
