#include "torture/locks.hpp"

#include <algorithm>
#include <string>

#include <holdfast/tsan_annotations.hpp>

#include "torture/broken.hpp"

namespace holdfast::torture {

void add_broken_locks(std::vector<torture_lock>& locks) {
    using namespace broken;
    locks.push_back(row_for<no_exclusion>("broken::no_exclusion", "nobody waits for anybody"));
    locks.push_back(
        row_for<check_then_act>("broken::check_then_act", "looks whether it is free, and then takes it"));
    locks.push_back(row_for<careless_readers>("broken::careless_readers",
                                              "readers neither keep writers out nor look for them"));
    locks.push_back(row_for<lost_wake_up>("broken::lost_wake_up",
                                          "who has slept forgets that others sleep; takes 3 threads"));
    locks.push_back(row_for<trusts_every_wake_up>("broken::trusts_every_wake_up",
                                                  "takes the return from its sleep for its turn"));
    locks.push_back(
        row_for<abandoned_ticket>("broken::abandoned_ticket", "who tries in vain stays in the queue"));
    if (under_tsan)
        locks.push_back(row_for<relaxed_unlock>("broken::relaxed_unlock", "unlock publishes nothing"));
}

const std::vector<torture_lock>& all_locks() {
    static const std::vector<torture_lock> locks = [] {
        std::vector<torture_lock> all;
        add_sleeping_locks(all);
        add_spinning_locks(all);
        add_semaphores(all);
        add_broken_locks(all);
        return all;
    }();
    return locks;
}

std::string short_name(const torture_lock& lock) {
    constexpr std::string_view ours = "holdfast::";
    return lock.name.starts_with(ours) ? lock.name.substr(ours.size()) : lock.name;
}

const torture_lock* find_lock(std::string_view name) {
    const std::vector<torture_lock>& locks = all_locks();
    const auto found = std::find_if(locks.begin(), locks.end(), [name](const torture_lock& lock) {
        return lock.name == name || short_name(lock) == name;
    });
    return found == locks.end() ? nullptr : &*found;
}

} // namespace holdfast::torture
