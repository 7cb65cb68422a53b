// qrwlock on the real machine: what a few threads see of it, under each of its rules.
#include "lockable.hpp"
#include "rw_lockable.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/ticket_lock.hpp>

namespace holdfast {
namespace {

using of_2013 = qrwlock<native, qrwlock_presets::patch_2013>;
using of_3_16 = qrwlock<native, qrwlock_presets::linux_3_16>;
using of_4_15 = qrwlock<native, qrwlock_presets::linux_4_15>;
using on_tickets = qrwlock<native, qrwlock_presets::linux_3_16, ticket_lock>;
using rules = testing::Types<of_2013, of_3_16, of_4_15, on_tickets>;
INSTANTIATE_TYPED_TEST_SUITE_P(queued, lockable, rules);
INSTANTIATE_TYPED_TEST_SUITE_P(queued, rw_lockable, rules);

static_assert(sizeof(of_2013) == 8 && sizeof(of_3_16) == 8 && sizeof(on_tickets) == 8);

// With the lock held for reading: until a waiting writer keeps readers out.
void until_closed(auto& lock) {
    while (lock.try_lock_shared()) {
        lock.unlock_shared();
        std::this_thread::yield();
    }
}

template <class Lock>
class qrwlock_fair_to_writers : public testing::Test {};
using fair = testing::Types<of_3_16, of_4_15, on_tickets>;
TYPED_TEST_SUITE(qrwlock_fair_to_writers, fair);

TYPED_TEST(qrwlock_fair_to_writers, a_waiting_writer_keeps_readers_out_but_the_unfair) {
    TypeParam lock;
    bool written = false;
    lock.lock_shared();
    std::thread writer([&] {
        const std::scoped_lock guard(lock);
        written = true;
    });
    until_closed(lock);
    EXPECT_FALSE(lock.try_lock());
    lock.lock_shared_unfair(); // we read already: a writer that waits for us must not make us wait
    EXPECT_FALSE(lock.try_lock_shared());
    EXPECT_FALSE(written);
    lock.unlock_shared();
    lock.unlock_shared();
    writer.join();
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST(qrwlock_fair_to_writers, a_reader_that_comes_later_gets_in_later) {
    TypeParam lock;
    bool written = false;
    lock.lock_shared();
    std::thread writer([&] {
        const std::scoped_lock guard(lock);
        written = true;
    });
    until_closed(lock);
    std::thread reader([&] {
        const std::shared_lock guard(lock);
        EXPECT_TRUE(written);
    });
    lock.unlock_shared();
    writer.join();
    reader.join();
    EXPECT_FALSE(lock.is_locked());
}

TEST(qrwlock_of_2013, a_waiting_writer_keeps_no_reader_out) {
    of_2013 lock;
    std::atomic<bool> coming{false};
    bool written = false;
    lock.lock_shared();
    std::thread writer([&] {
        coming = true;
        const std::scoped_lock guard(lock);
        written = true;
    });
    while (!coming)
        std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) {
        ASSERT_TRUE(lock.try_lock_shared());
        EXPECT_FALSE(written);
        lock.unlock_shared();
    }
    lock.unlock_shared();
    writer.join();
    EXPECT_TRUE(written);
}

TEST(qrwlock, an_unfair_reader_waits_for_a_writer_inside) {
    qrwlock<native> lock;
    bool written = false;
    lock.lock();
    std::thread reader([&] {
        lock.lock_shared_unfair();
        EXPECT_TRUE(written);
        lock.unlock_shared();
    });
    written = true;
    lock.unlock();
    reader.join();
    EXPECT_FALSE(lock.is_locked());
}

} // namespace
} // namespace holdfast
