// semaphore on the real machine: counting, waiting in order, giving up.
#include <holdfast/native/native.hpp>
#include <holdfast/semaphore.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using counter = semaphore<native>;

static_assert(sizeof(counter) == 24);
constinit counter before_main(2);

TEST(semaphore, lets_as_many_pass_as_it_counts) {
    ASSERT_TRUE(before_main.try_down());
    before_main.down();
    EXPECT_FALSE(before_main.try_down());
    before_main.up();
    before_main.up();
    before_main.up(); // one more than it began with
    for (int i = 0; i < 3; ++i)
        EXPECT_TRUE(before_main.try_down());
    EXPECT_FALSE(before_main.try_down());
}

TEST(semaphore, waits_for_an_up) {
    counter passes(0);
    int work = 0;
    std::thread waiter([&] {
        passes.down();
        EXPECT_EQ(work, 1);
    });
    work = 1;
    passes.up();
    waiter.join();
    EXPECT_FALSE(passes.try_down());
}

TEST(semaphore, a_wait_ends_with_its_deadline) {
    counter passes(0);
    EXPECT_FALSE(passes.down(native::deadline::after(0ns)));
    EXPECT_FALSE(passes.down(native::deadline::after(1ms)));
    passes.up();
    EXPECT_TRUE(passes.down(native::deadline::after(0ns))); // it is there
    std::thread waiter([&] { EXPECT_TRUE(passes.down(native::deadline::never())); });
    passes.up();
    waiter.join();
}

TEST(semaphore, a_wait_ends_when_cancelled) {
    counter passes(0);
    cancel_token<native> token;
    std::thread waiter([&] { EXPECT_FALSE(passes.down(token)); });
    token.cancel();
    waiter.join();
    EXPECT_FALSE(passes.down(token)); // and so does each later one
    passes.up();
    EXPECT_TRUE(passes.down(token)); // but it is there
}

// More waiters than grants, of which some give up: who stays gets in, and nothing is left.
TEST(semaphore, those_who_give_up_take_no_grant_along) {
    counter passes(0);
    std::atomic<int> given_up{0};
    std::vector<std::thread> waiters;
    waiters.reserve(6);
    for (int i = 0; i < 6; ++i) {
        waiters.emplace_back([&, i] {
            if (i % 2 == 0)
                passes.down();
            else if (!passes.down(native::deadline::after(std::chrono::microseconds(100 * i))))
                ++given_up;
        });
    }
    for (int i = 0; i < 6; ++i)
        passes.up();
    for (std::thread& waiter : waiters)
        waiter.join();
    for (; given_up > 0; --given_up)
        EXPECT_TRUE(passes.try_down());
    EXPECT_FALSE(passes.try_down());
}

} // namespace
} // namespace holdfast
