// condition_variable against std::condition_variable: see lock_bench.hpp. A pair is one turn of a hand-over, or one round of a
// gate that lets all go.
#include "lock_bench.hpp"

#include <condition_variable>

#include <holdfast/condition_variable.hpp>
#include <holdfast/mutex.hpp>

namespace {

using namespace holdfast;
using namespace std::chrono_literals;

// Threads take turns: who comes when it isn't its turn, waits. A wait is for a time, as the threads end without each other.
template <class Mutex, class Condition>
class turns {
public:
    void pair(int) {
        std::unique_lock guard(mutex_);
        if (mine_ == last_) {
            condition_.wait_for(guard, 1ms);
            return;
        }
        last_ = mine_;
        condition_.notify_one();
    }

private:
    static inline std::atomic<int> count{0};
    static inline thread_local const int mine_ = ++count;

    Mutex mutex_;
    Condition condition_;
    int last_ = 0;
};

// So many wait; who comes then lets them all go, with the mutex held, as is usual.
template <class Mutex, class Condition, int Waiters>
class gate {
public:
    void pair(int) {
        std::unique_lock guard(mutex_);
        if (++here_ > Waiters) {
            here_ = 0;
            ++opened_;
            condition_.notify_all();
        } else if (!condition_.wait_for(guard, 1ms, [this, before = opened_] { return opened_ != before; })) {
            --here_;
        }
    }

private:
    Mutex mutex_;
    Condition condition_;
    int here_ = 0;
    unsigned opened_ = 0;
};
template <class Mutex, class Condition>
using gate_for_one = gate<Mutex, Condition, 1>;
template <class Mutex, class Condition>
using gate_for_sixteen = gate<Mutex, Condition, 16>;

template <template <class, class> class Subject>
void against_std(benchmark::State& state) {
    bench::compete(state, {"", bench::rate<Subject<mutex, condition_variable>>},
                   {{"std", bench::rate<Subject<std::mutex, std::condition_variable>>}});
}
void threads(benchmark::internal::Benchmark* bench) {
    bench->ArgName("threads")->Arg(2)->Arg(4)->Arg(16)->Iterations(15)->UseManualTime()->Unit(
        benchmark::kNanosecond);
}
BENCHMARK(against_std<turns>)->Name("turns")->Apply(threads);
BENCHMARK(against_std<gate_for_one>)->Name("gate_for_one")->Apply(threads);
BENCHMARK(against_std<gate_for_sixteen>)
    ->Name("gate_for_sixteen")
    ->ArgName("threads")
    ->Arg(17)
    ->Iterations(41)
    ->UseManualTime()
    ->Unit(benchmark::kNanosecond);

} // namespace
