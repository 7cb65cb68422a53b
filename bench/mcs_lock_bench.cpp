// mcs_lock against its peers: see lock_bench.hpp.
#include "lock_bench.hpp"

#include <holdfast/mcs_lock.hpp>
#include <holdfast/native/native.hpp>

namespace {

using namespace holdfast;

void mcs_lock(benchmark::State& state) {
    bench::compete(state, {"mcs_lock", bench::rate<bench::exclusive<holdfast::mcs_lock<native>>>},
                   bench::exclusive_peers());
}
BENCHMARK(mcs_lock)->Apply(bench::rounds);

} // namespace
