// kernel_mutex against its peers: see lock_bench.hpp.
#include "lock_bench.hpp"

#include <holdfast/kernel_mutex.hpp>
#include <holdfast/native/native.hpp>

namespace {

using namespace holdfast;

void kernel_mutex(benchmark::State& state) {
    bench::compete(state, {"kernel_mutex", bench::rate<bench::exclusive<holdfast::kernel_mutex<native>>>},
                   bench::exclusive_peers());
}
BENCHMARK(kernel_mutex)->Apply(bench::rounds);

} // namespace
