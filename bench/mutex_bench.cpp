// The mutexes against the mutexes that programs have: see lock_bench.hpp. `bare` is the least that exclusion costs: a
// compare-exchange to get in and an exchange to get out; only one thread at a time can have that.
#include "lock_bench.hpp"

#include <holdfast/checked.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

#include "peers/bare_atomics.hpp"

namespace {

using namespace holdfast;

// Not those that only spin: with more threads than CPUs they don't end.
std::vector<bench::contender> peers(const benchmark::State& state) {
    std::vector<bench::contender> all{
        {"std::mutex", bench::rate<bench::exclusive<std::mutex>>},
#ifdef HOLDFAST_HAVE_ABSL
        {"absl::Mutex", bench::rate<bench::exclusive<holdfast::peers::absl_mutex>>},
#endif
#ifdef HOLDFAST_HAVE_TBB
        {"tbb::spin_mutex", bench::rate<bench::exclusive<tbb::spin_mutex>>},
#endif
    };
    if (state.range(0) == 1)
        all.push_back({"bare", bench::rate<bench::exclusive<holdfast::peers::bare_atomics>>});
    return all;
}

template <class Mutex>
void against_all(benchmark::State& state) {
    bench::compete(state, {"", bench::rate<bench::exclusive<Mutex>>}, peers(state));
}
BENCHMARK(against_all<mutex>)->Name("mutex")->Apply(bench::rounds);
BENCHMARK(against_all<recursive_mutex>)->Name("recursive_mutex")->Apply(bench::rounds);
BENCHMARK(against_all<checked_mutex>)->Name("checked_mutex")->Apply(bench::rounds);

} // namespace
