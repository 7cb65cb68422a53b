// Those whose waiters go to sleep, ours and the standard's.
#include <condition_variable>
#include <mutex>
#include <shared_mutex>

#include <holdfast/checked.hpp>
#include <holdfast/checked_shared_mutex.hpp>
#include <holdfast/condition_variable.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include "torture/faces.hpp"
#include "torture/locks.hpp"

namespace holdfast::torture {

void add_sleeping_locks(std::vector<torture_lock>& locks) {
    locks.push_back(row_for<mutex>("holdfast::mutex"));
    locks.push_back(row_for<recursive_mutex>("holdfast::recursive_mutex"));
    locks.push_back(row_for<checked_mutex>("holdfast::checked_mutex"));
    locks.push_back(row_for<shared_mutex>("holdfast::shared_mutex"));
    locks.push_back(row_for<checked_shared_mutex>("holdfast::checked_shared_mutex"));
    locks.push_back(row_for<condition_face<mutex, condition_variable>>("holdfast::condition_variable"));
    locks.push_back(row_for<std::mutex>("std::mutex"));
    locks.push_back(row_for<std::shared_mutex>("std::shared_mutex"));
    locks.push_back(row_for<condition_face<std::mutex, std::condition_variable>>("std::condition_variable"));
}

} // namespace holdfast::torture
