// kernel_mutex on the real machine: what a few threads see of it, with and without hand-off.
#include "lockable.hpp"

#include <atomic>
#include <vector>

#include <holdfast/kernel_mutex.hpp>
#include <holdfast/native/native.hpp>

namespace holdfast {
namespace {

using rules = testing::Types<kernel_mutex<native, kernel_mutex_presets::linux_3_12>,
                             kernel_mutex<native, kernel_mutex_presets::linux_4_10>>;
INSTANTIATE_TYPED_TEST_SUITE_P(kernel_mutex, lockable, rules);

static_assert(sizeof(kernel_mutex<native>) == 32);
constinit kernel_mutex<native> before_main;

template <class Lock>
class kernel_mutex_rules_test : public testing::Test {};
TYPED_TEST_SUITE(kernel_mutex_rules_test, rules);

TYPED_TEST(kernel_mutex_rules_test, a_cancelled_waiter_leaves) {
    TypeParam lock;
    cancel_token<native> token;
    lock.lock();
    std::thread waits([&] { EXPECT_FALSE(lock.lock(token)); });
    token.cancel();
    waits.join();
    lock.unlock();
    EXPECT_FALSE(lock.is_locked());
    EXPECT_TRUE(lock.lock(token)); // free: nothing to wait for
    lock.unlock();
}

// The holder takes the mutex again at once, over and over. The waiter gets in all the same: by the machine's chance, or
// because it is handed over.
TEST(kernel_mutex, a_waiter_gets_in_past_a_busy_holder) {
    kernel_mutex<native> lock;
    std::atomic<bool> in{false};
    lock.lock();
    std::thread waiter([&] {
        const std::scoped_lock guard(lock);
        in = true;
    });
    while (!in) {
        lock.unlock();
        lock.lock();
    }
    lock.unlock();
    waiter.join();
}

TEST(kernel_mutex, a_global_is_free) {
    EXPECT_FALSE(before_main.is_locked());
}

} // namespace
} // namespace holdfast
