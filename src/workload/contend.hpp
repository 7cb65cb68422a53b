// Threads that contend for one lock, or a few for many: each thinks, locks, works on shared data, unlocks, over and
// over.
//
// The simplest program that shows what a lock does: the longer the thinking, the fewer want the lock at a
// time. It is the program of most published curves of throughput by number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <exception>
#include <functional>
#include <optional>
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

// What a thread does over and over.
struct contend_role {
    nanoseconds think{};   // on average; each time anything between half and one and a half of it
    nanoseconds section{}; // computing with the lock held
    // How many of its sections write, 0..100; the others read, sharing the lock if it can be shared.
    std::uint32_t write_percent = 100;
    bool sleeps = false; // it thinks asleep instead of computing
};

struct contend_settings {
    // The role of all threads,
    std::uint32_t threads = 1;
    nanoseconds think{};
    nanoseconds section{};
    std::uint32_t write_percent = 100;
    // but for one more, which has its own, and whose every wait is timed.
    std::optional<contend_role> loner{};
    std::uint32_t objects = 1; // each with a lock of its own; a thread takes one at random. At least 1
    std::uint32_t lines = 1;   // shared cache lines of each object, read or written with the lock held
    // What is written is left torn until its writer is done, so that whoever gets in meanwhile sees it; else only
    // updates that get lost are found out.
    bool checked = false;
    nanoseconds duration{};  // the threads go on for so long, and have the lock at least once,
    std::uint64_t count = 0; // or until each has had the lock so often, if that isn't 0
    // Of how many acquisitions one is timed: clocks are slow on some machines. The duration is looked at as often. At
    // least 1.
    std::uint32_t sample_every = 1;
    // The duration is kept by a flag that every thread looks at after each acquisition: where a lock is slow, sampled
    // looks at the clock come too late.
    bool at_once = false;
    nanoseconds clock_cost{};      // of reading the clock once; taken off each wait
    bool pinned = false;           // thread i stays on CPU i, modulo their number; else the scheduler decides
    std::function<void()> began{}; // called once all threads stand ready, before any of them goes
};

struct contend_result {
    nanoseconds elapsed{};                   // from the first thread's first thought to the last's end
    std::vector<std::uint64_t> acquisitions; // of each thread; the loner's is the last
    wait_times waits;                        // for the lock, sampled; without the loner's
    wait_times loner_waits;
    bool exclusive = true; // what was written under the lock is right, and nobody has seen it torn
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

// The same, shared with others if the lock can be.
template <class Lock, class Section>
void with_lock_shared(Lock& lock, Section section) {
    if constexpr (requires { typename Lock::shared_guard; }) {
        const typename Lock::shared_guard held(lock);
        section();
    } else if constexpr (requires { lock.lock_shared(); }) {
        lock.lock_shared();
        section();
        lock.unlock_shared();
    } else {
        with_lock(lock, section);
    }
}

// A lock, and the numbers that it guards, each on a line of its own. `checked` as in the settings.
template <program_world W, class Lock>
class contended_object {
    using number = typename W::platform::template var<std::uint64_t>;

public:
    // `among_many`: beside what was made before, as from an allocator, instead of on lines of its own.
    contended_object(std::uint32_t lines, bool checked, bool among_many) : checked_(checked) {
        if (among_many)
            lock_ = &W::template make_near<Lock>();
        else
            lock_ = &W::template make<Lock>();
        for (std::uint32_t i = 0; i < lines; ++i) {
            lines_.push_back(among_many ? &W::template make_near<number>(std::uint64_t{0})
                                        : &W::template make<number>(std::uint64_t{0}));
        }
    }

    Lock& lock() { return *lock_; }

    // A writer's section, with the lock held: adds 1 to each number and computes; if checked, adds 1 more at the end,
    // so that numbers are odd in between. False if somebody else was seen in it.
    template <class Compute>
    bool write(Compute compute) {
        if (!checked_) {
            advance();
            compute();
            return true;
        }
        const bool whole = odd_lines() == 0;
        advance();
        std::atomic_signal_fence(std::memory_order_seq_cst); // lest the compiler makes one step of both
        compute();
        std::atomic_signal_fence(std::memory_order_seq_cst);
        const bool alone = odd_lines() == lines_.size();
        advance();
        return whole && alone;
    }

    // A reader's. False if a writer was seen in it.
    template <class Compute>
    bool read(Compute compute) {
        const bool whole = !checked_ || odd_lines() == 0;
        const std::uint64_t before = sum();
        compute();
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return whole && sum() == before;
    }

    // The sections that have written, if none of their writes was lost.
    [[nodiscard]] std::uint64_t writes() const {
        return lines_.empty() ? 0 : sum() / lines_.size() / (checked_ ? 2 : 1);
    }
    // Whether all numbers say the same.
    [[nodiscard]] bool agrees() const {
        return std::all_of(lines_.begin(), lines_.end(),
                           [this](const number* line) { return line->get() == lines_.front()->get(); });
    }

private:
    void advance() {
        for (number* const line : lines_)
            line->set(line->get() + 1);
    }
    [[nodiscard]] std::uint64_t sum() const {
        std::uint64_t s = 0;
        for (const number* const line : lines_)
            s += line->get();
        return s;
    }
    [[nodiscard]] std::size_t odd_lines() const {
        std::size_t n = 0;
        for (const number* const line : lines_)
            n += line->get() % 2;
        return n;
    }

