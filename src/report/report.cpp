// Text first, then the formats for other programs.
#include "report/report.hpp"

#include <algorithm>
#include <functional>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "sim/data_files.hpp"
#include "text/text_table.hpp"

namespace holdfast::report {

namespace {

using profile::lock;
using profile::place;
using profile::site;
using trace::lock_kind;
using trace::site_role;

constexpr std::string_view kind_names[] = {
    "none", "mutex", "recursive mutex", "errorcheck mutex", "adaptive mutex", "rwlock", "spin", "condition"};
static_assert(std::size(kind_names) == trace::lock_kinds);

constexpr std::string_view passed_names[] = {"shared between processes", "robust", "inheriting priority"};
constexpr std::string_view section_names[] = {"modules", "threads", "stacks", "sites", "locks"};

std::string_view name_of(lock_kind kind) {
    return kind_names[static_cast<std::uint32_t>(kind)];
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
        case order::wait:
            break;
        }
        return l->waits.ns;
    };
    std::stable_sort(locks.begin(), locks.end(),
                     [&](const lock* a, const lock* b) { return weight(a) > weight(b); });
    return locks;
}

std::string shown_place(const place& p) {
    if (p.function.empty())
        return "?";
    return p.source.empty() ? p.named ? fmt::format("{} [{}]", p.function, p.module) : p.function
                            : fmt::format("{} ({})", p.function, p.source);
}

std::string count(std::uint64_t n) {
    return shown(static_cast<double>(n));
}

// ---- Verdict ----

std::string verdict(const profile::profile& p, bool colour) {
    const double share = p.lock_share();
    const bool bad = share >= profile::bad_share && !p.locks.empty();
    std::string first;
    if (bad) {
        const lock& worst = p.locks.front();
        first = fmt::format(
            "Locks hold this program back: {:.1f} % of its busy thread time is waiting for locks.\n"
            "Look first at {}, with {:.1f} % of that waiting.",
            100 * share, worst.name, per_cent(worst.waits.ns, p.lock_wait_ns));
    } else {
        first = fmt::format(
            "Locks are not what holds this program back: {:.1f} % of its busy thread time is waiting "
            "for locks.",
            100 * share);
    }
    std::string text = styled(first, bad ? style::bad : style::good, colour) + '\n';
    text +=
        fmt::format("Thread time {} = {} waiting for locks + {} waiting for conditions + {} other (running, "
                    "runnable, or waiting for what is not seen here).\n",
                    duration(p.thread_ns), duration(p.lock_wait_ns), duration(p.condition_ns),
                    duration(p.busy_ns() > p.lock_wait_ns ? p.busy_ns() - p.lock_wait_ns : 0));
    return text;
}

// ---- Tables ----

std::string lock_table(const profile::profile& p, const options& o) {
    const std::vector<const lock*> locks = chosen(p.locks, o);
    if (locks.empty())
        return o.lock.empty() ? "No lock was taken.\n" : "No lock has that in its name.\n";
    text_table table({"lock", "kind", "acquired", "contended", "% cont", "wait sum", "% wait", "p50", "p99",
                      "max", "hold avg", "owners", "queue"},
                     "ll");
    std::size_t taken = 0;
    for (const lock* l : locks) {
        if (l->acquisitions() + l->waits.count == 0 || ++taken > o.top)
            continue;
        const bool waited = l->waits.count > 0;
        table.add({l->name, std::string(name_of(l->figures.kind)), count(l->acquisitions()),
                   count(l->waits.count), fmt::format("{:.2f}", per_cent(l->waits.count, l->acquisitions())),
                   waited ? duration(l->waits.ns) : "",
                   fmt::format("{:.1f}", per_cent(l->waits.ns, p.lock_wait_ns)),
                   waited ? duration(l->waits.quantile_ns(0.5)) : "",
                   waited ? duration(l->waits.quantile_ns(0.99)) : "",
                   waited ? duration(l->waits.longest_ns) : "",
                   l->figures.alone_holds.holds > 0
                       ? duration(l->figures.alone_holds.ns / l->figures.alone_holds.holds)
                       : "",
                   count(l->figures.owner_changes), count(l->figures.longest_queue)});
    }
    std::string text = table.text(o.colour);
    if (taken > o.top)
        text += fmt::format("  and {} more locks\n", taken - o.top);
    if (locks.size() > taken)
        text += fmt::format("  and {} locks that were never taken\n", locks.size() - taken);
    return text;
}

