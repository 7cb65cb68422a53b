// osq_lock on the real machine: waiting, leaving, and doing without a node.
#include <holdfast/native/native.hpp>
#include <holdfast/osq.hpp>

#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using lock_type = osq_lock<native>;

TEST(osq, is_free_until_locked_and_after_unlocked) {
    const native::no_preempt spinning;
    lock_type lock;
    native::node_slot slot;
    EXPECT_FALSE(lock.is_locked());
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(lock.lock(slot));
        EXPECT_TRUE(lock.is_locked());
        lock.unlock(slot);
        ASSERT_FALSE(lock.is_locked());
    }
}

TEST(osq, refuses_a_slot_without_a_node) {
    const native::no_preempt spinning;
    lock_type lock;
    std::optional<native::node_slot> slots[native::node_depth];
    for (auto& slot : slots)
        slot.emplace();
    {
        native::node_slot empty;
        ASSERT_EQ(empty.code(), 0u);
        EXPECT_FALSE(lock.lock(empty));
    }
    EXPECT_FALSE(lock.is_locked());
    ASSERT_TRUE(lock.lock(*slots[native::node_depth - 1]));
    lock.unlock(*slots[native::node_depth - 1]);
    for (std::uint32_t depth = native::node_depth; depth-- > 0;)
        slots[depth].reset();
}

// The holder stays until all waiters have had enough: each leaves, whoever its neighbours are, and the queue
// is whole.
TEST(osq, waiters_leave_from_anywhere_when_their_cpu_is_wanted) {
    lock_type lock;
    native::node_slot slot;
    ASSERT_TRUE(lock.lock(slot));
    std::atomic<int> left{0};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            const native::no_preempt spinning;
            native::node_slot mine;
            EXPECT_FALSE(lock.lock(mine));
            ++left;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(left, 4);
    EXPECT_TRUE(lock.is_locked());
    lock.unlock(slot);
    EXPECT_FALSE(lock.is_locked());
    ASSERT_TRUE(lock.lock(slot));
    lock.unlock(slot);
}

TEST(osq, hands_over_or_lets_go) {
    lock_type lock;
    int steps = 0; // plain: the lock orders it
    native::node_slot slot;
    ASSERT_TRUE(lock.lock(slot));
    bool granted = false;
    std::thread waiter([&] {
        const native::no_preempt spinning;
        native::node_slot mine;
        granted = lock.lock(mine);
        if (granted) {
            EXPECT_EQ(steps, 1);
            steps = 2;
            lock.unlock(mine);
        }
    });
    steps = 1;
    lock.unlock(slot);
    waiter.join();
    EXPECT_EQ(steps, granted ? 2 : 1);
    EXPECT_FALSE(lock.is_locked());
}

} // namespace
} // namespace holdfast
