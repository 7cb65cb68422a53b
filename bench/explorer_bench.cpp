// How fast the model's explorer is, and how far it has to go: executions per second of the processor, and executions until all
// that can happen on a lock has been explored. Built twice: with our explorer, and with relacy's (tests/relacy), which is stopped
// at so many executions where it does not come to the end.
#include <benchmark/benchmark.h>

#include "../tests/relacy/lock_scenarios.hpp"

namespace holdfast::model {
namespace {

template <class Scenario>
void explore_all(benchmark::State& state) {
    program_of<Scenario> p;
    double executions = 0;
    bool complete = true;
    for (auto _ : state) {
        const outcome o = explore(p, {.executions = 200'000});
        executions += static_cast<double>(o.executions);
        complete = complete && o.complete;
    }
    state.counters["executions"] = benchmark::Counter(executions, benchmark::Counter::kAvgIterations);
    state.counters["complete"] = complete ? 1 : 0;
    state.counters["rate"] = benchmark::Counter(executions, benchmark::Counter::kIsRate);
}
BENCHMARK(explore_all<writers<ticket_lock<platform>, 2>>)->Name("ticket 2x2");
BENCHMARK(explore_all<writers<mcs_with_nodes, 2>>)->Name("mcs 2x2");
BENCHMARK(explore_all<writers<qspinlock<platform>, 2>>)->Name("qspinlock 2x2");
BENCHMARK(explore_all<writer_and_reader<rwsem<platform>, 1>>)->Name("rwsem, one reads");

} // namespace
} // namespace holdfast::model
