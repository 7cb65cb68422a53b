// checked_shared_mutex: a lock like the other, until it is misused.
#include "rw_lockable.hpp"

#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <holdfast/checked_shared_mutex.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

using just_this = testing::Types<checked_shared_mutex>;
INSTANTIATE_TYPED_TEST_SUITE_P(checked_shared_mutex, rw_lockable, just_this);
constinit checked_shared_mutex before_main{"table"};
// The lock, its name, its owner, the number of its readers, and sixteen of them.
static_assert(sizeof(checked_shared_mutex) == sizeof(shared_mutex) + 3 * 8 + 16 * 8);

class checked_shared_mutex_death : public testing::Test {
protected:
    checked_shared_mutex_death() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }
    checked_shared_mutex lock_{"table"};
};

TEST(checked_shared_mutex, goes_from_mode_to_mode) {
    checked_shared_mutex lock;
    lock.lock();
    lock.unlock_and_lock_upgrade();
    EXPECT_TRUE(lock.try_unlock_upgrade_and_lock());
    lock.downgrade();
    EXPECT_TRUE(lock.try_lock_shared()); // twice by one thread: nobody waits
    lock.unlock_shared();
    std::thread([&] { lock.unlock_shared(); }).join(); // by another
    ASSERT_TRUE(lock.try_lock_for(1ms));
    lock.unlock();
    ASSERT_TRUE(lock.try_lock_upgrade_for(1ms));
    lock.unlock_upgrade_and_lock_shared();
    lock.unlock_shared();
    ASSERT_TRUE(lock.try_lock_shared_for(1ms));
    lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
    const std::scoped_lock guard(before_main);
}

TEST(checked_shared_mutex, counts_more_readers_than_it_knows) {
    checked_shared_mutex lock;
    for (int i = 0; i < 40; ++i)
        lock.lock_shared();
    for (int i = 0; i < 40; ++i)
        lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
}

TEST_F(checked_shared_mutex_death, locked_again) {
    lock_.lock();
    EXPECT_DEATH(lock_.lock(), "holdfast: table at 0x.*: locked again by its owner");
    EXPECT_DEATH(lock_.lock_shared(), "locked again by its owner");
    EXPECT_DEATH(lock_.lock_upgrade(), "locked again by its owner");
    EXPECT_DEATH(static_cast<void>(lock_.try_lock_for(1h)), "locked again by its owner");
    EXPECT_DEATH(static_cast<void>(lock_.try_lock_shared_until(std::chrono::steady_clock::now())),
                 "locked again by its owner");
    EXPECT_DEATH(static_cast<void>(lock_.try_lock_upgrade_for(1h)), "locked again by its owner");
    EXPECT_FALSE(lock_.try_lock() || lock_.try_lock_shared() || lock_.try_lock_upgrade()); // no deadlock
    lock_.unlock_and_lock_upgrade();
    EXPECT_DEATH(lock_.lock(), "locked again by its owner");
    EXPECT_DEATH(lock_.lock_shared(), "locked again by its owner");
    EXPECT_DEATH(lock_.lock_upgrade(), "locked again by its owner");
    lock_.unlock_upgrade_and_lock_shared();
    EXPECT_DEATH(lock_.lock(), "locked by a thread that reads already");
    EXPECT_DEATH(lock_.lock_upgrade(), "locked by a thread that reads already");
    EXPECT_DEATH(static_cast<void>(lock_.try_lock_until(std::chrono::system_clock::now() + 1h)),
                 "locked by a thread that reads already");
    lock_.unlock_shared();
}

TEST_F(checked_shared_mutex_death, read_again_behind_a_writer) {
    EXPECT_DEATH(
        {
            lock_.lock_shared();
            std::thread([&] { lock_.lock(); }).detach();
            for (;;) {
                lock_.lock_shared();
                lock_.unlock_shared();
            }
        },
        "locked by a thread that reads already");
}

TEST_F(checked_shared_mutex_death, upgraded_past_its_own_reader) {
    EXPECT_DEATH(
        {
            lock_.lock_shared();
            static_cast<void>(lock_.try_lock_upgrade());
            lock_.unlock_upgrade_and_lock();
        },
        "locked by a thread that reads already");
}

TEST_F(checked_shared_mutex_death, unlocked_but_not_held) {
    EXPECT_DEATH(lock_.unlock(), "unlocked, but not held");
    EXPECT_DEATH(lock_.unlock_shared(), "unlocked, but not held");
    EXPECT_DEATH(lock_.unlock_upgrade(), "unlocked, but not held");
    EXPECT_DEATH(lock_.downgrade(), "unlocked, but not held");
    lock_.lock();
    EXPECT_DEATH(lock_.unlock_shared(), "unlocked, but not held");
    EXPECT_DEATH(lock_.unlock_upgrade(), "unlocked, but not held");
    EXPECT_DEATH(std::thread([&] { lock_.unlock(); }).join(), "unlocked by a thread that doesn't hold it");
    EXPECT_DEATH(std::thread([&] { lock_.downgrade(); }).join(), "unlocked by a thread that doesn't hold it");
    lock_.unlock_and_lock_upgrade();
    EXPECT_DEATH(std::thread([&] { lock_.unlock_upgrade(); }).join(),
                 "unlocked by a thread that doesn't hold it");
    EXPECT_DEATH(std::thread([&] { lock_.unlock_upgrade_and_lock(); }).join(),
                 "unlocked by a thread that doesn't hold it");
    EXPECT_DEATH(lock_.unlock(), "unlocked, but not held");
    lock_.unlock_upgrade();
}

TEST_F(checked_shared_mutex_death, destroyed_while_held) {
    const auto destroy = [](auto take) {
        const auto lock = std::make_unique<checked_shared_mutex>("table");
        take(*lock);
    };
    EXPECT_DEATH(destroy([](auto& lock) { lock.lock(); }), "destroyed while held");
    EXPECT_DEATH(destroy([](auto& lock) { lock.lock_shared(); }), "destroyed while held");
    EXPECT_DEATH(destroy([](auto& lock) { lock.lock_upgrade(); }), "destroyed while held");
}

} // namespace
} // namespace holdfast
