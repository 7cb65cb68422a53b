// The mutexes on the real machine: what the standard promises, deadlines, hand-off, fork, and what the checked ones say.
#include "in_a_child.hpp"
#include "lockable.hpp"

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include <unistd.h>

#include <holdfast/checked.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

INSTANTIATE_TYPED_TEST_SUITE_P(mutex, lockable, mutex);

static_assert(sizeof(mutex) == 8);
static_assert(sizeof(recursive_mutex) == 16);
static_assert(std::is_standard_layout_v<mutex>);
static_assert(under_tsan || std::is_trivially_destructible_v<recursive_mutex>);
static_assert(!std::is_copy_constructible_v<recursive_mutex> && !std::is_move_assignable_v<recursive_mutex>);
static_assert(sizeof(checked_mutex) == sizeof(mutex) + 16); // its name and its owner
static_assert(sizeof(checked_recursive_mutex) == sizeof(recursive_mutex) + 16);
static_assert(!std::is_copy_constructible_v<checked_mutex> && !std::is_move_assignable_v<checked_mutex>);
constinit mutex before_main;
constinit recursive_mutex recursive_before_main;
constinit checked_mutex checked_before_main{"before main"};

TEST(mutex_test, globals_are_free) {
    EXPECT_FALSE(before_main.is_locked());
    EXPECT_FALSE(recursive_before_main.is_locked());
    EXPECT_FALSE(checked_before_main.is_locked());
}

TEST(timed_wait_test, neither_overflows_nor_ends_early) {
    static_assert(to_wait(5ns) == 5ns && to_wait(2us) == 2000ns && to_wait(-3h) == 0ns);
    static_assert(to_wait(std::chrono::duration<double, std::nano>(1.25)) == 2ns);
    static_assert(to_wait(std::chrono::hours::max()) == std::chrono::nanoseconds::max());
    static_assert(to_wait(std::chrono::hours::min()) == 0ns);
    static_assert(to_wait(std::chrono::duration<double>(1e100)) == std::chrono::nanoseconds::max());
}

// All kinds, by the standard's timed functions.
template <class Mutex>
class timed_mutex_test : public testing::Test {};
using timed_mutexes = testing::Types<mutex, recursive_mutex, checked_mutex, checked_recursive_mutex>;
TYPED_TEST_SUITE(timed_mutex_test, timed_mutexes);

