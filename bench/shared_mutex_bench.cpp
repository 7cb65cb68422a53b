// shared_mutex against its peers: see lock_bench.hpp. The number is how many of 16 sections write. And what each way from
// one mode to another costs when nobody else is there.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/shared_mutex.hpp>

#include "peers/bare_atomics.hpp"

namespace {

using namespace holdfast;

template <unsigned Writes>
void shared_mutex(benchmark::State& state) {
    auto peers = bench::shared_peers<Writes>();
#ifdef HOLDFAST_HAVE_ABSL
    peers.push_back({"absl::Mutex", bench::rate<bench::shared<holdfast::peers::absl_mutex, Writes>>});
#endif
    peers.push_back({"rwsem", bench::rate<bench::shared<rwsem<native>, Writes>>});
    if (state.range(0) == 1)
        peers.push_back({"bare pair", bench::rate<bench::shared<holdfast::peers::bare_atomics, Writes>>});
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
