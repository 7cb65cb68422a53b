// The lockref to take home: lockref.hpp on this machine, with back-off.
//
// A failed exchange means that another CPU has the line. Who waits for four pauses lets it count some more before it takes
// the line away, where trying at once moves the line with each count. Alone it costs nothing, as nothing fails.
// docs/locks/lockref.md has the figures. The queued spinlock, as its test of a free lock is the cheapest.
#pragma once

#include <holdfast/lockref.hpp>
#include <holdfast/native/native.hpp>

namespace holdfast {

// 8 bytes. After a fork to be used only if no other thread held its lock or waited for it; counting is no such thing.
using native_lockref = lockref<native, lockref_policy{.failure_pauses = 4}>;

} // namespace holdfast