TYPED_TEST(timed_mutex_test, gives_up_in_time_and_not_before) {
    TypeParam lock;
    lock.lock();
    std::thread([&] {
        const auto begin = std::chrono::steady_clock::now();
        EXPECT_FALSE(lock.try_lock());
        EXPECT_FALSE(lock.try_lock_for(0s));
        EXPECT_FALSE(lock.try_lock_for(-1h));
        EXPECT_FALSE(lock.try_lock_for(2ms)); // less than the hand-off takes
        EXPECT_FALSE(lock.try_lock_for(8ms)); // more
        EXPECT_GE(std::chrono::steady_clock::now() - begin, 10ms);
        EXPECT_FALSE(lock.try_lock_until(std::chrono::steady_clock::time_point::min()));
        const auto steady = std::chrono::steady_clock::now() + 3ms;
        EXPECT_FALSE(lock.try_lock_until(steady));
        EXPECT_GE(std::chrono::steady_clock::now(), steady);
        const auto wall = std::chrono::system_clock::now() + 3ms;
        EXPECT_FALSE(lock.try_lock_until(wall));
        EXPECT_GE(std::chrono::system_clock::now(), wall);
    }).join();
    lock.unlock();
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST(timed_mutex_test, gets_in_before_its_time_is_up) {
    TypeParam lock;
    std::atomic<int> waiting{0};
    std::vector<std::thread> waiters;
    int in = 0; // plain: the lock orders it
    lock.lock();
    for (int i = 0; i < 6; ++i) {
        waiters.emplace_back([&, i] {
            ++waiting;
            if (i % 3 == 0) {
                ASSERT_TRUE(lock.try_lock_for(std::chrono::hours::max()));
            } else if (i % 3 == 1) {
                ASSERT_TRUE(lock.try_lock_until(std::chrono::system_clock::now() + 1h));
            } else {
                ASSERT_TRUE(lock.try_lock_until(std::chrono::steady_clock::time_point::max()));
            }
            ++in;
            lock.unlock();
        });
    }
    while (waiting != 6)
        std::this_thread::yield();
    std::this_thread::sleep_for(5ms); // some are in line by now, most likely
    lock.unlock();
    for (std::thread& waiter : waiters)
        waiter.join();
    EXPECT_EQ(in, 6);
    EXPECT_FALSE(lock.is_locked());
}

TYPED_TEST(timed_mutex_test, works_with_std_lock_and_unique_lock) {
    TypeParam a;
    TypeParam b;
    std::unique_lock first(a, std::defer_lock);
    std::unique_lock second(b, std::defer_lock);
    std::lock(first, second);
    EXPECT_TRUE(a.is_locked() && b.is_locked());
    first.unlock();
    EXPECT_TRUE(first.try_lock_for(1ms));
    first.unlock();
    EXPECT_TRUE(first.try_lock_until(std::chrono::steady_clock::now()));
    EXPECT_TRUE(std::unique_lock(a, std::defer_lock).mutex() == &a);
}

TEST(recursive_mutex_test, is_released_by_the_last_unlock) {
    recursive_mutex lock;
    const auto free_for_others = [&lock] {
        bool got = false;
        std::thread([&] {
            got = lock.try_lock();
            if (got)
                lock.unlock();
        }).join();
        return got;
    };
    lock.lock();
    EXPECT_TRUE(lock.try_lock());
    EXPECT_TRUE(lock.try_lock_for(0s));
    lock.lock();
    for (int i = 0; i < 4; ++i) {
        EXPECT_TRUE(lock.is_mine());
        EXPECT_FALSE(free_for_others());
        lock.unlock();
    }
    EXPECT_FALSE(lock.is_mine());
    EXPECT_TRUE(free_for_others());
}

// A machine on which a thread's identity was another's a moment ago: that of one which let go of a mutex and ended as late as
// the new thread asks who it is.
struct handing_on : native {
    static inline std::function<void()> the_other_ends;
    static thread_id self() {
        if (const auto end = std::exchange(the_other_ends, nullptr))
            end();
        return native::self();
    }
    static wait_record<handing_on>& waiter(thread_id) {
        static wait_record<handing_on> of_nobody; // nobody waits
        return of_nobody;
    }
};

TEST(recursive_mutex_test, belongs_to_nobody_who_has_got_its_former_owners_identity) {
    basic_recursive_mutex<handing_on> lock;
    lock.lock();
    handing_on::the_other_ends = [&lock] { lock.unlock(); };
    EXPECT_FALSE(lock.is_mine());
    EXPECT_FALSE(lock.is_locked());
}

// The holder takes the mutex again at once, over and over. The waiters get in all the same, and in a time that does not
// depend on when the holder stops, as it stops only then.
TEST(mutex_test, waiters_get_in_past_a_busy_holder) {
    mutex lock;
    std::atomic<int> in{0};
    std::vector<std::thread> waiters;
    lock.lock();
    for (int i = 0; i < 8; ++i) {
        waiters.emplace_back([&] {
            const std::scoped_lock guard(lock);
            ++in;
        });
    }
    while (in != 8) {
        lock.unlock();
        lock.lock();
    }
    lock.unlock();
    for (std::thread& waiter : waiters)
        waiter.join();
}

// Each of two threads unlocks once; who did it last frees the memory, which the next round has again.
TEST(mutex_test, may_be_destroyed_right_after_ones_own_unlock) {
    struct shared {
        mutex lock;
        int users = 2;
    };
    for (int round = 0; round < 3000; ++round) {
        auto* const object = new shared;
        const auto use = [object] {
            object->lock.lock();
            const bool last = --object->users == 0;
            object->lock.unlock();
            if (last)
                delete object;
        };
        std::thread other(use);
        use();
        other.join();
    }
}

TEST(mutex_test, leaves_errno_alone) {
    mutex lock;
    lock.lock();
    std::thread([&] {
        errno = 77;
        EXPECT_FALSE(lock.try_lock_for(6ms));
        EXPECT_EQ(errno, 77);
    }).join();
    errno = 78;
    lock.unlock();
    EXPECT_EQ(errno, 78);
}

// ---- Fork

// In the child: the mutex can be had, tried for and waited for.
template <class Mutex>
bool usable(Mutex& lock) {
    lock.lock();
    bool refused = true;
    [[maybe_unused]] int sections = 1;
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
// ThreadSanitizer refuses, and AddressSanitizer's allocator may have been locked when the process was forked.
#define HOLDFAST_TEST_THREADS_AFTER_FORK 0
#endif
#endif
#if !defined(HOLDFAST_TEST_THREADS_AFTER_FORK)
    std::atomic<int> tried{0};
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i) {
        others.emplace_back([&] {
            if (lock.try_lock())
                refused = false;
            ++tried;
            lock.lock();
            ++sections;
            lock.unlock();
        });
    }
    while (tried != 3)
        std::this_thread::yield();
    std::this_thread::sleep_for(6ms); // the hand-off has been asked for, most likely
    lock.unlock();
    for (std::thread& other : others)
        other.join();
    lock.lock();
    refused = refused && sections == 4;
#endif
    lock.unlock();
    return refused && !lock.is_locked() && lock.try_lock_for(1ms);
}

