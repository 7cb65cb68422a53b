// The counting semaphore, explored: so many at once and no more, a grant against a deadline and against a cancel, and waiters
// that leave from anywhere in the list. The wait list (wait_list.hpp) is judged here, too.
#include "check/locks.hpp"

#include <holdfast/semaphore.hpp>

#include "model/checking.hpp"

namespace holdfast::model {
namespace {

using counter = semaphore<platform>;

// Used as a lock: one at a time, and each sees what those before it did.
template <unsigned Threads, unsigned Sections = 1>
struct one_at_a_time {
    static constexpr unsigned threads = Threads;
    counter passes{1};
    platform::var<unsigned> sum{0};

    void thread(unsigned) {
        for (unsigned i = 0; i < Sections; ++i) {
            passes.down();
            sum.set(sum.get() + 1);
            passes.up();
        }
    }
    void end() {
        check(sum.get() == Threads * Sections, "a section was lost");
        check(passes.try_down() && !passes.try_down(), "the count is wrong");
    }
};

// Two may pass, three want to.
struct two_at_a_time {
    static constexpr unsigned threads = 3;
    counter passes{2};
    platform::atomic<unsigned> inside{0};

    void thread(unsigned) {
        passes.down();
        check(inside.fetch_add(1, std::memory_order_relaxed) < 2, "too many passed");
        inside.fetch_sub(1, std::memory_order_relaxed);
        passes.up();
    }
    void end() { check(passes.try_down() && passes.try_down() && !passes.try_down(), "the count is wrong"); }
};

// One produces, the others wait for it; one of them may only try.
template <unsigned Threads, bool Tries>
struct producer {
    static constexpr unsigned threads = Threads;
    counter products{0};
    platform::var<unsigned> product{0};
    unsigned got = 0;

    void thread(unsigned me) {
        if (me == 0) {
            product.set(1);
            for (unsigned i = 1; i < threads; ++i)
                products.up();
            return;
        }
        if (Tries && me == 1) {
            if (!products.try_down())
                return;
        } else {
            products.down();
        }
        check(product.get() == 1, "the product is not there");
        ++got;
    }
    void end() {
        for (; got < threads - 1; ++got)
            check(products.try_down(), "a product was lost");
        check(!products.try_down(), "a product from nowhere");
    }
};

// Thread 0 gives `Given`; the others wait for one each, as long as `patience` says: the count comes out right whoever
// gave up, and those who did are gone from the list.
enum class patience { endless, timed, cancelled };

template <patience First, patience Second, unsigned Given>
struct impatient {
    static constexpr unsigned threads = 3;
    counter passes{0};
    cancel_token<platform> token;
    platform::var<unsigned> work{0};
    unsigned got = 0;

    void thread(unsigned me) {
        if (me == 0) {
            work.set(1);
            for (unsigned i = 0; i < Given; ++i)
                passes.up();
            if (First == patience::cancelled || Second == patience::cancelled)
                token.cancel();
            return;
        }
        if (pass(me == 1 ? First : Second)) {
            check(work.get() == 1, "the giver's work is not seen");
            ++got;
        }
    }
    bool pass(patience p) {
        switch (p) {
        case patience::timed:
            return passes.down(platform::deadline::after(std::chrono::nanoseconds(1)));
        case patience::cancelled:
            return passes.down(token);
        default:
            passes.down();
            return true;
        }
    }
    void end() {
        for (; got < Given; ++got)
            check(passes.try_down(), "a grant was lost");
        check(!passes.try_down(), "a grant from nowhere");
    }
};

// One waiter, who gives up at any moment, against one grant, before or after a cancel.
template <patience Patience, bool CancelFirst = false>
struct grant_or_not {
    static constexpr unsigned threads = 2;
    counter passes{0};
    cancel_token<platform> token;
    platform::var<unsigned> work{0};
    bool got = false;

    void thread(unsigned me) {
        if (me == 0) {
            if (CancelFirst)
                token.cancel();
            work.set(1);
            passes.up();
            if (!CancelFirst)
                token.cancel();
        } else if (Patience == patience::timed
                       ? passes.down(platform::deadline::after(std::chrono::nanoseconds(1)))
                       : passes.down(token)) {
            check(work.get() == 1, "the giver's work is not seen");
            got = true;
        }
    }
    void end() { check(passes.try_down() != got, "a grant was lost, or is from nowhere"); }
};

// Nothing is given: a cancel alone must end the wait.
struct cancelled_only {
    static constexpr unsigned threads = 2;
    counter passes{0};
    cancel_token<platform> token;

    void thread(unsigned me) {
        if (me == 0)
            token.cancel();
        else
            check(!passes.down(token), "a grant from nowhere");
    }
};

template <unsigned Threads>
using wide = one_at_a_time<Threads>;

} // namespace
} // namespace holdfast::model

namespace holdfast::check {

model::suite wait_list_suite() {
    using namespace holdfast::model;
    suite test("holdfast::wait_list", "holdfast/wait_list.hpp");
    test.add<producer<2, false>>("producer and consumer", {.allowed = {.spurious_wake = 1}});
    test.widen<wide>("one at a time", {.spurious_wake = 1});
    return test;
}

model::suite semaphore_suite() {
    using namespace holdfast::model;
    using enum patience;
    constexpr chances time_out{.time_out = 1};
    suite test("holdfast::semaphore", "holdfast/semaphore.hpp");
    test.add<producer<2, false>>("producer and consumer", {.allowed = {.spurious_wake = 1}});
    test.add<one_at_a_time<2>>("one at a time");
    test.add<producer<2, true>>("producer and taster");
    test.add<cancelled_only>("cancelled");
    test.add<grant_or_not<timed>>("time-out against grant", {.allowed = time_out});
    test.add<grant_or_not<cancelled>>("grant, then cancel");
    test.add<grant_or_not<cancelled, true>>("cancel, then grant");
    test.add<one_at_a_time<2, 2>>("one at a time, twice");
    test.add<producer<3, false>>("producer and two consumers");
    test.add<one_at_a_time<3>>("one at a time");
    test.add<two_at_a_time>("two at a time", {.preemptions = 2, .old_values = 2});
    test.add<impatient<timed, endless, 2>>("the first may time out", {.allowed = time_out});
    test.add<impatient<timed, timed, 2>>("both may time out",
                                         {.preemptions = 2, .old_values = 2, .allowed = {.time_out = 2}});
    test.add<impatient<cancelled, endless, 2>>("one is cancelled");
    return test;
}

} // namespace holdfast::check
