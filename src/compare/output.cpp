// Tables and JSON of comparisons.
#include "compare/output.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include <fmt/format.h>

#include "replay/statistics.hpp"
#include "sim/data_files.hpp"
#include "text/text_table.hpp"

namespace holdfast::compare {

namespace {

using json = nlohmann::ordered_json;
using replay::compute;
using replay::statistic;

std::string spread_text(std::span<const double> values) {
    const double mean = compute(statistic::mean, values);
    return mean == 0 ? "-" : fmt::format("{:.1f} %", 100 * compute(statistic::sd, values) / std::abs(mean));
}

cell change_cell(const metric& m, const difference& d) {
    if (!d.test.told_apart())
        return "~";
    if (!d.change_percent)
        return {"from 0", style::strong};
    // From ten times on a factor says more.
    const double ratio = 1 + *d.change_percent / 100;
    return {ratio >= 10 ? fmt::format("x{:.3g}", ratio) : fmt::format("{:+.1f} %", *d.change_percent),
            d.is_worse(m) ? style::bad : style::good};
}

std::string p_text(double p) {
    return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p);
}

// The first variant, and the others from `begin` to before `end`.
text_table table_of(const experiment& e, std::size_t begin, std::size_t end) {
    std::vector<cell> header{"", e.variants[0].lock, "+-"};
    for (std::size_t v = begin; v < end; ++v)
        header.insert(header.end(), {e.variants[v].lock, "+-", "change", "p"});
    text_table table(header, "l");
    for (std::size_t m = 0; m < e.metrics.size(); ++m) {
        const std::string& unit = e.metrics[m].unit;
        std::vector<cell> row{printable(e.metrics[m].name) + (unit.empty() ? "" : ", " + unit)};
        const auto add = [&row](std::span<const double> values) {
            row.emplace_back(shown(compute(statistic::median, values)));
            row.emplace_back(spread_text(values));
        };
        add(e.variants[0].values[m]);
        for (std::size_t v = begin; v < end; ++v) {
            const difference d = difference_of(e, m, v);
            add(e.variants[v].values[m]);
            row.push_back(change_cell(e.metrics[m], d));
            row.emplace_back(p_text(d.test.p));
        }
        table.add(row);
    }
    return table;
}

} // namespace

std::string as_text(const experiment& e, bool colour) {
    constexpr std::size_t across = 3;
    std::string text = printable(e.command) + "\n\n";
    for (std::size_t v = 1; v < e.variants.size(); v += across)
        text += table_of(e, v, std::min(v + across, e.variants.size())).text(colour) + '\n';
    text += fmt::format("Medians of {} runs each, in rounds. +-: standard deviation. change: the median of "
                        "the rounds' changes.\n"
                        "~: not told apart (p >= {:g}). p: Mann-Whitney's U, by swaps within the rounds{}.\n",
                        e.runs, significance, e.runs > most_exact_rounds ? ", approximately" : "");
    for (const std::string& warning : warnings(e))
        text += styled("warning: ", style::fair, colour) + printable(warning) + '\n';
    return text;
}

json as_json(const experiment& e) {
    json variants = json::array();
    for (std::size_t v = 0; v < e.variants.size(); ++v) {
        for (std::size_t m = 0; m < e.metrics.size(); ++m) {
            const std::vector<double>& values = e.variants[v].values[m];
            json entry{{"lock", e.variants[v].lock},
                       {"metric", e.metrics[m].name},
                       {"unit", e.metrics[m].unit},
                       {"higher_is_better", e.metrics[m].higher_is_better},
                       {"median", compute(statistic::median, values)},
                       {"min", compute(statistic::min, values)},
                       {"max", compute(statistic::max, values)},
                       {"change_percent", nullptr},
                       {"p", nullptr},
                       {"values", values}};
            if (v > 0) {
                const difference d = difference_of(e, m, v);
                if (d.change_percent)
                    entry["change_percent"] = *d.change_percent;
                entry["p"] = d.test.p;
                entry["exact"] = d.test.exact;
            }
            variants.push_back(entry);
        }
    }
    return {{"command", e.command},           {"runs", e.runs},       {"cpus", e.cpus},
            {"foreign_load", e.foreign_cpus}, {"variants", variants}, {"warnings", warnings(e)}};
}

} // namespace holdfast::compare
