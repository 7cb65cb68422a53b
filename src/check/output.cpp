#include "check/output.hpp"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "check/suites.hpp"
#include "model/chart.hpp"
#include "text/text_table.hpp"

namespace holdfast::check {

namespace {

using model::exploration;
using model::extent;
using model::judgement;
using model::limits;
using model::mutant;
using model::outcome;
using model::scenario;
using model::suite;
using model::verdict;
using nlohmann::ordered_json;

std::string shown_count(std::uint64_t n) {
    return shown(static_cast<double>(n));
}

// "5 scenarios".
std::string counted(std::uint64_t n, std::string_view what) {
    return fmt::format("{} {}{}", shown_count(n), what, n == 1 ? "" : "s");
}

// What an exploration that comes to its end is, by its limits.
std::string bound_of(const limits& bounds) {
    if (bounds.random != 0)
        return "random";
    std::string text;
    if (bounds.preemptions != limits::unlimited)
        text = counted(bounds.preemptions, "preemption");
    if (bounds.old_values != limits::unlimited)
        text += fmt::format("{}{}", text.empty() ? "" : ", ", counted(bounds.old_values, "old value"));
    return text.empty() ? "complete" : text;
}

// How far it came: "complete", "2 preemptions", "incomplete, of 2 preemptions".
std::string reach_of(const exploration& e) {
    std::string bound = bound_of(e.of.bounds);
    switch (e.reached()) {
    case extent::failed:
        return "FAILED";
    case extent::incomplete:
        return "incomplete" + (bound == "complete" ? "" : ", of " + bound);
    default:
        return bound;
    }
}

style style_of(extent reached) {
    return reached == extent::failed       ? style::bad
           : reached == extent::incomplete ? style::fair
           : reached == extent::complete   ? style::good
                                           : style::plain;
}

std::string failure_of(const outcome& result) {
    const std::string at = model::text_of(result.failed_at);
    return at.empty() ? result.failure : fmt::format("{} at {}", result.failure, at);
}

// As one word of a shell's command.
std::string quoted(const std::string& text) {
    std::string word = "'";
    for (const char c : text)
        word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::string indented(const std::string& text) {
    std::string lines = "  ";
    for (const char c : text) {
        lines += c;
        if (c == '\n')
            lines += "  ";
    }
    return lines.substr(0, lines.find_last_not_of(' ') + 1);
}

// Explorations that are told in one line.
struct group {
    std::string reach;
    extent reached;
    std::uint64_t scenarios = 0;
    std::uint64_t executions = 0;
    double seconds = 0;
};

// Of each lock in turn, by number of threads.
std::vector<std::tuple<const suite*, unsigned, group>> groups_of(const std::vector<exploration>& done) {
    std::vector<std::tuple<const suite*, unsigned, group>> groups;
    for (const exploration& e : done) {
        const std::string reach = reach_of(e);
        auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& g) {
            return std::get<0>(g) == e.of.of && std::get<1>(g) == e.of.what->threads &&
                   std::get<2>(g).reach == reach;
        });
        if (at == groups.end())
            at = groups.insert(at, {e.of.of, e.of.what->threads, {reach, e.reached()}});
        group& g = std::get<2>(*at);
        ++g.scenarios;
        g.executions += e.result.executions;
        g.seconds += e.result.seconds;
    }
    std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
        return std::get<0>(a) == std::get<0>(b) && std::get<1>(a) < std::get<1>(b);
    });
    return groups;
}

std::uint64_t count_of(const std::vector<exploration>& done, extent reached) {
    return static_cast<std::uint64_t>(std::count_if(
        done.begin(), done.end(), [reached](const exploration& e) { return e.reached() == reached; }));
}

std::string totals_of(const std::vector<exploration>& done) {
    std::vector<const suite*> locks;
    std::uint64_t executions = 0;
    double seconds = 0;
    for (const exploration& e : done) {
        if (std::find(locks.begin(), locks.end(), e.of.of) == locks.end())
            locks.push_back(e.of.of);
        executions += e.result.executions;
        seconds += e.result.seconds;
    }
    std::string text =
        fmt::format("{}, {}: {} complete, {} within bounds, {} random", counted(locks.size(), "lock"),
                    counted(done.size(), "scenario"), count_of(done, extent::complete),
                    count_of(done, extent::bounded), count_of(done, extent::random));
    if (const std::uint64_t n = count_of(done, extent::incomplete); n != 0)
        text += fmt::format(", {} incomplete (more time: --seconds)", n);
    if (const std::uint64_t n = count_of(done, extent::failed); n != 0)
        text += fmt::format(", {} FAILED", n);
    return text + fmt::format("; {} in {:.1f} CPU seconds\n", counted(executions, "execution"), seconds);
}

