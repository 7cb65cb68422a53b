// lockref against other ways to count references: see lock_bench.hpp. A pair is one reference taken and given
// back, with no work in between or after, as counting is all that is measured.
#include "lock_bench.hpp"

#include <memory>

#include <holdfast/lockref.hpp>
#include <holdfast/native/native.hpp>

#include "peers/bare_atomics.hpp"

namespace {

using namespace holdfast;

template <lockref_policy Policy>
class with_lockref {
public:
    void pair(int) {
        ref_.get();
        ref_.put();
    }

private:
    alignas(128) holdfast::lockref<native, Policy> ref_;
};

class with_fetch_add {
public:
    void pair(int) {
        count_.get();
        count_.put();
    }

private:
    alignas(128) peers::bare_counter count_;
};

class with_shared_ptr {
public:
    void pair(int) {
        const std::shared_ptr<int> another = object_;
        benchmark::DoNotOptimize(another.get());
    }

private:
    alignas(128) std::shared_ptr<int> object_ = std::make_shared<int>(0);
};

class with_mutex {
public:
    void pair(int) {
        add(1);
        add(-1);
    }

private:
    void add(int n) {
        const std::scoped_lock guard(mutex_);
        count_ += n;
    }

    alignas(128) std::mutex mutex_;
    int count_ = 1;
};

const std::vector<bench::contender> peers{{"fetch_add", bench::rate<with_fetch_add>},
                                          {"shared_ptr", bench::rate<with_shared_ptr>},
                                          {"mutex+int", bench::rate<with_mutex>}};

void lockref(benchmark::State& state) {
    bench::compete(state, {"lockref", bench::rate<with_lockref<lockref_policy{}>>}, peers);
}
BENCHMARK(lockref)->Apply(bench::rounds);

void lockref_with_4_pauses(benchmark::State& state) {
    bench::compete(state, {"lockref", bench::rate<with_lockref<lockref_policy{.failure_pauses = 4}>>}, peers);
}
BENCHMARK(lockref_with_4_pauses)->Apply(bench::rounds);

} // namespace
