// The read-write spinlocks on many real threads that read, write and try: does each section have what was
// promised?
#include <holdfast/native/native.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/ticket_lock.hpp>

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
        rw_sections<TypeParam> on;
        stress(thread_count, 4000, [&](unsigned i, unsigned n) {
            switch ((i + n) % 7) {
            case 0:
                on.write();
                break;
            case 1:
                on.try_write();
                break;
            case 2:
                on.try_read();
                break;
            case 3:
                on.lock.lock_shared();
                on.look();
                if constexpr (requires { on.lock.lock_shared_unfair(); }) {
                    on.lock.lock_shared_unfair();
                    on.look();
                    on.lock.unlock_shared();
                }
                on.lock.unlock_shared();
                break;
            default:
                on.read();
            }
        });
        on.expect_all_whole();
    }
}

} // namespace
} // namespace holdfast
