// rwsem_xadd against its peers, and against what came after it: see lock_bench.hpp. The number is how many of 16 sections
// write.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>

namespace {

using namespace holdfast;

template <unsigned Writes>
void rwsem_xadd(benchmark::State& state) {
    auto peers = bench::shared_peers<Writes>();
    peers.push_back({"rwsem", bench::rate<bench::shared<rwsem<native>, Writes>>});
    bench::compete(state, {"rwsem_xadd", bench::rate<bench::shared<holdfast::rwsem_xadd<native>, Writes>>},
                   peers);
}
BENCHMARK_TEMPLATE(rwsem_xadd, 0)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(rwsem_xadd, 1)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(rwsem_xadd, 16)->Apply(bench::rounds);

} // namespace
