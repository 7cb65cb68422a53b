// tas_lock against its peers: see lock_bench.hpp.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/tas_lock.hpp>

namespace {

using namespace holdfast;

void tas_lock(benchmark::State& state) {
    bench::compete(state, {"tas_lock", bench::rate<bench::exclusive<holdfast::tas_lock<native>>>},
                   bench::exclusive_peers());
}
BENCHMARK(tas_lock)->Apply(bench::rounds);

} // namespace
