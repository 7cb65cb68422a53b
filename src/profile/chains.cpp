// Which waits lie inside which holds, and the paths along that.
#include "profile/chains.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <tuple>

namespace holdfast::profile {

namespace {

constexpr std::size_t most_places = 1'000;
constexpr std::size_t most_chains = 1'000;
constexpr std::size_t longest_chain = 8;

// Frames, without what was inlined into them; leaf first.
call_stack frames_of(const call_stack& stack) {
    call_stack frames;
    std::copy_if(stack.begin(), stack.end(), std::back_inserter(frames),
                 [](const place* p) { return !p->inlined; });
    return frames;
}

bool same_function(const place& a, const place& b) {
    return a.function == b.function && a.mapping == b.mapping;
}

// Whether a[i] and b[j] are one function, called from the same places. Stacks that were cut are compared as far as
// they go.
bool same_activation(const call_stack& a, std::size_t i, const call_stack& b, std::size_t j) {
    if (!same_function(*a[i], *b[j]))
        return false;
    const bool cut = a.size() >= trace::deepest_stack || b.size() >= trace::deepest_stack;
    std::size_t callers = a.size() - i;
    if (callers != b.size() - j) {
        if (!cut)
            return false;
        callers = std::min(callers, b.size() - j);
    }
    for (std::size_t k = 1; k < callers; ++k) {
        if (a[i + k]->address != b[j + k]->address)
            return false;
    }
    return true;
}

// Whether, of two stacks with a common activation at a[i] and b[j], the call in a lies before that in b.
bool before(const call_stack& a, std::size_t i, const call_stack& b, std::size_t j) {
    while (a[i]->address == b[j]->address && i > 0 && j > 0) {
        --i;
        --j;
    }
    return same_function(*a[i], *b[j]) && a[i]->address < b[j]->address;
}

// A stretch of a function: from[at] to to[until].
struct hold {
    call_stack from;
    std::size_t at = 0;
    call_stack to;
    std::size_t until = 0;
};

// The hold of which a thread took the lock with `from` and let go with one of `releases`: that with the innermost
// function; of several, the first.
std::optional<hold> hold_of(const call_stack& from, const std::vector<call_stack>& releases) {
    for (std::size_t i = 0; i < from.size(); ++i) {
        for (const call_stack& to : releases) {
            for (std::size_t j = 0; j < to.size(); ++j) {
                if (same_activation(from, i, to, j))
                    return hold{from, i, to, j};
            }
        }
    }
    return std::nullopt;
}

bool is_inside(const call_stack& wait, const hold& h) {
    for (std::size_t k = 0; k < wait.size(); ++k) {
        if (same_activation(h.from, h.at, wait, k))
            return before(h.from, h.at, wait, k) && !before(h.to, h.until, wait, k);
    }
    return false;
}

struct wait_place {
    const lock* of = nullptr;
    const site* where = nullptr;
    call_stack frames;
    std::vector<std::size_t> inside; // places that waited inside the hold that this one waited for
};

std::vector<wait_place> longest_waits(const profile& p) {
    std::vector<wait_place> places;
    for (const lock& l : p.locks) {
        for (const site& s : l.sites) {
            if (s.waited_for_lock() && s.ns > 0)
                places.push_back({&l, &s, {}, {}});
        }
    }
    std::stable_sort(places.begin(), places.end(),
                     [](const wait_place& a, const wait_place& b) { return a.where->ns > b.where->ns; });
    places.resize(std::min(places.size(), most_places));
    for (wait_place& w : places)
        w.frames = frames_of(*w.where->stack);
    return places;
}

// The stacks that let go of this wait's lock: first those that end in the call that ended this wait; if none of those was
// sampled, that call alone.
std::vector<call_stack> releases_for(const wait_place& w) {
    std::vector<call_stack> releases;
    for (const site& s : w.of->sites) {
        if (s.role == trace::site_role::release && !s.stack->empty())
            releases.push_back(frames_of(*s.stack));
    }
    if (w.where->let_go->empty())
        return releases;
    const place* const call = w.where->let_go->back();
    const auto others = std::stable_partition(releases.begin(), releases.end(), [call](const call_stack& r) {
        return r.front()->address == call->address;
    });
    if (others == releases.begin())
        releases.insert(others, call_stack{call});
    return releases;
}

void find_inner_waits(std::vector<wait_place>& places) {
    // Many places wait for the same hold.
    std::map<std::tuple<const lock*, const call_stack*, const call_stack*>, std::optional<hold>> holds;
    for (wait_place& w : places) {
        if (w.where->holder->empty())
            continue;
        const auto [entry, fresh] = holds.try_emplace({w.of, w.where->holder, w.where->let_go});
        if (fresh)
            entry->second = hold_of(frames_of(*w.where->holder), releases_for(w));
        if (!entry->second)
            continue;
        for (std::size_t i = 0; i < places.size(); ++i) {
            if (places[i].of != w.of && is_inside(places[i].frames, *entry->second))
                w.inside.push_back(i);
        }
    }
}

link sum(const std::vector<wait_place>& places, const std::set<std::size_t>& of) {
    link l;
    for (const std::size_t i : of) {
        const site& s = *places[i].where;
        l.waited_for = places[i].of;
        l.ns += s.ns;
        l.count += s.count;
        if (l.longest == nullptr || s.ns > l.longest->ns)
            l.longest = &s;
    }
    return l;
}

using level = std::set<std::size_t>; // places that wait for one lock

// All ways on from the last level, each to its end.
void extend(const std::vector<wait_place>& places, std::vector<level>& path, std::vector<chain>& found) {
    std::map<const lock*, level> next;
    for (const std::size_t i : path.back()) {
        for (const std::size_t inner : places[i].inside)
            next[places[inner].of].insert(inner);
    }
    for (const level& l : path)
        next.erase(places[*l.begin()].of);
    if ((next.empty() && path.size() > 1) || path.size() == longest_chain) {
        chain c;
        for (const level& l : path)
            c.push_back(sum(places, l));
        if (found.size() < most_chains)
            found.push_back(std::move(c));
        return;
    }
    const level all = path.back();
    for (const auto& [of, inner] : next) {
        // How the holder took the lock isn't known of every wait, so only the first link says of all that the next one
        // followed; a later one has all waits inside the hold before.
        if (path.size() == 1)
            std::erase_if(path.back(), [&, wanted = of](std::size_t i) {
                return std::none_of(places[i].inside.begin(), places[i].inside.end(),
                                    [&](std::size_t j) { return places[j].of == wanted; });
            });
        path.push_back(inner);
        extend(places, path, found);
        path.pop_back();
        path.back() = all;
    }
}

std::uint64_t least(const chain& c) {
    return std::min_element(c.begin(), c.end(), [](const link& a, const link& b) { return a.ns < b.ns; })->ns;
}

// Whether all locks of a chain are in a longer one, in that order.
bool is_part_of(const chain& part, const chain& whole) {
    auto next = part.begin();
    for (const link& l : whole) {
        if (next != part.end() && next->waited_for == l.waited_for)
            ++next;
    }
    return whole.size() > part.size() && next == part.end();
}

} // namespace

std::vector<chain> chains_of(const profile& p) {
    std::vector<wait_place> places = longest_waits(p);
    find_inner_waits(places);
    std::map<const lock*, level> first;
    for (std::size_t i = 0; i < places.size(); ++i) {
        if (!places[i].inside.empty())
            first[places[i].of].insert(i);
    }
    std::vector<chain> found;
    for (const auto& [of, waits] : first) {
        std::vector<level> path{waits};
        extend(places, path, found);
    }
    std::vector<chain> whole;
    for (const chain& c : found) {
        if (std::none_of(found.begin(), found.end(), [&c](const chain& o) { return is_part_of(c, o); }))
            whole.push_back(c);
    }
    std::stable_sort(whole.begin(), whole.end(),
                     [](const chain& a, const chain& b) { return least(a) > least(b); });
    return whole;
}

} // namespace holdfast::profile
