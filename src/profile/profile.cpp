// Summing up.
#include "profile/profile.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace holdfast::profile {

namespace {

using trace::lock_kind;
using trace::lock_read;
using trace::site_role;

void add(distribution& to, const trace::waits_read& from) {
    to.count += from.waits;
    to.ns += from.ns;
    to.longest_ns = std::max(to.longest_ns, from.longest_ns);
    for (std::size_t b = 0; b < to.histogram.size(); ++b)
        to.histogram[b] += from.histogram[b];
}

std::vector<place> named(symbols& names, const trace::stack_read& stack) {
    std::vector<place> places;
    places.reserve(stack.frames.size());
    for (const std::uint64_t frame : stack.frames)
        places.push_back(names.caller(frame, stack.generation));
    return places;
}

// Whether a frame is of those that wrap a lock rather than use it.
bool wraps(const place& p) {
    constexpr std::string_view prefixes[] = {"std::", "__gthread", "boost::", "pthread_", "mtx_"};
    return std::any_of(std::begin(prefixes), std::end(prefixes),
                       [&p](std::string_view prefix) { return p.function.starts_with(prefix); });
}

std::string name_of(symbols& names, const lock_read& lock, const trace::stack_read& from) {
    std::string variable = names.variable(lock.address, from.generation);
    if (!variable.empty())
        return variable;
    const std::vector<place> stack = named(names, from);
    auto user = std::find_if(stack.begin(), stack.end(), [](const place& p) { return !wraps(p); });
    if (user == stack.end())
        user = stack.begin();
    if (user == stack.end())
        return fmt::format("{:#x}", lock.address);
    return fmt::format("{:#x} {} in {}{}", lock.address, lock.initialised ? "initialised" : "first used",
                       user->function, user->source.empty() ? "" : fmt::format(" ({})", user->source));
}

void sort(std::vector<lock>& locks) {
    std::stable_sort(locks.begin(), locks.end(),
                     [](const lock& a, const lock& b) { return a.waits.ns > b.waits.ns; });
    for (lock& l : locks)
        std::stable_sort(l.sites.begin(), l.sites.end(),
                         [](const site& a, const site& b) { return a.ns > b.ns; });
}

} // namespace

std::uint64_t distribution::quantile_ns(double share) const {
    std::uint64_t all = 0;
    for (const std::uint64_t n : histogram)
        all += n;
    const auto rank = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(all)));
    std::uint64_t below = 0;
    for (std::size_t b = 0; b < histogram.size(); ++b) {
        below += histogram[b];
        if (below > 0 && below >= rank)
            return std::min(std::uint64_t{2} << b, longest_ns);
    }
    return 0;
}

std::uint64_t profile::busy_ns() const {
    return thread_ns > condition_ns ? thread_ns - condition_ns : 0;
}

double profile::lock_share() const {
    const std::uint64_t busy = busy_ns();
    return busy == 0 ? 0 : std::min(static_cast<double>(lock_wait_ns) / static_cast<double>(busy), 1.0);
}

profile make_profile(trace::recording recording) {
    profile p;
    symbols names(recording.modules);
    p.without_names = names.unreadable();
    std::vector<lock> all(recording.locks.size());
    for (std::size_t i = 1; i < all.size(); ++i) {
        all[i].figures = recording.locks[i];
        add(all[i].waits, all[i].figures.alone);
        add(all[i].waits, all[i].figures.shared);
        if (all[i].figures.kind != lock_kind::none)
            all[i].name = name_of(names, all[i].figures, recording.stacks[all[i].figures.stack]);
    }
    for (const trace::site_read& s : recording.sites) {
        site to{s.role,   named(names, recording.stacks[s.stack]), {}, s.samples, s.count, s.ns, s.longest_ns,
                s.waiters};
        if (s.role != site_role::release && s.pc != 0)
            to.let_go = names.caller(s.pc, recording.stacks[s.stack].generation);
        all[s.lock].sites.push_back(std::move(to));
    }
    for (const trace::thread_read& t : recording.threads) {
        p.thread_ns += t.end_ns - t.start_ns;
        p.lock_wait_ns += t.wait_ns;
        p.condition_ns += t.condition_ns;
    }
    for (lock& l : all) {
        if (l.figures.kind == lock_kind::condition)
            p.conditions.push_back(std::move(l));
        else if (l.figures.kind != lock_kind::none)
            p.locks.push_back(std::move(l));
    }
    sort(p.locks);
    sort(p.conditions);
    p.recording = std::move(recording);
    return p;
}

} // namespace holdfast::profile
