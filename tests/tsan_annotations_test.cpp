// What ThreadSanitizer finds out with what it is told of our locks: mistakes that are planted here. Without the sanitizer: that
// telling it costs nothing.
#include <chrono>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <type_traits>

#include <gtest/gtest.h>

#include <holdfast/mutex.hpp>
#include <holdfast/rw_spinlock.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/spinlock.hpp>

namespace holdfast {
namespace {

static_assert(std::is_empty_v<told_to_tsan<native>>);
static_assert(under_tsan || std::is_trivially_destructible_v<told_to_tsan<native>>);
static_assert(sizeof(mutex) == 8 && sizeof(shared_mutex) == 16 && sizeof(spinlock) == 4 &&
              sizeof(rw_spinlock) == 8);

#if HOLDFAST_UNDER_TSAN
class found_by_tsan : public testing::Test {
protected:
    found_by_tsan() { testing::GTEST_FLAG(death_test_style) = "threadsafe"; }

    // A program that does it and ends exits with this status, and says so. It goes on after a report, or not, as TSAN_OPTIONS
    // say: the status is 66 in either case.
    static void expect(int status, const char* said, auto body) {
        EXPECT_EXIT(
            {
                body();
                std::exit(0);
            },
            testing::ExitedWithCode(status), said);
    }
};

template <class A, class B>
void take_in_both_orders() {
    A a;
    B b;
    std::thread([&] {
        const std::unique_lock first(a);
        const std::unique_lock second(b);
    }).join();
    std::thread([&] {
        const std::unique_lock first(b);
        const std::unique_lock second(a);
    }).join();
}

TEST_F(found_by_tsan, locks_taken_in_opposite_orders) {
    expect(66, "lock-order-inversion", take_in_both_orders<mutex, mutex>);
    expect(66, "lock-order-inversion", take_in_both_orders<spinlock, rw_spinlock>);
    expect(66, "lock-order-inversion", take_in_both_orders<mutex, shared_mutex>);
}

TEST_F(found_by_tsan, a_lock_destroyed_while_held) {
    const auto destroy = [] {
        std::optional<mutex> lock(std::in_place);
        lock->lock();
        lock.reset();
    };
    expect(66, "destroy of a locked mutex", destroy);
}

TEST_F(found_by_tsan, a_lock_let_go_by_another_thread) {
    const auto unlock_elsewhere = [] {
        static spinlock lock;
        lock.lock();
        std::thread([] { lock.unlock(); }).join();
    };
    expect(66, "unlock of an unlocked mutex", unlock_elsewhere);
}

TEST_F(found_by_tsan, a_race_and_the_lock_that_one_of_the_two_held) {
    const auto race = [] {
        static mutex lock;
        static int data = 0;
        std::thread other([] {
            const std::scoped_lock guard(lock);
            ++data;
        });
        ++data;
        other.join();
    };
    expect(66, "data race(.|\n)*mutexes: write M", race);
}

// Locks that come and go in the same memory are not each other, and two readers are in no wrong order.
TEST_F(found_by_tsan, nothing_where_nothing_is_wrong) {
    const auto use = [](mutex& first, mutex& second) {
        const std::scoped_lock outer(first);
        const std::scoped_lock inner(second);
    };
    expect(0, "", [&use] {
        std::optional<mutex> a;
        std::optional<mutex> b;
        for (int i = 0; i < 2; ++i) {
            a.emplace();
            b.emplace();
            use(i == 0 ? *a : *b, i == 0 ? *b : *a);
        }
        rw_spinlock shared;
        const std::shared_lock one(shared);
        std::thread([&] { const std::shared_lock another(shared); }).join();
    });
}

// All ways into and out of a shared_mutex's modes, and a hold for reading that another thread gives up.
TEST_F(found_by_tsan, nothing_where_holds_become_others) {
    expect(0, "", [] {
        using namespace std::chrono_literals;
        static shared_mutex lock;
        static int data = 0;
        const auto change = [] {
            lock.lock_upgrade();
            lock.unlock_upgrade_and_lock();
            ++data;
            lock.unlock_and_lock_upgrade();
            if (lock.try_unlock_upgrade_and_lock()) {
                ++data;
                lock.downgrade();
            } else {
                lock.unlock_upgrade_and_lock_shared();
            }
            lock.unlock_shared();
            if (lock.try_lock_for(1ms)) {
                ++data;
                lock.unlock();
            }
        };
        std::thread one(change);
        change();
        one.join();
        lock.lock_shared();
        std::thread([] { lock.unlock_shared(); }).join();
        lock.lock();
        ++data;
        lock.unlock();
    });
}
#else
TEST(tsan_annotations, are_nothing_without_the_sanitizer) {
    // The assertions above say it; that they were compiled is all that can be seen here.
    EXPECT_FALSE(under_tsan);
}
#endif

} // namespace
} // namespace holdfast
