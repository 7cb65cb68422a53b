// qrwlock against its peers: see lock_bench.hpp. The number is how many of 16 sections write.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/qrwlock.hpp>

namespace {

using namespace holdfast;

template <unsigned Writes>
void qrwlock(benchmark::State& state) {
    bench::compete(state, {"qrwlock", bench::rate<bench::shared<holdfast::qrwlock<native>, Writes>>},
                   bench::shared_peers<Writes>());
}
BENCHMARK_TEMPLATE(qrwlock, 0)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(qrwlock, 1)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(qrwlock, 16)->Apply(bench::rounds);

} // namespace
