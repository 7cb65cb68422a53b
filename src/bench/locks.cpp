// Our locks, and the standard's.
#include "bench/locks.hpp"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include <holdfast/condition_variable.hpp>
#include <holdfast/kernel_mutex.hpp>
#include <holdfast/mcs_lock.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/native_lockref.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/rw_spinlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/spinlock.hpp>
#include <holdfast/tas_lock.hpp>
#include <holdfast/ticket_lock.hpp>

#include "peers/bare_atomics.hpp"
#include "peers/standard.hpp"

namespace holdfast::bench {

namespace {

template <class P>
using default_qrwlock = qrwlock<P>;
template <class P>
using default_rwsem = rwsem<P>;
template <class P>
using rwsem_5_3 = rwsem<P, rwsem_presets::linux_5_3>;
template <class P>
using rwsem_3_15 = rwsem_xadd<P, rwsem_xadd_presets::linux_3_15>;
template <class P>
using rwsem_3_16 = rwsem_xadd<P, rwsem_xadd_presets::linux_3_16>;
template <class P>
using default_kernel_mutex = kernel_mutex<P>;

std::vector<bench_lock> make_locks() {
    using enum waiting;
    std::vector<bench_lock> locks{
        lock_of_ours<basic_shared_mutex>("holdfast::shared_mutex", parks, asked::quick),
        lock_of_ours<basic_mutex, peers::with_conditions<mutex, condition_variable>>("holdfast::mutex", parks,
                                                                                     asked::quick),
        native_lock<spinlock>("holdfast::spinlock", spins, asked::full),
        native_lock<rw_spinlock>("holdfast::rw_spinlock", spins, asked::full),
        native_counter<native_lockref>("holdfast::native_lockref", asked::quick),
        lock_of_ours<default_rwsem>("holdfast::rwsem", parks, asked::quick),
        lock_of_ours<rwsem_5_3>("holdfast::rwsem.linux_5_3", parks, asked::by_name),
        lock_of_ours<rwsem_3_16>("holdfast::rwsem.linux_3_16", parks, asked::by_name),
        lock_of_ours<rwsem_3_15>("holdfast::rwsem.linux_3_15", parks, asked::by_name),
        lock_of_ours<default_qrwlock>("holdfast::qrwlock", spins, asked::by_name),
        lock_of_ours<rwlock>("holdfast::rwlock", spins, asked::full),
        lock_of_ours<default_kernel_mutex>("holdfast::kernel_mutex", parks, asked::full),
        lock_of_ours<qspinlock>("holdfast::qspinlock", spins, asked::by_name),
        lock_of_ours<mcs_lock>("holdfast::mcs_lock", spins, asked::by_name),
        lock_of_ours<ticket_lock>("holdfast::ticket_lock", spins, asked::by_name),
        lock_of_ours<tas_lock>("holdfast::tas_lock", spins, asked::by_name),
        native_lock<std::shared_mutex,
                    peers::with_conditions<std::shared_mutex, std::condition_variable_any>>(
            "std::shared_mutex", parks, asked::quick),
        native_lock<std::mutex, peers::with_conditions<std::mutex, std::condition_variable>>(
            "std::mutex", parks, asked::quick),
        native_lock<peers::pthread_prefer_writer>("pthread_rwlock.prefer_writer", parks, asked::full),
        native_lock<peers::pthread_spin>("pthread_spin", spins, asked::full),
        native_counter<peers::bare_counter>("fetch_add", asked::quick),
        native_lock<peers::bare_atomics>("bare atomics", spins, asked::uncontended_only),
    };
    for (bench_lock& peer : peer_locks())
        locks.push_back(std::move(peer));
    return locks;
}

} // namespace

const std::vector<bench_lock>& all_locks() {
    static const std::vector<bench_lock> locks = make_locks();
    return locks;
}

const bench_lock* find_lock(const std::string& name) {
    const std::vector<bench_lock>& locks = all_locks();
    const auto found = std::find_if(locks.begin(), locks.end(), [&name](const bench_lock& lock) {
        return lock.name == name || lock.name == "holdfast::" + name;
    });
    return found == locks.end() ? nullptr : &*found;
}

} // namespace holdfast::bench
