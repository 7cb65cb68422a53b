// Names and numbers.
#include "report/words.hpp"

#include <algorithm>

#include <fmt/format.h>

namespace holdfast::report {

using profile::lock;

std::string_view name_of(trace::lock_kind kind) {
    constexpr std::string_view names[] = {
        "none",   "mutex", "recursive mutex", "errorcheck mutex", "adaptive mutex",
        "rwlock", "spin",  "condition",       "holdfast::mutex",  "holdfast::shared_mutex"};
    static_assert(std::size(names) == trace::lock_kinds);
    return names[static_cast<std::uint32_t>(kind)];
}

std::string_view name_of(profile::trouble what) {
    constexpr std::string_view names[] = {"none", "held_long", "convoy", "writers_starve", "allocator"};
    return names[static_cast<std::size_t>(what)];
}

std::string duration(std::uint64_t ns) {
    constexpr std::string_view units[] = {"ns", "us", "ms", "s"};
    double value = static_cast<double>(ns);
    std::size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < std::size(units); ++unit)
        value /= 1'000;
    return unit == 0 ? fmt::format("{} ns", ns)
                     : fmt::format("{:.{}f} {}", value,
                                   value < 10    ? 2
                                   : value < 100 ? 1
                                                 : 0,
                                   units[unit]);
}

double per_cent(std::uint64_t part, std::uint64_t whole) {
    return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::vector<const lock*> chosen(const std::vector<lock>& from, const options& o) {
    std::vector<const lock*> locks;
    for (const lock& l : from) {
        if (o.lock.empty() || l.name.find(o.lock) != std::string::npos)
            locks.push_back(&l);
    }
    const auto weight = [&o](const lock* l) {
        switch (o.by) {
        case order::longest:
            return l->waits.longest_ns;
        case order::contended:
            return l->waits.count;
        case order::acquisitions:
            return l->acquisitions();
        case order::hold:
            return l->mean_hold_ns();
        case order::wait:
            break;
        }
        return l->waits.ns;
    };
    std::stable_sort(locks.begin(), locks.end(),
                     [&](const lock* a, const lock* b) { return weight(a) > weight(b); });
    return locks;
}

std::vector<std::uint64_t> acquisitions_of_threads(const profile::profile& p) {
    std::vector<std::uint64_t> shares;
    for (const trace::thread_read& t : p.recording.threads) {
        if (t.acquisitions > 0)
            shares.push_back(t.acquisitions);
    }
    return shares;
}

} // namespace holdfast::report
