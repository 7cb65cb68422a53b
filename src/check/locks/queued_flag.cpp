// The MCS queue before a flag, explored: exclusion, who tries beside the queue, destruction, and an unlock in another thread.
#include "check/locks.hpp"

#include "substitute/queued_flag.hpp"

#include "model/exclusion.hpp"

namespace holdfast::model {
namespace {

using lock = substitute::queued_flag<platform>;

// Thread 0 locks, thread 1 lets go, thread 2 waits meanwhile.
struct handed_on {
    static constexpr unsigned threads = 3;
    lock flag;
    platform::atomic<std::uint32_t> locked{0};
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        if (me == 1)
            platform::await(
                std::memory_order_acquire, [](std::uint32_t value) { return value != 0; }, locked);
        else
            flag.lock();
        sum.set(sum.get() + 1);
        if (me == 0)
            locked.store(1, std::memory_order_release);
        else
            flag.unlock();
    }
    void end() { check(sum.get() == 3, "a section was lost"); }
};

template <unsigned Threads>
using wide = exclusion<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite queued_flag_suite() {
    using namespace holdfast::model;
    suite test("substitute::queued_flag", "substitute/queued_flag.hpp");
    test.add<exclusion<lock, 2>>("exclusion");
    test.add<destruction<lock>>("destroyed by its last user");
    test.add<exclusion_with_try<lock, 2>>("exclusion, one tries");
    test.add<handed_on>("let go by another thread");
    test.add<exclusion<lock, 3>>("exclusion");
    test.widen<wide>("exclusion");
    return test;
}

} // namespace holdfast::check
