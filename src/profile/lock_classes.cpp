// Finding classes by kind and place, and summing up.
#include "profile/lock_classes.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace holdfast::profile {

namespace {

void add(trace::waits_read& to, const trace::waits_read& from) {
    to.waits += from.waits;
    to.failed += from.failed;
    add_times(to, from);
}

void add(trace::holds_read& to, const trace::holds_read& from) {
    to.holds += from.holds;
    add_times(to, from);
}

void add(lock& to, lock& from) {
    trace::lock_read& sum = to.figures;
    const trace::lock_read& more = from.figures;
    sum.lives += more.lives;
    sum.acquisitions += more.acquisitions;
    sum.shared_acquisitions += more.shared_acquisitions;
    sum.owner_changes += more.owner_changes;
    sum.longest_queue = std::max(sum.longest_queue, more.longest_queue);
    sum.longest_monopoly = std::max(sum.longest_monopoly, more.longest_monopoly);
    add(sum.alone, more.alone);
    add(sum.shared, more.shared);
    add(sum.woken, more.woken);
    add(sum.alone_holds, more.alone_holds);
    add(sum.shared_holds, more.shared_holds);
    to.waits += from.waits;
    to.members += from.members;
    to.sites.insert(to.sites.end(), from.sites.begin(), from.sites.end());
}

} // namespace

void join_classes(std::vector<lock>& locks) {
    std::map<std::pair<trace::lock_kind, std::string>, std::vector<std::size_t>> classes;
    for (std::size_t i = 0; i < locks.size(); ++i) {
        if (!locks[i].origin.empty())
            classes[{locks[i].figures.kind, locks[i].origin}].push_back(i);
    }
    std::vector<bool> joined(locks.size(), false);
    for (const auto& [key, members] : classes) {
        if (members.size() < smallest_class)
            continue;
        const std::size_t first =
            *std::max_element(members.begin(), members.end(), [&locks](std::size_t a, std::size_t b) {
                return locks[a].waits.ns < locks[b].waits.ns;
            });
        for (const std::size_t i : members) {
            if (i == first)
                continue;
            add(locks[first], locks[i]);
            joined[i] = true;
        }
        locks[first].name = fmt::format("{} {} {}", members.size(),
                                        key.first == trace::lock_kind::condition ? "conditions" : "locks",
                                        locks[first].origin);
    }
    std::size_t kept = 0;
    for (std::size_t i = 0; i < locks.size(); ++i) {
        if (joined[i])
            continue;
        if (kept != i)
            locks[kept] = std::move(locks[i]);
        ++kept;
    }
    locks.resize(kept);
}

} // namespace holdfast::profile
