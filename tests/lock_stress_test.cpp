// All exclusive locks on many real threads: does each section have the data to itself?
#include <holdfast/lockref.hpp>
#include <holdfast/mcs_lock.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/native_lockref.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/tas_lock.hpp>
#include <holdfast/ticket_lock.hpp>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stress.hpp"

namespace holdfast {
namespace {

// How a thread gets a section of its own under each kind of lock. `run` makes one attempt and says whether
// the section was run; a `try_run` must not wait.
template <class Lock>
struct by_word {
    Lock lock;

    template <class Section>
    bool run(Section section) {
        lock.lock();
        section();
        lock.unlock();
        return true;
    }
    template <class Section>
    bool try_run(Section section) {
        if (!lock.try_lock())
            return false;
        section();
        lock.unlock();
        return true;
    }
};

struct by_mcs {
    mcs_lock<native> lock;

    template <class Section>
    bool run(Section section) {
        const mcs_lock<native>::guard guard(lock);
        section();
        return true;
    }
    template <class Section>
    bool try_run(Section section) {
        mcs_lock<native>::node node;
        if (!lock.try_lock(node))
            return false;
        section();
        lock.unlock(node);
        return true;
    }
};

// Waiters leave when their spinning budget is used up; those of try_run have none from the beginning.
struct by_osq {
    osq_lock<native> lock;

    template <class Section>
    bool run(Section section) {
        const native::no_preempt spinning;
        return enter(section);
    }
    template <class Section>
    bool try_run(Section section) {
        const native::no_preempt spinning;
        while (!native::need_resched())
            native::pause();
        return enter(section);
    }
    template <class Section>
    bool enter(Section section) {
        native::node_slot slot;
        if (!lock.lock(slot))
            return false;
        section();
        lock.unlock(slot);
        return true;
    }
};

// The count changes beside the lock all the time.
template <template <class, class, unsigned> class Algorithm>
struct by_lockref {
    lockref<native, lockref_policy{}, Algorithm> lock{1};

    template <class Section>
    bool run(Section section) {
        lock.get();
        lock.lock();
        section();
        EXPECT_GE(lock.count(), 1);
        lock.unlock();
        EXPECT_TRUE(lock.put());
        return true;
    }
    template <class Section>
    bool try_run(Section section) {
        if (!lock.try_lock())
            return false;
        section();
        lock.unlock();
        return true;
    }
};

template <class By>
class lock_stress : public testing::Test {
protected:
    // `attempts` of each thread, but for a while only. Every `try_every`-th is a try; 0: none.
    void run(unsigned thread_count, unsigned attempts, unsigned try_every) {
        By by;
        payload data;
        std::atomic<std::uint64_t> sections{0};
        std::atomic<std::uint64_t> torn{0};
        const auto section = [&] { torn += data.advance() ? 0 : 1; };
        stress(thread_count, attempts, [&](unsigned, unsigned n) {
            const bool tries = try_every != 0 && n % try_every == 0;
            if (tries ? by.try_run(section) : by.run(section))
                ++sections;
        });
        EXPECT_EQ(torn, 0u);
        EXPECT_EQ(data.value(), sections);
        EXPECT_FALSE(locked(by));
    }

private:
    static bool locked(By& by) {
        if constexpr (requires { by.lock.is_locked(); }) {
            return by.lock.is_locked();
        } else {
            EXPECT_EQ(by.lock.count(), 1);
            return !by.lock.try_lock();
        }
    }
};
using all_locks =
    testing::Types<by_word<tas_lock<native>>, by_word<ticket_lock<native>>, by_word<qspinlock<native>>,
                   by_mcs, by_osq, by_lockref<tas_word>, by_lockref<ticket_word>, by_lockref<qspin_word>,
                   by_word<rwlock<native>>, by_word<qrwlock<native>>>;

struct names {
    template <class By>
    static std::string GetName(int) {
        constexpr const char* all[] = {"tas_lock", "ticket_lock", "qspinlock",      "mcs_lock",
                                       "osq",      "lockref_tas", "lockref_ticket", "lockref_qspin",
                                       "rwlock",   "qrwlock"};
        return all[index<By>(static_cast<all_locks*>(nullptr))];
    }
    template <class By, class... Each>
    static constexpr std::size_t index(testing::Types<Each...>*) {
        std::size_t i = 0;
        static_cast<void>(((std::is_same_v<By, Each> || (++i, false)) || ...));
        return i;
    }
};
TYPED_TEST_SUITE(lock_stress, all_locks, names);

TYPED_TEST(lock_stress, two_threads) {
    this->run(2, 50'000, 0);
}
TYPED_TEST(lock_stress, three_threads_of_which_some_try) {
    this->run(3, 20'000, 3);
}
TYPED_TEST(lock_stress, sixteen_threads) {
    this->run(16, 5'000, 0);
}
TYPED_TEST(lock_stress, sixteen_threads_that_try_half_the_time) {
    this->run(16, 5'000, 2);
}

// More nested locks than a thread has queue nodes, each of them wanted by everybody.
TEST(qspinlock_stress, nested_deeper_than_there_are_nodes) {
    constexpr std::size_t depth = native::node_depth + 2;
    std::array<qspinlock<native>, depth> locks;
    std::array<payload, depth> data;
    std::atomic<std::uint64_t> torn{0};
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int n = 0; n < 300; ++n) {
                // As interrupt handlers would: each level waits while the level below it waits, slot in hand.
                const auto nest = [&](auto&& self, std::size_t level) -> void {
                    if (level == depth)
                        return;
                    const native::node_slot slot;
                    locks[level].lock();
                    torn += data[level].advance() ? 0 : 1;
                    self(self, level + 1);
                    locks[level].unlock();
                };
                nest(nest, 0);
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(torn, 0u);
    for (const payload& p : data)
        EXPECT_EQ(p.value(), 4u * 300);
}

// Counting beside locking: references are neither lost nor found, and who holds the lock sees a count that
// stands still.
template <class Lockref>
class lockref_stress : public testing::Test {};
using lockrefs =
    testing::Types<lockref<native>, native_lockref, lockref<native, lockref_policy{}, ticket_word>,
                   lockref<native, lockref_policy{.failure_pauses = 4, .retry_limit = 2}, tas_word>,
                   lockref<native, lockref_policy{.compare_exchange = false}>>;
TYPED_TEST_SUITE(lockref_stress, lockrefs);

TYPED_TEST(lockref_stress, counts_right) {
    TypeParam ref(1);
    std::atomic<int> moved{0};
    stress(6, 50'000, [&](unsigned i, unsigned) {
        if (i == 0) {
            ref.lock();
            const std::int32_t count = ref.count();
            native::pause();
            moved += count != ref.count();
            ref.unlock();
        } else {
            ref.get();
            EXPECT_TRUE(ref.get_not_zero());
            EXPECT_TRUE(ref.get_not_dead());
            EXPECT_TRUE(ref.get_or_lock());
            EXPECT_TRUE(ref.put());
            EXPECT_TRUE(ref.put());
            EXPECT_TRUE(ref.put_or_lock());
            EXPECT_TRUE(ref.put());
        }
    });
    EXPECT_EQ(moved, 0);
    EXPECT_EQ(ref.count(), 1);
    EXPECT_TRUE(ref.try_lock());
}

} // namespace
} // namespace holdfast
