// The sleeping locks on many real threads that lock, try, give up and downgrade: does each section have what was promised?
#include <holdfast/kernel_mutex.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>
#include <holdfast/semaphore.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "stress.hpp"

namespace holdfast {
namespace {

using namespace std::chrono_literals;

// One wait in each round is with a token that another thread cancels at about the same time. Tokens stay cancelled, so each
// is for one wait.
class cancellations {
public:
    cancel_token<native>& of(unsigned n) { return tokens_[n % count]; }
    void cancel(unsigned n) { of(n).cancel(); }

private:
    static constexpr unsigned count = 4096;
    std::array<cancel_token<native>, count> tokens_;
};

template <class Lock>
class rw_stress : public testing::Test {};
using rw_locks =
    testing::Types<rwsem<native, rwsem_presets::linux_5_3>, rwsem<native, rwsem_presets::linux_5_11>,
                   rwsem<native, rwsem_presets::linux_5_16>, rwsem<native, rwsem_presets::linux_5_19>,
                   rwsem<native, rwsem_presets::linux_6>, rwsem_xadd<native, rwsem_xadd_presets::linux_3_15>,
                   rwsem_xadd<native, rwsem_xadd_presets::linux_3_16_rc1>,
                   rwsem_xadd<native, rwsem_xadd_presets::linux_3_16>,
                   rwsem_xadd<native, rwsem_xadd_presets::linux_4_7>,
                   rwsem_xadd<native, rwsem_xadd_presets::rfc_2016_v4>>;
TYPED_TEST_SUITE(rw_stress, rw_locks);

// Of seven steps two write, one writes and downgrades, one tries to write, and the others read; the last of them waits with a
// token, for writing, and the threads with odd numbers cancel those of their left neighbours.
TYPED_TEST(rw_stress, of_all_kinds) {
    for (const unsigned thread_count : {2u, 4u, 16u}) {
        rw_sections<TypeParam> on;
        std::vector<cancellations> cancelled(thread_count);
        stress(thread_count, 4000, [&](unsigned i, unsigned n) {
            switch ((i + n) % 7) {
            case 0:
            case 1:
                on.write();
                break;
            case 2:
                on.lock.lock();
                on.advance();
                on.lock.downgrade();
                on.look();
                on.lock.unlock_shared();
                break;
            case 3:
                on.try_write();
                break;
            case 4:
                on.try_read();
                break;
            case 5:
                on.read();
                break;
            default:
                cancelled[i ^ 1].cancel(n);
                if (on.lock.lock(cancelled[i].of(n))) {
                    on.advance();
                    on.lock.unlock();
                }
            }
        });
        on.expect_all_whole();
    }
}

TEST(rwsem_stress, readers_that_give_up) {
    rwsem<native> lock;
    payload data;
    std::atomic<std::uint64_t> torn{0};
    std::vector<cancellations> cancelled(4);
    stress(4, 4000, [&](unsigned i, unsigned n) {
        if ((i + n) % 3 == 0) {
            lock.lock();
            torn += data.advance() ? 0 : 1;
            cancelled[i ^ 1].cancel(n);
            lock.unlock();
        } else if (lock.lock_shared(cancelled[i].of(n))) {
            torn += data.is_whole() ? 0 : 1;
            lock.unlock_shared();
        }
    });
    EXPECT_EQ(torn, 0u);
    EXPECT_FALSE(lock.is_locked());
}

template <class Lock>
class kernel_mutex_stress : public testing::Test {};
using mutexes = testing::Types<kernel_mutex<native, kernel_mutex_presets::linux_3_12>,
                               kernel_mutex<native, kernel_mutex_presets::linux_4_10>>;
TYPED_TEST_SUITE(kernel_mutex_stress, mutexes);

TYPED_TEST(kernel_mutex_stress, of_all_kinds) {
    for (const unsigned thread_count : {2u, 4u, 16u}) {
        TypeParam lock;
        payload data;
        std::atomic<std::uint64_t> sections{0};
        std::atomic<std::uint64_t> torn{0};
        std::vector<cancellations> cancelled(thread_count);
        stress(thread_count, 4000, [&](unsigned i, unsigned n) {
            const unsigned kind = (i + n) % 4;
            if (kind == 0) {
                if (!lock.try_lock())
                    return;
            } else if (kind == 1) {
                cancelled[i ^ 1].cancel(n);
                if (!lock.lock(cancelled[i].of(n)))
                    return;
            } else {
                lock.lock();
            }
            torn += data.advance() ? 0 : 1;
            ++sections;
            lock.unlock();
        });
        EXPECT_EQ(torn, 0u);
        EXPECT_EQ(data.value(), sections);
        EXPECT_FALSE(lock.is_locked());
    }
}

// Three may pass, and never more.
TEST(semaphore_stress, of_all_kinds) {
    for (const unsigned thread_count : {2u, 4u, 16u}) {
        semaphore<native> passes(3);
        std::atomic<int> inside{0};
        std::atomic<std::uint64_t> too_many{0};
        std::vector<cancellations> cancelled(thread_count);
        stress(thread_count, 4000, [&](unsigned i, unsigned n) {
            const unsigned kind = (i + n) % 4;
            if (kind == 0) {
                if (!passes.try_down())
                    return;
            } else if (kind == 1) {
                cancelled[i ^ 1].cancel(n);
                if (!passes.down(cancelled[i].of(n)))
                    return;
            } else if (kind == 2) {
                if (!passes.down(native::deadline::after(std::chrono::microseconds(n % 32))))
                    return;
            } else {
                passes.down();
            }
            too_many += ++inside > 3 ? 1 : 0;
            --inside;
            passes.up();
        });
        EXPECT_EQ(too_many, 0u);
        for (int i = 0; i < 3; ++i)
            EXPECT_TRUE(passes.try_down());
        EXPECT_FALSE(passes.try_down());
    }
}

} // namespace
} // namespace holdfast
