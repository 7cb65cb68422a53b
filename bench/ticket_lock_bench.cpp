// ticket_lock against its peers: see lock_bench.hpp.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/ticket_lock.hpp>

namespace {

using namespace holdfast;

void ticket_lock(benchmark::State& state) {
    bench::compete(state, {"ticket_lock", bench::rate<bench::exclusive<holdfast::ticket_lock<native>>>},
                   bench::exclusive_peers());
}
BENCHMARK(ticket_lock)->Apply(bench::rounds);

} // namespace
