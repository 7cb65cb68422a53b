// rwlock against its peers: see lock_bench.hpp. The number is how many of 16 sections write.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/rwlock.hpp>

namespace {

using namespace holdfast;

template <unsigned Writes>
void rwlock(benchmark::State& state) {
    bench::compete(state, {"rwlock", bench::rate<bench::shared<holdfast::rwlock<native>, Writes>>},
                   bench::shared_peers<Writes>());
}
BENCHMARK_TEMPLATE(rwlock, 0)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(rwlock, 1)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(rwlock, 16)->Apply(bench::rounds);

} // namespace
