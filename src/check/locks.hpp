// The suites, one a lock: what is explored of it, and which mutants may survive. In files of their own, as they take long to
// compile.
#pragma once

#include "model/checking.hpp"

namespace holdfast::check {

model::suite condition_variable_suite();
model::suite kernel_mutex_suite();
model::suite lockref_suite();
model::suite mcs_lock_suite();
model::suite mutex_suite();
model::suite osq_lock_suite();
model::suite pv_qspinlock_suite();
model::suite qrwlock_suite();
model::suite qspinlock_suite();
model::suite queued_flag_suite();
model::suite rwlock_suite();
model::suite rwsem_suite();
model::suite rwsem_xadd_suite();
model::suite semaphore_suite();
model::suite shared_mutex_suite();
model::suite tas_lock_suite();
model::suite ticket_lock_suite();
model::suite wait_list_suite();

} // namespace holdfast::check
