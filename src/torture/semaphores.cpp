// The kernel's sleeping locks. The first row of a lock is its latest.
#include <holdfast/kernel_mutex.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>

#include "torture/faces.hpp"
#include "torture/locks.hpp"

namespace holdfast::torture {

namespace {

template <rwsem_rules Rules>
torture_lock rwsem_row(const char* name) {
    return row_for<rwsem<native, Rules>>(name);
}

template <rwsem_xadd_rules Rules>
torture_lock rwsem_xadd_row(const char* name) {
    return row_for<rwsem_xadd<native, Rules>>(name);
}

} // namespace

void add_semaphores(std::vector<torture_lock>& locks) {
    const auto add = [&locks](torture_lock row) { locks.push_back(std::move(row)); };
    add(rwsem_row<rwsem_presets::linux_6>("holdfast::rwsem"));
    add(rwsem_row<rwsem_presets::linux_5_19>("holdfast::rwsem.linux_5_19"));
    add(rwsem_row<rwsem_presets::linux_5_16>("holdfast::rwsem.linux_5_16"));
    add(rwsem_row<rwsem_presets::linux_5_11>("holdfast::rwsem.linux_5_11"));
    add(rwsem_row<rwsem_presets::linux_5_3>("holdfast::rwsem.linux_5_3"));
    add(rwsem_xadd_row<rwsem_xadd_presets::rfc_2016_v4>("holdfast::rwsem.rfc_2016_v4"));
    add(rwsem_xadd_row<rwsem_xadd_presets::linux_4_7>("holdfast::rwsem.linux_4_7"));
    add(rwsem_xadd_row<rwsem_xadd_presets::linux_3_16>("holdfast::rwsem.linux_3_16"));
    add(rwsem_xadd_row<rwsem_xadd_presets::linux_3_16_rc1>("holdfast::rwsem.linux_3_16_rc1"));
    add(rwsem_xadd_row<rwsem_xadd_presets::linux_3_15>("holdfast::rwsem.linux_3_15"));
    add(row_for<kernel_mutex<native>>("holdfast::kernel_mutex"));
    add(row_for<kernel_mutex<native, kernel_mutex_presets::linux_3_12>>("holdfast::kernel_mutex.linux_3_12"));
    add(row_for<semaphore_face<1>>("holdfast::semaphore"));
    add(row_for<passes_face<3>>("holdfast::semaphore.of_3"));
}

} // namespace holdfast::torture
