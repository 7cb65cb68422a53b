// pv_qspinlock against its peers: see lock_bench.hpp.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/pv_qspinlock.hpp>

namespace {

using namespace holdfast;

void pv_qspinlock(benchmark::State& state) {
    bench::compete(state, {"pv_qspinlock", bench::rate<bench::exclusive<holdfast::pv_qspinlock<native>>>},
                   bench::exclusive_peers());
}
BENCHMARK(pv_qspinlock)->Apply(bench::rounds);

} // namespace
