// What every lock of one word promises to one thread: the standard's Lockable, over and over. Included by the
// tests of those locks, each of which instantiates the suite for its own.
#pragma once

#include <concepts>
#include <mutex>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include <holdfast/tsan_annotations.hpp>

namespace holdfast {

template <class Lock>
class lockable : public testing::Test {
protected:
    Lock lock_;

    // Whether another thread gets the lock without waiting; it gives it back.
    bool free_for_others() {
        bool got = false;
        std::thread([&] {
            got = lock_.try_lock();
            if (got)
                lock_.unlock();
        }).join();
        return got;
    }
};
TYPED_TEST_SUITE_P(lockable);

TYPED_TEST_P(lockable, is_free_until_locked_and_after_unlocked) {
    EXPECT_FALSE(this->lock_.is_locked());
    this->lock_.lock();
    EXPECT_TRUE(this->lock_.is_locked());
    EXPECT_FALSE(this->free_for_others());
    this->lock_.unlock();
    EXPECT_FALSE(this->lock_.is_locked());
    EXPECT_TRUE(this->free_for_others());
}

TYPED_TEST_P(lockable, try_lock_takes_a_free_lock_only) {
    ASSERT_TRUE(this->lock_.try_lock());
    EXPECT_TRUE(this->lock_.is_locked());
    EXPECT_FALSE(this->lock_.try_lock());
    EXPECT_FALSE(this->free_for_others());
    this->lock_.unlock();
    EXPECT_FALSE(this->lock_.is_locked());
}

TYPED_TEST_P(lockable, works_with_the_standards_guards) {
    TypeParam other;
    {
        const std::scoped_lock both(this->lock_, other);
        EXPECT_TRUE(this->lock_.is_locked() && other.is_locked());
    }
    std::unique_lock guard(this->lock_, std::try_to_lock);
    EXPECT_TRUE(guard.owns_lock());
    EXPECT_FALSE(std::unique_lock(this->lock_, std::try_to_lock).owns_lock());
    guard.unlock();
    EXPECT_FALSE(this->lock_.is_locked() || other.is_locked());
}

// More often than 16 bits count.
TYPED_TEST_P(lockable, goes_on_after_70000_acquisitions) {
    for (int i = 0; i < 70'000; ++i) {
        if (i % 3 == 0) {
            ASSERT_TRUE(this->lock_.try_lock());
        } else {
            this->lock_.lock();
        }
        if (i % 1000 == 0) {
            EXPECT_FALSE(this->lock_.try_lock());
        }
        this->lock_.unlock();
        ASSERT_FALSE(this->lock_.is_locked());
    }
}

TYPED_TEST_P(lockable, waits_for_the_holder) {
    int steps = 0; // plain: the lock orders it
    this->lock_.lock();
    std::thread waiter([&] {
        const std::scoped_lock guard(this->lock_);
        EXPECT_EQ(steps, 1);
        steps = 2;
    });
    steps = 1;
    this->lock_.unlock();
    waiter.join();
    EXPECT_EQ(steps, 2);
}

TYPED_TEST_P(lockable, is_neither_copied_nor_moved) {
    static_assert(!std::is_copy_constructible_v<TypeParam> && !std::is_move_constructible_v<TypeParam>);
    static_assert(!std::is_copy_assignable_v<TypeParam> && !std::is_move_assignable_v<TypeParam>);
    static_assert(under_tsan || std::is_trivially_destructible_v<TypeParam>);
}

REGISTER_TYPED_TEST_SUITE_P(lockable, is_free_until_locked_and_after_unlocked,
                            try_lock_takes_a_free_lock_only, works_with_the_standards_guards,
                            goes_on_after_70000_acquisitions, waits_for_the_holder,
                            is_neither_copied_nor_moved);

} // namespace holdfast
