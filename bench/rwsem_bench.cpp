// rwsem against its peers, and against itself as it was: see lock_bench.hpp. The number is how many of 16 sections write.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/rwsem.hpp>

namespace {

using namespace holdfast;

template <unsigned Writes, rwsem_rules Rules = rwsem_presets::linux_6>
using sections = bench::shared<holdfast::rwsem<native, Rules>, Writes>;

template <unsigned Writes>
void rwsem(benchmark::State& state) {
    auto peers = bench::shared_peers<Writes>();
    peers.push_back({"rwsem of 5.3", bench::rate<sections<Writes, rwsem_presets::linux_5_3>>});
    bench::compete(state, {"rwsem", bench::rate<sections<Writes>>}, peers);
}
BENCHMARK_TEMPLATE(rwsem, 0)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(rwsem, 1)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(rwsem, 16)->Apply(bench::rounds);

} // namespace