const char* extent_name(extent reached) {
    return reached == extent::failed ? "fail" : reached == extent::incomplete ? "incomplete" : "ok";
}

// How a mutant fared, in words: for a table's last columns.
struct fate {
    std::string by, executions, as;
    style how;
};

fate fate_of(const mutant& m, const verdict& v) {
    if (v.by == nullptr) {
        return m.argument.empty() ? fate{"SURVIVES", "", "", style::bad}
                                  : fate{"nobody", "", m.argument, style::plain};
    }
    const std::string by = fmt::format("{}, {} threads", v.by->name, v.by->threads);
    return m.argument.empty()
               ? fate{by, shown_count(v.result.executions), v.result.failure, style::good}
               : fate{by, shown_count(v.result.executions), "UNEXPECTEDLY: " + v.result.failure, style::bad};
}

struct mutant_count {
    std::uint64_t all = 0, caught = 0, argued = 0;
};

mutant_count count_of(const judgement& j) {
    mutant_count n;
    for (std::size_t i = 0; i < j.verdicts.size(); ++i) {
        ++n.all;
        n.caught += j.verdicts[i].by != nullptr ? 1u : 0u;
        n.argued += j.verdicts[i].by == nullptr && !j.list.mutants[i].argument.empty() ? 1u : 0u;
    }
    return n;
}

// "`lock exchange(acq_rel)`: acq_rel -> release".
std::string name_in_markdown(const mutant& m) {
    const std::size_t colon = m.only == nullptr ? m.name.find(": ") : m.name.npos;
    return colon == m.name.npos ? m.name
                                : fmt::format("`{}`{}", m.name.substr(0, colon), m.name.substr(colon));
}

std::string chance_of(unsigned n) {
    return n == model::chances::always ? "always" : shown_count(n);
}

// What may happen besides, as "off CPU always, time-out 1".
std::string chances_of(const model::chances& allowed) {
    std::string text;
    for (const auto& [n, name] : {std::pair{allowed.resched, "resched"},
                                  {allowed.off_cpu, "off CPU"},
                                  {allowed.time_out, "time-out"},
                                  {allowed.spurious_wake, "spurious wake-up"},
                                  {allowed.weak_failure, "weak failure"}}) {
        if (n != 0)
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, chance_of(n));
    }
    return text;
}

} // namespace

std::string again(const suite& s, const scenario& of, const limits& bounds, const std::string& mutant,
                  const std::string& choices) {
    return fmt::format(
        "holdfast check {} --threads {} --scenario {}{}{} --replay={}", short_name(s), of.threads,
        quoted(of.name),
        bounds.preemptions == of.bounds.preemptions ? "" : fmt::format(" --bound {}", bounds.preemptions),
        mutant.empty() ? "" : " --mutant " + quoted(mutant), choices);
}

std::string as_text(const outcome& replayed, const look& how) {
    return model::chart(replayed.trace, how.width) +
           (replayed.failure.empty() ? std::string("Nothing fails.\n") : failure_of(replayed) + "\n");
}

