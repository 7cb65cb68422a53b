// Threads that contend for one lock: each thinks, locks, works on shared data, unlocks, over and over.
//
// The simplest program that shows what a lock does: the longer the thinking, the fewer want the lock at a
// time. It is the program of most published curves of throughput by number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <exception>
#include <vector>

#include "workload/program.hpp"

namespace holdfast {

// Times, kept in buckets of at most 1/16 of their value, so that adding costs little and percentiles are off
// by as much.
class wait_times {
    static constexpr unsigned fraction_bits = 4; // 16 buckets for each power of two
    static constexpr std::uint64_t fractions = 1u << fraction_bits;

    static std::size_t bucket_of(std::uint64_t ns) {
        if (ns < fractions)
            return ns;
        const unsigned shift = static_cast<unsigned>(std::bit_width(ns)) - 1 - fraction_bits;
        return (shift << fraction_bits) + (ns >> shift);
    }
    // The largest time of a bucket.
    static std::uint64_t end_of(std::size_t bucket) {
        if (bucket < fractions)
            return bucket;
        const std::size_t shift = (bucket >> fraction_bits) - 1;
        return ((bucket - (shift << fraction_bits) + 1) << shift) - 1;
    }

public:
    // Counts a time; a negative one as none.
    void add(nanoseconds waited) {
        const auto ns = static_cast<std::uint64_t>(std::max<std::int64_t>(waited.count(), 0));
        ++counts_[bucket_of(ns)];
        ++count_;
        longest_ = std::max(longest_, ns);
    }
    void add(const wait_times& others) {
        for (std::size_t i = 0; i < counts_.size(); ++i)
            counts_[i] += others.counts_[i];
        count_ += others.count_;
        longest_ = std::max(longest_, others.longest_);
    }

    [[nodiscard]] std::uint64_t count() const { return count_; }
    // Exact.
    [[nodiscard]] nanoseconds longest() const { return nanoseconds(longest_); }
    // The time that `part` of all are not longer than, 0 <= part <= 1; 0 if there are none.
    [[nodiscard]] nanoseconds percentile(double part) const {
        const double wanted = part * static_cast<double>(count_);
        std::uint64_t seen = 0;
        for (std::size_t i = 0; i < counts_.size(); ++i) {
            seen += counts_[i];
            if (seen != 0 && static_cast<double>(seen) >= wanted)
                return nanoseconds(std::min(end_of(i), longest_));
        }
        return longest();
    }

private:
    std::array<std::uint64_t, (64 - fraction_bits + 1) << fraction_bits> counts_{};
    std::uint64_t count_ = 0;
    std::uint64_t longest_ = 0;
};

struct contend_settings {
    std::uint32_t threads = 1;
    nanoseconds think{};     // on average; each time anything between half and one and a half of it
    nanoseconds section{};   // computing with the lock held
    std::uint32_t lines = 1; // shared cache lines read and written with the lock held
    nanoseconds duration{};  // the threads go on for so long,
    std::uint64_t count = 0; // or until each has had the lock so often, if that isn't 0
    std::uint32_t sample_every =
        1;               // of how many acquisitions one is timed: clocks are slow on some machines. The
                         // duration is looked at as often. At least 1
    bool pinned = false; // thread i stays on CPU i, modulo their number; else the scheduler decides
};

struct contend_result {
    nanoseconds elapsed{};                   // from the first thread's first thought to the last's end
    std::vector<std::uint64_t> acquisitions; // of each thread
    wait_times waits;                        // for the lock, sampled
    bool exclusive = true;                   // what was counted under the lock is right
};

// Calls section() with the lock held, whether it has lock() and unlock() or a guard of its own.
template <class Lock, class Section>
void with_lock(Lock& lock, Section section) {
    if constexpr (requires { typename Lock::guard; }) {
        const typename Lock::guard held(lock);
        section();
    } else {
        lock.lock();
        section();
        lock.unlock();
    }
}

// The program, to be called within a program of world W, for a default-constructed Lock. If a thread can't be started,
// throws what spawn has thrown, once the others are done.
template <program_world W, class Lock>
contend_result contend(const contend_settings& s) {
    using P = typename W::platform;
    using shared_number = typename P::template var<std::uint64_t>;
    struct own_result {
        nanoseconds begin{};
        nanoseconds end{};
        std::uint64_t acquisitions = 0;
        wait_times waits;
    };

    auto& lock = W::template make<Lock>();
    auto& started = W::template make<typename P::template atomic<std::uint32_t>>(0u);
    std::vector<shared_number*> lines;
    for (std::uint32_t i = 0; i < s.lines; ++i)
        lines.push_back(&W::template make<shared_number>(std::uint64_t{0}));
    std::vector<own_result> results(s.threads);

    const auto think = [&s] {
        if (s.think > nanoseconds(0)) {
            const auto mean = static_cast<std::uint64_t>(s.think.count());
            W::compute(nanoseconds(mean / 2 + W::random().below(mean + 1)), cpu_mode::user);
        }
    };
    const auto work = [&s, &lines] {
        for (shared_number* const line : lines)
            line->set(line->get() + 1);
        if (s.section > nanoseconds(0))
            W::compute(s.section, cpu_mode::user);
    };
    const auto thread = [&](own_result& result) {
        own_result mine; // its own lines while it is written to
        started.fetch_add(1, std::memory_order_relaxed);
        P::await(
            std::memory_order_relaxed, [&s](std::uint32_t n) { return n >= s.threads; }, started);
        mine.begin = mine.end = W::now();
        const nanoseconds until = mine.begin + s.duration;
        while (s.count != 0 ? mine.acquisitions < s.count : mine.end < until) {
            think();
            if (mine.acquisitions++ % s.sample_every == 0) {
                const nanoseconds before = W::now();
                with_lock(lock, [&] {
                    mine.waits.add(W::now() - before);
                    work();
                });
                mine.end = W::now();
            } else {
                with_lock(lock, work);
            }
        }
        mine.end = W::now();
        result = mine;
    };

    std::vector<typename W::thread> threads;
    threads.reserve(s.threads);
    std::exception_ptr failure;
    try {
        for (std::uint32_t i = 0; i < s.threads; ++i) {
            const auto body = [&thread, &result = results[i]] { thread(result); };
            threads.push_back(s.pinned ? W::spawn_on(i % W::cpu_count(), body) : W::spawn(body));
        }
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure)
        started.fetch_add(s.threads, std::memory_order_relaxed); // those that wait for the rest go without
    for (typename W::thread& t : threads)
        W::join(t);
    if (failure)
        std::rethrow_exception(failure);

    contend_result all;
    nanoseconds first = nanoseconds::max();
    nanoseconds last{};
    std::uint64_t sum = 0;
    for (const own_result& one : results) {
        first = std::min(first, one.begin);
        last = std::max(last, one.end);
        sum += one.acquisitions;
        all.acquisitions.push_back(one.acquisitions);
        all.waits.add(one.waits);
    }
    all.elapsed = last - first;
    for (const shared_number* const line : lines)
        all.exclusive = all.exclusive && line->get() == sum;
    return all;
}

} // namespace holdfast
