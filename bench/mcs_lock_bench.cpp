// mcs_lock against its peers: see lock_bench.hpp.
#include "lock_bench.hpp"

#include <holdfast/mcs_lock.hpp>
#include <holdfast/native/native.hpp>

namespace {

using namespace holdfast;

class with_node {
public:
    void pair(int turns) {
        {
            const holdfast::mcs_lock<native>::guard guard(lock_);
            if (turns != 0) {
                ++shared_;
                bench::work(turns);
            }
        }
        bench::work(2 * turns);
    }

private:
    alignas(128) holdfast::mcs_lock<native> lock_;
    alignas(128) std::uint64_t shared_ = 0;
};

void mcs_lock(benchmark::State& state) {
    bench::compete(state, {"mcs_lock", bench::rate<with_node>}, bench::exclusive_peers());
}
BENCHMARK(mcs_lock)->Apply(bench::rounds);

} // namespace
