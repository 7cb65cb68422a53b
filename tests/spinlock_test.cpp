// The spinlock to take home: what it promises beyond tas_lock_test and lock_stress_test, which are about the same template.
#include "in_a_child.hpp"
#include "lockable.hpp"

#include <atomic>
#include <vector>

#include <holdfast/checked.hpp>
#include <holdfast/spinlock.hpp>

namespace holdfast {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(spinlock, lockable, spinlock);

static_assert(sizeof(spinlock) == 4);
static_assert(std::is_standard_layout_v<spinlock>);
constinit spinlock before_main;

TEST(spinlock, is_free_before_main) {
    EXPECT_FALSE(before_main.is_locked());
}

// Of two that are taken in opposite orders at the same time, std::lock lets nobody wait for ever.
TEST(spinlock, works_with_std_lock) {
    spinlock a;
    spinlock b;
    int sum = 0;
    const auto add = [&sum](spinlock& first, spinlock& second) {
        for (int i = 0; i < 2'000; ++i) {
            const std::scoped_lock both(first, second);
            ++sum;
        }
    };
    std::thread other([&] { add(b, a); });
    add(a, b);
    other.join();
    EXPECT_EQ(sum, 4'000);
}

// There is no queue that could hold somebody whom the child doesn't have. The parent's waiters are there at each fork.
TEST(spinlock, in_a_forked_child_is_as_if_nobody_had_waited) {
    spinlock lock;
    std::atomic<int> waiting{0};
    std::vector<std::thread> waiters;
    lock.lock();
    for (int i = 0; i < 3; ++i) {
        waiters.emplace_back([&] {
            ++waiting;
            const std::scoped_lock guard(lock);
        });
    }
    while (waiting != 3)
        std::this_thread::yield();
    EXPECT_TRUE(in_a_child([&lock] {
        lock.unlock();
        lock.lock();
        lock.unlock();
        return !lock.is_locked() && lock.try_lock();
    }));
    lock.unlock();
    for (std::thread& waiter : waiters)
        waiter.join();
    EXPECT_FALSE(lock.is_locked());
}

// Who holds a spinlock is not in its word: beside it, each kind of misuse is found all the same.
TEST(spinlock_death_test, checked_it_finds_out_when_it_is_misused) {
    static_assert(sizeof(checked<spinlock>) == 24);
    checked<spinlock> lock("the counter");
    EXPECT_DEATH(lock.unlock(), "holdfast: the counter at 0x[0-9a-f]+: unlocked, but not held");
    lock.lock();
    EXPECT_FALSE(lock.try_lock());
    EXPECT_DEATH(lock.lock(), "locked again by its owner");
    EXPECT_DEATH(std::thread([&] { lock.unlock(); }).join(), "unlocked by a thread that doesn't hold it");
    lock.unlock();
    EXPECT_FALSE(lock.is_locked());
}

} // namespace
} // namespace holdfast
