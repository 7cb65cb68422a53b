// The queued read-write spinlock, explored: exclusion, sharing, readers that may not wait, by way of the word
// and of the queue, under each of its rules. And a fault that the kernel had for years, found again.
#include "check/locks.hpp"

#include <holdfast/qrwlock.hpp>

#include "check/traces.hpp"
#include "model/exclusion.hpp"
#include "model/rw_exclusion.hpp"

namespace holdfast::model {
namespace {

using lock = qrwlock<platform>;
using of_3_16 = qrwlock<platform, qrwlock_presets::linux_3_16>;
using of_2013 = qrwlock<platform, qrwlock_presets::patch_2013>;

// On queue nodes as other locks may have left them.
template <class Scenario>
struct queueing : Scenario {
    queueing() { leave_traces(Scenario::threads); }
};

// A reader that reads again within its section, as an interrupt does, while others want to write.
template <class Lock, unsigned Threads>
struct reading_again {
    static constexpr unsigned threads = Threads;
    Lock word;
    platform::var<unsigned> sum{0};

    void thread(unsigned me) {
        if (me == 0) {
            word.lock_shared();
            const unsigned before = sum.get();
            word.lock_shared_unfair();
            check(sum.get() == before, "somebody wrote between two reads");
            word.unlock_shared();
            word.unlock_shared();
        } else {
            word.lock();
            sum.set(sum.get() + 1);
            word.unlock();
        }
    }
    void end() { check(!word.is_locked(), "left locked"); }
};

// An unfair reader comes and goes while a writer waits.
template <class Lock>
struct coming_and_going {
    static constexpr unsigned threads = 2;
    Lock word;
    platform::var<unsigned> sum{0};
    unsigned seen = 0;

    void thread(unsigned me) {
        for (int i = 0; me == 0 && i < 2; ++i) {
            word.lock_shared_unfair();
            seen += sum.get();
            word.unlock_shared();
        }
        if (me != 0) {
            word.lock();
            sum.set(1);
            word.unlock();
        }
    }
};

// Linux 4.15 to 5.11 had the acquire in the waiting writer's last look, and a relaxed compare-exchange after
// it (commit 84a24bf8c52e mends it): an unfair reader that came and went between the two was not ordered
// before the writer. The lock is as ours with every look an acquire; the mutant takes the exchange's.
struct acquiring_looks : platform {
    template <class... Arguments>
    static auto await(ordered order, const Arguments&... arguments) {
        return platform::await({std::memory_order_acquire, order.at}, arguments...);
    }
};

template <unsigned Threads>
using wide = exclusion<lock, Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite qrwlock_suite() {
    using namespace holdfast::model;
    using enum role;
    suite test("holdfast::qrwlock", "holdfast/qrwlock.hpp");
    test.add<rw_sections<lock, write, read>>("one writes, one reads");
    test.add<rw_sections<lock, write, write>>("two write");
    test.add<rw_sections<lock, try_write, write>>("one writes, one tries to");
    test.add<rw_sections<lock, try_read, write>>("one writes, one tries to read");
    test.add<rw_sections<lock, try_write, read>>("one reads, one tries to write");
    test.add<sharing<lock, 2>>("readers share");
    test.add<reading_again<lock, 2>>("reading again");
    test.add<coming_and_going<lock>>("an unfair reader comes and goes");
    test.add<destruction<lock>>("destroyed by its last user");
    test.add<queueing<sharing_after_writer<lock, 2>>>("readers share after a writer");
    test.add<queueing<rw_sections<lock, write, write, read>>>("two write, one reads");
    test.add<queueing<rw_sections<lock, write, read, read>>>("one writes, two read");
    test.add<queueing<rw_sections<lock, write, try_write, try_read>>>("one writes, the others try");
    test.add<queueing<reading_again<lock, 3>>>("reading again, two write");

    test.add<rw_sections<of_3_16, write, read>>("3.16: one writes, one reads");
    test.add<rw_sections<of_3_16, write, write>>("3.16: two write");
    test.add<reading_again<of_3_16, 2>>("3.16: reading again");
    test.add<rw_sections<of_3_16, write, write, read>>("3.16: two write, one reads");
    test.add<rw_sections<of_3_16, write, read, read>>("3.16: one writes, two read");
    test.add<sharing_after_writer<of_3_16, 2>>("3.16: readers share after a writer");

    test.add<rw_sections<of_2013, write, read>>("2013: one writes, one reads");
    test.add<reading_again<of_2013, 2>>("2013: reading again");
    test.add<rw_sections<of_2013, write, write, read>>("2013: two write, one reads");
    test.add<rw_sections<of_2013, write, read, read>>("2013: one writes, two read");
    test.once<coming_and_going<qrwlock<acquiring_looks>>>(
        "the relaxed exchange of 4.15 to 5.11", "an unfair reader comes and goes", {},
        "lock_as_head compare_exchange_weak(acquire): acquire -> relaxed");
    test.survives("lock_shared_slow await(relaxed): wait skipped",
                  "the wait after it is for the same writer, and acquires");
    test.widen<wide>("all write");
    return test;
}

} // namespace holdfast::check
