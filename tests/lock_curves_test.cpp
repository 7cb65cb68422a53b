// The program that contends for a lock, the curves that come of it, and the formula beside them.
#include <array>
#include <cmath>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <utility>

#include <holdfast/mcs_lock.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/ticket_lock.hpp>

#include "bench/birth_death.hpp"
#include "bench/line_chart.hpp"
#include "bench/lock_bench.hpp"
#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"
#include "sim/world.hpp"
#include "workload/contend.hpp"
#include "workload/native_world.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

sim::machine opteron() {
    return sim::read_machine(data_file("machines", "opteron-8s"));
}

// ---- Waits ------------------------------------------------------------------------------------------------

TEST(wait_times, percentiles_are_right_to_a_sixteenth) {
    wait_times waits;
    for (int i = 1; i <= 100'000; ++i)
        waits.add(nanoseconds(i));
    EXPECT_EQ(waits.count(), 100'000u);
    EXPECT_EQ(waits.longest(), 100'000ns);
    for (const double part : {0.01, 0.5, 0.99, 0.999}) {
        const double exact = part * 100'000;
        EXPECT_GE(static_cast<double>(waits.percentile(part).count()), exact) << part;
        EXPECT_LE(static_cast<double>(waits.percentile(part).count()), exact * 17 / 16) << part;
    }
    EXPECT_EQ(waits.percentile(1), 100'000ns);
}

TEST(wait_times, small_and_extreme_times_are_exact) {
    wait_times waits;
    EXPECT_EQ(waits.percentile(0.5), 0ns);
    waits.add(-5ns);
    EXPECT_EQ(waits.longest(), 0ns);
    waits.add(7ns);
    EXPECT_EQ(waits.percentile(0.75), 7ns);
    waits.add(nanoseconds::max());
    EXPECT_EQ(waits.percentile(1), nanoseconds::max());
}

TEST(wait_times, sums_of_two_are_as_if_counted_in_one) {
    wait_times a;
    wait_times b;
    a.add(10ns);
    b.add(1us);
    b.add(2us);
    a.add(b);
    EXPECT_EQ(a.count(), 3u);
    EXPECT_EQ(a.percentile(0.3), 10ns);
    EXPECT_EQ(a.longest(), 2us);
}

// ---- The program ------------------------------------------------------------------------------------------

template <class Lock>
contend_result contend_on_sim(const contend_settings& s) {
    const sim::machine m = opteron();
    contend_result result;
    sim::run({&m, 1, 0}, [&] { result = contend<sim::world, Lock>(s); });
    return result;
}

TEST(contend, each_thread_gets_its_count) {
    const contend_result r = contend_on_sim<ticket_lock<sim::platform>>(
        {.threads = 5, .think = 500ns, .section = 100ns, .lines = 3, .count = 20});
    EXPECT_EQ(r.acquisitions, (std::vector<std::uint64_t>(5, 20)));
    EXPECT_EQ(r.waits.count(), 100u);
    EXPECT_TRUE(r.exclusive);
    EXPECT_GT(r.elapsed, 20 * (250ns + 100ns));
}

TEST(contend, threads_go_on_for_the_duration) {
    const contend_result r = contend_on_sim<mcs_lock<sim::platform>>(
        {.threads = 5, .think = 500ns, .section = 100ns, .duration = 100us, .sample_every = 4});
    EXPECT_GE(r.elapsed, 100us);
    EXPECT_LT(r.elapsed, 110us);
    const std::uint64_t sum = std::accumulate(r.acquisitions.begin(), r.acquisitions.end(), std::uint64_t{0});
    EXPECT_NEAR(static_cast<double>(r.waits.count()), static_cast<double>(sum) / 4, 5);
    EXPECT_TRUE(r.exclusive);
}

struct no_lock {
    void lock() {}
    void unlock() {}
};

TEST(contend, a_lock_that_lets_two_in_is_found_out) {
    EXPECT_FALSE(contend_on_sim<no_lock>({.threads = 8, .section = 100ns, .count = 100}).exclusive);
}

TEST(contend, readers_and_writers_share_many_locks_and_a_loner_has_its_own_role) {
    contend_settings s;
    s.threads = 3;
    s.section = 100ns;
    s.write_percent = 30;
    s.loner = contend_role{.think = 2us, .section = 1us, .write_percent = 100, .sleeps = true};
    s.objects = 4;
    s.checked = true;
    s.duration = 100us;
    s.sample_every = 2;
    const contend_result r = contend_on_sim<qrwlock<sim::platform>>(s);
    ASSERT_EQ(r.acquisitions.size(), 4u);
    EXPECT_EQ(r.loner_waits.count(), r.acquisitions.back()); // all of its waits
    EXPECT_LT(r.acquisitions.back(), r.acquisitions.front() / 5);
    const double crowd = static_cast<double>(r.acquisitions[0] + r.acquisitions[1] + r.acquisitions[2]);
    EXPECT_NEAR(static_cast<double>(r.waits.count()), crowd / 2, 3);
    EXPECT_TRUE(r.exclusive);
}

struct no_lock_for_readers : qrwlock<sim::platform> {
    void lock_shared() {}
    void unlock_shared() {}
};

TEST(contend, a_lock_that_lets_a_reader_see_half_a_write_is_found_out) {
    contend_settings s{.threads = 4, .section = 100ns, .write_percent = 50, .checked = true, .count = 100};
    EXPECT_FALSE(contend_on_sim<no_lock_for_readers>(s).exclusive);
    s.loner = contend_role{.section = 100ns, .write_percent = 100};
    s.write_percent = 0;
    EXPECT_FALSE(contend_on_sim<no_lock_for_readers>(s).exclusive);
    EXPECT_TRUE(contend_on_sim<qrwlock<sim::platform>>(s).exclusive);
}

TEST(contend, the_same_program_runs_on_this_machine) {
    contend_result r;
    native_world::run(1, [&r] {
        r = contend<native_world, std::mutex>({.threads = 3, .think = 500ns, .section = 100ns, .count = 200});
    });
    EXPECT_EQ(r.acquisitions, (std::vector<std::uint64_t>(3, 200)));
    EXPECT_TRUE(r.exclusive);
}

// This machine, with room for so many threads.
struct small_world : native_world {
    static inline int room = 0;
    template <class Body>
    static thread spawn(Body body) {
        if (room-- == 0)
            throw std::runtime_error("no room");
        return native_world::spawn(std::move(body));
    }
};

TEST(contend, threads_that_wait_for_one_that_can_t_be_started_go_without) {
    small_world::room = 2;
    EXPECT_THROW(native_world::run(1, [] { contend<small_world, std::mutex>({.threads = 3, .count = 10}); }),
                 std::runtime_error);
}

// ---- The formula ------------------------------------------------------------------------------------------

TEST(birth_death, one_cpu_thinks_and_works_in_turn) {
    EXPECT_NEAR(bench::birth_death_throughput(1, 3'000, 200, 50), 1e9 / 3'200, 1e-3);
}

// Two CPUs, by hand: weights 1, 2 s/a, 2 (s/a)^2 with s the section and a the think time, as one waiter needs
// no fetch of others; s/a = 1 gives (2 + 2) / 5 thinking on average.
TEST(birth_death, two_cpus_by_hand) {
    EXPECT_NEAR(bench::birth_death_throughput(2, 1'000, 1'000, 0), 0.8 * 1e6, 1e-3);
}

TEST(birth_death, without_fetches_it_ends_in_a_plateau_and_with_them_it_collapses) {
    EXPECT_NEAR(bench::birth_death_throughput(200, 3'000, 200, 0), 1e9 / 200, 1);
    EXPECT_NEAR(bench::birth_death_throughput(200, 3'000, 200, 50) * (200 + 50 * 199.0 / 2), 1e9, 5e6);
    EXPECT_TRUE(std::isfinite(bench::birth_death_throughput(1'024, 1, 1e6, 1e6)));
}

// ---- The curves -------------------------------------------------------------------------------------------

double rate_of(const std::vector<bench::cell>& cells, const std::string& lock, std::uint32_t threads) {
    for (const bench::cell& c : cells) {
        if (c.lock == lock && c.threads == threads)
            return c.ops_per_s.median;
    }
    ADD_FAILURE() << "no cell for " << lock << " with " << threads;
    return 0;
}

// What the paper says: the ticket lock's throughput collapses soon after its peak, the chain predicts the
// collapse, but softer than it is; the MCS lock keeps its throughput.
TEST(lock_curves, a_ticket_lock_collapses_and_an_mcs_lock_does_not) {
    const sim::machine m = opteron();
    bench::lock_bench b;
    b.on = &m;
    b.locks = {"holdfast::ticket_lock", "holdfast::mcs_lock"};
    b.threads = {1, 6, 12, 24, 48};
    b.section = 200ns;
    b.think = 3us;
    b.duration = 2ms;
    b.pinned = true;
    std::size_t told = 0;
    const std::vector<bench::cell> cells =
        bench::run_lock_bench(b, [&told](std::size_t done, std::size_t, const std::string&) { told = done; });
    EXPECT_EQ(cells.size(), 10u);
    EXPECT_EQ(told, 29u); // of 30

    const double ticket_peak = rate_of(cells, "holdfast::ticket_lock", 6);
    EXPECT_GT(ticket_peak, 4 * rate_of(cells, "holdfast::ticket_lock", 1));
    EXPECT_LT(rate_of(cells, "holdfast::ticket_lock", 12), ticket_peak * 0.8);
    EXPECT_LT(rate_of(cells, "holdfast::ticket_lock", 48), ticket_peak * 0.3);
    const double mcs_peak = rate_of(cells, "holdfast::mcs_lock", 12);
    EXPECT_GT(mcs_peak, ticket_peak);
    EXPECT_GT(rate_of(cells, "holdfast::mcs_lock", 48), mcs_peak * 0.8);

    const std::vector<bench::cell> chain = bench::predict_ticket_lock(b);
    const std::string name = chain.front().lock;
    EXPECT_NEAR(rate_of(chain, name, 6), ticket_peak, ticket_peak * 0.1);
    for (const std::uint32_t threads : {12u, 24u, 48u}) {
        EXPECT_GT(rate_of(chain, name, threads), rate_of(cells, "holdfast::ticket_lock", threads));
        EXPECT_LT(rate_of(chain, name, threads), 2 * rate_of(cells, "holdfast::ticket_lock", threads));
    }
    EXPECT_LT(rate_of(chain, name, 48), rate_of(chain, name, 12) / 2);
}

// The unfair read-write lock with writers only: each release sends all of them after the word, and it takes a round of
// failed attempts until one has it. With a queue one waits on the word.
TEST(lock_curves, an_unfair_rwlock_collapses_and_a_queued_one_does_not) {
    const sim::machine m = opteron();
    bench::lock_bench b;
    b.on = &m;
    b.locks = {"holdfast::rwlock", "holdfast::qrwlock"};
    b.threads = {1, 6, 12, 48};
    b.section = 200ns;
    b.think = 3us;
    b.duration = 2ms;
    b.pinned = true;
    const std::vector<bench::cell> cells =
        bench::run_lock_bench(b, [](std::size_t, std::size_t, const std::string&) {});
    const double unfair_peak = rate_of(cells, "holdfast::rwlock", 6);
    const double queued_peak = rate_of(cells, "holdfast::qrwlock", 12);
    EXPECT_GT(unfair_peak, 3 * rate_of(cells, "holdfast::rwlock", 1));
    EXPECT_LT(rate_of(cells, "holdfast::rwlock", 48), unfair_peak * 0.3);
    EXPECT_GT(rate_of(cells, "holdfast::qrwlock", 48), queued_peak * 0.7);
    EXPECT_GT(rate_of(cells, "holdfast::qrwlock", 48), 4 * rate_of(cells, "holdfast::rwlock", 48));
}

TEST(lock_curves, every_lock_can_be_measured_where_it_says) {
    const sim::machine m = sim::read_machine(data_file("machines", "tiny"));
    bench::lock_bench b;
    b.threads = {2};
    b.runs = 1;
    b.section = 100ns;
    b.think = 500ns;
    b.duration = 1ms;
    for (const bool native : {false, true}) {
        b.on = native ? nullptr : &m;
        b.locks = bench::lock_names(native);
        EXPECT_EQ(b.locks.size(), native ? 7u : 6u);
        for (const bench::cell& c :
             bench::run_lock_bench(b, [](std::size_t, std::size_t, const std::string&) {})) {
            EXPECT_GT(c.ops_per_s.median, 0) << c.lock;
            EXPECT_TRUE(c.cpu_ns_per_op && c.jain && c.wait_ns) << c.lock;
            EXPECT_EQ(c.foreign_load.has_value(), native) << c.lock;
        }
    }
}

TEST(line_chart, draws_all_curves_and_escapes_their_names) {
    bench::line_chart chart;
    chart.title = "a & b";
    chart.curves = {{"atomic<int>", {{1, 2, 1, 3}, {2, 4, 4, 4}}, false},
                    {"formula", {{1, 2}, {2, 3}}, true}};
    const std::string svg = to_svg(chart);
    EXPECT_EQ(svg.find("atomic<int>"), std::string::npos);
    EXPECT_NE(svg.find("atomic&lt;int&gt;"), std::string::npos);
    EXPECT_NE(svg.find("a &amp; b"), std::string::npos);
    EXPECT_NE(svg.find("stroke-dasharray"), std::string::npos);
    EXPECT_EQ(svg.substr(svg.size() - 7), "</svg>\n");
    EXPECT_EQ(svg.find("nan"), std::string::npos);
}

TEST(line_chart, needs_no_points) {
    bench::line_chart chart;
    EXPECT_EQ(bench::to_svg(chart).find("nan"), std::string::npos);
    chart.curves = {{"zero", {{0, 0}}}};
    EXPECT_EQ(bench::to_svg(chart).find("nan"), std::string::npos);
}

} // namespace
} // namespace holdfast
