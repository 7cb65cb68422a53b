// What every read-write semaphore promises beyond rw_lockable.hpp: downgrade, and waiters that give up. Included by the tests
// of those locks, each of which instantiates the suite for its own. All wait for states, none for a time.
#pragma once

#include <shared_mutex>
#include <thread>

#include <gtest/gtest.h>

#include <holdfast/cancel_token.hpp>
#include <holdfast/native/native.hpp>

namespace holdfast {

template <class Lock>
class shared_lockable : public testing::Test {
protected:
    Lock lock_;

    // With the lock held for reading: until somebody waits for it, and so keeps others out.
    void until_somebody_waits() {
        while (lock_.try_lock_shared()) {
            lock_.unlock_shared();
            std::this_thread::yield();
        }
    }
};
TYPED_TEST_SUITE_P(shared_lockable);

TYPED_TEST_P(shared_lockable, downgrade_lets_readers_in_but_no_writer) {
    auto& lock = this->lock_;
    lock.lock();
    int value = 1;
    std::thread reader([&] {
        const std::shared_lock guard(lock);
        EXPECT_EQ(value, 2);
    });
    value = 2;
    lock.downgrade();
    reader.join(); // while we still read
    EXPECT_FALSE(lock.try_lock());
    lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST_P(shared_lockable, a_waiting_writer_gets_in_when_readers_go) {
    auto& lock = this->lock_;
    lock.lock_shared();
    bool done = false;
    std::thread writer([&] {
        const std::scoped_lock guard(lock);
        done = true;
    });
    this->until_somebody_waits();
    EXPECT_FALSE(done);
    lock.unlock_shared();
    writer.join();
    EXPECT_TRUE(done);
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST_P(shared_lockable, a_cancelled_writer_leaves_and_lets_readers_in) {
    auto& lock = this->lock_;
    cancel_token<native> token;
    lock.lock_shared();
    std::thread writer([&] { EXPECT_FALSE(lock.lock(token)); });
    this->until_somebody_waits();
    std::thread reader([&] { const std::shared_lock guard(lock); });
    token.cancel();
    writer.join();
    reader.join(); // while we still read
    EXPECT_TRUE(lock.try_lock_shared());
    lock.unlock_shared();
    lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST_P(shared_lockable, a_token_cancelled_before_takes_a_free_lock_only) {
    auto& lock = this->lock_;
    cancel_token<native> token;
    token.cancel();
    ASSERT_TRUE(lock.lock(token));
    std::thread([&] {
        cancel_token<native> other;
        other.cancel();
        EXPECT_FALSE(lock.lock(other));
    }).join();
    lock.unlock();
    EXPECT_FALSE(lock.is_locked());
}

REGISTER_TYPED_TEST_SUITE_P(shared_lockable, downgrade_lets_readers_in_but_no_writer,
                            a_waiting_writer_gets_in_when_readers_go,
                            a_cancelled_writer_leaves_and_lets_readers_in,
                            a_token_cancelled_before_takes_a_free_lock_only);

} // namespace holdfast
