#include "check/suites.hpp"

#include <algorithm>

#include "check/locks.hpp"

namespace holdfast::check {

const std::vector<model::suite>& all_suites() {
    static const std::vector<model::suite> suites = [] {
        std::vector<model::suite> all;
        for (const auto make :
             {tas_lock_suite, ticket_lock_suite, mcs_lock_suite, osq_lock_suite, qspinlock_suite,
              pv_qspinlock_suite, rwlock_suite, qrwlock_suite, lockref_suite, rwsem_xadd_suite, rwsem_suite,
              kernel_mutex_suite, wait_list_suite, semaphore_suite, mutex_suite, shared_mutex_suite,
              condition_variable_suite, queued_flag_suite})
            all.push_back(make());
        return all;
    }();
    return suites;
}

std::string short_name(const model::suite& s) {
    return s.lock().substr(s.lock().rfind(':') + 1);
}

const model::suite* find_suite(std::string_view lock) {
    const std::vector<model::suite>& suites = all_suites();
    const auto found = std::find_if(suites.begin(), suites.end(), [lock](const model::suite& s) {
        return s.lock() == lock || short_name(s) == lock;
    });
    return found == suites.end() ? nullptr : &*found;
}

} // namespace holdfast::check
