// The ticket lock, explored: exclusion, order, the wrap of its counters.
#include <holdfast/ticket_lock.hpp>

#include "exclusion.hpp"

namespace holdfast::model {
namespace {

using lock = ticket_lock<platform>;

// The counters are 16 bits: a lock about to wrap, so that the scenario does.
template <unsigned Threads>
struct wrap {
    static constexpr unsigned threads = Threads;
    using word = ticket_word<platform, std::uint32_t, 0>;
    platform::atomic<std::uint32_t> lock{0xffffffff}; // both counters 65,535: free
    platform::var<unsigned> sum{0};

    void thread(unsigned) {
        word::lock(lock);
        sum.set(sum.get() + 1);
        word::unlock(lock);
    }
    void end() {
        check(sum.get() == Threads, "a section was lost");
        const std::uint32_t after = lock.load(std::memory_order_relaxed);
        check(after == (Threads - 1) * 0x10001, "the counters did not wrap each by itself");
    }
};

} // namespace
} // namespace holdfast::model

int main(int argc, char** argv) {
    using namespace holdfast::model;
    suite test("ticket_lock.hpp");
    test.scenario<exclusion<lock, 2>>("exclusion");
    test.scenario<wrap<2>>("counters wrap");
    test.scenario<destruction<lock>>("destroyed by its last user");
    test.scenario<exclusion_with_try<lock, 2, 2>>("exclusion, one tries");
    test.scenario<exclusion<lock, 2, 2>>("exclusion, two sections");
    test.scenario<exclusion<lock, 3>>("exclusion");
    test.scenario<exclusion_with_try<lock, 3>>("exclusion, one tries");
    return test.run(argc, argv);
}
