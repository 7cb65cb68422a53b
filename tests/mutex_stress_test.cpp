// The mutexes and the condition variable on many real threads: does each section have the data to itself, and does
// everybody who waits for something get it?
#include <holdfast/checked.hpp>
#include <holdfast/condition_variable.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stress.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

template <class Lock>
class mutex_stress : public testing::Test {};
using mutexes = testing::Types<mutex, recursive_mutex, checked_mutex>;
TYPED_TEST_SUITE(mutex_stress, mutexes);

// Sections of no time and of some, so that waiters spin, sleep and ask for the hand-off; of five rounds one tries and one
// waits for a time that may or may not do.
TYPED_TEST(mutex_stress, of_all_kinds) {
    for (const unsigned thread_count : {2u, 4u, 16u}) {
        for (const auto section : {0us, 30us, 600us}) {
            TypeParam lock;
            payload data;
            std::atomic<std::uint64_t> sections{0};
            std::atomic<std::uint64_t> torn{0};
            stress(thread_count, 4000, [&](unsigned i, unsigned n) {
                switch ((i + n) % 5) {
                case 0:
                    if (!lock.try_lock())
                        return;
                    break;
                case 1:
                    if (!lock.try_lock_for(std::chrono::microseconds(n % 16 * n % 16 * n % 16 * 4)))
                        return;
                    break;
                default:
                    lock.lock();
                }
                torn += data.advance() ? 0 : 1;
                if (section != 0us && n % 4 == 0)
                    std::this_thread::sleep_for(section);
                ++sections;
                lock.unlock();
            });
            EXPECT_EQ(torn, 0u);
            EXPECT_EQ(data.value(), sections);
            EXPECT_FALSE(lock.is_locked());
        }
    }
}

// One mutex after another in the same memory: who unlocks last gives it back while those before may still be in unlock.
TEST(mutex_lifetime_stress, destroyed_by_its_last_user) {
    constexpr unsigned thread_count = 4;
    constexpr int rounds = 3000;
    struct shared {
        mutex lock;
        unsigned users = thread_count;
        payload data;
    };
    std::vector<std::atomic<shared*>> objects(rounds);
    for (auto& object : objects)
        object = new shared;
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < thread_count; ++i) {
        threads.emplace_back([&] {
            for (auto& at : objects) {
                shared* const object = at;
                object->lock.lock();
                EXPECT_TRUE(object->data.advance());
                const bool last = --object->users == 0;
                object->lock.unlock();
                if (last)
                    delete object;
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

// Tokens are added one by one and taken by many, some of whom wait for a moment only; none may be lost, and nobody sleeps
// while there is one.
TEST(condition_variable_stress, of_all_kinds) {
    for (const unsigned consumers : {1u, 3u, 12u}) {
        mutex lock;
        condition_variable condition;
        unsigned tokens = 0;
        bool closed = false;
        std::atomic<unsigned> taken{0};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < consumers; ++i) {
            threads.emplace_back([&, i] {
                std::unique_lock guard(lock);
                for (unsigned n = 0;; ++n) {
                    const auto ready = [&] { return tokens != 0 || closed; };
                    if (i % 2 == 0)
                        condition.wait(guard, ready);
                    else if (!condition.wait_for(guard, std::chrono::microseconds(n % 64), ready))
                        continue;
                    if (tokens == 0)
                        return;
                    --tokens;
                    ++taken;
                }
            });
        }
        constexpr unsigned all = 5000;
        for (unsigned n = 0; n < all; ++n) {
            {
                const std::scoped_lock guard(lock);
                ++tokens;
                if (n % 3 == 0)
                    condition.notify_one();
            }
            if (n % 3 == 1)
                condition.notify_one();
            else if (n % 3 == 2)
                condition.notify_all();
            if (n % 64 == 0)
                std::this_thread::sleep_for(10us);
        }
        {
            const std::scoped_lock guard(lock);
            closed = true;
        }
        condition.notify_all();
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(taken, all);
        EXPECT_EQ(tokens, 0u);
    }
}

} // namespace
} // namespace holdfast
