// The programs that bench grid runs beside contend(): each shows one thing that a throughput under contention doesn't.
//
// All take what they need of contend_settings, and give a contend_result: of pairs, the acquisitions; of
// those that pass a turn, how often each of the two has passed it; of the sleeping owner, how often it has slept; of
// references, how many were taken and given back.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "bench/cpu_clock.hpp"
#include "workload/contend.hpp"

namespace holdfast::bench {

// Lock and unlock, over and over, by one thread with nothing else to do. Takes the write_percent, 0 or 100, and the
// duration.
template <program_world W, class Lock>
contend_result uncontended_pairs(const contend_settings& s) {
    constexpr std::uint32_t batch = 1'000; // between two looks at the clock
    auto& lock = W::template make<Lock>();
    contend_result r;
    r.acquisitions.push_back(0);
    if (s.began)
        s.began();
    const nanoseconds begin = W::now();
    do {
        for (std::uint32_t i = 0; i < batch; ++i) {
            if (s.write_percent != 0)
                with_lock(lock, [] {});
            else
                with_lock_shared(lock, [] {});
        }
        r.acquisitions.front() += batch;
        r.elapsed = W::now() - begin;
    } while (r.elapsed < s.duration);
    return r;
}

// Threads that take a reference and give it back, over and over. Counter has get(), put() and count(), and holds one reference
// when made. Takes the threads and the duration.
template <program_world W, class Counter>
contend_result count_references(const contend_settings& s) {
    constexpr std::uint32_t batch = 100; // between two looks whether it is over
    using flag = typename W::platform::template atomic<std::uint32_t>;
    auto& counter = W::template make<Counter>();
    auto& over = W::template make<flag>(0u);
    contend_result r;
    r.acquisitions.resize(s.threads);
    if (s.began)
        s.began();
    const nanoseconds begin = W::now();
    std::vector<typename W::thread> threads;
    for (std::uint32_t me = 0; me < s.threads; ++me) {
        threads.push_back(W::spawn([&, me] {
            std::uint64_t mine = 0;
            do {
                for (std::uint32_t i = 0; i < batch; ++i) {
                    counter.get();
                    counter.put();
                }
                mine += batch;
            } while (over.load(std::memory_order_relaxed) == 0);
            r.acquisitions[me] = mine;
        }));
    }
    W::sleep(s.duration);
    over.store(1, std::memory_order_relaxed);
    for (typename W::thread& t : threads)
        W::join(t);
    r.elapsed = W::now() - begin;
    r.exclusive = counter.count() == 1;
    return r;
}

// Two threads that pass a turn to each other. step(me, is_over) takes and passes the turn of thread `me` if it can, and
// returns whether it did. Each thread calls it until is_over(), and once more then, so that neither is gone while the other
// waits for its turn. Takes the duration and `pinned`.
template <program_world W, class Step>
contend_result pass_turns(const contend_settings& s, Step step) {
    using P = typename W::platform;
    auto& over = W::template make<typename P::template atomic<std::uint32_t>>(0u);
    contend_result r;
    r.acquisitions.resize(2);
    const auto is_over = [&over] { return over.load(std::memory_order_relaxed) != 0; };
    if (s.began)
        s.began();
    const nanoseconds begin = W::now();
    std::vector<typename W::thread> threads;
    for (std::uint32_t me = 0; me < 2; ++me) {
        const auto body = [&, me] {
            std::uint64_t mine = 0;
            for (bool last = false; !last;) {
                last = is_over();
                mine += step(me, is_over) ? 1 : 0;
            }
            r.acquisitions[me] = mine;
        };
        threads.push_back(s.pinned ? W::spawn_on(me % W::cpu_count(), body) : W::spawn(body));
    }
    W::sleep(s.duration);
    over.store(1, std::memory_order_relaxed);
    for (typename W::thread& t : threads)
        W::join(t);
    r.elapsed = W::now() - begin;
    // They take turns, so neither is ahead by more than one.
    r.exclusive = r.acquisitions[0] - r.acquisitions[1] <= 1 || r.acquisitions[1] - r.acquisitions[0] <= 1;
    return r;
}

// The turn is passed under the lock, and looked for by locking: how fast a lock goes back and forth.
template <program_world W, class Lock>
contend_result ping_pong(const contend_settings& s) {
    auto& lock = W::template make<Lock>();
    auto& turn = W::template make<typename W::platform::template var<std::uint32_t>>(0u);
    return pass_turns<W>(s, [&](std::uint32_t me, auto&&) {
        bool mine = false;
        with_lock(lock, [&] {
            mine = turn.get() == me;
            if (mine)
                turn.set(1 - me);
        });
        if (!mine)
            W::platform::pause();
        return mine;
    });
}

// The turn is waited for at a condition variable, two switches between threads a round: Lock has wait(i) and notify(i).
template <program_world W, class Lock>
contend_result condition_hand_over(const contend_settings& s) {
    auto& lock = W::template make<Lock>();
    auto& turn = W::template make<typename W::platform::template var<std::uint32_t>>(0u);
    return pass_turns<W>(s, [&](std::uint32_t me, auto&& is_over) {
        lock.lock();
        while (turn.get() != me && !is_over())
            lock.wait(me);
        const bool mine = turn.get() == me;
        if (mine)
            turn.set(1 - me);
        // At the end, too: the other may wait for a turn that doesn't come.
        lock.notify(1 - me);
        lock.unlock();
        return mine;
    });
}

// An owner that sleeps with the lock held, while a writer and a reader wait: what their waiting burns. Takes the count
// of sleeps and the section, which is the sleep. `cpu` is the CPU time of both from wanting the lock until they have
// had it. On this machine only, as it asks threads for their CPU time.
template <program_world W, class Lock>
contend_result sleeping_owner(const contend_settings& s, nanoseconds& cpu) {
    constexpr std::uint32_t waiters = 2;
    auto& lock = W::template make<Lock>();
    auto& round = W::template make<std::atomic<std::uint64_t>>(0u);
    auto& done = W::template make<std::atomic<std::uint64_t>>(0u);
    std::array<double, waiters> seconds{};
    if (s.began)
        s.began();
    const nanoseconds begin = W::now();
    std::vector<typename W::thread> threads;
    for (std::uint32_t me = 0; me < waiters; ++me) {
        threads.push_back(W::spawn([&, me] {
            for (std::uint64_t r = 0; r < s.count; ++r) {
                round.wait(r, std::memory_order_acquire);
                const double before = cpu_seconds();
                if (me == 0)
                    with_lock(lock, [] {});
                else
                    with_lock_shared(lock, [] {});
                seconds[me] += cpu_seconds() - before;
                done.fetch_add(1, std::memory_order_release);
                done.notify_one();
            }
        }));
    }
    for (std::uint64_t r = 1; r <= s.count; ++r) {
        with_lock(lock, [&] {
            round.store(r, std::memory_order_release);
            round.notify_all();
            W::sleep(s.section);
        });
        for (std::uint64_t n = done.load(std::memory_order_acquire); n < r * waiters;
             n = done.load(std::memory_order_acquire))
            done.wait(n, std::memory_order_acquire);
    }
    for (typename W::thread& t : threads)
        W::join(t);
    contend_result result;
    result.elapsed = W::now() - begin;
    result.acquisitions = {s.count};
    cpu = nanoseconds(static_cast<std::int64_t>((seconds[0] + seconds[1]) * 1e9));
    return result;
}

} // namespace holdfast::bench
