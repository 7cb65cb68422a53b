// The read-write locks and reference counts that a program can be given by name.
//
// A program that takes its lock as a template parameter is compiled once for each. One that is large, or has
// its lock named in a file, takes it from here instead: behind a virtual call, which costs nothing on a
// simulated machine and next to nothing natively. A lock with one more row in named_locks.cpp is in all those
// programs, on this machine and on simulated ones.
#pragma once

#include <span>
#include <string_view>

namespace holdfast {

// A SharedLockable without try.
class rw_lock {
public:
    rw_lock() = default;
    rw_lock(const rw_lock&) = delete;
    rw_lock& operator=(const rw_lock&) = delete;
    virtual ~rw_lock() = default;
    virtual void lock() = 0;
    virtual void unlock() = 0;
    virtual void lock_shared() = 0;
    virtual void unlock_shared() = 0;
};

// A reference count that never falls to 0, and the spinlock of its object.
class reference_count {
public:
    reference_count() = default;
    reference_count(const reference_count&) = delete;
    reference_count& operator=(const reference_count&) = delete;
    virtual ~reference_count() = default;
    // One more; false if the object is dead.
    [[nodiscard]] virtual bool get() = 0;
    // One less; false if it was the last.
    [[nodiscard]] virtual bool put() = 0;
    virtual void lock() = 0;
    virtual void unlock() = 0;
};

// What has a name, and how a program makes one of them.
template <class Interface>
struct named {
    std::string_view name;
    Interface& (*make)();
    bool spins = false; // its waiters never sleep, so its holders must not
};

// All that a program of world W, native_world or sim::world, can be given; the same names, in the same order, in both.
template <class W>
std::span<const named<rw_lock>> rw_locks();
template <class W>
std::span<const named<reference_count>> reference_counts();

} // namespace holdfast
