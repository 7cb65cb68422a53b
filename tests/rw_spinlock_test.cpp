// The read-write spinlock to take home: what it promises beyond qrwlock_test and rwlock_stress_test, which are about the same
// template.
#include "in_a_child.hpp"
#include "lockable.hpp"
#include "rw_lockable.hpp"

#include <holdfast/rw_spinlock.hpp>

namespace holdfast {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(rw_spinlock, lockable, rw_spinlock);
INSTANTIATE_TYPED_TEST_SUITE_P(rw_spinlock, rw_lockable, rw_spinlock);

static_assert(sizeof(rw_spinlock) == 8);
static_assert(std::is_standard_layout_v<rw_spinlock>);
constinit rw_spinlock before_main;

TEST(rw_spinlock, is_free_before_main) {
    EXPECT_FALSE(before_main.is_locked());
}

// The forking thread's own holds are the child's, and nobody else had any.
TEST(rw_spinlock, in_a_forked_child_is_held_as_the_forking_thread_held_it) {
    rw_spinlock written;
    rw_spinlock read;
    written.lock();
    read.lock_shared();
    EXPECT_TRUE(in_a_child([&] {
        if (written.try_lock_shared() || read.try_lock() || !read.try_lock_shared())
            return false;
        written.unlock();
        read.unlock_shared();
        read.unlock_shared();
        const std::scoped_lock both(written, read);
        return true;
    }));
    written.unlock();
    read.unlock_shared();
}

} // namespace
} // namespace holdfast
