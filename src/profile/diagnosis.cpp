// The rules of the verdict.
#include "profile/diagnosis.hpp"

#include <algorithm>
#include <string_view>

namespace holdfast::profile {

namespace {

constexpr double most = 0.5;

bool allocates(const place* p) {
    constexpr std::string_view names[] = {"malloc", "calloc",        "realloc",        "free",
                                          "cfree",  "aligned_alloc", "posix_memalign", "memalign",
                                          "valloc", "pvalloc",       "reallocarray",   "malloc_usable_size"};
    return std::find(std::begin(names), std::end(names), p->function) != std::end(names) ||
           p->function.starts_with("operator new") || p->function.starts_with("operator delete");
}

bool is_allocators(const lock& l) {
    std::uint64_t inside = 0;
    for (const site& s : l.sites) {
        if (s.waited_for_lock() && std::any_of(s.stack->begin(), s.stack->end(), allocates))
            inside += s.ns;
    }
    return inside > 0 && static_cast<double>(inside) >= most * static_cast<double>(sums_of(l).ns);
}

bool writers_starve(const lock& l) {
    const trace::lock_read& f = l.figures;
    if (f.kind != trace::lock_kind::rwlock || f.shared_holds.holds == 0 || f.alone.waits == 0)
        return false;
    return static_cast<double>(f.alone.ns) >= most * static_cast<double>(l.waits.ns) &&
           f.alone.ns / f.alone.waits >= 2 * (f.shared_holds.ns / f.shared_holds.holds);
}

bool is_convoy(const lock& l) {
    if (!trace::counts_acquisitions(l.figures.kind))
        return false;
    const auto half = static_cast<std::uint64_t>(most * static_cast<double>(l.acquisitions()));
    return l.waits.count >= half && l.figures.owner_changes >= half && l.figures.longest_queue >= 2;
}

trouble trouble_of(const lock& l) {
    if (l.waits.count == 0)
        return trouble::none;
    if (is_allocators(l))
        return trouble::allocator;
    if (writers_starve(l))
        return trouble::writers_starve;
    return is_convoy(l) ? trouble::convoy : trouble::held_long;
}

} // namespace

double inner_share(const profile& p, const link& outer, const link& inner) {
    const std::uint64_t all = p.recording.end_ns - p.recording.start_ns;
    const std::uint64_t held = outer.waited_for->held_ns();
    const std::uint64_t whole = held == 0 ? all : std::min(held, all);
    return whole == 0 ? 0 : std::min(static_cast<double>(inner.ns) / static_cast<double>(whole), 1.0);
}

diagnosis diagnose(const profile& p) {
    diagnosis d;
    d.chains = chains_of(p);
    if (p.locks.empty() || p.locks.front().waits.count == 0)
        return d;
    d.locks_hold_it_back = p.lock_share() >= bad_share;
    d.first = &p.locks.front();
    for (const chain& c : d.chains) {
        if (c.front().waited_for != &p.locks.front())
            continue;
        std::size_t depth = 0;
        while (depth + 1 < c.size() && inner_share(p, c[depth], c[depth + 1]) >= most)
            ++depth;
        if (depth > d.depth) {
            d.depth = depth;
            d.through = &c;
            d.first = c[depth].waited_for;
        }
    }
    d.what = trouble_of(*d.first);
    return d;
}

} // namespace holdfast::profile
