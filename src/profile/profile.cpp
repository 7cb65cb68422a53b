// Summing up.
#include "profile/profile.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "profile/lock_classes.hpp"

namespace holdfast::profile {

namespace {

using trace::lock_kind;
using trace::lock_read;
using trace::site_role;

void append(call_stack& to, symbols& names, std::uint64_t frame, std::uint32_t generation) {
    for (const place& p : names.callers(frame, generation))
        to.push_back(&p);
}

std::vector<call_stack> named(symbols& names, const std::vector<trace::stack_read>& stacks) {
    std::vector<call_stack> named(stacks.size());
    for (std::size_t i = 0; i < stacks.size(); ++i) {
        for (const std::uint64_t frame : stacks[i].frames)
            append(named[i], names, frame, stacks[i].generation);
    }
    return named;
}

// Whether a frame is of those that wrap a lock rather than use it.
bool wraps(const place& p) {
    constexpr std::string_view prefixes[] = {"std::",    "__gthread", "__glibcxx_",       "boost::",
                                             "pthread_", "mtx_",      "holdfast::basic_", "holdfast::os::"};
    // Templates' names begin with what they return.
    std::string_view name = p.function;
    for (const std::string_view type : {"void ", "bool ", "std::cv_status "}) {
        if (name.starts_with(type))
            name.remove_prefix(type.size());
    }
    return std::any_of(std::begin(prefixes), std::end(prefixes),
                       [name](std::string_view prefix) { return name.starts_with(prefix); });
}

void name(lock& l, symbols& names, const call_stack& stack, std::uint32_t generation) {
    const lock_read& figures = l.figures;
    variable_name variable = names.variable(figures.address, generation);
    l.name = std::move(variable.name);
    l.type = std::move(variable.type);
    if (!l.name.empty())
        return;
    l.name = fmt::format("{:#x}", figures.address);
    if (const place* const user = user_of(stack); user != nullptr) {
        l.origin =
            fmt::format("{} in {}{}", figures.initialised ? "initialised" : "first used", user->function,
                        user->source.empty() ? "" : fmt::format(" ({})", user->source));
        if (const std::string member = names.likely_member(*user, figures.kind); !member.empty())
            l.origin += ", likely " + (member.starts_with("a ") ? "in " + member : member);
        l.name += ' ' + l.origin;
    }
}

void sort(std::vector<lock>& locks) {
    std::stable_sort(locks.begin(), locks.end(),
                     [](const lock& a, const lock& b) { return a.waits.ns > b.waits.ns; });
    for (lock& l : locks)
        std::stable_sort(l.sites.begin(), l.sites.end(),
                         [](const site& a, const site& b) { return a.ns > b.ns; });
}

} // namespace

distribution distribution_of(const trace::waits_read& from) {
    return {from.waits, from.ns, from.longest_ns, from.histogram};
}

distribution& distribution::operator+=(const distribution& other) {
    count += other.count;
    add_times(*this, other);
    return *this;
}

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

std::uint64_t lock::mean_hold_ns() const {
    const std::uint64_t holds = figures.alone_holds.holds + figures.shared_holds.holds;
    return holds == 0 ? 0 : (figures.alone_holds.ns + figures.shared_holds.ns) / holds;
}

std::uint64_t lock::held_ns() const {
    const auto estimate = [](const trace::holds_read& timed, std::uint64_t all) {
        return timed.holds == 0 ? 0.0
                                : static_cast<double>(timed.ns) / static_cast<double>(timed.holds) *
                                      static_cast<double>(all);
    };
    return static_cast<std::uint64_t>(estimate(figures.alone_holds, figures.acquisitions) +
                                      estimate(figures.shared_holds, figures.shared_acquisitions));
}

wait_sums sums_of(const lock& l) {
    wait_sums sums;
    for (const site& s : l.sites) {
        if (!s.waited_for_lock())
            continue;
        sums.samples += s.samples;
        sums.count += s.count;
        sums.ns += s.ns;
        sums.spun_ns += s.spun_ns;
        sums.behind += s.waiters;
        sums.holder_ns += s.holder->empty() ? 0 : s.ns;
    }
    return sums;
}

const place* user_of(const call_stack& stack) {
    const auto user = std::find_if(stack.begin(), stack.end(), [](const place* p) { return !wraps(*p); });
    return user != stack.end() ? *user : stack.empty() ? nullptr : stack.front();
}

double jain(const std::vector<std::uint64_t>& shares) {
    double sum = 0;
    double squares = 0;
    for (const std::uint64_t share : shares) {
        const auto x = static_cast<double>(share);
        sum += x;
        squares += x * x;
    }
    return squares == 0 ? 0 : sum * sum / (static_cast<double>(shares.size()) * squares);
}

profile make_profile(trace::recording recording, bool classes) {
    profile p;
    p.recording = std::move(recording);
    const trace::recording& r = p.recording;
    p.names = std::make_unique<symbols>(r.modules);
    p.without_names = p.names->unreadable();
    p.other_runtimes = p.names->other_runtimes();
    p.stacks = named(*p.names, r.stacks);
    std::vector<lock> all(r.locks.size());
    for (std::size_t i = 1; i < all.size(); ++i) {
        all[i].figures = r.locks[i];
        all[i].waits = distribution_of(all[i].figures.alone);
        all[i].waits += distribution_of(all[i].figures.shared);
        const std::uint32_t stack = all[i].figures.stack;
        if (all[i].figures.kind != lock_kind::none)
            name(all[i], *p.names, p.stacks[stack], r.stacks[stack].generation);
    }
    for (const trace::site_read& s : r.sites) {
        site to{s.role, &p.stacks[s.stack], &p.stacks[s.holder], &p.stacks[0], s.samples, s.count,
                s.ns,   s.longest_ns,       s.spun_ns,           s.waiters};
        if (s.role != site_role::release && s.pc != 0) {
            const auto [entry, fresh] = p.single_frames.try_emplace({s.pc, r.stacks[s.stack].generation});
            if (fresh)
                append(entry->second, *p.names, s.pc, r.stacks[s.stack].generation);
            to.let_go = &entry->second;
        }
        all[s.lock].sites.push_back(to);
    }
    for (const trace::thread_read& t : r.threads) {
        p.thread_ns += t.end_ns - t.start_ns;
        p.lock_wait_ns += t.wait_ns;
        p.condition_ns += t.condition_ns;
        p.cpu_ns += std::min(t.cpu_ns, t.end_ns - t.start_ns);
    }
    for (lock& l : all) {
        if (l.figures.kind == lock_kind::condition)
            p.conditions.push_back(std::move(l));
        else if (l.figures.kind != lock_kind::none)
            p.locks.push_back(std::move(l));
    }
    if (classes) {
        join_classes(p.locks);
        join_classes(p.conditions);
    }
    sort(p.locks);
    sort(p.conditions);
    return p;
}

} // namespace holdfast::profile
