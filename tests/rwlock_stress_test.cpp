// The read-write spinlocks on many real threads that read, write and try: does each section have what was
// promised?
#include <holdfast/native/native.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/ticket_lock.hpp>

#include <atomic>

#include <gtest/gtest.h>

#include "stress.hpp"

namespace holdfast {
namespace {

template <class Lock>
class rwlock_stress : public testing::Test {};
using locks =
    testing::Types<rwlock<native>, qrwlock<native, qrwlock_presets::patch_2013>,
                   qrwlock<native, qrwlock_presets::linux_3_16>, qrwlock<native, qrwlock_presets::linux_4_15>,
                   qrwlock<native, qrwlock_presets::linux_3_16, ticket_lock>>;
TYPED_TEST_SUITE(rwlock_stress, locks);

// Of seven steps one writes, one tries to, one tries to read, the others read; one of them reads again
// within, where the lock can.
TYPED_TEST(rwlock_stress, of_all_kinds) {
    for (const unsigned thread_count : {2u, 4u, 16u}) {
        TypeParam lock;
        payload data;
        std::atomic<std::uint64_t> written{0};
        std::atomic<std::uint64_t> torn{0};
        const auto write = [&] {
            torn += data.advance() ? 0 : 1;
            ++written;
        };
        const auto read = [&] { torn += data.is_whole() ? 0 : 1; };
        stress(thread_count, 4000, [&](unsigned i, unsigned n) {
            switch ((i + n) % 7) {
            case 0:
                lock.lock();
                write();
                lock.unlock();
                break;
            case 1:
                if (lock.try_lock()) {
                    write();
                    lock.unlock();
                }
                break;
            case 2:
                if (lock.try_lock_shared()) {
                    read();
                    lock.unlock_shared();
                }
                break;
            case 3:
                lock.lock_shared();
                read();
                if constexpr (requires { lock.lock_shared_unfair(); }) {
                    lock.lock_shared_unfair();
                    read();
                    lock.unlock_shared();
                }
                lock.unlock_shared();
                break;
            default:
                lock.lock_shared();
                read();
                lock.unlock_shared();
            }
        });
        EXPECT_EQ(torn, 0u);
        EXPECT_EQ(data.value(), written);
        EXPECT_FALSE(lock.is_locked());
    }
}

} // namespace
} // namespace holdfast
