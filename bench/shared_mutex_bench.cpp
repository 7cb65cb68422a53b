// shared_mutex against its peers: see lock_bench.hpp. The number is how many of 16 sections write. And what each way from
// one mode to another costs when nobody else is there.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/shared_mutex.hpp>

namespace {

using namespace holdfast;

#ifdef HOLDFAST_HAVE_ABSL
class absl_shared {
public:
    // As in absl_mutex.
    absl_shared() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }
    void lock() { lock_.Lock(); }
    void unlock() { lock_.Unlock(); }
    void lock_shared() { lock_.ReaderLock(); }
    void unlock_shared() { lock_.ReaderUnlock(); }

private:
    absl::Mutex lock_;
};
#endif

// What no lock can do without: a read-modify-write to get in, one to get out. Excludes nobody, so for one thread only.
class bare_pair {
public:
    void lock() {
        std::uint32_t free = 0;
        word_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void unlock() { word_.exchange(0, std::memory_order_release); }
    void lock_shared() { word_.fetch_add(2, std::memory_order_acquire); }
    void unlock_shared() { word_.fetch_sub(2, std::memory_order_release); }

private:
    std::atomic<std::uint32_t> word_{0};
};

template <unsigned Writes>
void shared_mutex(benchmark::State& state) {
    auto peers = bench::shared_peers<Writes>();
#ifdef HOLDFAST_HAVE_ABSL
    peers.push_back({"absl::Mutex", bench::rate<bench::shared<absl_shared, Writes>>});
#endif
    peers.push_back({"rwsem", bench::rate<bench::shared<rwsem<native>, Writes>>});
    if (state.range(0) == 1)
        peers.push_back({"bare pair", bench::rate<bench::shared<bare_pair, Writes>>});
    bench::compete(state, {"shared_mutex", bench::rate<bench::shared<holdfast::shared_mutex, Writes>>},
                   peers);
}
BENCHMARK_TEMPLATE(shared_mutex, 0)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(shared_mutex, 1)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(shared_mutex, 16)->Apply(bench::rounds);

void downgraded(benchmark::State& state) {
    holdfast::shared_mutex lock;
    for (auto _ : state) {
        lock.lock();
        lock.downgrade();
        lock.unlock_shared();
    }
}
BENCHMARK(downgraded);

void upgraded(benchmark::State& state) {
    holdfast::shared_mutex lock;
    for (auto _ : state) {
        lock.lock_upgrade();
        lock.unlock_upgrade_and_lock();
        lock.unlock();
    }
}
BENCHMARK(upgraded);

} // namespace
