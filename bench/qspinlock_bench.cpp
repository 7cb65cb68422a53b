// qspinlock against its peers: see lock_bench.hpp.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/qspinlock.hpp>

namespace {

using namespace holdfast;

void qspinlock(benchmark::State& state) {
    bench::compete(state, {"qspinlock", bench::rate<bench::exclusive<holdfast::qspinlock<native>>>},
                   bench::exclusive_peers());
}
BENCHMARK(qspinlock)->Apply(bench::rounds);

} // namespace
