// Neighbours held against each other.
#include "compare/history.hpp"

#include <algorithm>
#include <cmath>
#include <ctime>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "replay/statistics.hpp"
#include "sim/data_files.hpp"
#include "text/text_table.hpp"

namespace holdfast::compare {

namespace {

using replay::compute;
using replay::statistic;

std::string machine_of(const stored_series& s) {
    return fmt::format("{}, {} CPUs, Linux {}", s.when.host, s.cpus, s.when.kernel);
}

void judge(course& c) {
    std::vector<double> p;
    for (std::size_t i = 1; i < c.moments.size(); ++i)
        p.push_back(mann_whitney(c.moments[i - 1].values, c.moments[i].values).p);
    const std::vector<double> adjusted = holm(p);
    for (std::size_t i = 1; i < c.moments.size(); ++i) {
        moment& now = c.moments[i];
        const double before = compute(statistic::median, c.moments[i - 1].values);
        now.change_percent =
            before == 0 ? 0 : (compute(statistic::median, now.values) - before) / std::abs(before) * 100;
        now.p = adjusted[i - 1];
        now.changed = now.p < significance;
    }
}

cell change_cell(const course& c, const moment& m) {
    if (&m == &c.moments.front())
        return "";
    if (!m.changed)
        return "~";
    const bool better = (m.change_percent > 0) == c.what.higher_is_better;
    return {fmt::format("{:+.1f} %", m.change_percent), better ? style::good : style::bad};
}

std::string time_text(std::int64_t time) {
    return fmt::format("{:%Y-%m-%d %H:%M}", fmt::gmtime(static_cast<std::time_t>(time)));
}

text_table table_of(const course& c) {
    text_table table({"UTC", "commit", "label", "runs", "median", "min", "max", "change", "p"}, "lll");
    for (const moment& m : c.moments) {
        table.add({time_text(m.when.time), m.when.commit.substr(0, 12), printable(m.when.label),
                   fmt::format("{}", m.values.size()), shown(compute(statistic::median, m.values)),
                   shown(compute(statistic::min, m.values)), shown(compute(statistic::max, m.values)),
                   change_cell(c, m), &m == &c.moments.front() ? "" : fmt::format("{:.3f}", m.p)});
    }
    return table;
}

} // namespace

std::vector<course> courses_of(const std::vector<stored_series>& all) {
    std::vector<course> courses;
    for (const stored_series& s : all) {
        const std::string machine = machine_of(s);
        auto at = std::find_if(courses.begin(), courses.end(), [&](const course& c) {
            return c.command == s.command && c.lock == s.lock && c.what == s.what && c.machine == machine;
        });
        if (at == courses.end())
            at = courses.insert(
                at,
                {.command = s.command, .lock = s.lock, .what = s.what, .machine = machine, .moments = {}});
        at->moments.push_back({.when = s.when, .values = s.values});
    }
    for (course& c : courses)
        judge(c);
    return courses;
}

std::string as_text(const std::vector<course>& courses, bool all_metrics, bool colour) {
    std::string text;
    for (const course& c : courses) {
        if (!all_metrics && !c.what.printed && c.what.name != "wall")
            continue;
        text += fmt::format("{}\n{}{} with {}, on {}\n", printable(c.command), printable(c.what.name),
                            c.what.unit.empty() ? "" : ", " + printable(c.what.unit), printable(c.lock),
                            printable(c.machine));
        text += table_of(c).text(colour) + '\n';
    }
    if (!text.empty())
        text += fmt::format("change: against the comparison above. ~: not told apart (p >= {:g}).\n"
                            "p: Mann-Whitney, with Holm's correction over the table.\n",
                            significance);
    return text;
}

} // namespace holdfast::compare
