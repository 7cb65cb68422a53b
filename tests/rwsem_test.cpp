// rwsem on the real machine: what a few threads see of it, under each of its rules.
#include "lockable.hpp"
#include "rw_lockable.hpp"
#include "shared_lockable.hpp"

#include <holdfast/rwsem.hpp>

namespace holdfast {
namespace {

using rules =
    testing::Types<rwsem<native, rwsem_presets::linux_5_3>, rwsem<native, rwsem_presets::linux_5_11>,
                   rwsem<native, rwsem_presets::linux_5_16>, rwsem<native, rwsem_presets::linux_5_19>,
                   rwsem<native, rwsem_presets::linux_6>>;
INSTANTIATE_TYPED_TEST_SUITE_P(rwsem, lockable, rules);
INSTANTIATE_TYPED_TEST_SUITE_P(rwsem, rw_lockable, rules);
INSTANTIATE_TYPED_TEST_SUITE_P(rwsem, shared_lockable, rules);

static_assert(sizeof(rwsem<native>) == 40);
constinit rwsem<native> before_main;

TEST(rwsem, a_global_is_free) {
    EXPECT_FALSE(before_main.is_locked());
}

TEST(rwsem, a_cancelled_reader_leaves_alone) {
    rwsem<native> lock;
    cancel_token<native> token;
    lock.lock();
    std::thread waits([&] { EXPECT_FALSE(lock.lock_shared(token)); });
    token.cancel();
    waits.join();
    lock.unlock();
    EXPECT_FALSE(lock.is_locked());
    EXPECT_TRUE(lock.lock_shared(token)); // free: nothing to wait for
    lock.unlock_shared();
}

} // namespace
} // namespace holdfast
