// What every read-write lock promises beyond Lockable, whether it spins or sleeps. Included by their tests, each of which
// instantiates the suite for its own. All wait for states, none for a time.
#pragma once

#include <atomic>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace holdfast {

template <class Lock>
class rw_lockable : public testing::Test {
protected:
    Lock lock_;
};
TYPED_TEST_SUITE_P(rw_lockable);

TYPED_TEST_P(rw_lockable, readers_share_and_keep_writers_out) {
    auto& lock = this->lock_;
    lock.lock_shared();
    EXPECT_TRUE(lock.is_locked());
    ASSERT_TRUE(lock.try_lock_shared());
    EXPECT_FALSE(lock.try_lock());
    lock.unlock_shared();
    std::thread([&] {
        const std::shared_lock reader(lock);
        EXPECT_FALSE(lock.try_lock());
    }).join();
    EXPECT_FALSE(lock.try_lock());
    lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST_P(rw_lockable, a_writer_keeps_readers_out) {
    auto& lock = this->lock_;
    lock.lock();
    EXPECT_FALSE(lock.try_lock_shared());
    EXPECT_FALSE(std::shared_lock(lock, std::try_to_lock).owns_lock());
    lock.unlock();
    EXPECT_TRUE(std::shared_lock(lock, std::try_to_lock).owns_lock());
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST_P(rw_lockable, a_writer_gets_in_when_the_last_reader_goes) {
    auto& lock = this->lock_;
    int reads = 0;
    lock.lock_shared();
    lock.lock_shared();
    std::thread writer([&] {
        const std::scoped_lock guard(lock);
        EXPECT_EQ(reads, 2);
    });
    reads = 1;
    lock.unlock_shared();
    reads = 2;
    lock.unlock_shared();
    writer.join();
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST_P(rw_lockable, all_readers_get_in_when_the_writer_goes) {
    auto& lock = this->lock_;
    std::atomic<int> inside{0};
    lock.lock();
    std::vector<std::thread> readers;
    readers.reserve(8);
    for (int i = 0; i < 8; ++i) {
        readers.emplace_back([&] {
            const std::shared_lock guard(lock);
            ++inside;
            while (inside != 8)
                std::this_thread::yield();
        });
    }
    EXPECT_EQ(inside, 0);
    lock.unlock();
    for (std::thread& reader : readers)
        reader.join();
    EXPECT_FALSE(lock.is_locked());
}

REGISTER_TYPED_TEST_SUITE_P(rw_lockable, readers_share_and_keep_writers_out, a_writer_keeps_readers_out,
                            a_writer_gets_in_when_the_last_reader_goes,
                            all_readers_get_in_when_the_writer_goes);

} // namespace holdfast