    Lock* lock_;
    std::vector<number*> lines_;
    bool checked_;
};

// The program, to be called within a program of world W, for a default-constructed Lock. If a thread can't be started,
// throws what spawn has thrown, once the others are done.
template <program_world W, class Lock>
contend_result contend(const contend_settings& s) {
    using P = typename W::platform;
    struct own_result {
        nanoseconds begin{};
        nanoseconds end{};
        std::uint64_t acquisitions = 0;
        std::uint64_t writes = 0;
        bool exclusive = true;
        wait_times waits;
    };

    std::vector<contended_object<W, Lock>> objects;
    for (std::uint32_t i = 0; i < s.objects; ++i)
        objects.emplace_back(s.lines, s.checked, s.objects > 1);
    const std::uint32_t all_threads = s.threads + (s.loner ? 1 : 0);
    const std::uint32_t stand_ready = all_threads + (s.began ? 1 : 0);
    auto& started = W::template make<typename P::template atomic<std::uint32_t>>(0u);
    auto& over = W::template make<typename P::template atomic<std::uint32_t>>(0u);
    std::vector<own_result> results(all_threads);

    const auto all_stand_ready = [&started, stand_ready] {
        P::await(
            std::memory_order_relaxed, [stand_ready](std::uint32_t n) { return n >= stand_ready; }, started);
    };
    const auto think = [](const contend_role& role) {
        if (role.think > nanoseconds(0)) {
            const auto mean = static_cast<std::uint64_t>(role.think.count());
            const nanoseconds this_time(mean / 2 + W::random().below(mean + 1));
            if (role.sleeps)
                W::sleep(this_time);
            else
                W::compute(this_time, cpu_mode::user);
        }
    };
    const auto thread = [&](const contend_role& role, std::uint32_t sample_every, own_result& result) {
        own_result mine; // its own lines while it is written to
        const auto goes_on = [&] {
            if (s.at_once)
                return over.load(std::memory_order_relaxed) == 0;
            return s.count != 0 ? mine.acquisitions < s.count : mine.end < mine.begin + s.duration;
        };
        const auto compute = [&role] {
            if (role.section > nanoseconds(0))
                W::compute(role.section, cpu_mode::user);
        };
        // Calls has_lock() once it has the lock.
        const auto acquire = [&](auto has_lock) {
            auto& object = s.objects == 1 ? objects.front() : objects[W::random().below(s.objects)];
            if (role.write_percent >= 100 ||
                (role.write_percent > 0 && W::random().below(100) < role.write_percent)) {
                ++mine.writes;
                with_lock(object.lock(), [&] {
                    has_lock();
                    mine.exclusive &= object.write(compute);
                });
            } else {
                with_lock_shared(object.lock(), [&] {
                    has_lock();
                    mine.exclusive &= object.read(compute);
                });
            }
        };

        if (started.fetch_add(1, std::memory_order_relaxed) + 1 == all_threads && s.began) {
            s.began();
            started.fetch_add(1, std::memory_order_relaxed);
        }
        all_stand_ready();
        mine.begin = mine.end = W::now();
        do {
            think(role);
            if (mine.acquisitions++ % sample_every == 0) {
                const nanoseconds before = W::now();
                acquire([&] { mine.waits.add(W::now() - before - s.clock_cost); });
                mine.end = W::now();
            } else {
                acquire([] {});
            }
        } while (goes_on());
        mine.end = W::now();
        result = mine;
    };

    const contend_role role{s.think, s.section, s.write_percent, false};
    std::vector<typename W::thread> threads;
    threads.reserve(all_threads);
    std::exception_ptr failure;
    try {
        for (std::uint32_t i = 0; i < all_threads; ++i) {
            const bool alone = i == s.threads;
            const auto body = [&, alone, &result = results[i]] {
                thread(alone ? *s.loner : role, alone ? 1 : s.sample_every, result);
            };
            threads.push_back(s.pinned ? W::spawn_on(i % W::cpu_count(), body) : W::spawn(body));
        }
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure) { // those that wait for the rest go without
        over.store(1, std::memory_order_relaxed);
        started.fetch_add(stand_ready, std::memory_order_relaxed);
    } else if (s.at_once) {
        all_stand_ready();
        W::sleep(s.duration);
        over.store(1, std::memory_order_relaxed);
    }
    for (typename W::thread& t : threads)
        W::join(t);
    if (failure)
        std::rethrow_exception(failure);

    contend_result all;
    nanoseconds first = nanoseconds::max();
    nanoseconds last{};
    std::uint64_t writes = 0;
    for (const own_result& one : results) {
        first = std::min(first, one.begin);
        last = std::max(last, one.end);
        writes += one.writes;
        all.acquisitions.push_back(one.acquisitions);
        all.exclusive = all.exclusive && one.exclusive;
        const bool alone = s.loner && &one == &results.back();
        (alone ? all.loner_waits : all.waits).add(one.waits);
    }
    all.elapsed = last - first;
    std::uint64_t written = 0;
    for (const contended_object<W, Lock>& object : objects) {
        written += object.writes();
        all.exclusive = all.exclusive && object.agrees();
    }
    all.exclusive = all.exclusive && (s.lines == 0 || written == writes);
    return all;
}

} // namespace holdfast
