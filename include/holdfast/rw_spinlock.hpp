// The read-write spinlock to take home.
//
// The queued one (qrwlock.hpp), because in the other (rwlock.hpp) readers that overlap keep a writer out for as long as they
// please; with 2 to 16 threads on 2 CPUs the two were as fast as each other (docs/locks/spinlock.md).
#pragma once

#include <holdfast/native/native.hpp>
#include <holdfast/qrwlock.hpp>

namespace holdfast {

// Lockable and SharedLockable of the standard, without times; 8 bytes. After a fork to be used only if no other thread held it
// or waited for it: a waiter that is gone stays in the queue.
using rw_spinlock = qrwlock<native>;

} // namespace holdfast
