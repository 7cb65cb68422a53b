// rwlock on the real machine: what a few threads see of it.
#include "lockable.hpp"
#include "rw_lockable.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/rwlock.hpp>

namespace holdfast {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(unfair, lockable, rwlock<native>);
INSTANTIATE_TYPED_TEST_SUITE_P(unfair, rw_lockable, rwlock<native>);

// A writer that tries turns away a reader that comes at that moment, which waits until it may; so what a
// reader never finds is the lock lost to it for good, however long a writer waits.
TEST(rwlock, a_waiting_writer_keeps_no_reader_out) {
    rwlock<native> lock;
    std::atomic<bool> coming{false};
    bool written = false;
    lock.lock_shared();
    std::thread writer([&] {
        coming = true;
        const std::scoped_lock guard(lock);
        written = true;
    });
    while (!coming)
        std::this_thread::yield();
    for (int i = 0; i < 1000; ++i) {
        lock.lock_shared();
        EXPECT_FALSE(written);
        lock.unlock_shared();
    }
    lock.unlock_shared();
    writer.join();
    EXPECT_TRUE(written);
}

} // namespace
} // namespace holdfast
