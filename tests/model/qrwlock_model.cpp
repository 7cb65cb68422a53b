// The queued read-write spinlock, explored: exclusion, sharing, readers that may not wait, by way of the word
// and of the queue, under each of its rules. And a fault that the kernel had for years, found again.
#include <algorithm>
#include <cstdio>
#include <string>

#include <holdfast/qrwlock.hpp>

#include "exclusion.hpp"
#include "rw_exclusion.hpp"
#include "traces.hpp"

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

bool catches_the_relaxed_exchange() {
    program_of<coming_and_going<qrwlock<acquiring_looks>>> program;
    const outcome sound = explore(program, {});
    const auto exchange = std::find_if(sound.sites.begin(), sound.sites.end(), [](const site& s) {
        return s.what == operation::compare_exchange_weak && s.order == std::memory_order_acquire &&
               s.at.function == std::string("lock_as_head");
    });
    if (!sound.complete || exchange == sound.sites.end())
        return false;
    const outcome faulty = explore(program, {}, {change::drop_acquire, *exchange});
    std::printf("the relaxed exchange of 4.15 to 5.11: %s in %llu\n", faulty.failure.c_str(),
                static_cast<unsigned long long>(faulty.executions));
    return faulty.failure.find("data race") != std::string::npos;
}

} // namespace
} // namespace holdfast::model

int main(int argc, char** argv) {
    using namespace holdfast::model;
    using enum role;
    suite test("qrwlock.hpp");
    const limits three{.preemptions = 2};
    test.scenario<rw_sections<lock, write, read>>("one writes, one reads");
    test.scenario<rw_sections<lock, write, write>>("two write");
    test.scenario<rw_sections<lock, try_write, write>>("one writes, one tries to");
    test.scenario<rw_sections<lock, try_read, write>>("one writes, one tries to read");
    test.scenario<rw_sections<lock, try_write, read>>("one reads, one tries to write");
    test.scenario<sharing<lock, 2>>("readers share");
    test.scenario<reading_again<lock, 2>>("reading again");
    test.scenario<coming_and_going<lock>>("an unfair reader comes and goes");
    test.scenario<destruction<lock>>("destroyed by its last user");
    test.scenario<queueing<sharing_after_writer<lock, 2>>>("readers share after a writer");
    test.scenario<queueing<rw_sections<lock, write, write, read>>>("two write, one reads");
    test.scenario<queueing<rw_sections<lock, write, read, read>>>("one writes, two read");
    test.scenario<queueing<rw_sections<lock, write, try_write, try_read>>>("one writes, the others try");
    test.scenario<queueing<reading_again<lock, 3>>>("reading again, two write");

    test.scenario<rw_sections<of_3_16, write, read>>("3.16: one writes, one reads");
    test.scenario<rw_sections<of_3_16, write, write>>("3.16: two write");
    test.scenario<reading_again<of_3_16, 2>>("3.16: reading again");
    test.scenario<rw_sections<of_3_16, write, write, read>>("3.16: two write, one reads");
    test.scenario<rw_sections<of_3_16, write, read, read>>("3.16: one writes, two read");
    test.scenario<sharing_after_writer<of_3_16, 2>>("3.16: readers share after a writer");

    test.scenario<rw_sections<of_2013, write, read>>("2013: one writes, one reads");
    test.scenario<reading_again<of_2013, 2>>("2013: reading again");
    test.scenario<rw_sections<of_2013, write, write, read>>("2013: two write, one reads");
    test.scenario<rw_sections<of_2013, write, read, read>>("2013: one writes, two read");
    test.survives("lock_shared_slow await(relaxed): not waited for",
                  "the wait after it is for the same writer, and acquires");
    const int verdict = test.run(argc, argv);
    return argc > 1 || catches_the_relaxed_exchange() ? verdict : 1;
}