std::string thread_table(const profile::profile& p, const options& o) {
    std::vector<const trace::thread_read*> threads;
    threads.reserve(p.recording.threads.size());
    for (const trace::thread_read& t : p.recording.threads)
        threads.push_back(&t);
    std::stable_sort(threads.begin(), threads.end(),
                     [](const auto* a, const auto* b) { return a->wait_ns > b->wait_ns; });
    text_table table(
        {"thread", "name", "lived", "waits", "wait sum", "% of life", "longest", "conditions", "in them"},
        "ll");
    for (std::size_t i = 0; i < threads.size() && i < o.top; ++i) {
        const trace::thread_read& t = *threads[i];
        table.add({fmt::format("{}", t.id), printable(t.name), duration(t.end_ns - t.start_ns),
                   count(t.waits), duration(t.wait_ns),
                   fmt::format("{:.1f}", per_cent(t.wait_ns, t.end_ns - t.start_ns)),
                   duration(t.longest_wait_ns), count(t.condition_waits), duration(t.condition_ns)});
    }
    std::string text = table.text(o.colour);
    if (threads.size() > o.top)
        text += fmt::format("  and {} more threads\n", threads.size() - o.top);
    return text;
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
    for (std::size_t b = first; b <= last; ++b)
        text += fmt::format("    {:>8} .. {:>8} {:>10} {}\n", duration(std::uint64_t{1} << b),
                            duration(std::uint64_t{2} << b), count(histogram[b]),
                            std::string(static_cast<std::size_t>(40.0 * static_cast<double>(histogram[b]) /
                                                                 static_cast<double>(most)),
                                        '#'));
    return text;
}

std::string stack_lines(const std::vector<place>& stack) {
    constexpr std::size_t most = 12;
    std::string text;
    for (std::size_t i = 0; i < stack.size() && i < most; ++i)
        text += fmt::format("        {}\n", shown_place(stack[i]));
    if (stack.size() > most)
        text += fmt::format("        and {} more\n", stack.size() - most);
    return text;
}

std::string detail(const lock& l, const options& o) {
    constexpr std::size_t most = 3;
    std::string text = '\n' + styled(l.name, style::strong, o.colour) +
                       fmt::format(", {}, at {:#x}", name_of(l.figures.kind), l.figures.address);
    if (l.figures.lives > 1)
        text += fmt::format(", initialised {} times", count(l.figures.lives));
    text += '\n';
    if (l.figures.kind == lock_kind::rwlock)
        text += fmt::format("    writers: {} acquired, {} waited {}; readers: {} acquired, {} waited {}\n",
                            count(l.figures.acquisitions), count(l.figures.alone.waits),
                            duration(l.figures.alone.ns), count(l.figures.shared_acquisitions),
                            count(l.figures.shared.waits), duration(l.figures.shared.ns));
    if (l.figures.alone.failed + l.figures.shared.failed > 0)
        text += fmt::format("    tries and timed waits that failed: {}\n",
                            count(l.figures.alone.failed + l.figures.shared.failed));
    text += bars("waits", l.waits.histogram);
    text += bars(fmt::format("holds ({} timed)", count(l.figures.alone_holds.holds)),
                 l.figures.alone_holds.histogram);

    std::uint64_t sampled = 0;
    for (const site& s : l.sites)
        sampled += s.role == site_role::release ? 0 : s.samples;
    text +=
        fmt::format("    who waits ({} of {} waits have a stack; figures below are estimates from them)\n",
                    count(sampled), count(l.waits.count));
    std::size_t printed = 0;
    for (const site& s : l.sites) {
        if (s.role == site_role::release || ++printed > most)
            continue;
        text += fmt::format("      {} in {} waits{}, longest {}; for a thread that let go in {}\n",
                            duration(s.ns), count(s.count), s.role == site_role::read_wait ? " to read" : "",
                            duration(s.longest_ns), shown_place(s.let_go));
        text += stack_lines(s.stack);
    }
    std::vector<const site*> releases;
    for (const site& s : l.sites) {
        if (s.role == site_role::release)
            releases.push_back(&s);
    }
    std::stable_sort(releases.begin(), releases.end(),
                     [](const site* a, const site* b) { return a->count > b->count; });
    if (!releases.empty())
        text += "    who let go while others waited\n";
    for (std::size_t i = 0; i < releases.size() && i < most; ++i)
        text += fmt::format("      {} times\n", count(releases[i]->count)) + stack_lines(releases[i]->stack);
    return text;
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
    text += "  Never seen: locks that are no pthread or C11 ones (futexes used directly, as by Go, Rust and "
            "absl; "
            "semaphores), and locks inside libc.\n";
    return "\nNot seen\n" + text;
}

std::string folded_name(std::string text) {
    std::replace(text.begin(), text.end(), ';', ':');
    return text;
}

nlohmann::ordered_json json_of(const place& p) {
    return {{"function", p.function}, {"source", p.source}, {"module", p.module}};
}

nlohmann::ordered_json json_of(const std::vector<place>& stack) {
    nlohmann::ordered_json frames = nlohmann::ordered_json::array();
    for (const place& p : stack)
        frames.push_back(json_of(p));
    return frames;
}

nlohmann::ordered_json json_of(const trace::waits_read& w) {
    return {{"waits", w.waits},
            {"wait_ns", w.ns},
            {"longest_ns", w.longest_ns},
            {"failed", w.failed},
            {"histogram", w.histogram}};
}

