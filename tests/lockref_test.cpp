// lockref on the real machine: its state x operation table, for each spinlock in it and each policy, and what
// the lock's holder may rely on.
#include <holdfast/lockref.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/native_lockref.hpp>

#include <mutex>
#include <thread>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

constexpr lockref_policy always_locking{.compare_exchange = false};
constexpr lockref_policy pausing{.failure_pauses = 4, .retry_limit = 2};

template <class Lockref>
class lockref_states : public testing::Test {};
using lockrefs = testing::Types<lockref<native>, lockref<native, lockref_policy{}, ticket_word>,
                                lockref<native, lockref_policy{}, tas_word>, lockref<native, always_locking>,
                                lockref<native, always_locking, ticket_word>,
                                lockref<native, pausing, tas_word>, native_lockref>;
TYPED_TEST_SUITE(lockref_states, lockrefs);

enum class result { done, refused, locked };

// One operation on a free lockref of `before` references: what it answers, and what it leaves.
struct row {
    const char* operation;
    std::int32_t before;
    result answer;
    std::int32_t after;
};
constexpr std::int32_t dead = lockref<native>::dead;
constexpr row table[] = {
    {"get", 2, result::done, 3},
    {"get", 1, result::done, 2},
    {"get", 0, result::done, 1},
    {"get_not_zero", 2, result::done, 3},
    {"get_not_zero", 1, result::done, 2},
    {"get_not_zero", 0, result::refused, 0},
    {"get_not_zero", dead, result::refused, dead},
    {"get_not_dead", 2, result::done, 3},
    {"get_not_dead", 1, result::done, 2},
    {"get_not_dead", 0, result::done, 1},
    {"get_not_dead", dead, result::refused, dead},
    {"get_or_lock", 2, result::done, 3},
    {"get_or_lock", 1, result::done, 2},
    {"get_or_lock", 0, result::locked, 0},
    {"get_or_lock", dead, result::locked, dead},
    {"put", 2, result::done, 1},
    {"put", 1, result::done, 0},
    {"put", 0, result::refused, 0},
    {"put", dead, result::refused, dead},
    {"put_or_lock", 2, result::done, 1},
    {"put_or_lock", 1, result::locked, 1},
    {"put_or_lock", 0, result::locked, 0},
    {"put_or_lock", dead, result::locked, dead},
    {"mark_dead", 2, result::locked, dead}, // called with the lock
    {"mark_dead", 0, result::locked, dead},
};

template <class Lockref>
result apply(Lockref& ref, std::string_view operation) {
    const auto or_refused = [](bool done) { return done ? result::done : result::refused; };
    const auto or_locked = [](bool done) { return done ? result::done : result::locked; };
    if (operation == "get_not_zero")
        return or_refused(ref.get_not_zero());
    if (operation == "get_not_dead")
        return or_refused(ref.get_not_dead());
    if (operation == "get_or_lock")
        return or_locked(ref.get_or_lock());
    if (operation == "put")
        return or_refused(ref.put());
    if (operation == "put_or_lock")
        return or_locked(ref.put_or_lock());
    if (operation == "mark_dead") {
        ref.lock();
        ref.mark_dead();
        return result::locked;
    }
    ref.get();
    return result::done;
}

TYPED_TEST(lockref_states, are_as_in_the_table) {
    for (const row& r : table) {
        SCOPED_TRACE(testing::Message() << r.operation << " at " << r.before);
        TypeParam ref(r.before);
        EXPECT_EQ(apply(ref, r.operation), r.answer);
        EXPECT_EQ(ref.count(), r.after);
        const bool was_free = ref.try_lock();
        EXPECT_EQ(was_free, r.answer != result::locked);
        ref.unlock();
        EXPECT_EQ(ref.count(), r.after);
    }
}

TYPED_TEST(lockref_states, begin_with_one_reference) {
    EXPECT_EQ(TypeParam().count(), 1);
}

TYPED_TEST(lockref_states, count_survives_70000_acquisitions) {
    TypeParam ref(-5);
    for (int i = 0; i < 70'000; ++i) {
        const std::scoped_lock guard(ref);
        ASSERT_EQ(ref.count(), -5);
    }
    EXPECT_TRUE(ref.try_lock());
    ref.unlock();
}

// Who holds the lock decides: operations that begin meanwhile see what it has decided.
TYPED_TEST(lockref_states, operations_wait_for_the_holder_and_see_its_decision) {
    for (const char* operation : {"get_not_zero", "get_not_dead", "put"}) {
        TypeParam ref(2);
        ref.lock();
        result answer = result::done;
        std::thread other([&] { answer = apply(ref, operation); });
        EXPECT_EQ(ref.count(), 2);
        ref.mark_dead();
        ref.unlock();
        other.join();
        EXPECT_EQ(answer, result::refused) << operation;
        EXPECT_EQ(ref.count(), dead);
    }
}

// Of all who put, exactly one gets the lock with the last reference, and sees what the others did with
// theirs.
TYPED_TEST(lockref_states, last_put_sees_all_the_others) {
    constexpr int threads = 4;
    for (int round = 0; round < 50; ++round) {
        TypeParam ref(threads);
        int used[threads] = {};
        int last_ones = 0;
        int sum = 0;
        std::thread workers[threads];
        for (int i = 0; i < threads; ++i) {
            workers[i] = std::thread([&, i] {
                used[i] = 1;
                if (!ref.put_or_lock()) {
                    ++last_ones;
                    for (const int u : used)
                        sum += u;
                    ref.mark_dead();
                    ref.unlock();
                }
            });
        }
        for (std::thread& worker : workers)
            worker.join();
        EXPECT_EQ(last_ones, 1);
        EXPECT_EQ(sum, threads);
        EXPECT_EQ(ref.count(), dead);
    }
}

// A machine on which another thread is always faster: the exchange of the whole word never succeeds.
struct unlucky : native {
    static inline int failures = 0;
    template <class T>
    struct atomic : native::atomic<T> {
        using native::atomic<T>::atomic;
        bool compare_exchange_strong(T& expected, T, std::memory_order, std::memory_order failure) {
            ++failures;
            expected = this->load(failure);
            return false;
        }
    };
};

TEST(lockref_policy, limits_the_failures_before_taking_the_lock) {
    constexpr lockref_policy three{.retry_limit = 3};
    lockref<unlucky, three, tas_word> ref(1);
    unlucky::failures = 0;
    ref.get();
    EXPECT_EQ(unlucky::failures, 3);
    EXPECT_EQ(ref.count(), 2);
    EXPECT_TRUE(ref.put());
    EXPECT_EQ(unlucky::failures, 6);
    EXPECT_EQ(ref.count(), 1);
}

} // namespace
} // namespace holdfast