TYPED_TEST(timed_mutex_test, forked_while_the_forking_thread_holds_it_and_others_wait) {
    TypeParam lock;
    std::atomic<int> waiting{0};
    std::vector<std::thread> waiters;
    lock.lock();
    for (int i = 0; i < 3; ++i) {
        waiters.emplace_back([&] {
            ++waiting;
            const std::scoped_lock guard(lock);
        });
    }
    while (waiting != 3)
        std::this_thread::yield();
    for (int i = 0; i < 8; ++i) { // by and by in line, asleep, and first in line with a hand-off asked for
        EXPECT_TRUE(in_a_child([&] {
            lock.unlock();
            return usable(lock);
        }));
        std::this_thread::sleep_for(1ms);
    }
    lock.unlock();
    for (std::thread& waiter : waiters)
        waiter.join();
}

// At all moments in which no other thread holds the mutex: the child of a moment at which one does can't tell, so it asks.
TEST(mutex_test, forked_while_others_come_and_go) {
    mutex lock;
    std::atomic<bool> stop{false};
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i) {
        others.emplace_back([&] {
            while (!stop) {
                if (lock.try_lock_for(50us)) {
                    std::this_thread::sleep_for(20us);
                    lock.unlock();
                }
            }
        });
    }
    for (int i = 0; i < 60; ++i) {
        lock.lock();
        EXPECT_TRUE(in_a_child([&] {
            lock.unlock();
            return usable(lock);
        }));
        lock.unlock();
    }
    stop = true;
    for (std::thread& other : others)
        other.join();
}

TEST(recursive_mutex_test, is_still_the_forking_threads_in_the_child) {
    recursive_mutex lock;
    lock.lock();
    EXPECT_TRUE(in_a_child([&] {
        if (!lock.is_mine() || !lock.try_lock())
            return false;
        lock.unlock();
        lock.unlock();
        return !lock.is_locked();
    }));
    lock.unlock();
}

// ---- The checked ones

TEST(checked_death_test, unlock_of_what_is_not_held) {
    EXPECT_DEATH(
        {
            checked_mutex lock("the queue");
            lock.unlock();
        },
        "holdfast: the queue at 0x[0-9a-f]+: unlocked, but not held");
}

TEST(checked_death_test, unlock_of_what_another_holds) {
    checked_mutex lock;
    lock.lock();
    EXPECT_DEATH(std::thread([&] { lock.unlock(); }).join(), "unlocked by a thread that doesn't hold it");
    lock.unlock();
}

TEST(checked_death_test, self_deadlock) {
    checked_mutex lock;
    lock.lock();
    EXPECT_FALSE(lock.try_lock()); // no deadlock
    EXPECT_DEATH(lock.lock(), "locked again by its owner");
    EXPECT_DEATH(static_cast<void>(lock.try_lock_for(1h)), "locked again by its owner");
    EXPECT_DEATH(static_cast<void>(lock.try_lock_until(std::chrono::steady_clock::now())),
                 "locked again by its owner");
    lock.unlock();
}

TEST(checked_death_test, is_the_forking_threads_in_the_child) {
    checked_mutex lock;
    lock.lock();
    EXPECT_TRUE(in_a_child([&] {
        lock.unlock();
        return lock.try_lock();
    }));
    lock.unlock();
}

TEST(checked_death_test, destroyed_while_held) {
    EXPECT_DEATH(
        {
            std::optional<checked_mutex> lock(std::in_place);
            lock->lock();
            lock.reset();
        },
        "destroyed while held");
}

TEST(checked_death_test, recursive) {
    checked_recursive_mutex lock;
    lock.lock();
    lock.lock();
    lock.unlock();
    EXPECT_DEATH(std::thread([&] { lock.unlock(); }).join(), "unlocked by a thread that doesn't hold it");
    lock.unlock();
    EXPECT_DEATH(lock.unlock(), "unlocked, but not held");
}

} // namespace
} // namespace holdfast