nlohmann::ordered_json json_of(const lock& l) {
    constexpr std::string_view roles[] = {"none", "wait", "read_wait", "release", "condition"};
    static_assert(std::size(roles) == trace::site_roles);
    nlohmann::ordered_json sites = nlohmann::ordered_json::array();
    for (const site& s : l.sites)
        sites.push_back({{"role", roles[static_cast<std::uint32_t>(s.role)]},
                         {"samples", s.samples},
                         {"count", s.count},
                         {"wait_ns", s.ns},
                         {"longest_ns", s.longest_ns},
                         {"let_go", json_of(s.let_go)},
                         {"stack", json_of(s.stack)}});
    return {{"lock", l.name},
            {"kind", name_of(l.figures.kind)},
            {"address", l.figures.address},
            {"initialisations", l.figures.lives},
            {"acquisitions", l.figures.acquisitions},
            {"shared_acquisitions", l.figures.shared_acquisitions},
            {"wait_ns",
             {{"sum", l.waits.ns},
              {"p50", l.waits.quantile_ns(0.5)},
              {"p99", l.waits.quantile_ns(0.99)},
              {"max", l.waits.longest_ns}}},
            {"alone", json_of(l.figures.alone)},
            {"shared", json_of(l.figures.shared)},
            {"holds",
             {{"timed", l.figures.alone_holds.holds},
              {"ns", l.figures.alone_holds.ns},
              {"histogram", l.figures.alone_holds.histogram}}},
            {"owner_changes", l.figures.owner_changes},
            {"longest_queue", l.figures.longest_queue},
            {"sites", std::move(sites)}};
}

} // namespace

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

std::string as_text(const profile::profile& p, const options& o) {
    std::string text = verdict(p, o.colour);
    text +=
        fmt::format("\n{} (process {}), {} threads, {} locks, {} conditions, {}\n",
                    printable(p.recording.program), p.recording.process, p.recording.threads.size(),
                    p.locks.size(), p.conditions.size(), duration(p.recording.end_ns - p.recording.start_ns));
    text += o.rows == table_of::threads ? thread_table(p, o) : lock_table(p, o);
    std::size_t detailed = 0;
    for (const lock* l : chosen(p.locks, o)) {
        if (l->waits.count == 0 || detailed++ == o.detailed)
            break;
        text += detail(*l, o);
    }
    return text + blind_spots(p);
}

std::string as_folded(const profile::profile& p, const options& o) {
    std::string text;
    for (const lock* l : chosen(p.locks, o)) {
        for (const site& s : l->sites) {
            if (s.role == site_role::release || s.ns == 0)
                continue;
            for (auto frame = s.stack.rbegin(); frame != s.stack.rend(); ++frame)
                text += folded_name(frame->function) + ';';
            text += fmt::format("[lock {}] {}\n", folded_name(l->name), s.ns);
        }
    }
    return text;
}

nlohmann::ordered_json as_json(const profile::profile& p, const options& o) {
    const trace::recording& r = p.recording;
    nlohmann::ordered_json locks = nlohmann::ordered_json::array();
    for (const lock* l : chosen(p.locks, o))
        locks.push_back(json_of(*l));
    nlohmann::ordered_json conditions = nlohmann::ordered_json::array();
    for (const lock* l : chosen(p.conditions, o))
        conditions.push_back(json_of(*l));
    nlohmann::ordered_json threads = nlohmann::ordered_json::array();
    for (const trace::thread_read& t : r.threads)
        threads.push_back({{"id", t.id},
                           {"name", printable(t.name)},
                           {"lived_ns", t.end_ns - t.start_ns},
                           {"waits", t.waits},
                           {"wait_ns", t.wait_ns},
                           {"longest_wait_ns", t.longest_wait_ns},
                           {"condition_waits", t.condition_waits},
                           {"condition_ns", t.condition_ns}});
    nlohmann::ordered_json lost;
    for (std::size_t s = 0; s < r.lost.size(); ++s)
        lost[std::string(section_names[s])] = r.lost[s];
    lost["operations"] = r.lost_operations;
    nlohmann::ordered_json passed;
    for (std::size_t i = 0; i < r.passed_through.size(); ++i)
        passed[std::string(passed_names[i])] = r.passed_through[i];
    return {{"program", printable(r.program)},
            {"process", r.process},
            {"ended", r.ended},
            {"cut", r.cut},
            {"verdict",
             {{"locks_hold_it_back", p.lock_share() >= profile::bad_share},
              {"lock_share_percent", 100 * p.lock_share()},
              {"first", p.locks.empty() ? "" : p.locks.front().name}}},
            {"thread_ns", p.thread_ns},
            {"lock_wait_ns", p.lock_wait_ns},
            {"condition_ns", p.condition_ns},
            {"locks", std::move(locks)},
            {"conditions", std::move(conditions)},
            {"threads", std::move(threads)},
            {"lost", std::move(lost)},
            {"passed_through", std::move(passed)},
            {"without_names", p.without_names}};
}

} // namespace holdfast::report
