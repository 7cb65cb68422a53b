// osq_lock against its peers: see lock_bench.hpp. Who gives up comes back, as it would in a sleeping lock.
#include "lock_bench.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/osq.hpp>

namespace {

using namespace holdfast;

class spin_queue {
public:
    void pair(int turns) {
        while (!turn(turns))
            std::this_thread::yield();
        bench::work(2 * turns);
    }

private:
    bool turn(int turns) {
        const native::no_preempt spinning;
        native::node_slot slot;
        if (!lock_.lock(slot))
            return false;
        if (turns != 0) {
            ++shared_;
            bench::work(turns);
        }
        lock_.unlock(slot);
        return true;
    }

    alignas(128) osq_lock<native> lock_;
    alignas(128) std::uint64_t shared_ = 0;
};

void osq(benchmark::State& state) {
    bench::compete(state, {"osq", bench::rate<spin_queue>}, bench::exclusive_peers());
}
BENCHMARK(osq)->Apply(bench::rounds);

} // namespace
