// How the benches of the locks measure: one of ours against its peers, in one process, by turns.
//
// Machines change their speed from one second to the next (frequency, neighbours, where a hypervisor puts its
// CPUs), by more than locks differ. So each round gives every contender a short slice of time, one after the
// other, and what is reported is the median over the rounds of each round's ratio: counter `/peer` is our
// rate by the peer's, above 1 if we are faster. The column `Time` is the nanoseconds of one pair of ours,
// over all threads together.
//
// With one thread nobody else wants the lock and there is no work: what is measured is lock and unlock. With
// more, each holds the lock for a moment in which it writes to a line that all share, and then works for
// twice as long by itself.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <concepts>
#include <cstdint>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

#include <benchmark/benchmark.h>

#include "peers/peers.hpp"
#include "workload/contend.hpp"

namespace holdfast::bench {

// Work that no compiler removes.
inline void work(int turns) {
    for (int i = 0; i < turns; ++i)
        asm volatile("");
}

// What a contender does over and over, on an object that all threads share: pair(turns).
template <class Lock>
class exclusive {
public:
    void pair(int turns) {
        with_lock(lock_, [&] {
            if (turns != 0) {
                ++shared_;
                work(turns);
            }
        });
        work(2 * turns);
    }

private:
    alignas(128) Lock lock_;
    alignas(128) std::uint64_t shared_ = 0;
};

// The same of a read-write lock: `Writes` of 16 sections write, the others read what all share.
template <class Lock, unsigned Writes>
class shared {
public:
    void pair(int turns) {
        thread_local unsigned n = 0;
        if (n++ % 16 < Writes) {
            lock_.lock();
            if (turns != 0) {
                ++shared_;
                work(turns);
            }
            lock_.unlock();
        } else {
            lock_.lock_shared();
            if (turns != 0) {
                benchmark::DoNotOptimize(shared_);
                work(turns);
            }
            lock_.unlock_shared();
        }
        work(2 * turns);
    }

private:
    alignas(128) Lock lock_;
    alignas(128) std::uint64_t shared_ = 0;
};

// Pairs a second that `threads` threads do together on a new Subject.
template <class Subject>
double rate(int threads) {
    constexpr auto slice = std::chrono::milliseconds(10);
    const int turns = threads == 1 ? 0 : 50;
    // Pairs between two looks at `stop`: where pairs are short many, where a fair spinlock may take a time
    // slice for each one.
    const unsigned batch = threads == 1 ? 16 : 1;
    Subject subject;
    std::atomic<int> waiting{threads};
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> pairs{0};
    std::vector<std::thread> workers;
    workers.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) {
        workers.emplace_back([&] {
            for (--waiting; waiting.load(std::memory_order_acquire) >= 0;)
                std::this_thread::yield();
            std::uint64_t mine = 0;
            for (; !stop.load(std::memory_order_relaxed); mine += batch) {
                for (unsigned n = 0; n < batch; ++n)
                    subject.pair(turns);
            }
            pairs += mine;
        });
    }
    while (waiting != 0)
        std::this_thread::yield();
    const auto begin = std::chrono::steady_clock::now();
    waiting.store(-1, std::memory_order_release);
    std::this_thread::sleep_for(slice);
    stop = true;
    for (std::thread& worker : workers)
        worker.join();
    return static_cast<double>(pairs) /
           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

struct contender {
    std::string name;
    double (*rate)(int threads);
};

inline double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

// The state's range(0) is the number of threads.
inline void compete(benchmark::State& state, contender ours, const std::vector<contender>& peers) {
    const auto threads = static_cast<int>(state.range(0));
    std::vector<std::vector<double>> ratios(peers.size());
    for (auto _ : state) {
        const double mine = ours.rate(threads);
        for (std::size_t i = 0; i < peers.size(); ++i)
            ratios[i].push_back(mine / peers[i].rate(threads));
        state.SetIterationTime(1 / mine);
    }
    for (std::size_t i = 0; i < peers.size(); ++i)
        state.counters["/" + peers[i].name] = median(ratios[i]);
}

// 1 thread: uncontended; 2: as many as any machine has CPUs; 4 and 16: more than small ones have.
inline void rounds(benchmark::internal::Benchmark* bench) {
    bench->ArgName("threads")->Arg(1)->Arg(2)->Arg(4)->Arg(16)->Iterations(15)->UseManualTime()->Unit(
        benchmark::kNanosecond);
}

// ---- Peers
// -----------------------------------------------------------------------------------------------------------

// Everybody's exclusive locks.
inline std::vector<contender> exclusive_peers() {
    return {
        {"std::mutex", rate<exclusive<std::mutex>>},
        {"pthread_spin", rate<exclusive<peers::pthread_spin>>},
#ifdef HOLDFAST_HAVE_TBB
        {"tbb::spin_mutex", rate<exclusive<tbb::spin_mutex>>},
#endif
#ifdef HOLDFAST_HAVE_ABSL
        {"absl::Mutex", rate<exclusive<peers::absl_mutex>>},
#endif
#ifdef HOLDFAST_HAVE_CK
        {"ck_ticket", rate<exclusive<peers::ck_ticket>>},
        {"ck_mcs", rate<exclusive<peers::ck_mcs>>},
#endif
    };
}

// Everybody's read-write locks.
template <unsigned Writes>
std::vector<contender> shared_peers() {
    return {
        {"std::shared_mutex", rate<shared<std::shared_mutex, Writes>>},
#ifdef HOLDFAST_HAVE_TBB
        {"tbb::spin_rw_mutex", rate<shared<tbb::spin_rw_mutex, Writes>>},
#endif
#ifdef HOLDFAST_HAVE_CK
        {"ck_rwlock", rate<shared<peers::ck_rw, Writes>>},
#endif
    };
}

} // namespace holdfast::bench
