// The spinlock to take home.
//
// Test-and-set (tas_lock.hpp), because a program's thread may lose its CPU at any time: here a waiter that doesn't run holds
// up nobody, while in a queue (ticket_lock, qspinlock) all behind it wait for it. And because a word without a queue is
// right after a fork. A waiter pauses, then offers its CPU, then sleeps for moments (native/spin.hpp), so that it never
// keeps an owner of lower priority from running.
//
// No back-off: pausing 4 or 16 times between two looks, or twice as often each time, was not faster than once with 2, 4 and 16
// threads on 2 CPUs. docs/locks/spinlock.md has the figures.
#pragma once

#include <holdfast/native/native.hpp>
#include <holdfast/tas_lock.hpp>

namespace holdfast {

// Lockable of the standard, 4 bytes.
using spinlock = tas_lock<native>;

} // namespace holdfast
