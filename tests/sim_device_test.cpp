// The physics of a storage device: latency, and what limits transfers a second and bytes a second do to a
// crowd.
#include "sim_support.hpp"

#include <algorithm>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

// When each of `threads` transfers of `bytes`, asked for at once, is done.
std::vector<std::int64_t> transfer_at_once(const device_limits& limits, std::uint32_t threads,
                                           std::uint64_t bytes) {
    std::vector<std::int64_t> end(threads);
    run_on_first(free_machine(1, 1), [&] {
        auto& device = W::make<W::device>(limits);
        std::vector<placed> bodies;
        for (std::uint32_t i = 0; i < threads; ++i) {
            bodies.emplace_back(0, [&, i] {
                device.transfer(bytes);
                end[i] = now_ns();
            });
        }
        together(bodies);
    });
    std::sort(end.begin(), end.end());
    return end;
}

using times = std::vector<std::int64_t>;

TEST(sim_device, without_limits_only_latency_counts) {
    EXPECT_EQ(transfer_at_once({}, 3, 4096), (times{0, 0, 0}));
    EXPECT_EQ(transfer_at_once({.latency = 80us}, 3, 4096), (times{80'000, 80'000, 80'000}));
}

// 10,000 a second: one begins every 100 us.
TEST(sim_device, transfers_a_second_are_limited) {
    EXPECT_EQ(transfer_at_once({.latency = 80us, .iops = 10'000}, 4, 4096),
              (times{80'000, 180'000, 280'000, 380'000}));
}

// 1 GB a second: 4,000 bytes take 4 us, and those behind wait.
TEST(sim_device, bytes_a_second_are_limited) {
    EXPECT_EQ(transfer_at_once({.latency = 80us, .bytes_per_second = 1'000'000'000}, 3, 4'000),
              (times{84'000, 88'000, 92'000}));
}

// Small transfers meet the first limit, large ones the second.
TEST(sim_device, the_stricter_limit_counts) {
    const device_limits both{.latency = 0ns, .iops = 100'000, .bytes_per_second = 1'000'000'000};
    EXPECT_EQ(transfer_at_once(both, 3, 1'000), (times{1'000, 11'000, 21'000}));
    EXPECT_EQ(transfer_at_once(both, 3, 20'000), (times{20'000, 40'000, 60'000}));
}

// Transfers that `threads` threads get done in a second, one after the other each.
std::uint64_t transfers_in_a_second(std::uint32_t threads) {
    std::uint64_t done = 0;
    run_on_first(free_machine(1, 1), [&] {
        auto& device = W::make<W::device>(device_limits{.latency = 1ms, .iops = 5'000});
        std::vector<placed> bodies;
        for (std::uint32_t i = 0; i < threads; ++i) {
            bodies.emplace_back(0, [&] {
                while (W::now() < 1s) {
                    device.transfer(512);
                    ++done;
                }
            });
        }
        together(bodies);
    });
    return done;
}

// One thread gets 1,000 a second by latency, so do three each; from five on the device's 5,000 are all there
// are (and those under way at the end).
TEST(sim_device, more_threads_help_until_the_device_is_saturated) {
    EXPECT_EQ(transfers_in_a_second(1), 1'000u);
    EXPECT_EQ(transfers_in_a_second(3), 3'000u);
    EXPECT_NEAR(static_cast<double>(transfers_in_a_second(10)), 5'000, 10);
    EXPECT_NEAR(static_cast<double>(transfers_in_a_second(40)), 5'000, 40);
}

// Who waits for a device leaves the CPU to others.
TEST(sim_device, a_transfer_takes_no_cpu_time) {
    const report r = run_on_first(free_machine(1, 1), [] {
        auto& device = W::make<W::device>(device_limits{.latency = 10ms});
        together({{0, [&] { device.transfer(512); }}, {0, [] { W::compute(10ms, cpu_mode::user); }}});
    });
    EXPECT_EQ(r.elapsed, 10 * ms);
    EXPECT_EQ(r.user, 10 * ms);
    EXPECT_EQ(r.system, 0);
}

} // namespace
} // namespace holdfast::sim
