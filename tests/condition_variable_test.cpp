// The condition variable on the real machine, with locks of several kinds.
#include <holdfast/condition_variable.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include <gtest/gtest.h>

#include <holdfast/checked.hpp>
#include <holdfast/mutex.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

static_assert(std::is_trivially_destructible_v<condition_variable>);
static_assert(!std::is_copy_constructible_v<condition_variable> &&
              !std::is_move_assignable_v<condition_variable>);
static_assert(sizeof(condition_variable) == 24);
constinit condition_variable before_main;

template <class Guard>
class condition_variable_test : public testing::Test {
protected:
    condition_variable condition_;
    typename Guard::mutex_type mutex_;
};
using guards = testing::Types<std::unique_lock<mutex>, std::unique_lock<recursive_mutex>,
                              std::unique_lock<checked_mutex>, std::unique_lock<std::mutex>,
                              std::shared_lock<std::shared_mutex>>;
TYPED_TEST_SUITE(condition_variable_test, guards);

// Changes something that waiters ask for.
template <class Mutex, class Change>
void change(Mutex& mutex, Change how) {
    const std::scoped_lock guard(mutex);
    how();
}

TYPED_TEST(condition_variable_test, notify_one_lets_one_of_many_go) {
    std::atomic<int> passes{0};
    std::atomic<int> through{0};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 5; ++i) {
        waiters.emplace_back([&] {
            TypeParam guard(this->mutex_);
            this->condition_.wait(guard, [&] {
                int left = passes;
                while (left > 0 && !passes.compare_exchange_weak(left, left - 1)) {
                }
                return left > 0;
            });
            EXPECT_TRUE(guard.owns_lock());
            ++through;
        });
    }
    for (int i = 0; i < 5; ++i) {
        change(this->mutex_, [&] { ++passes; });
        this->condition_.notify_one();
    }
    for (std::thread& waiter : waiters)
        waiter.join();
    EXPECT_EQ(through, 5);
    EXPECT_EQ(passes, 0);
}

TYPED_TEST(condition_variable_test, notify_all_lets_all_go) {
    std::atomic<bool> open{false};
    std::vector<std::thread> waiters;
    for (int i = 0; i < 8; ++i) {
        waiters.emplace_back([&, i] {
            TypeParam guard(this->mutex_);
            if (i % 2 == 0) {
                this->condition_.wait(guard, [&] { return open.load(); });
            } else {
                EXPECT_TRUE(this->condition_.wait_for(guard, 1h, [&] { return open.load(); }));
            }
        });
    }
    std::this_thread::sleep_for(2ms);
    change(this->mutex_, [&] { open = true; });
    this->condition_.notify_all();
    for (std::thread& waiter : waiters)
        waiter.join();
}

TYPED_TEST(condition_variable_test, waits_end_in_time) {
    TypeParam guard(this->mutex_);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(this->condition_.wait_for(guard, 2ms), std::cv_status::timeout);
    EXPECT_EQ(this->condition_.wait_until(guard, begin + 5ms), std::cv_status::timeout);
    EXPECT_EQ(this->condition_.wait_until(guard, std::chrono::steady_clock::time_point::min()),
              std::cv_status::timeout);
    EXPECT_EQ(this->condition_.wait_until(guard, std::chrono::system_clock::now() + 2ms),
              std::cv_status::timeout);
    EXPECT_FALSE(this->condition_.wait_for(guard, 1ms, [] { return false; }));
    EXPECT_TRUE(this->condition_.wait_for(guard, -1h, [] { return true; }));
    EXPECT_FALSE(this->condition_.wait_until(guard, begin + 9ms, [] { return false; }));
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 9ms);
    EXPECT_TRUE(guard.owns_lock());
    // Those that have left are not waited for, nor notified.
    this->condition_.notify_one();
    this->condition_.notify_all();
}

#if defined(__cpp_lib_jthread)
TYPED_TEST(condition_variable_test, a_request_to_stop_ends_a_wait) {
    for (int round = 0; round < 50; ++round) {
        std::stop_source stop;
        std::thread waiter([&] {
            TypeParam guard(this->mutex_);
            if (round % 2 == 0) {
                EXPECT_FALSE(this->condition_.wait(guard, stop.get_token(), [] { return false; }));
            } else {
                EXPECT_FALSE(this->condition_.wait_until(
                    guard, stop.get_token(), std::chrono::system_clock::now() + 1h, [] { return false; }));
            }
        });
        stop.request_stop();
        waiter.join();
        TypeParam guard(this->mutex_);
        EXPECT_FALSE(this->condition_.wait_for(guard, stop.get_token(), 1h, [] { return false; }));
        EXPECT_TRUE(this->condition_.wait(guard, stop.get_token(), [] { return true; }));
    }
}
#endif

// The standard lets a condition variable be destroyed once all waiters are notified, though none has returned; also one
// whose time is up at the same moment.
TEST(condition_variable_lifetime, may_be_destroyed_after_notify_all) {
    for (int round = 0; round < 400; ++round) {
        mutex lock;
        auto condition = std::make_unique<condition_variable>();
        int waiting = 0;
        bool told = false;
        std::vector<std::thread> waiters;
        for (int i = 0; i < 3; ++i) {
            waiters.emplace_back([&, i, at = condition.get()] {
                std::unique_lock guard(lock);
                ++waiting;
                if (i == 0)
                    at->wait(guard);
                else if (!told)
                    at->wait_for(guard, std::chrono::microseconds(20 * i * (round % 8)));
            });
        }
        for (bool all = false; !all;) {
            std::this_thread::yield();
            const std::scoped_lock guard(lock);
            all = waiting == 3;
        }
        {
            const std::scoped_lock guard(lock);
            told = true;
            condition->notify_all();
            condition.reset();
        }
        for (std::thread& waiter : waiters)
            waiter.join();
    }
}

// A bounded buffer of one: each item is seen once, and nobody is left waiting.
TEST(condition_variable_use, producers_and_consumers) {
    mutex lock;
    condition_variable not_full;
    condition_variable not_empty;
    int item = 0;
    int sum = 0;
    constexpr int each = 2000;
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&] {
            for (int i = 1; i <= each; ++i) {
                std::unique_lock guard(lock);
                not_full.wait(guard, [&] { return item == 0; });
                item = i;
                not_empty.notify_one();
            }
        });
        threads.emplace_back([&] {
            for (int i = 0; i < each; ++i) {
                std::unique_lock guard(lock);
                while (item == 0)
                    static_cast<void>(not_empty.wait_for(guard, 50us * (i % 3)));
                sum += item;
                item = 0;
                not_full.notify_one();
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(sum, 3 * each * (each + 1) / 2);
}

TEST(condition_variable_use, a_global_has_nobody_waiting) {
    before_main.notify_all();
}

} // namespace
} // namespace holdfast
