#include "bench/grid_output.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "text/text_table.hpp"

namespace holdfast::bench {

namespace {

using json = nlohmann::ordered_json;
using row = std::vector<holdfast::cell>; // of a table

const grid_entry* subject_of(const grid_cell& c) {
    return !c.entries.empty() && c.entries.front().lock == 0 ? &c.entries.front() : nullptr;
}

std::string two_digits(double ratio) {
    return ratio < 10 ? fmt::format("{:.2f}", ratio) : fmt::format("{:.0f}", ratio);
}

std::string titled(std::string_view title, const std::string& text, bool colour) {
    return styled(title, style::strong, colour) + "\n" + text + "\n";
}

// ---- The grid -----------------------------------------------------------------------------------------------

std::string comparisons_text(const grid_result& r, bool colour) {
    std::vector<std::uint32_t> threads;
    std::map<std::pair<std::size_t, std::uint32_t>, std::string> shown;
    for (const grid_comparison& c : compare_with_subject(r)) {
        if (std::find(threads.begin(), threads.end(), c.threads) == threads.end())
            threads.push_back(c.threads);
        shown[{c.lock, c.threads}] = fmt::format("{} ({})", two_digits(c.speed), two_digits(c.thrift));
    }
    if (threads.empty())
        return "";
    row header{"than", "bytes"};
    for (const std::uint32_t n : threads)
        header.emplace_back(fmt::format("{} thread{}", n, n == 1 ? "" : "s"));
    text_table table(std::move(header), "l");
    for (std::size_t lock = 1; lock < r.locks.size(); ++lock) {
        row line{r.locks[lock].name, fmt::format("{}", r.locks[lock].bytes)};
        bool any = false;
        for (const std::uint32_t n : threads) {
            const auto found = shown.find({lock, n});
            any |= found != shown.end();
            line.emplace_back(found == shown.end() ? "" : found->second);
        }
        if (any)
            table.add(std::move(line));
    }
    std::string text = table.text(colour);
    for (const grid_worst& w : worst_beside_best(r))
        text += fmt::format("  at worst {} of {}, which parks: {}\n", two_digits(w.speed),
                            r.locks[w.best].name, w.at);
    return titled(
        fmt::format(
            "{} ({} bytes): how many times as fast, and in brackets as sparing of CPU time; geometric "
            "means over the cells of the grid",
            r.locks.front().name, r.locks.front().bytes),
        text, colour);
}

// ---- Beside it ----------------------------------------------------------------------------------------------

// What of a cell's figures a program is run for, and its unit.
std::string_view unit_of(const grid_point& p) {
    switch (p.program) {
    case lock_program::uncontended:
    case lock_program::ping_pong:
    case lock_program::references:
        return "ns";
    case lock_program::condition:
        return "us";
    case lock_program::sleeping_owner:
        return "CPU us";
    case lock_program::contend:
        break;
    }
    return p.settings.loner ? "p50 us" : "M/s";
}

std::string figure_of(const grid_point& p, const cell& c) {
    const double ns = 1e9 / c.ops_per_s.median;
    switch (p.program) {
    case lock_program::uncontended:
    case lock_program::ping_pong:
    case lock_program::references:
        return shown(ns);
    case lock_program::condition:
        return shown(ns / 1e3);
    case lock_program::sleeping_owner:
        return shown(*c.cpu_ns_per_op / 1e3);
    case lock_program::contend:
        break;
    }
    if (p.settings.loner)
        return c.wait_ns ? shown(c.wait_ns->p50 / 1e3) : "";
    return shown(c.ops_per_s.median / 1e6);
}

std::string beside_text(const grid_result& r, bool colour) {
    row header{"lock"};
    std::vector<const grid_cell*> cells;
    std::string text;
    for (const grid_cell& c : r.cells) {
        if (c.point.bench == "grid" || c.entries.empty())
            continue;
        cells.push_back(&c);
        // Names are too long for columns.
        header.emplace_back(fmt::format("({}) {}", cells.size(), unit_of(c.point)));
        text += fmt::format("{}({}) {}{}", cells.size() == 1 ? "  " : ", ", cells.size(), c.point.bench,
                            c.point.one_of_several() ? fmt::format(" ({})", c.point.settings.threads) : "");
    }
    if (cells.empty())
        return "";
    text_table table(std::move(header), "l");
    for (std::size_t lock = 0; lock < r.locks.size(); ++lock) {
        row line{r.locks[lock].name};
        for (const grid_cell* const c : cells) {
            const auto found = std::find_if(c->entries.begin(), c->entries.end(),
                                            [lock](const grid_entry& e) { return e.lock == lock; });
            const bool measured = found != c->entries.end() && found->figures.ops_per_s.median > 0;
            line.emplace_back(measured ? figure_of(c->point, found->figures) : "");
        }
        table.add(std::move(line));
    }
    return titled("Beside the grid", table.text(colour) + text + "\n", colour);
}

// ---- The rest -----------------------------------------------------------------------------------------------

std::string cells_text(const grid_result& r, bool colour) {
    text_table table(
        {"bench", "threads",       "% writes",    "section ns",   "think ns",        "lock",   "operations/s",
         "min",   "max",           "CPU ns each", "fairness",     "wait p50 ns",     "p99",    "p99.9",
         "max",   "switches/1000", "forced",      "foreign CPUs", "subject's ratio", "failure"},
        "lrrrrl");
    for (const grid_cell& c : r.cells) {
        const grid_entry* const subject = subject_of(c);
        for (const grid_entry& e : c.entries) {
            const cell& f = e.figures;
            row line{f.bench,
                     fmt::format("{}", f.threads),
                     fmt::format("{}", f.write_percent),
                     fmt::format("{}", f.section_ns),
                     fmt::format("{}", f.think_ns),
                     f.lock};
            const auto add = [&line](bool there, double value) {
                line.emplace_back(there ? shown(value) : "");
            };
            const bool measured = f.ops_per_s.median > 0;
            add(measured, f.ops_per_s.median);
            add(measured, f.ops_per_s.min);
            add(measured, f.ops_per_s.max);
            add(measured, f.cpu_ns_per_op.value_or(0));
            add(measured, f.jain.value_or(0));
            const cell::wait wait = f.wait_ns.value_or(cell::wait{});
            for (const double t : {wait.p50, wait.p99, wait.p999, wait.max})
                add(f.wait_ns.has_value(), t);
            add(measured, f.switches_per_op.value_or(cell::switches{}).voluntary * 1e3);
            add(measured, f.switches_per_op.value_or(cell::switches{}).involuntary * 1e3);
            add(f.foreign_load.has_value(), f.foreign_load.value_or(0));
            const auto ratio = subject != nullptr && subject != &e ? speed_ratio(*subject, e) : std::nullopt;
            line.emplace_back(ratio ? two_digits(*ratio) : "");
            line.emplace_back(f.failure, style::bad);
            table.add(std::move(line));
        }
    }
    return table.text(colour, "") + "\n";
}

std::string failures_text(const grid_result& r, bool colour) {
    std::string text;
    for (const grid_cell& c : r.cells) {
        for (const grid_entry& e : c.entries) {
            const cell& f = e.figures;
            if (!f.failure.empty()) {
                text += fmt::format("  {}: {} ({}, {} threads, {} % writes, section {} ns, think {} ns)\n",
                                    f.lock, styled(f.failure, style::bad, colour), f.bench, f.threads,
                                    f.write_percent, f.section_ns, f.think_ns);
            }
        }
    }
    return text.empty() ? "" : titled("Failed, and in no mean", text, colour);
}

std::string foreign_text(const grid_result& r) {
    double sum = 0;
    double most = 0;
    std::size_t n = 0;
    for (const grid_cell& c : r.cells) {
        for (const grid_entry& e : c.entries) {
            if (!e.figures.foreign_load)
                continue;
            sum += *e.figures.foreign_load;
            most = std::max(most, *e.figures.foreign_load);
            ++n;
        }
    }
    if (n == 0)
        return "";
    return fmt::format("Others kept {:.2f} CPUs busy meanwhile, {:.2f} at most.\n",
                       sum / static_cast<double>(n), most);
}

} // namespace

std::string as_text(const grid_result& r, bool cells, bool colour) {
    std::string text = (cells ? cells_text(r, colour) : "") + comparisons_text(r, colour) +
                       beside_text(r, colour) + failures_text(r, colour) + foreign_text(r);
    for (const std::string& what : r.left_out)
        text += fmt::format("Left out: {}.\n", what);
    if (r.interrupted)
        text += "Interrupted: the last cell may lack rounds.\n";
    return text;
}

nlohmann::ordered_json as_json(const grid_result& r) {
    json cells = json::array();
    for (const grid_cell& c : r.cells) {
        const grid_entry* const subject = subject_of(c);
        for (const grid_entry& e : c.entries) {
            json j = to_json(e.figures);
            j["lock_bytes"] = r.locks[e.lock].bytes;
            j["rounds"] = std::count_if(e.rounds.begin(), e.rounds.end(),
                                        [](const auto& each) { return each.has_value(); });
            if (subject != nullptr && subject != &e) {
                if (const auto speed = speed_ratio(*subject, e))
                    j["ratio"]["speed"] = *speed;
                if (const auto thrift = thrift_ratio(*subject, e))
                    j["ratio"]["thrift"] = *thrift;
            }
            cells.push_back(std::move(j));
        }
    }
    json comparisons = json::array();
    for (const grid_comparison& c : compare_with_subject(r)) {
        comparisons.push_back({{"subject", r.locks.front().name},
                               {"lock", r.locks[c.lock].name},
                               {"threads", c.threads},
                               {"cells", c.cells},
                               {"speed", c.speed},
                               {"thrift", c.thrift},
                               {"least", c.least},
                               {"least_at", c.least_at}});
    }
    json worst = json::array();
    for (const grid_worst& w : worst_beside_best(r)) {
        worst.push_back(
            {{"threads", w.threads}, {"speed", w.speed}, {"lock", r.locks[w.best].name}, {"at", w.at}});
    }
    return {{"cells", std::move(cells)},
            {"comparisons", std::move(comparisons)},
            {"worst", std::move(worst)},
            {"left_out", r.left_out}};
}

bool has_broken_lock(const grid_result& r) {
    return std::any_of(r.cells.begin(), r.cells.end(), [](const grid_cell& c) {
        return std::any_of(c.entries.begin(), c.entries.end(),
                           [](const grid_entry& e) { return e.figures.failure.starts_with("broken"); });
    });
}

} // namespace holdfast::bench
