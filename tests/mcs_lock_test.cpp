// mcs_lock on the real machine: what a few threads see of it.
#include <holdfast/mcs_lock.hpp>
#include <holdfast/native/native.hpp>

#include <thread>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using lock_type = mcs_lock<native>;

TEST(mcs_lock, is_free_until_locked_and_after_unlocked) {
    lock_type lock;
    lock_type::node node;
    EXPECT_FALSE(lock.is_locked());
    lock.lock(node);
    EXPECT_TRUE(lock.is_locked());
    lock.unlock(node);
    EXPECT_FALSE(lock.is_locked());
}

TEST(mcs_lock, try_lock_takes_a_free_lock_only) {
    lock_type lock;
    lock_type::node node;
    lock_type::node other;
    ASSERT_TRUE(lock.try_lock(node));
    EXPECT_FALSE(lock.try_lock(other));
    lock.unlock(node);
    EXPECT_TRUE(lock.try_lock(other)); // a node that failed may be used again
    lock.unlock(other);
    EXPECT_FALSE(lock.is_locked());
}

TEST(mcs_lock, guards_nest_over_several_locks) {
    lock_type first;
    lock_type second;
    {
        const lock_type::guard outer(first);
        const lock_type::guard inner(second);
        EXPECT_TRUE(first.is_locked() && second.is_locked());
    }
    EXPECT_FALSE(first.is_locked() || second.is_locked());
}

TEST(mcs_lock, may_be_released_in_any_order) {
    lock_type first;
    lock_type second;
    lock_type::node of_first;
    lock_type::node of_second;
    first.lock(of_first);
    second.lock(of_second);
    first.unlock(of_first);
    EXPECT_FALSE(first.is_locked());
    EXPECT_TRUE(second.is_locked());
    second.unlock(of_second);
}

TEST(mcs_lock, one_node_serves_many_acquisitions) {
    lock_type lock;
    lock_type::node node;
    for (int i = 0; i < 70'000; ++i) {
        lock.lock(node);
        ASSERT_TRUE(lock.is_locked());
        lock.unlock(node);
    }
    EXPECT_FALSE(lock.is_locked());
}

TEST(mcs_lock, waits_for_the_holder) {
    lock_type lock;
    lock_type::node node;
    int steps = 0; // plain: the lock orders it
    lock.lock(node);
    std::thread waiter([&] {
        const lock_type::guard guard(lock);
        EXPECT_EQ(steps, 1);
        steps = 2;
    });
    steps = 1;
    lock.unlock(node);
    waiter.join();
    EXPECT_EQ(steps, 2);
}

} // namespace
} // namespace holdfast
