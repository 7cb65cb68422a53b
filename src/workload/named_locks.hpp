// The read-write locks and reference counts that a program can be given by name.
//
// A program that takes its lock as a template parameter is compiled once for each. One that is large, or has
// its lock named in a file, takes it from here instead: behind a virtual call, which costs nothing on a
// simulated machine and next to nothing natively. A lock with one more row here is in all those programs.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>

#include <holdfast/lockref.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>

#include "workload/program.hpp"

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

// What has a name, and how to make one of them in world W.
template <class Interface>
struct named {
    std::string_view name;
    Interface& (*make)();
};

namespace named_locks {

template <class Lock>
class any_rw_lock final : public rw_lock {
public:
    void lock() override { lock_.lock(); }
    void unlock() override { lock_.unlock(); }
    void lock_shared() override { lock_.lock_shared(); }
    void unlock_shared() override { lock_.unlock_shared(); }

private:
    Lock lock_;
};

template <class W, class Lock>
rw_lock& make_rw_lock() {
    return W::template make<any_rw_lock<Lock>>();
}

template <class Lockref>
class any_reference final : public reference_count {
public:
    bool get() override { return reference_.get_not_dead(); }
    bool put() override { return reference_.put_or_lock(); }
    void lock() override { reference_.lock(); }
    void unlock() override { reference_.unlock(); }

private:
    Lockref reference_{1}; // its owner's, which stays
};

// The retry limit came in 2019, long after the cases.
inline constexpr lockref_policy without_pause{.retry_limit = std::numeric_limits<std::uint32_t>::max()};
inline constexpr lockref_policy with_pause{.failure_pauses = 1,
                                           .retry_limit = std::numeric_limits<std::uint32_t>::max()};

template <class W, lockref_policy Policy>
reference_count& make_reference() {
    return W::template make<any_reference<lockref<typename W::platform, Policy, ticket_word>>>();
}

} // namespace named_locks

template <class W, class P = typename W::platform>
inline constexpr std::array rw_locks = {
    named<rw_lock>{"rwsem.linux_3_15",
                   named_locks::make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_3_15>>},
    named<rw_lock>{"rwsem.linux_3_16_rc1",
                   named_locks::make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_3_16_rc1>>},
    named<rw_lock>{"rwsem.linux_3_16",
                   named_locks::make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_3_16>>},
    named<rw_lock>{"rwsem.linux_4_7",
                   named_locks::make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_4_7>>},
    named<rw_lock>{"rwsem.rfc_2016_v4",
                   named_locks::make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::rfc_2016_v4>>},
    named<rw_lock>{"rwsem.linux_5_3", named_locks::make_rw_lock<W, rwsem<P, rwsem_presets::linux_5_3>>},
    named<rw_lock>{"rwsem.linux_6", named_locks::make_rw_lock<W, rwsem<P, rwsem_presets::linux_6>>},
    named<rw_lock>{"rwlock", named_locks::make_rw_lock<W, rwlock<P>>},
    named<rw_lock>{"qrwlock.patch_2013",
                   named_locks::make_rw_lock<W, qrwlock<P, qrwlock_presets::patch_2013>>},
    named<rw_lock>{"qrwlock.linux_3_16",
                   named_locks::make_rw_lock<W, qrwlock<P, qrwlock_presets::linux_3_16>>},
    named<rw_lock>{"qrwlock.linux_4_15",
                   named_locks::make_rw_lock<W, qrwlock<P, qrwlock_presets::linux_4_15>>},
};

template <class W>
inline constexpr std::array reference_counts = {
    named<reference_count>{"lockref.no_pause", named_locks::make_reference<W, named_locks::without_pause>},
    named<reference_count>{"lockref.pause", named_locks::make_reference<W, named_locks::with_pause>},
};

} // namespace holdfast
