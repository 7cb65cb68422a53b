// Those whose waiters spin.
#include <holdfast/lockref.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/native_lockref.hpp>
#include <holdfast/pv_qspinlock.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/rw_spinlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/spinlock.hpp>
#include <holdfast/ticket_lock.hpp>

#include "torture/faces.hpp"
#include "torture/locks.hpp"

namespace holdfast::torture {

void add_spinning_locks(std::vector<torture_lock>& locks) {
    const auto add = [&locks](torture_lock row) { locks.push_back(std::move(row)); };
    add(row_for<spinlock>("holdfast::spinlock"));
    add(row_for<rw_spinlock>("holdfast::rw_spinlock"));
    add(row_for<native_lockref>("holdfast::native_lockref"));
    add(row_for<lockref<native, lockref_policy{}, ticket_word>>("holdfast::lockref.ticket"));
    add(row_for<lockref<native, lockref_policy{.compare_exchange = false}>>("holdfast::lockref.locked"));
    add(row_for<ticket_lock<native>>("holdfast::ticket_lock"));
    add(row_for<mcs_face>("holdfast::mcs_lock"));
    add(row_for<osq_face>("holdfast::osq_lock"));
    add(row_for<qspinlock<native>>("holdfast::qspinlock"));
    add(row_for<pv_qspinlock<native>>("holdfast::pv_qspinlock"));
    add(row_for<rwlock<native>>("holdfast::rwlock"));
    add(row_for<qrwlock<native, qrwlock_presets::patch_2013>>("holdfast::qrwlock.patch_2013"));
    add(row_for<qrwlock<native, qrwlock_presets::linux_3_16>>("holdfast::qrwlock.linux_3_16"));
}

} // namespace holdfast::torture
