// The lockref to take home: lockref.hpp on this machine, with back-off.
//
// A failed exchange means that another CPU has the line. Who waits for four pauses lets it count some more before it takes
// the line away, where trying at once moves the line with each count: with 2 to 16 threads on 2 CPUs that was 1.1 to 3.8
// times as fast. Alone it costs nothing, as nothing fails. docs/locks/lockref.md has the figures.
#pragma once

#include <holdfast/lockref.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/tas_lock.hpp>

namespace holdfast {

// 8 bytes. Its lock is the spinlock of spinlock.hpp, for the same reasons.
using native_lockref = lockref<native, lockref_policy{.failure_pauses = 4}, tas_word>;

} // namespace holdfast
