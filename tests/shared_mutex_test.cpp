// shared_mutex on the real machine: what the standard and Boost promise of it, and what else a process has: time-outs, fork,
// libraries, schedulers, threads without rseq. All wait for states, none for a time.
#include "in_a_child.hpp"
#include "lockable.hpp"
#include "rw_lockable.hpp"

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>

#include <holdfast/shared_mutex.hpp>

namespace holdfast {
namespace {

using namespace std::chrono_literals;
using steady = std::chrono::steady_clock;
using wall = std::chrono::system_clock;

using just_this = testing::Types<shared_mutex>;
INSTANTIATE_TYPED_TEST_SUITE_P(shared_mutex, lockable, just_this);
INSTANTIATE_TYPED_TEST_SUITE_P(shared_mutex, rw_lockable, just_this);

static_assert(sizeof(shared_mutex) <= 16);
static_assert(under_tsan || std::is_trivially_destructible_v<shared_mutex>);
constinit shared_mutex before_main;
const bool worked_before_main = [] {
    const std::scoped_lock guard(before_main);
    return true;
}();

// With the lock held, but not for writing: until somebody waits to write.
void until_a_writer_waits(shared_mutex& lock) {
    while (lock.try_lock_shared()) {
        lock.unlock_shared();
        std::this_thread::yield();
    }
}

// Whether another thread gets the lock by `take`, which gives it back.
template <class Take>
bool others_get(Take take) {
    bool got = false;
    std::thread([&] { got = take(); }).join();
    return got;
}

TEST(shared_mutex, works_before_main) {
    EXPECT_TRUE(worked_before_main);
    EXPECT_FALSE(before_main.is_locked());
}

TEST(shared_mutex, works_with_the_standards_guards) {
    shared_mutex a;
    shared_mutex b;
    {
        std::unique_lock first(a, std::defer_lock);
        std::shared_lock second(b, std::defer_lock);
        std::lock(first, second);
        EXPECT_TRUE(a.is_locked() && b.try_lock_shared() && !b.try_lock());
        b.unlock_shared();
    }
    const std::unique_lock timed(a, 1ms);
    const std::shared_lock timed_too(b, wall::now() + 1ms);
    EXPECT_TRUE(timed.owns_lock() && timed_too.owns_lock());
}

// ---- Time

TEST(shared_mutex_timed, fails_when_the_time_has_passed_and_leaves_nothing_behind) {
    shared_mutex lock;
    lock.lock();
    EXPECT_FALSE(others_get([&] { return lock.try_lock_for(1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_until(steady::now() + 1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_until(wall::now() + 1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_shared_for(1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_shared_until(steady::now() + 1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_shared_until(wall::now() + 1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_upgrade_for(1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_upgrade_until(steady::now() + 1ms); }));
    EXPECT_FALSE(others_get([&] { return lock.try_lock_upgrade_until(wall::now() + 1ms); }));
    lock.unlock();
    EXPECT_TRUE(lock.try_lock_shared());
    EXPECT_TRUE(lock.try_lock_upgrade());
    lock.unlock_upgrade();
    lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
}

TEST(shared_mutex_timed, does_not_fail_too_early) {
    shared_mutex lock;
    lock.lock();
    const auto begin = steady::now();
    EXPECT_FALSE(others_get([&] { return lock.try_lock_for(5ms); }));
    EXPECT_GE(steady::now() - begin, 5ms);
    lock.unlock();
}

TEST(shared_mutex_timed, takes_a_free_lock_however_late) {
    shared_mutex lock;
    ASSERT_TRUE(lock.try_lock_for(-1s));
    lock.unlock();
    ASSERT_TRUE(lock.try_lock_until(steady::time_point::min()));
    lock.unlock();
    ASSERT_TRUE(lock.try_lock_shared_until(wall::now() - 1h));
    lock.unlock_shared();
}

TEST(shared_mutex_timed, the_longest_times_are_never) {
    shared_mutex lock;
    std::atomic<int> got{0};
    lock.lock();
    std::vector<std::thread> threads;
    threads.emplace_back([&] {
        got += lock.try_lock_for(std::chrono::hours::max()) ? 1 : 0;
        lock.unlock();
    });
    threads.emplace_back([&] {
        got += lock.try_lock_until(steady::time_point::max()) ? 1 : 0;
        lock.unlock();
    });
    threads.emplace_back([&] {
        got += lock.try_lock_shared_for(std::chrono::duration<double>(1e30)) ? 1 : 0;
        lock.unlock_shared();
    });
    std::this_thread::sleep_for(1ms);
    EXPECT_EQ(got, 0);
    lock.unlock();
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(got, 3);
}

TEST(shared_mutex_timed, a_writer_that_gives_up_lets_in_the_readers_behind_it) {
    shared_mutex lock;
    std::atomic<bool> go_on{true};
    lock.lock_shared();
    std::thread writer([&] {
        while (go_on)
            EXPECT_FALSE(lock.try_lock_for(2ms));
    });
    until_a_writer_waits(lock);
    std::thread reader([&] { const std::shared_lock guard(lock); });
    reader.join(); // while we still read
    go_on = false;
    writer.join();
    lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
}

// ---- Shared, upgradable, and from one to another

TEST(shared_mutex, a_reader_may_be_let_go_by_another_thread) {
    shared_mutex lock;
    lock.lock_shared();
    std::thread writer([&] { const std::scoped_lock guard(lock); });
    std::thread([&] { lock.unlock_shared(); }).join();
    writer.join();
    EXPECT_FALSE(lock.is_locked());
}

TEST(shared_mutex, a_waiting_writer_gets_in_when_readers_go) {
    shared_mutex lock;
    bool done = false;
    lock.lock_shared();
    std::thread writer([&] {
        const std::scoped_lock guard(lock);
        done = true;
    });
    until_a_writer_waits(lock);
    EXPECT_FALSE(done);
    lock.unlock_shared();
    writer.join();
    EXPECT_TRUE(done);
}

TEST(shared_mutex, downgrade_lets_readers_in_but_no_writer) {
    shared_mutex lock;
    int value = 1;
    lock.lock();
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

TEST(shared_mutex_upgrade, shares_with_readers_only) {
    shared_mutex lock;
    lock.lock_upgrade();
    EXPECT_TRUE(lock.is_locked());
    EXPECT_TRUE(lock.try_lock_shared());
    EXPECT_FALSE(lock.try_lock());
    EXPECT_FALSE(lock.try_lock_upgrade());
    EXPECT_FALSE(lock.try_unlock_upgrade_and_lock()); // there is a reader
    lock.unlock_shared();
    ASSERT_TRUE(lock.try_unlock_upgrade_and_lock());
    EXPECT_FALSE(lock.try_lock_shared());
    lock.unlock_and_lock_upgrade();
    EXPECT_TRUE(lock.try_lock_shared());
    EXPECT_FALSE(lock.try_lock_upgrade());
    lock.unlock_upgrade_and_lock_shared();
    EXPECT_TRUE(lock.try_lock_upgrade()); // beside two readers
    lock.unlock_shared();
    lock.unlock_shared();
    lock.unlock_upgrade();
    EXPECT_FALSE(lock.is_locked());
}

TEST(shared_mutex_upgrade, waits_for_readers_and_keeps_new_ones_out) {
    shared_mutex lock;
    int value = 1;
    lock.lock_shared();
    std::thread upgrader([&] {
        lock.lock_upgrade();
        EXPECT_EQ(value, 1);
        lock.unlock_upgrade_and_lock();
        value = 2;
        lock.unlock();
    });
    until_a_writer_waits(lock);
    EXPECT_EQ(value, 1);
    std::thread reader([&] {
        const std::shared_lock guard(lock);
        EXPECT_GE(value, 1);
    });
    lock.unlock_shared();
    upgrader.join();
    reader.join();
    EXPECT_EQ(value, 2);
    EXPECT_FALSE(lock.is_locked());
}

// A writer is first in the list, and waits for the upgradable hold, which must get ahead of it.
TEST(shared_mutex_upgrade, comes_before_writers_that_wait) {
    shared_mutex lock;
    int value = 1;
    lock.lock_upgrade();
    std::thread writer([&] {
        const std::scoped_lock guard(lock);
        EXPECT_EQ(value, 2);
        value = 3;
    });
    until_a_writer_waits(lock);
    lock.unlock_upgrade_and_lock();
    EXPECT_EQ(value, 1);
    value = 2;
    lock.unlock();
    writer.join();
    EXPECT_EQ(value, 3);
}

TEST(shared_mutex_upgrade, passes_to_the_next) {
    shared_mutex lock;
    lock.lock_upgrade();
    std::thread next([&] {
        lock.lock_upgrade();
        lock.unlock_upgrade();
    });
    std::this_thread::sleep_for(1ms);
    lock.unlock_upgrade_and_lock_shared();
    next.join(); // while we still read
    lock.unlock_shared();
    EXPECT_FALSE(lock.is_locked());
}

// ---- The process

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_TEST_THREADS_AFTER_FORK 0 // ThreadSanitizer refuses
#endif
#endif

// Two threads write, in turn asleep: one of them has to wait.
bool two_threads_use(shared_mutex& lock) {
    int sum = 0;
    const auto add = [&] {
        for (int i = 0; i < 20; ++i) {
            const std::scoped_lock guard(lock);
            ++sum;
            std::this_thread::sleep_for(100us);
        }
    };
    std::thread other(add);
    add();
    other.join();
    return sum == 40 && !lock.is_locked();
}

#if !defined(HOLDFAST_TEST_THREADS_AFTER_FORK)
TEST(shared_mutex_fork, the_child_may_use_a_lock_that_nobody_else_held) {
    shared_mutex held_by_us;
    shared_mutex waited_for;
    held_by_us.lock();
    waited_for.lock_shared();
    std::thread writer([&] { const std::scoped_lock guard(waited_for); });
    until_a_writer_waits(waited_for);
    std::this_thread::sleep_for(1ms); // lets it fall asleep, in most runs
    EXPECT_TRUE(in_a_child([&] {
        held_by_us.unlock();
        waited_for.unlock_shared();
        return two_threads_use(held_by_us) && two_threads_use(waited_for) && waited_for.try_lock_shared();
    }));
    EXPECT_TRUE(held_by_us.is_locked());
    held_by_us.unlock();
    waited_for.unlock_shared();
    writer.join();
    EXPECT_FALSE(waited_for.is_locked());
}

TEST(shared_mutex_no_rseq, works_all_the_same) {
    ASSERT_TRUE(in_a_child([] {
        setenv("GLIBC_TUNABLES", "glibc.pthread.rseq=0", 1);
        const std::string exe = std::filesystem::read_symlink("/proc/self/exe");
        execl(exe.c_str(), exe.c_str(),
              "--gtest_filter=shared_mutex.*:shared_mutex_timed.*:shared_mutex_upgrade.*:shared_mutex_rseq.*",
              "--gtest_brief=1", nullptr);
        return false;
    }));
}
#endif

// In the program that the test above starts, there is none.
TEST(shared_mutex_rseq, is_what_the_environment_says) {
    const char* const tunables = std::getenv("GLIBC_TUNABLES");
    const bool off = tunables != nullptr && std::string(tunables).find("rseq=0") != std::string::npos;
    EXPECT_TRUE(!off || os::own_cpu_word() == nullptr);
    shared_mutex lock;
    EXPECT_TRUE(two_threads_use(lock));
}

// Three copies of the lock's code: of this program, and of two libraries that don't see each other.
TEST(shared_mutex_libraries, work_on_one_lock) {
    using with_lock = void(void*, int, void (*)(void*), void*);
    struct counter {
        shared_mutex lock;
        int sum = 0;
    } shared;
    const auto section = [](void* of) {
        const int before = static_cast<counter*>(of)->sum;
        if (before % 16 == 0)
            std::this_thread::sleep_for(100us); // the others fall asleep
        static_cast<counter*>(of)->sum = before + 1;
    };
    std::vector<std::thread> threads;
    for (const char* const path : {LIBRARY_a, LIBRARY_b}) {
        void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        ASSERT_NE(library, nullptr) << dlerror();
        auto* const use = reinterpret_cast<with_lock*>(dlsym(library, "with_lock"));
        ASSERT_NE(use, nullptr);
        for (int i = 0; i < 2; ++i)
            threads.emplace_back([&, use] { use(&shared.lock, 1000, section, &shared); });
    }
    for (int i = 0; i < 1000; ++i) {
        const std::scoped_lock guard(shared.lock);
        section(&shared);
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(shared.sum, 5000);
}

// The owner can't run while a waiter of higher priority spins on its CPU: so that one must come to sleep.
TEST(shared_mutex_scheduler, a_real_time_waiter_lets_the_owner_run) {
    cpu_set_t all;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<std::size_t>(sched_getcpu()), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
    shared_mutex lock;
    std::atomic<bool> real_time{false};
    std::atomic<int> waiting{0};
    int got = 0;
    lock.lock();
    const auto wait = [&](auto take) {
        return std::thread([&, take] {
            const sched_param priority{.sched_priority = 1};
            if (pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority) == 0)
                real_time = true;
            ++waiting;
            take();
        });
    };
    std::thread writer = wait([&] {
        const std::scoped_lock guard(lock);
        ++got;
    });
    std::thread reader = wait([&] { const std::shared_lock guard(lock); });
    while (waiting != 2)
        std::this_thread::yield();
    lock.unlock();
    writer.join();
    reader.join();
    sched_setaffinity(0, sizeof(all), &all);
    EXPECT_EQ(got, 1);
    if (!real_time)
        GTEST_SKIP() << "not allowed to use SCHED_FIFO here";
}

} // namespace
} // namespace holdfast