std::string as_text(const std::vector<exploration>& done, const look& how) {
    text_table table({"lock", "threads", "explored", "scenario", "scenarios", "executions", "seconds"},
                     "lrllrrr");
    const suite* last = nullptr;
    const auto lock_of = [&last](const suite* s) {
        return std::exchange(last, s) == s ? std::string() : s->lock();
    };
    if (how.each) {
        for (const exploration& e : done) {
            table.add({lock_of(e.of.of),
                       fmt::format("{}", e.of.what->threads),
                       {reach_of(e), style_of(e.reached())},
                       e.of.what->name,
                       "",
                       shown_count(e.result.executions),
                       fmt::format("{:.2f}", e.result.seconds)});
        }
    } else {
        for (const auto& [s, threads, g] : groups_of(done)) {
            table.add({lock_of(s),
                       fmt::format("{}", threads),
                       {g.reach, style_of(g.reached)},
                       "",
                       shown_count(g.scenarios),
                       shown_count(g.executions),
                       fmt::format("{:.2f}", g.seconds)});
        }
    }
    std::string text = table.empty() ? "" : table.text(how.colour, "");
    for (const exploration& e : done) {
        if (e.reached() != extent::failed)
            continue;
        text += fmt::format("\n{}, {} threads, \"{}\" fails in execution {}: {}\n{}again: {}\n",
                            styled(e.of.of->lock(), style::bad, how.colour), e.of.what->threads,
                            e.of.what->name, shown_count(e.result.executions), failure_of(e.result),
                            indented(model::chart(e.result.trace, how.width - 2)),
                            again(*e.of.of, *e.of.what, e.of.bounds, "", e.result.choices));
    }
    return text + "\n" + totals_of(done);
}

std::string as_markdown(const std::vector<exploration>& done) {
    std::string text = "| lock | threads | explored | scenarios | executions |\n|---|---:|---|---:|---:|\n";
    for (const auto& [s, threads, g] : groups_of(done)) {
        text += fmt::format("| `{}` | {} | {} | {} | {} |\n", s->lock(), threads, g.reach, g.scenarios,
                            shown_count(g.executions));
    }
    return text;
}

ordered_json as_json(const std::vector<exploration>& done) {
    ordered_json locks = ordered_json::array();
    for (const exploration& e : done) {
        ordered_json row{{"lock", e.of.of->lock()},           {"test", e.of.what->name},
                         {"threads", e.of.what->threads},     {"bound", bound_of(e.of.bounds)},
                         {"executions", e.result.executions}, {"complete", e.reached() == extent::complete},
                         {"seconds", e.result.seconds},       {"result", extent_name(e.reached())}};
        if (e.reached() == extent::failed) {
            row["failure"] = failure_of(e.result);
            row["replay"] = e.result.choices;
            row["again"] = again(*e.of.of, *e.of.what, e.of.bounds, "", e.result.choices);
        }
        locks.push_back(std::move(row));
    }
    return {{"locks", std::move(locks)}};
}

std::string as_text(const std::vector<judgement>& judged, bool charts, const look& how) {
    std::string text;
    mutant_count total;
    bool good = true;
    for (const judgement& j : judged) {
        if (j.list.mutants.empty() && j.list.unknown.empty())
            continue;
        const mutant_count n = count_of(j);
        total.all += n.all;
        total.caught += n.caught;
        total.argued += n.argued;
        good = good && j.good();
        text += fmt::format("{}: {}, {} caught, {} argued\n", styled(j.of->lock(), style::strong, how.colour),
                            counted(n.all, "mutant"), n.caught, n.argued);
        text_table table({"mutant", "caught by", "executions", "as"}, "llrl");
        for (std::size_t i = 0; i < j.verdicts.size(); ++i) {
            const mutant& m = j.list.mutants[i];
            const fate f = fate_of(m, j.verdicts[i]);
            table.add({m.name, {f.by, f.how}, f.executions, f.as});
        }
        if (!table.empty())
            text += table.text(how.colour, "  ");
        for (const std::string& name : j.list.unknown)
            text += fmt::format("  there is no such mutant or operation: {}\n", name);
        for (std::size_t i = 0; charts && i < j.verdicts.size(); ++i) {
            const auto& [by, result] = j.verdicts[i];
            if (by == nullptr)
                continue;
            const std::string& name = j.list.mutants[i].name;
            text += fmt::format("\n{}\n\"{}\", {} threads, fails in execution {}: {}\n{}again: {}\n", name,
                                by->name, by->threads, shown_count(result.executions), failure_of(result),
                                indented(model::chart(result.trace, how.width - 2)),
                                again(*j.of, *by, by->bounds, name, result.choices));
        }
        text += "\n";
    }
    return text + fmt::format("{}: {} caught, {} argued{}\n", counted(total.all, "mutant"), total.caught,
                              total.argued,
                              good ? "" : "; " + styled("NOT as expected", style::bad, how.colour));
}

