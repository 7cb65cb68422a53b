// The physics of cache lines, each piece turned on and off.
#include "sim_support.hpp"

#include <array>
#include <numeric>

#include <holdfast/mcs_lock.hpp>
#include <holdfast/ticket_lock.hpp>

#include <gtest/gtest.h>

namespace holdfast::sim {
namespace {

using word = P::atomic<std::uint32_t>;

// ---- Costs of the core that has the line ------------------------------------------------------------------

struct hit_costs {
    std::int64_t load, store, rmw, get, set, store_seq_cst, rmw_seq_cst, fence, light_fence;
};

hit_costs measure_hits(const machine& m) {
    hit_costs t{};
    run_on_first(m, [&t] {
        auto& w = W::make<word>(0u);
        auto& plain = W::make<P::var<int>>(0);
        w.store(1, relaxed);
        plain.set(1);
        t.load = took([&] { w.load(relaxed); });
        t.store = took([&] { w.store(2, std::memory_order_release); });
        t.rmw = took([&] { w.fetch_add(1, std::memory_order_acq_rel); });
        t.get = took([&] { plain.get(); });
        t.set = took([&] { plain.set(2); });
        t.store_seq_cst = took([&] { w.store(2, std::memory_order_seq_cst); });
        t.rmw_seq_cst = took([&] { w.fetch_add(1, std::memory_order_seq_cst); });
        t.fence = took([] { P::fence(std::memory_order_seq_cst); });
        t.light_fence = took([] { P::fence(std::memory_order_acq_rel); });
    });
    return t;
}

TEST(sim_coherence, an_owned_line_costs_hit_or_rmw_and_only_full_fences_cost) {
    machine m = memory_machine(1, 1);
    m.fence = 20 * ns;
    const hit_costs t = measure_hits(m);
    EXPECT_EQ(t.load, 1);
    EXPECT_EQ(t.store, 1);
    EXPECT_EQ(t.rmw, 10);
    EXPECT_EQ(t.get, 1);
    EXPECT_EQ(t.set, 1);
    EXPECT_EQ(t.store_seq_cst, 1 + 20);
    EXPECT_EQ(t.rmw_seq_cst, 10 + 20);
    EXPECT_EQ(t.fence, 20);
    EXPECT_EQ(t.light_fence, 0);
}

TEST(sim_coherence, a_machine_may_fence_in_every_rmw) {
    machine m = memory_machine(1, 1);
    m.fence = 20 * ns;
    m.rmw_always_fences = 1;
    const hit_costs t = measure_hits(m);
    EXPECT_EQ(t.rmw, 10 + 20);
    EXPECT_EQ(t.rmw_seq_cst, 10 + 20);
    EXPECT_EQ(t.store, 1);
}

// ---- Distance ---------------------------------------------------------------------------------------------

TEST(sim_coherence, a_line_in_no_cache_comes_from_the_memory_where_it_was_made) {
    std::int64_t local = 0;
    std::int64_t again = 0;
    std::int64_t remote = 0;
    const report r = run_on_first(memory_machine(2, 1), [&] {
        auto& here = W::make<word>(0u);
        auto& there = W::make<word>(0u);
        local = took([&] { here.load(relaxed); });
        again = took([&] { here.load(relaxed); });
        on(1, [&] { remote = took([&] { there.load(relaxed); }); });
    });
    EXPECT_EQ(local, 100 + 1);
    EXPECT_EQ(again, 1);
    EXPECT_EQ(remote, 150 + 1);
    EXPECT_EQ(r.line_transfers, 2u);
    EXPECT_EQ(r.memory_operations, 3u);
}

// CPUs 0 and 1 share a core, 2 is in the next core of the same complex, 4 in the socket's other complex, 8 in
// the other socket.
machine all_distances() {
    machine m = memory_machine(2, 4, 2);
    m.complexes_per_socket = 2;
    return m;
}

std::int64_t fetch_from_first(const machine& m, std::uint32_t reader) {
    std::int64_t t = 0;
    run_on_first(m, [&] {
        auto& w = W::make<word>(0u);
        w.store(1, relaxed);
        on(reader, [&] { t = took([&] { w.load(relaxed); }); });
    });
    return t;
}

TEST(sim_coherence, a_transfer_costs_by_distance) {
    const machine m = all_distances();
    EXPECT_EQ(fetch_from_first(m, 1), 5 + 1);
    EXPECT_EQ(fetch_from_first(m, 3), 20 + 1);
    EXPECT_EQ(fetch_from_first(m, 4), 50 + 1);
    EXPECT_EQ(fetch_from_first(m, 15), 130 + 1);
}

TEST(sim_coherence, without_complexes_a_socket_is_all_one_distance) {
    machine m = all_distances();
    m.complexes_per_socket = 1;
    EXPECT_EQ(fetch_from_first(m, 3), 50 + 1);
    EXPECT_EQ(fetch_from_first(m, 4), 50 + 1);
}

// Row 0 of the matrix is what comes from socket 0.
TEST(sim_coherence, a_matrix_gives_each_pair_of_sockets_its_own_distance) {
    machine m = memory_machine(3, 1);
    m.socket_matrix = {0, 11 * ns, 12 * ns, 21 * ns, 0, 22 * ns, 31 * ns, 32 * ns, 0};
    EXPECT_EQ(fetch_from_first(m, 1), 11 + 1);
    EXPECT_EQ(fetch_from_first(m, 2), 12 + 1);
}

TEST(sim_coherence, the_nearest_copy_answers_a_read) {
    std::int64_t t = 0;
    run_on_first(all_distances(), [&] {
        auto& w = W::make<word>(0u);
        on(8, [&] { w.store(1, relaxed); });
        on(2, [&] { w.load(relaxed); });
        t = took([&] { w.load(relaxed); });
    });
    EXPECT_EQ(t, 20 + 1);
}

// ---- Stores to shared lines -------------------------------------------------------------------------------

std::int64_t store_to_shared(picoseconds invalidate_sharer, const std::vector<std::uint32_t>& readers) {
    machine m = all_distances();
    m.invalidate_sharer = invalidate_sharer;
    std::int64_t t = 0;
    run_on_first(m, [&] {
        auto& w = W::make<word>(0u);
        w.store(1, relaxed);
        for (const std::uint32_t reader : readers)
            on(reader, [&] { w.load(relaxed); });
        t = took([&] { w.store(2, relaxed); });
    });
    return t;
}

TEST(sim_coherence, a_store_waits_for_its_farthest_sharer_and_pays_for_each) {
    EXPECT_EQ(store_to_shared(7 * ns, {}), 1);
    EXPECT_EQ(store_to_shared(7 * ns, {1}), 5 + 7 + 1);
    EXPECT_EQ(store_to_shared(7 * ns, {1, 2, 4}), 50 + 3 * 7 + 1);
    EXPECT_EQ(store_to_shared(7 * ns, {1, 2, 4, 8}), 130 + 4 * 7 + 1);
    EXPECT_EQ(store_to_shared(0, {1, 2, 4, 8}), 130 + 1);
}

// ---- Stay -------------------------------------------------------------------------------------------------

struct pair_of_times {
    std::int64_t owner, other;
};

// CPU 0 acquires the line and goes on using it; CPU 1 asks for it at 150.
pair_of_times owner_against_reader(picoseconds stay) {
    machine m = memory_machine(1, 2);
    m.stay = stay;
    pair_of_times end{};
    run_on_first(m, [&] {
        auto& w = W::make<word>(0u);
        together({{0,
                   [&] {
                       w.store(1, relaxed);
                       for (int i = 0; i < 10; ++i)
                           w.fetch_add(1, relaxed);
                       end.owner = now_ns();
                   }},
                  {1, [&] {
                       W::compute(150ns, cpu_mode::user);
                       w.load(relaxed);
                       end.other = now_ns();
                   }}});
    });
    return end;
}

// Stay 500: the line comes at 100, so it goes at 600. The owner's ten read-modify-writes, from 101 on, all
// hit.
TEST(sim_coherence, an_acquired_line_stays) {
    const pair_of_times end = owner_against_reader(500 * ns);
    EXPECT_EQ(end.owner, 101 + 10 * 10);
    EXPECT_EQ(end.other, 600 + 50 + 1);
}

// Stay 0: it goes at 150, in the owner's fifth read-modify-write. The sixth, at 151, finds a transfer under
// way, gets the line when that has arrived, at 200, and must invalidate the reader's copy: 250. Five more
// make 300.
TEST(sim_coherence, without_stay_it_goes_at_once) {
    const pair_of_times end = owner_against_reader(0);
    EXPECT_EQ(end.owner, 250 + 5 * 10);
    EXPECT_EQ(end.other, 150 + 50 + 1);
}

// ---- One at a time, and merged reads ----------------------------------------------------------------------

struct read_storm {
    std::uint64_t transfers;
    std::vector<std::int64_t> end; // by CPU
};

// CPU 0 owns a line of two sockets of four; all others read it at once.
read_storm read_at_once(read_merge merge) {
    machine m = memory_machine(2, 4);
    m.merge = merge;
    read_storm s{0, std::vector<std::int64_t>(8)};
    const report r = run_on_first(m, [&] {
        auto& w = W::make<word>(0u);
        w.store(1, relaxed); // a transfer
        const std::int64_t begin = now_ns();
        std::vector<placed> readers;
        for (std::uint32_t cpu = 1; cpu < 8; ++cpu) {
            readers.emplace_back(cpu, [&, cpu] {
                w.load(relaxed);
                s.end[cpu] = now_ns() - begin;
            });
        }
        together(readers);
    });
    s.transfers = r.line_transfers - 1;
    return s;
}

// Each takes 50 from a copy of its own socket; the first of the other socket takes 130.
TEST(sim_coherence, a_line_serves_one_reader_after_the_other) {
    const read_storm s = read_at_once(read_merge::none);
    EXPECT_EQ(s.transfers, 7u);
    EXPECT_EQ(s.end, (std::vector<std::int64_t>{0, 51, 101, 151, 281, 331, 381, 431}));
}

// The first is on its way before the others ask. Then the rest of socket 0 together, then all of socket 1.
TEST(sim_coherence, reads_of_a_socket_may_be_merged) {
    const read_storm s = read_at_once(read_merge::socket);
    EXPECT_EQ(s.transfers, 3u);
    EXPECT_EQ(s.end, (std::vector<std::int64_t>{0, 51, 101, 101, 231, 231, 231, 231}));
}

TEST(sim_coherence, reads_of_the_machine_may_be_merged) {
    const read_storm s = read_at_once(read_merge::machine);
    EXPECT_EQ(s.transfers, 2u);
    EXPECT_EQ(s.end, (std::vector<std::int64_t>{0, 51, 101, 101, 101, 101, 101, 101}));
}

// Reads of 1, then of 2 and 3 together, at 100; then the stores one after the other: 150, 200.
TEST(sim_coherence, after_merged_reads_a_line_still_serves_one_at_a_time) {
    machine m = memory_machine(1, 6);
    m.merge = read_merge::machine;
    std::vector<std::int64_t> end(6);
    run_on_first(m, [&] {
        auto& w = W::make<word>(0u);
        w.store(1, relaxed);
        const std::int64_t begin = now_ns();
        std::vector<placed> threads;
        for (std::uint32_t cpu = 1; cpu < 6; ++cpu) {
            threads.emplace_back(cpu, [&, cpu] {
                if (cpu < 4)
                    w.load(relaxed);
                else
                    w.store(cpu, relaxed);
                end[cpu] = now_ns() - begin;
            });
        }
        together(threads);
    });
    EXPECT_EQ(end, (std::vector<std::int64_t>{0, 51, 101, 101, 151, 201}));
}

// ---- Spinning ---------------------------------------------------------------------------------------------

// Transfers of `waiters` CPUs that wait for one store, by all of one word or each of its own.
std::uint64_t transfers_of_a_release(std::uint32_t waiters, bool own_words) {
    const report r = run_on_first(memory_machine(1, 1 + waiters), [&] {
        std::vector<word*> words;
        for (std::uint32_t i = 0; i < waiters; ++i)
            words.push_back(own_words || i == 0 ? &W::make<word>(0u) : words[0]);
        std::vector<placed> threads;
        threads.emplace_back(0, [&] {
            W::compute(1ms, cpu_mode::user);
            words[0]->store(1, relaxed);
            W::compute(1ms, cpu_mode::user);
            if (own_words) {
                for (std::uint32_t i = 1; i < waiters; ++i)
                    words[i]->store(1, relaxed);
            }
        });
        for (std::uint32_t i = 0; i < waiters; ++i) {
            threads.emplace_back(1 + i, [&, i] {
                P::await(
                    relaxed, [](std::uint32_t v) { return v == 1; }, *words[i]);
            });
        }
        together(threads);
    });
    return r.line_transfers;
}

// Each waiter fetches the line to begin with, the store takes it, and each fetches it again. Spinning on
// one's copy costs none.
TEST(sim_coherence, a_release_sends_all_spinners_of_a_line_for_it) {
    for (const std::uint32_t waiters : {1u, 4u, 16u})
        EXPECT_EQ(transfers_of_a_release(waiters, false), 2 * waiters + 1) << waiters;
}

// With a line each, each waiter costs three: its first fetch, the store, its second.
TEST(sim_coherence, spinners_with_lines_of_their_own_do_not_disturb_each_other) {
    for (const std::uint32_t waiters : {1u, 4u, 16u})
        EXPECT_EQ(transfers_of_a_release(waiters, true), 3 * waiters) << waiters;
}

// Line transfers while each of `threads` acquires a lock once, all of them waiting before the first
// hand-over.
template <class Lock>
std::uint64_t transfers_of_a_queue(std::uint32_t threads) {
    const report r = run_on_first(memory_machine(1, threads), [&] {
        auto& lock = W::make<Lock>();
        std::vector<placed> bodies;
        for (std::uint32_t cpu = 0; cpu < threads; ++cpu) {
            bodies.emplace_back(cpu, [&] {
                const typename Lock::guard guard(lock);
                W::compute(100us, cpu_mode::user);
            });
        }
        together(bodies);
    });
    return r.line_transfers;
}

struct ticket : ticket_lock<P> {
    struct guard {
        explicit guard(ticket& l) : lock(l) { lock.lock(); }
        ~guard() { lock.unlock(); }
        ticket& lock;
    };
};

// A ticket lock's hand-over to n waiters costs n fetches, an MCS lock's a fixed few: all in all n squared
// against n.
TEST(sim_coherence, a_ticket_locks_transfers_grow_with_the_square_of_waiters_and_mcs_with_their_number) {
    EXPECT_GT(transfers_of_a_queue<ticket>(32), 3 * transfers_of_a_queue<ticket>(16));
    EXPECT_LE(transfers_of_a_queue<mcs_lock<P>>(32), 2 * transfers_of_a_queue<mcs_lock<P>>(16) + 16);
    EXPECT_LT(transfers_of_a_queue<mcs_lock<P>>(32), transfers_of_a_queue<ticket>(32) / 2);
}

// ---- Arbitration ------------------------------------------------------------------------------------------

struct shares {
    std::uint64_t home, far; // read-modify-writes of the sockets' CPUs, each socket of four
    [[nodiscard]] std::uint64_t all() const { return home + far; }
};

shares contend(favour favours, std::int64_t favour_ppm) {
    machine m = memory_machine(2, 4);
    m.favours = favours;
    m.favour_ppm = favour_ppm;
    m.stay = 20 * ns;
    std::array<std::uint64_t, 8> count{};
    run_on_first(m, [&] {
        auto& w = W::make<word>(0u);
        std::vector<placed> threads;
        for (std::uint32_t cpu = 0; cpu < 8; ++cpu) {
            threads.emplace_back(cpu, [&, cpu] {
                while (W::now() < 2ms) {
                    w.fetch_add(1, relaxed);
                    ++count[cpu];
                    W::compute(30ns, cpu_mode::user);
                }
            });
        }
        together(threads);
    });
    return {std::accumulate(count.begin(), count.begin() + 4, std::uint64_t{0}),
            std::accumulate(count.begin() + 4, count.end(), std::uint64_t{0})};
}

TEST(sim_coherence, the_oldest_first_is_fair) {
    const shares s = contend(favour::none, 0);
    EXPECT_LT(s.home, s.far + s.all() / 50);
    EXPECT_LT(s.far, s.home + s.all() / 50);
}

TEST(sim_coherence, the_homes_neighbours_may_be_favoured_and_the_far_still_get_through) {
    const shares most = contend(favour::home, 900'000);
    EXPECT_GT(most.home, 5 * most.far);
    EXPECT_GT(most.far, most.all() / 100);
    const shares half = contend(favour::home, 500'000);
    EXPECT_GT(half.home, half.far);
    EXPECT_LT(half.home, 5 * half.far);
}

TEST(sim_coherence, untempered_favour_starves) {
    const shares always = contend(favour::home, 1'000'000);
    EXPECT_LT(always.far, 10u);
}

// A line that stays in a socket for longer travels less: more is done, and both sockets have their share of
// it.
TEST(sim_coherence, the_holders_neighbours_may_be_favoured) {
    const shares fair = contend(favour::none, 0);
    const shares holder = contend(favour::holder, 900'000);
    EXPECT_GT(holder.all(), fair.all() + fair.all() / 10);
    EXPECT_GT(holder.home, holder.all() / 4);
    EXPECT_GT(holder.far, holder.all() / 4);
}

// ---- False sharing ----------------------------------------------------------------------------------------

// Two CPUs, each with a counter of its own.
std::uint64_t transfers_of_two_counters(bool near) {
    const report r = run_on_first(memory_machine(1, 2), [&] {
        const std::array<word*, 2> counters =
            near ? std::array{&W::make_near<word>(0u), &W::make_near<word>(0u)}
                 : std::array{&W::make<word>(0u), &W::make<word>(0u)};
        const auto count = [&](std::size_t index) {
            return [&counters, index] {
                for (int i = 0; i < 100; ++i) {
                    counters[index]->fetch_add(1, relaxed);
                    W::compute(100ns, cpu_mode::user);
                }
            };
        };
        together({{0, count(0)}, {1, count(1)}});
    });
    return r.line_transfers;
}

TEST(sim_coherence, objects_of_make_near_share_lines_and_those_of_make_do_not) {
    EXPECT_EQ(transfers_of_two_counters(false), 2u);
    EXPECT_GT(transfers_of_two_counters(true), 150u);
}

} // namespace
} // namespace holdfast::sim
