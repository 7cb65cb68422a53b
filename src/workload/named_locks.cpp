// The locks that have names.
#include "workload/named_locks.hpp"

#include <array>
#include <limits>

#include <holdfast/lockref.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>
#include <holdfast/shared_mutex.hpp>

#include "sim/world.hpp"
#include "workload/native_world.hpp"

namespace holdfast {

namespace {

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
constexpr lockref_policy without_pause{.retry_limit = std::numeric_limits<std::uint32_t>::max()};
constexpr lockref_policy with_pause{.failure_pauses = 1,
                                    .retry_limit = std::numeric_limits<std::uint32_t>::max()};

template <class W, lockref_policy Policy>
reference_count& make_reference() {
    return W::template make<any_reference<lockref<typename W::platform, Policy, ticket_word>>>();
}

// What stands inside a semaphore is the spinlock of its time: tickets until 4.1, a queue since 4.2.
template <class W, class P = typename W::platform>
constexpr std::array all_rw_locks = {
    named<rw_lock>{"rwsem.linux_3_15", make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_3_15>>},
    named<rw_lock>{"rwsem.linux_3_16_rc1",
                   make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_3_16_rc1>>},
    named<rw_lock>{"rwsem.linux_3_16", make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_3_16>>},
    named<rw_lock>{"rwsem.linux_4_7",
                   make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::linux_4_7, qspinlock>>},
    named<rw_lock>{"rwsem.rfc_2016_v4",
                   make_rw_lock<W, rwsem_xadd<P, rwsem_xadd_presets::rfc_2016_v4, qspinlock>>},
    named<rw_lock>{"rwsem.linux_5_3", make_rw_lock<W, rwsem<P, rwsem_presets::linux_5_3>>},
    named<rw_lock>{"rwsem.linux_5_11", make_rw_lock<W, rwsem<P, rwsem_presets::linux_5_11>>},
    named<rw_lock>{"rwsem.linux_5_16", make_rw_lock<W, rwsem<P, rwsem_presets::linux_5_16>>},
    named<rw_lock>{"rwsem.linux_5_19", make_rw_lock<W, rwsem<P, rwsem_presets::linux_5_19>>},
    named<rw_lock>{"rwsem.linux_6", make_rw_lock<W, rwsem<P, rwsem_presets::linux_6>>},
    named<rw_lock>{"shared_mutex", make_rw_lock<W, basic_shared_mutex<P>>},
    named<rw_lock>{"rwlock", make_rw_lock<W, rwlock<P>>, true},
    named<rw_lock>{"qrwlock.patch_2013", make_rw_lock<W, qrwlock<P, qrwlock_presets::patch_2013>>, true},
    named<rw_lock>{"qrwlock.linux_3_16", make_rw_lock<W, qrwlock<P, qrwlock_presets::linux_3_16>>, true},
    named<rw_lock>{"qrwlock.linux_4_15", make_rw_lock<W, qrwlock<P, qrwlock_presets::linux_4_15>>, true},
};

template <class W>
constexpr std::array all_reference_counts = {
    named<reference_count>{"lockref.no_pause", make_reference<W, without_pause>},
    named<reference_count>{"lockref.pause", make_reference<W, with_pause>},
};

} // namespace

template <>
std::span<const named<rw_lock>> rw_locks<native_world>() {
    return all_rw_locks<native_world>;
}
template <>
std::span<const named<rw_lock>> rw_locks<sim::world>() {
    return all_rw_locks<sim::world>;
}
template <>
std::span<const named<reference_count>> reference_counts<native_world>() {
    return all_reference_counts<native_world>;
}
template <>
std::span<const named<reference_count>> reference_counts<sim::world>() {
    return all_reference_counts<sim::world>;
}

} // namespace holdfast