std::string as_markdown(const std::vector<judgement>& judged) {
    std::string totals = "| lock | mutants | caught | argued |\n|---|---:|---:|---:|\n";
    std::string tables;
    mutant_count total;
    for (const judgement& j : judged) {
        if (j.list.mutants.empty())
            continue;
        const mutant_count n = count_of(j);
        total.all += n.all;
        total.caught += n.caught;
        total.argued += n.argued;
        totals += fmt::format("| `{}` | {} | {} | {} |\n", j.of->lock(), n.all, n.caught, n.argued);
        tables += fmt::format("\n## {}\n\n| mutant | caught by | in execution | as |\n|---|---|---:|---|\n",
                              j.of->lock());
        for (std::size_t i = 0; i < j.verdicts.size(); ++i) {
            const fate f = fate_of(j.list.mutants[i], j.verdicts[i]);
            tables += fmt::format("| {} | {} | {} | {} |\n", name_in_markdown(j.list.mutants[i]), f.by,
                                  f.executions, f.as);
        }
    }
    return "# Mutants: what the scenarios catch\n\n"
           "Written by `holdfast check --mutants --markdown`. Each operation of a lock is changed in every "
           "way that "
           "should break it, and its scenarios are explored until one fails: "
           "[how](check.md#would-it-be-noticed).\n\n" +
           totals + fmt::format("| all | {} | {} | {} |\n", total.all, total.caught, total.argued) + tables;
}

ordered_json as_json(const std::vector<judgement>& judged) {
    ordered_json mutants = ordered_json::array();
    for (const judgement& j : judged) {
        for (std::size_t i = 0; i < j.verdicts.size(); ++i) {
            const mutant& m = j.list.mutants[i];
            const verdict& v = j.verdicts[i];
            ordered_json row{{"lock", j.of->lock()}, {"mutant", m.name}, {"caught", v.by != nullptr}};
            if (v.by != nullptr) {
                row["by"] = v.by->name;
                row["threads"] = v.by->threads;
                row["executions"] = v.result.executions;
                row["failure"] = failure_of(v.result);
                row["replay"] = v.result.choices;
                row["again"] = again(*j.of, *v.by, v.by->bounds, m.name, v.result.choices);
            }
            if (!m.argument.empty())
                row["explained"] = m.argument;
            mutants.push_back(std::move(row));
        }
    }
    return {{"mutants", std::move(mutants)}};
}

std::string list_as_text(std::span<const suite* const> suites, const look& how) {
    text_table table({"lock", "threads", "scenario", "bound", "what may happen"}, "lrlll");
    for (const suite* s : suites) {
        for (const scenario& one : s->scenarios()) {
            table.add({&one == &s->scenarios().front() ? s->lock() : "", fmt::format("{}", one.threads),
                       one.name, bound_of(one.bounds), chances_of(one.bounds.allowed)});
        }
    }
    return table.text(how.colour, "");
}

std::string list_as_markdown(std::span<const suite* const> suites) {
    std::string text =
        "# What `holdfast check` explores\n\n"
        "Written by `holdfast check --list --markdown`. A bound is on preemptions and on old values; "
        "complete is "
        "without. What may happen besides the threads' own steps happens at most so often in an execution: "
        "[the model](model.md).\n";
    for (const suite* s : suites) {
        text += fmt::format(
            "\n## {}\n\n| scenario | threads | bound | what may happen |\n|---|---:|---|---|\n", s->lock());
        for (const scenario& one : s->scenarios()) {
            text += fmt::format("| {} | {} | {} | {} |\n", one.name, one.threads, bound_of(one.bounds),
                                chances_of(one.bounds.allowed));
        }
    }
    return text;
}

ordered_json list_as_json(std::span<const suite* const> suites) {
    ordered_json rows = ordered_json::array();
    for (const suite* s : suites) {
        for (const scenario& one : s->scenarios()) {
            rows.push_back({{"lock", s->lock()},
                            {"test", one.name},
                            {"threads", one.threads},
                            {"bound", bound_of(one.bounds)},
                            {"may_happen", chances_of(one.bounds.allowed)}});
        }
    }
    return {{"scenarios", std::move(rows)}};
}

} // namespace holdfast::check
