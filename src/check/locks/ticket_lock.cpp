// The ticket lock, explored: exclusion, order, the wrap of its counters.
#include "check/locks.hpp"

#include <holdfast/ticket_lock.hpp>

#include "model/exclusion.hpp"

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

template <unsigned Threads>
using wide = exclusion<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite ticket_lock_suite() {
    using namespace holdfast::model;
    suite test("holdfast::ticket_lock", "holdfast/ticket_lock.hpp");
    test.add<exclusion<lock, 2>>("exclusion");
    test.add<wrap<2>>("counters wrap");
    test.add<destruction<lock>>("destroyed by its last user");
    test.add<exclusion_with_try<lock, 2, 2>>("exclusion, one tries");
    test.add<exclusion<lock, 2, 2>>("exclusion, two sections");
    test.add<exclusion<lock, 3>>("exclusion");
    test.add<exclusion_with_try<lock, 3>>("exclusion, one tries");
    test.widen<wide>("exclusion");
    return test;
}

} // namespace holdfast::check
