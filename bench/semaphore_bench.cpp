// semaphore against the standard's: see lock_bench.hpp. A pair is down and up. With one unit it is an exclusive lock; with
// four, up to four threads are in at a time.
#include "lock_bench.hpp"

#include <semaphore>

#include <holdfast/native/native.hpp>
#include <holdfast/semaphore.hpp>

namespace {

using namespace holdfast;

template <unsigned Units>
class ours {
public:
    void pair(int turns) {
        units_.down();
        bench::work(turns);
        units_.up();
        bench::work(2 * turns);
    }

private:
    alignas(128) holdfast::semaphore<native> units_{Units};
};

template <unsigned Units>
class standard {
public:
    void pair(int turns) {
        units_.acquire();
        bench::work(turns);
        units_.release();
        bench::work(2 * turns);
    }

private:
    alignas(128) std::counting_semaphore<> units_{Units};
};

template <unsigned Units>
void semaphore(benchmark::State& state) {
    bench::compete(state, {"semaphore", bench::rate<ours<Units>>},
                   {{"std::counting_semaphore", bench::rate<standard<Units>>}});
}
BENCHMARK_TEMPLATE(semaphore, 1)->Apply(bench::rounds);
BENCHMARK_TEMPLATE(semaphore, 4)->Apply(bench::rounds);

} // namespace
