// The page for people.
#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "report/report.hpp"
#include "report/words.hpp"
#include "sim/data_files.hpp"
#include "text/text_table.hpp"

namespace holdfast::report {

namespace {

using profile::call_stack;
using profile::diagnosis;
using profile::lock;
using profile::place;
using profile::site;
using profile::trouble;
using trace::lock_kind;
using trace::site_role;

constexpr std::size_t page_width = 100;

std::string count(std::uint64_t n) {
    return n < 1'000'000       ? shown(static_cast<double>(n))
           : n < 1'000'000'000 ? fmt::format("{:.2f} M", static_cast<double>(n) / 1e6)
                               : fmt::format("{:.2f} G", static_cast<double>(n) / 1e9);
}

// At most so wide: the function is cut, its source is not.
std::string shown_place(const place& p, std::size_t most) {
    const std::string source = !p.source.empty()              ? fmt::format(" ({})", p.source)
                               : p.named && !p.module.empty() ? fmt::format(" [{}]", p.module)
                                                              : "";
    std::string whole = p.function + source;
    if (whole.size() <= most)
        return whole;
    constexpr std::size_t least = 16;
    return source.size() + least <= most ? shortened(p.function, most - source.size()) + source
                                         : shortened(whole, most);
}

// The user's place of a call, or "?" if it isn't known.
std::string shown_user(const call_stack& call, std::size_t most) {
    const place* const user = user_of(call);
    return user == nullptr ? "?" : shown_place(*user, most);
}

std::string with_type(const lock& l) {
    return l.type.empty() ? l.name : fmt::format("{} ({})", l.name, l.type);
}

// ---- Verdict ----

// Prose in lines of the page's width.
std::string wrapped(std::string_view prose, std::string_view indent = "") {
    std::string text;
    std::string line(indent);
    while (!prose.empty()) {
        const std::size_t end = std::min(prose.find(' '), prose.size());
        if (line.size() > indent.size() && line.size() + 1 + end > page_width) {
            text += line + '\n';
            line = indent;
        }
        if (line.size() > indent.size())
            line += ' ';
        line += prose.substr(0, end);
        prose.remove_prefix(std::min(end + 1, prose.size()));
    }
    return text + line + '\n';
}

// Where most of the waiting for a lock ended: the call that let go.
const call_stack* main_let_go(const lock& l) {
    std::map<const call_stack*, std::uint64_t> ns;
    for (const site& s : l.sites) {
        if (s.waited_for_lock() && !s.let_go->empty())
            ns[s.let_go] += s.ns;
    }
    const auto most = std::max_element(ns.begin(), ns.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    return most == ns.end() ? nullptr : most->first;
}

std::string advice(const diagnosis& d) {
    const lock& l = *d.first;
    const trace::lock_read& f = l.figures;
    const std::string_view it = d.through == nullptr ? "It" : std::string_view(l.name);
    const std::string held =
        l.mean_hold_ns() == 0 ? fmt::format("{} is held for a time that was not sampled", it)
                              : fmt::format("{} is held for {} on average", it, duration(l.mean_hold_ns()));
    const call_stack* const let_go = main_let_go(l);
    const std::string where =
        let_go == nullptr ? ""
                          : fmt::format("; most waits end when {} lets go", shown_user(*let_go, page_width));
    switch (d.what) {
    case trouble::none:
        return "";
    case trouble::allocator:
        return fmt::format(
            "{} is the memory allocator's: most waits are inside malloc, free and their like. "
            "Allocate less often in the places below, or try an allocator with caches for each "
            "thread.",
            it);
    case trouble::writers_starve:
        return fmt::format(
            "Readers keep writers out: a writer waits {} on average, a reader holds it for {}, so "
            "readers follow each other without a gap. Try a lock that lets writers go first, or "
            "read less often.",
            duration(f.alone.ns / f.alone.waits), duration(f.shared_holds.ns / f.shared_holds.holds));
    case trouble::convoy:
        return fmt::format(
            "A convoy: {:.0f} % of acquisitions waited, up to {} threads in a queue, and {:.0f} % "
            "went to another thread than the one before. {}{}. Take it less often, split it, or "
            "do less under it.",
            per_cent(l.waits.count, l.acquisitions()), count(f.longest_queue),
            per_cent(f.owner_changes, l.acquisitions()), held, where);
    case trouble::held_long:
        return fmt::format("{}{}. Do less under it, or split it.", held, where);
    }
    return "";
}

std::string names_along(const profile::chain& c, std::size_t links) {
    std::string text;
    for (std::size_t i = 0; i < links; ++i)
        text += (i == 0 ? "" : " <- ") + c[i].waited_for->name;
    return text;
}

std::string verdict(const profile::profile& p, const diagnosis& d, bool colour) {
    std::string text =
        styled(
            fmt::format("Locks {} this program back: {:.1f} % of its busy thread time is waiting for locks.",
                        d.locks_hold_it_back ? "hold" : "are not what holds", 100 * p.lock_share()),
            d.locks_hold_it_back ? style::bad : style::good, colour) +
        '\n';
    if (d.locks_hold_it_back) {
        const lock& longest = p.locks.front();
        text += styled(fmt::format("Look first at {}.", with_type(*d.first)), style::strong, colour) + '\n';
        std::string why =
            fmt::format("{:.1f} % of the waiting is for {}: {}{} acquisitions waited, {} each. ",
                        per_cent(longest.waits.ns, p.lock_wait_ns),
                        d.through == nullptr ? "it" : longest.name, count(longest.waits.count),
                        trace::counts_acquisitions(longest.figures.kind)
                            ? fmt::format(" of {}", count(longest.acquisitions()))
                            : "",
                        duration(longest.waits.ns / longest.waits.count));
        if (d.through != nullptr)
            why +=
                fmt::format("But its holders wait themselves, for most of the time that they hold it: {}. ",
                            names_along(*d.through, d.depth + 1));
        text += wrapped(why + advice(d));
    } else {
        const auto busiest =
            std::max_element(p.locks.begin(), p.locks.end(), [](const lock& a, const lock& b) {
                return a.acquisitions() < b.acquisitions();
            });
        if (busiest != p.locks.end() && busiest->acquisitions() > 0)
            text += wrapped(fmt::format(
                "Taken most often: {}, {} times; {}.", with_type(*busiest), count(busiest->acquisitions()),
                busiest->waits.count == 0
                    ? "nobody ever waited for it"
                    : fmt::format("{:.2f} % of them waited, {} in sum",
                                  per_cent(busiest->waits.count, busiest->acquisitions()),
                                  duration(busiest->waits.ns))));
    }
    const std::uint64_t known = p.lock_wait_ns + p.cpu_ns;
    const std::uint64_t other = p.busy_ns() > known ? p.busy_ns() - known : 0;
    text += wrapped(fmt::format(
        "Thread time {} = {} waiting for locks + {} waiting for conditions + {} on CPUs + {} elsewhere "
        "(runnable, or blocked outside of locks: not told apart).",
        duration(p.thread_ns), duration(p.lock_wait_ns), duration(p.condition_ns), duration(p.cpu_ns),
        duration(other)));
    if (!p.other_runtimes.empty()) {
        std::string found;
        for (const auto& [runtime, file] : p.other_runtimes)
            found += fmt::format("{}{} ({})", found.empty() ? "" : ", ", runtime, file);
        text +=
            wrapped(fmt::format("Not seen, but there: {}. Waits inside of those count as elsewhere.", found));
    }
    return text;
}

// ---- Tables ----

// A line about what the table has no row for.
std::string more(std::size_t all, std::size_t rows, std::string_view what) {
    return all > rows ? fmt::format("  and {} more {}\n", all - rows, what) : "";
}

std::string_view short_name(lock_kind kind) {
    constexpr std::string_view names[] = {"none",   "mutex", "recurs.",   "errchk.",  "adaptive",
                                          "rwlock", "spin",  "condition", "hf mutex", "hf shared"};
    static_assert(std::size(names) == trace::lock_kinds);
    return names[static_cast<std::uint32_t>(kind)];
}

std::string lock_table(const profile::profile& p, const options& o) {
    const std::vector<const lock*> locks = chosen(p.locks, o);
    if (locks.empty())
        return o.lock.empty() ? "No lock was taken.\n" : "No lock has that in its name.\n";
    text_table table({"lock", "kind", "acquired", "%cont", "waited", "%wait", "p99", "max", "hold", "queue"},
                     "ll");
    std::size_t taken = 0;
    for (const lock* l : locks) {
        if (l->acquisitions() + l->waits.count == 0 || ++taken > o.top)
            continue;
        const bool waited = l->waits.count > 0;
        const bool counted = trace::counts_acquisitions(l->figures.kind);
        table.add(
            {l->name, std::string(short_name(l->figures.kind)), counted ? count(l->acquisitions()) : "?",
             counted ? fmt::format("{:.1f}", per_cent(l->waits.count, l->acquisitions())) : "?",
             waited ? duration(l->waits.ns) : "",
             waited ? fmt::format("{:.1f}", per_cent(l->waits.ns, p.lock_wait_ns)) : "",
             waited ? duration(l->waits.quantile_ns(0.99)) : "", waited ? duration(l->waits.longest_ns) : "",
             l->mean_hold_ns() > 0 ? duration(l->mean_hold_ns()) : "", count(l->figures.longest_queue)});
    }
    return table.text(o.colour, "  ", page_width) + more(taken, o.top, "locks") +
           more(locks.size(), taken, "locks that were never taken");
}

std::string thread_table(const profile::profile& p, const options& o) {
    std::vector<const trace::thread_read*> threads;
    threads.reserve(p.recording.threads.size());
    for (const trace::thread_read& t : p.recording.threads)
        threads.push_back(&t);
    const auto weight = [&o](const trace::thread_read& t) {
        switch (o.by) {
        case order::longest:
            return t.longest_wait_ns;
        case order::contended:
            return t.waits;
        case order::acquisitions:
            return t.acquisitions;
        case order::wait:
        case order::hold:
            break;
        }
        return t.wait_ns;
    };
    std::stable_sort(threads.begin(), threads.end(),
                     [&](const auto* a, const auto* b) { return weight(*a) > weight(*b); });
    text_table table({"name", "thread", "lived", "on CPU", "acquired", "waits", "waited", "%life", "max",
                      "conditions", "in them"},
                     "l");
    for (std::size_t i = 0; i < threads.size() && i < o.top; ++i) {
        const trace::thread_read& t = *threads[i];
        const std::uint64_t lived = t.end_ns - t.start_ns;
        table.add({printable(t.name), fmt::format("{}", t.id), duration(lived), duration(t.cpu_ns),
                   count(t.acquisitions), count(t.waits), duration(t.wait_ns),
                   fmt::format("{:.1f}", per_cent(t.wait_ns, lived)), duration(t.longest_wait_ns),
                   count(t.condition_waits), duration(t.condition_ns)});
    }
    return table.text(o.colour, "  ", page_width) + more(threads.size(), o.top, "threads");
}

// All waits for a lock in one call.
struct waiting_place {
    const lock* of = nullptr;
    const place* where = nullptr; // null: unknown
    const site* longest = nullptr;
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t spun_ns = 0;
};

std::vector<waiting_place> waiting_places(const profile::profile& p, const options& o) {
    std::map<std::pair<const lock*, const place*>, waiting_place> known;
    for (const lock* l : chosen(p.locks, o)) {
        for (const site& s : l->sites) {
            if (!s.waited_for_lock())
                continue;
            const place* const user = user_of(*s.stack);
            waiting_place& w = known[{l, user}];
            w.of = l;
            w.where = user;
            w.count += s.count;
            w.ns += s.ns;
            w.longest_ns = std::max(w.longest_ns, s.longest_ns);
            w.spun_ns += s.spun_ns;
            if (w.longest == nullptr || s.ns > w.longest->ns)
                w.longest = &s;
        }
    }
    std::vector<waiting_place> places;
    places.reserve(known.size());
    for (const auto& [key, w] : known)
        places.push_back(w);
    const auto weight = [&o](const waiting_place& w) {
        return o.by == order::longest ? w.longest_ns : o.by == order::contended ? w.count : w.ns;
    };
    std::sort(places.begin(), places.end(), [&](const waiting_place& a, const waiting_place& b) {
        return std::tuple(weight(a), a.ns, b.of->name) > std::tuple(weight(b), b.ns, a.of->name);
    });
    return places;
}

std::string site_table(const profile::profile& p, const options& o) {
    const std::vector<waiting_place> places = waiting_places(p, o);
    if (places.empty())
        return "No wait for a lock has a stack.\n";
    constexpr std::size_t name_width = 20;
    constexpr std::size_t place_width = 40;
    text_table table({"waits in", "for lock", "let go in", "waits", "waited", "%wait", "max", "%spun"},
                     "lll");
    for (std::size_t i = 0; i < places.size() && i < o.top; ++i) {
        const waiting_place& w = places[i];
        const place* const let_go = user_of(*w.longest->let_go);
        table.add({w.where == nullptr ? "?" : shown_place(*w.where, place_width),
                   shortened(w.of->name, name_width),
                   let_go == nullptr ? "?" : shortened(let_go->function, name_width), count(w.count),
                   duration(w.ns), fmt::format("{:.1f}", per_cent(w.ns, p.lock_wait_ns)),
                   duration(w.longest_ns), fmt::format("{:.0f}", per_cent(w.spun_ns, w.ns))});
    }
    return table.text(o.colour, "  ", page_width) + more(places.size(), o.top, "places") +
           "  Estimates from samples.\n";
}

// ---- Between locks and between threads ----

std::string chains(const profile::profile& p, const diagnosis& d, const options& o) {
    constexpr std::size_t most = 5;
    std::string text;
    std::size_t shown_chains = 0;
    for (const profile::chain& c : d.chains) {
        if (std::none_of(c.begin(), c.end(), [&](const profile::link& l) {
                return l.waited_for->name.find(o.lock) != std::string::npos;
            }))
            continue;
        if (++shown_chains > most)
            continue;
        text += wrapped(names_along(c, c.size()), "  ");
        for (std::size_t i = 0; i < c.size(); ++i) {
            const std::string figures = fmt::format("    {} in {} waits for {}", duration(c[i].ns),
                                                    count(c[i].count), shortened(c[i].waited_for->name, 36));
            text += fmt::format(
                "{} in {}\n", figures,
                shown_user(*c[i].longest->stack, page_width - std::min(figures.size() + 4, page_width / 2)));
            if (i + 1 < c.size())
                text +=
                    fmt::format("      whose holders, for {:.0f} % of the time that they had it, waited:\n",
                                100 * inner_share(p, c[i], c[i + 1]));
        }
    }
    if (text.empty())
        return "";
    return "\nWait-for chains (inferred from stacks; docs/record.md says how)\n" + text +
           more(shown_chains, most, "chains");
}

std::string fairness(const profile::profile& p) {
    const std::vector<std::uint64_t> shares = acquisitions_of_threads(p);
    if (shares.size() < 2)
        return "";
    return '\n' + wrapped(fmt::format(
                      "Fairness between threads: Jain's index of acquisitions is {:.3f} over {} threads "
                      "(1: all alike; {:.3f}: one has all).",
                      profile::jain(shares), shares.size(), 1 / static_cast<double>(shares.size())));
}

std::string conditions(const profile::profile& p, const options& o) {
    constexpr std::size_t most = 5;
    const std::vector<const lock*> all = chosen(p.conditions, o);
    text_table table(
        {"condition", "signals", "waits", "waited", "timed out", "woken p50", "woken p99", "max"}, "l");
    std::size_t used = 0;
    for (const lock* c : all) {
        if (c->figures.acquisitions + c->waits.count == 0 || ++used > most)
            continue;
        const profile::distribution woken = profile::distribution_of(c->figures.woken);
        table.add({c->name, count(c->figures.acquisitions), count(c->waits.count), duration(c->waits.ns),
                   count(c->figures.alone.failed), woken.count > 0 ? duration(woken.quantile_ns(0.5)) : "",
                   woken.count > 0 ? duration(woken.quantile_ns(0.99)) : "",
                   woken.count > 0 ? duration(woken.longest_ns) : ""});
    }
    if (table.empty())
        return "";
    return "\nConditions (woken: from the signal until the waiter ran, with its mutex)\n" +
           table.text(o.colour, "  ", page_width) + more(used, most, "conditions");
}

// ---- A lock in detail ----

template <class Histogram>
std::string bars(std::string_view title, const Histogram& histogram) {
    const std::uint64_t most = *std::max_element(histogram.begin(), histogram.end());
    if (most == 0)
        return "";
    std::size_t first = 0;
    std::size_t last = histogram.size() - 1;
    while (histogram[first] == 0)
        ++first;
    while (histogram[last] == 0)
        --last;
    std::string text = fmt::format("    {}\n", title);
    for (std::size_t b = first; b <= last; ++b) {
        if (histogram[b] == 0) {
            text += histogram[b - 1] == 0 ? "" : "           ...\n";
            continue;
        }
        text += fmt::format("    {:>8} .. {:>8} {:>10} {}\n", duration(std::uint64_t{1} << b),
                            duration(std::uint64_t{2} << b), count(histogram[b]),
                            std::string(static_cast<std::size_t>(40.0 * static_cast<double>(histogram[b]) /
                                                                 static_cast<double>(most)),
                                        '#'));
    }
    return text;
}

std::string stack_lines(const call_stack& stack, std::string_view indent) {
    constexpr std::size_t most = 12;
    std::string text;
    for (std::size_t i = 0; i < stack.size() && i < most; ++i)
        text += fmt::format("{}{}{}\n", indent, shown_place(*stack[i], page_width - indent.size() - 10),
                            stack[i]->inlined ? " (inlined)" : "");
    if (stack.size() > most)
        text += fmt::format("{}and {} more\n", indent, stack.size() - most);
    return text;
}

// Waits that look the same on the page: they may differ in return addresses.
struct alike {
    std::uint64_t samples = 0;
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t spun_ns = 0;
    std::uint64_t behind = 0;
    std::map<std::string, std::uint64_t> holders; // for whom, and how long

    void add(const site& s) {
        samples += s.samples;
        count += s.count;
        ns += s.ns;
        longest_ns = std::max(longest_ns, s.longest_ns);
        spun_ns += s.spun_ns;
        behind += s.waiters;
    }
};

std::string holder_text(const site& s) {
    std::string text = fmt::format("that let go in {}", shown_user(*s.let_go, page_width - 50));
    return text +
           (s.holder->empty() ? "\n" : ", having taken it in\n" + stack_lines(*s.holder, "          "));
}

// The entries of a map by falling weight.
template <class Map, class Weight>
std::vector<const typename Map::value_type*> by_weight(const Map& map, Weight weight) {
    std::vector<const typename Map::value_type*> entries;
    entries.reserve(map.size());
    for (const auto& entry : map)
        entries.push_back(&entry);
    std::stable_sort(entries.begin(), entries.end(),
                     [&](const auto* a, const auto* b) { return weight(a->second) > weight(b->second); });
    return entries;
}

std::string waits_in_detail(const lock& l) {
    constexpr std::size_t most = 3;
    constexpr std::size_t most_holders = 2;
    const profile::wait_sums sums = sums_of(l);
    std::map<std::string, alike> waits;
    std::map<std::string, std::uint64_t> releases;
    for (const site& s : l.sites) {
        const std::string stack = stack_lines(*s.stack, "        ");
        if (s.role == site_role::release)
            releases[stack] += s.count;
        if (!s.waited_for_lock())
            continue;
        alike& a = waits[(s.role == site_role::read_wait ? "      to read:\n" : "") + stack];
        a.add(s);
        a.holders[holder_text(s)] += s.ns;
    }
    const bool counted = trace::counts_acquisitions(l.figures.kind);
    std::string text =
        fmt::format("    who waits: {} of {} waits have a stack, from which all below is estimated{}\n",
                    count(sums.samples), count(l.waits.count),
                    counted ? fmt::format(";\n    how the holder took it is known for {:.0f} % of the time",
                                          per_cent(sums.holder_ns, sums.ns))
                            : "");
    const auto longest = by_weight(waits, [](const alike& a) { return a.ns; });
    for (std::size_t i = 0; i < longest.size() && i < most; ++i) {
        const auto& [stack, a] = *longest[i];
        text += fmt::format("      {} in {} waits, longest {}, spun {:.0f} %, {:.1f} others behind\n{}",
                            duration(a.ns), count(a.count), duration(a.longest_ns), per_cent(a.spun_ns, a.ns),
                            a.count == 0 ? 0.0 : static_cast<double>(a.behind) / static_cast<double>(a.count),
                            stack);
        const auto holders = by_weight(a.holders, [](std::uint64_t ns) { return ns; });
        for (std::size_t h = 0; counted && h < holders.size() && h < most_holders; ++h)
            text += fmt::format("        {:.0f} % for a holder {}", per_cent(holders[h]->second, a.ns),
                                holders[h]->first);
    }
    if (longest.size() > most)
        text += fmt::format("      and {} more places\n", longest.size() - most);
    if (!releases.empty())
        text += "    who let go while others waited\n";
    const auto often = by_weight(releases, [](std::uint64_t times) { return times; });
    for (std::size_t i = 0; i < often.size() && i < most; ++i)
        text += fmt::format("      {} times\n{}", count(often[i]->second), often[i]->first);
    return text;
}

std::string detail(const lock& l, const options& o) {
    const trace::lock_read& f = l.figures;
    const profile::wait_sums sums = sums_of(l);
    std::string text =
        '\n' + styled(with_type(l), style::strong, o.colour) +
        fmt::format("\n    {}{} at {:#x}", name_of(f.kind),
                    l.members > 1 ? " each; the one that was waited for longest is" : "", f.address);
    if (f.lives > 1)
        text += fmt::format(", initialised {} times", count(f.lives));
    const bool counted = trace::counts_acquisitions(f.kind);
    text +=
        counted
            ? fmt::format("\n    acquired {} times, of which {} waited ({:.1f} %)\n", count(l.acquisitions()),
                          count(l.waits.count), per_cent(l.waits.count, l.acquisitions()))
            : fmt::format("\n    {} acquisitions waited; the others, holds and owners are not known of this "
                          "kind\n",
                          count(l.waits.count));
    if (f.alone.failed + f.shared.failed > 0)
        text += fmt::format("    tries and timed waits that failed: {}\n",
                            count(f.alone.failed + f.shared.failed));
    if (f.kind == lock_kind::own_shared_mutex)
        text += fmt::format("    writers: {} waited {}; readers: {} waited {}\n", count(f.alone.waits),
                            duration(f.alone.ns), count(f.shared.waits), duration(f.shared.ns));
    if (f.kind == lock_kind::rwlock)
        text += fmt::format("    writers: {} acquired, {} waited {}; readers: {} acquired, {} waited {}\n",
                            count(f.acquisitions), count(f.alone.waits), duration(f.alone.ns),
                            count(f.shared_acquisitions), count(f.shared.waits), duration(f.shared.ns));
    text += fmt::format("    waits: {} in sum, p50 {}, p99 {}, longest {}; {:.0f} % of it spinning\n",
                        duration(l.waits.ns), duration(l.waits.quantile_ns(0.5)),
                        duration(l.waits.quantile_ns(0.99)), duration(l.waits.longest_ns),
                        per_cent(sums.spun_ns, sums.ns));
    text += fmt::format(
        "    queue: at most {}, {:.1f} others behind on average{}\n", count(f.longest_queue),
        sums.count == 0 ? 0.0 : static_cast<double>(sums.behind) / static_cast<double>(sums.count),
        counted ? fmt::format(
                      "; another owner at {:.0f} % of acquisitions;\n"
                      "    longest monopoly: one thread let go of it {} times in a row while others waited",
                      per_cent(f.owner_changes, f.acquisitions), count(f.longest_monopoly))
                : "");
    text += bars("waits", l.waits.histogram);
    for (const auto& [what, holds] :
         {std::pair("holds", f.alone_holds), std::pair("read holds", f.shared_holds)})
        text += bars(
            fmt::format("{} ({} timed, longest {})", what, count(holds.holds), duration(holds.longest_ns)),
            holds.histogram);
    return text + waits_in_detail(l);
}

// ---- What could not be seen ----

std::string blind_spots(const profile::profile& p) {
    const trace::recording& r = p.recording;
    std::string text;
    if (!r.ended)
        text += "  The process was running, was killed, or became another program: this is until it was last "
                "seen.\n";
    if (r.cut)
        text += "  The file has been cut: what was beyond its end is missing.\n";
    for (std::size_t s = 0; s < r.lost.size(); ++s) {
        if (r.lost[s] > 0)
            text += fmt::format("  No room for {} {}: record with a larger --size.\n", count(r.lost[s]),
                                section_names[s]);
    }
    if (r.lost_operations > 0)
        text += fmt::format("  {} operations on locks that found no place.\n", count(r.lost_operations));
    for (std::size_t i = 0; i < r.passed_through.size(); ++i) {
        if (r.passed_through[i] > 0)
            text += fmt::format("  {} operations on mutexes or rwlocks {}: counted, not measured.\n",
                                count(r.passed_through[i]), passed_names[i]);
    }
    for (const std::string& file : p.without_names)
        text += fmt::format("  No names from {}: gone, changed, or not readable.\n", file);
    text +=
        "  Never seen: locks that are neither pthread's, C11's nor Holdfast's sleeping ones (futexes used\n"
        "  directly, semaphores), and locks inside libc.\n";
    return "\nNot seen\n" + text;
}

std::string table(const profile::profile& p, const options& o) {
    switch (o.rows) {
    case table_of::threads:
        return thread_table(p, o);
    case table_of::sites:
        return site_table(p, o);
    case table_of::locks:
        break;
    }
    return lock_table(p, o);
}

} // namespace

bool can_sort(table_of rows, order by) {
    switch (by) {
    case order::acquisitions:
        return rows != table_of::sites;
    case order::hold:
        return rows == table_of::locks;
    case order::wait:
    case order::longest:
    case order::contended:
        break;
    }
    return true;
}

namespace {

std::string members(const std::vector<lock>& locks) {
    std::size_t n = 0;
    for (const lock& l : locks)
        n += l.members;
    return count(n);
}

} // namespace

std::string as_text(const profile::profile& p, const diagnosis& d, const options& o) {
    if (!p.recording.begun)
        return fmt::format("Nothing is recorded {}: {} (process {}) {} told to begin.\n",
                           p.recording.ended ? "here" : "yet", printable(p.recording.program),
                           p.recording.process, p.recording.ended ? "ended before it was" : "has yet to be");
    std::string text = verdict(p, d, o.colour);
    text +=
        '\n' + wrapped(fmt::format("{} (process {}), {} threads, {} locks, {} conditions, {}",
                                   printable(p.recording.program), p.recording.process,
                                   count(p.recording.threads.size()), members(p.locks), members(p.conditions),
                                   duration(p.recording.end_ns - p.recording.start_ns)));
    text += table(p, o) + chains(p, d, o) + fairness(p) + conditions(p, o);
    std::size_t detailed = 0;
    for (const lock* l : chosen(p.locks, o)) {
        if (l->waits.count > 0 && detailed++ < o.detailed)
            text += detail(*l, o);
    }
    return text + blind_spots(p);
}

} // namespace holdfast::report
