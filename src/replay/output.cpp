// Results as text and as JSON.
#include "replay/output.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "text/text_table.hpp"

namespace holdfast::replay {

namespace {

using json = nlohmann::ordered_json;

style style_of(verdict v) {
    switch (v) {
    case verdict::match:
    case verdict::close:
        return style::good;
    case verdict::direction:
        return style::fair;
    case verdict::miss:
        return style::bad;
    case verdict::needs_full:
    case verdict::not_run:
    case verdict::not_comparable:
        break;
    }
    return style::plain;
}

std::string shown_or_dash(const std::optional<double>& value) {
    return value ? shown(*value) : "-";
}

std::string shown_error(const std::optional<double>& error) {
    return error ? fmt::format("x{:.2f}", *error) : "";
}

// How much more or less than before.
std::string shown_change(double before, double after) {
    const double percent = 100 * (after / before - 1);
    return std::abs(percent) < 10 ? fmt::format("{:+.1f} %", percent) : fmt::format("{:+.0f} %", percent);
}

unsigned host_cpus() {
    return std::thread::hardware_concurrency();
}

std::string qualified(const experiment_result& e, const variant_result& v) {
    return fmt::format("{}.{}", e.plan.what->name, v.what->name);
}

const check_result* ratio_check(const case_result& r, const experiment_result& e, const variant_result& v) {
    const std::string baseline = fmt::format("{}.{}", e.plan.what->name, e.plan.what->baseline);
    for (const check_result& c : r.checks) {
        if (c.what->how == check_description::kind::ratio && c.what->variant == qualified(e, v) &&
            c.what->baseline == baseline && c.what->column == e.plan.what->metric)
            return &c;
    }
    return nullptr;
}

std::optional<double> published_in(const variant_result& v, std::string_view column) {
    const auto found = v.what->published.find(column);
    return found == v.what->published.end() ? std::nullopt : std::optional(found->second);
}

std::string main_table(const case_result& r, const experiment_result& e, bool colour) {
    const experiment_description& what = *e.plan.what;
    const std::string metric = parse_column(what.metric)->metric;
    const std::string ratio = what.baseline.empty() ? "" : "/ " + what.baseline;
    text_table table(
        {"variant", what.metric, "published", "min", "max", ratio, "published", "off by", "verdict"},
        "lrrrrrrrl");
    std::optional<double> base;
    for (const variant_result& v : e.variants) {
        if (v.what->name == what.baseline)
            base = v.value(what.metric);
    }
    for (const variant_result& v : e.variants) {
        if (!v.error.empty()) {
            table.add({v.what->name, cell("failed", style::bad)});
            continue;
        }
        const std::optional<double> published = published_in(v, what.metric);
        std::vector<cell> row = {v.what->name, shown_or_dash(v.value(what.metric)),
                                 published ? shown(*published) : "", shown_or_dash(v.value(metric + " min")),
                                 shown_or_dash(v.value(metric + " max"))};
        const std::optional<double> value = v.value(what.metric);
        if (base && *base != 0 && value && v.what->name != what.baseline) {
            row.emplace_back(fmt::format("{} ({})", shown(*value / *base), shown_change(*base, *value)));
            if (const check_result* c = ratio_check(r, e, v)) {
                row.emplace_back(shown(c->what->published));
                row.emplace_back(shown_error(c->error));
                row.emplace_back(std::string(name_of(c->outcome)), style_of(c->outcome));
            }
        }
        table.add(std::move(row));
    }
    return table.text(colour);
}

std::string other_table(const experiment_result& e, const table_description& t, bool colour) {
    std::vector<cell> header = {"variant", ""};
    header.insert(header.end(), t.columns.begin(), t.columns.end());
    text_table table(std::move(header), "ll");
    for (const variant_result& v : e.variants) {
        std::vector<cell> replayed = {v.what->name, "replayed"};
        std::vector<cell> published = {"", "published"};
        bool any = false;
        for (const std::string& column : t.columns) {
            replayed.emplace_back(shown_or_dash(v.value(column)));
            const std::optional<double> figure = published_in(v, column);
            published.emplace_back(figure ? shown(*figure) : "");
            any |= figure.has_value();
        }
        table.add(std::move(replayed));
        if (any)
            table.add(std::move(published));
    }
    return fmt::format("  {}:\n\n", t.title) + table.text(colour);
}

// Before and after, as many threads tell it: a row an experiment. Empty if none of them was run.
std::string comparison_table(const case_result& r, const comparison_description& c, bool colour) {
    text_table table({"test", c.before, c.after, "change", "published", "", "change"}, "lrrrrrr");
    bool any = false;
    for (const experiment_result& e : r.experiments) {
        const auto chosen = std::find(c.experiments.begin(), c.experiments.end(), e.plan.what->name);
        if (chosen == c.experiments.end() || e.variants.empty())
            continue;
        any = true;
        std::vector<cell> row = {e.plan.what->name};
        const auto add = [&](const std::optional<double>& before, const std::optional<double>& after) {
            row.emplace_back(before ? shown(*before) : "");
            row.emplace_back(after ? shown(*after) : "");
            row.emplace_back(before && *before != 0 && after ? shown_change(*before, *after) : "");
        };
        const auto named = [&](const std::string& name) -> const variant_result& {
            return *std::find_if(e.variants.begin(), e.variants.end(),
                                 [&](const variant_result& v) { return v.what->name == name; });
        };
        add(named(c.before).value(c.column), named(c.after).value(c.column));
        add(published_in(named(c.before), c.column), published_in(named(c.after), c.column));
        table.add(std::move(row));
    }
    return any ? fmt::format("\n{}, {}:\n\n", c.title, c.column) + table.text(colour) : "";
}

// The largest shares of each variant's profile: the function, and its callers behind it.
std::string profiles(const experiment_result& e, bool colour) {
    text_table table({"variant", "%", "of the CPU time that was not idle"}, "lrl");
    for (const variant_result& v : e.variants) {
        std::string name = v.what->name;
        const auto most = std::min(v.profile.size(), static_cast<std::size_t>(e.plan.what->profile));
        for (std::size_t i = 0; i < most; ++i) {
            table.add({std::exchange(name, {}), fmt::format("{:.2f}", v.profile[i].percent),
                       fmt::format("{}", fmt::join(v.profile[i].frames, " < "))});
        }
    }
    return "  profile:\n\n" + table.text(colour);
}

// The functions with the largest shares of each variant's profile, whoever called them, by command: the outermost
// frame.
std::string functions_by_command(const experiment_result& e, bool colour) {
    text_table table({"variant", "%", "command", "function"}, "lrll");
    for (const variant_result& v : e.variants) {
        std::map<std::pair<std::string, std::string>, double> sums;
        for (const stack_share& s : v.profile)
            sums[{s.frames.back(), s.frames.front()}] += s.percent;
        std::vector<std::pair<double, std::pair<std::string, std::string>>> largest;
        largest.reserve(sums.size());
        for (const auto& [place, percent] : sums)
            largest.emplace_back(-percent, place);
        std::sort(largest.begin(), largest.end());
        largest.resize(std::min(largest.size(), static_cast<std::size_t>(e.plan.what->by_command)));
        std::string name = v.what->name;
        for (const auto& [negative, place] : largest)
            table.add({std::exchange(name, {}), fmt::format("{:.2f}", -negative), place.first, place.second});
    }
    return "  functions by command, of the CPU time that was not idle:\n\n" + table.text(colour);
}

std::string check_table(const case_result& r, bool colour) {
    text_table table({"check", "published", "replayed", "off by", "verdict"}, "lrrrl");
    for (const check_result& c : r.checks) {
        std::string verdict_text(name_of(c.outcome));
        if (c.what->fitted && c.error)
            verdict_text += " (fitted)";
        table.add({c.what->name, shown(c.what->published), shown_or_dash(c.replayed), shown_error(c.error),
                   cell(verdict_text, style_of(c.outcome))});
    }
    return table.text(colour);
}

std::string summary_line(const case_result& r) {
    std::map<verdict, std::size_t> counts;
    for (const check_result& c : r.checks)
        ++counts[c.outcome];
    std::vector<std::string> parts;
    parts.reserve(counts.size());
    for (const auto& [v, count] : counts)
        parts.push_back(
            fmt::format("{} {}", count, v == verdict::not_comparable ? "not comparable" : name_of(v)));
    return fmt::format("{}: {} checks: {}\n", r.what->name, r.checks.size(), fmt::join(parts, ", "));
}

json json_of(const std::optional<double>& value) {
    return value ? json(*value) : json(nullptr);
}

json json_of(const std::vector<stack_share>& shares) {
    json list = json::array();
    for (const stack_share& s : shares)
        list.push_back({{"frames", s.frames}, {"percent", s.percent}});
    return list;
}

json json_of(const experiment_result& e, const variant_result& v) {
    json metrics = json::object();
    for (const metric_runs& m : v.metrics) {
        metrics[m.name] = {
            {"median", compute(statistic::median, m.values)}, {"min", compute(statistic::min, m.values)},
            {"max", compute(statistic::max, m.values)},       {"mean", compute(statistic::mean, m.values)},
            {"sd", compute(statistic::sd, m.values)},         {"unit", m.unit}};
    }
    json published = json::object();
    for (const auto& [column, value] : v.what->published)
        published[column] = value;
    json entry = {{"name", qualified(e, v)},       {"about", v.what->about},
                  {"published", published},        {"metrics", metrics},
                  {"profile", json_of(v.profile)}, {"switches", json_of(v.switches)}};
    if (!v.error.empty())
        entry["error"] = v.error;
    return entry;
}

json json_of(const check_result& c) {
    const bool ratio = c.what->how == check_description::kind::ratio;
    return {{"name", c.what->name},
            {"variant", c.what->variant},
            {"baseline", c.what->baseline.empty() ? json(nullptr) : json(c.what->baseline)},
            {"kind", ratio ? "ratio" : "value"},
            {"metric", c.what->column},
            {"published", c.what->published},
            {"replayed", json_of(c.replayed)},
            {"ratio_error", json_of(c.error)},
            {"verdict", name_of(c.outcome)},
            {"fitted", c.what->fitted}};
}

json json_of_constants(const planned_experiment& p) {
    constexpr std::string_view kinds[] = {"source", "assumed", "fitted"};
    json workload = json::object();
    for (const constant& k : p.what->workload) {
        workload[k.key] = {{"value", p.constants.find(k.key)->second},
                           {"published", k.value},
                           {std::string(kinds[static_cast<std::size_t>(k.from.how)]), k.from.words}};
    }
    return workload;
}

} // namespace

std::string_view name_of(scale s) {
    constexpr std::string_view names[scale_count] = {"default", "full", "native"};
    return names[static_cast<std::size_t>(s)];
}

std::string_view name_of(target t) {
    return t == target::sim ? "sim" : "native";
}

std::string what_was_run(const planned_experiment& p, target on) {
    std::string text;
    if (on == target::native) {
        text = fmt::format("on this machine, {} CPUs", host_cpus());
    } else {
        text = fmt::format("on {}, {} sockets x {} cores x {} threads", p.machine.name, p.machine.sockets,
                           p.machine.cores_per_socket, p.machine.threads_per_core);
    }
    text += fmt::format("; {} {}", p.seeds.size(), on == target::native ? "rounds" : "boots");
    for (const auto& [key, value] : p.settings->set) {
        const double published = p.published.find(key)->second;
        if (value != published)
            text += fmt::format("; {} {} for {}", key, value, published);
    }
    if (on == target::sim && p.settings->swap_rate != 1)
        text += fmt::format("; swaps between sockets {} times as often", p.settings->swap_rate);
    return text;
}

std::string as_text(const case_result& r, bool colour) {
    const bool native = r.options.on == target::native;
    std::string out = styled(r.what->name, style::strong, colour) + fmt::format(": {}\n", r.what->summary);
    out += fmt::format("{}\n", r.what->thread);
    if (native) {
        out += fmt::format("native: this machine has {} CPUs and is not the published one; absolute times do "
                           "not carry over\n",
                           host_cpus());
    } else {
        out += fmt::format(
            "simulated at scale {}; figures that grow with time are brought to the published duration\n",
            name_of(r.options.scale));
    }
    for (const experiment_result& e : r.experiments) {
        if (e.variants.empty())
            continue;
        out += fmt::format("\n{}: {}\n  {}\n\n", styled(e.plan.what->name, style::strong, colour),
                           e.plan.what->about, what_was_run(e.plan, r.options.on));
        out += main_table(r, e, colour);
        for (const variant_result& v : e.variants) {
            if (!v.error.empty())
                out += fmt::format("  {} failed: {}\n", v.what->name, v.error);
        }
        for (const table_description& t : e.plan.what->tables)
            out += '\n' + other_table(e, t, colour);
        if (e.plan.what->profile > 0 && !native)
            out += '\n' + profiles(e, colour);
        if (e.plan.what->by_command > 0 && !native)
            out += '\n' + functions_by_command(e, colour);
    }
    for (const comparison_description& c : r.what->comparisons)
        out += comparison_table(r, c, colour);
    out += '\n' + check_table(r, colour) + '\n' + summary_line(r);
    return out;
}

std::string as_text(const sensitivity& s, bool colour) {
    std::string out =
        fmt::format("{} assumed constants halved and doubled, {} reruns: ", s.constants, s.reruns);
    if (s.moved.empty())
        return out + "no verdict moves\n";
    out += "these verdicts move\n\n";
    text_table table({"where", "constant", "assumed", "tried", "check", "verdict", "then"}, "llrrlll");
    for (const moved_verdict& m : s.moved) {
        table.add({m.where, m.key, m.value, m.other, m.check->name,
                   cell(std::string(name_of(m.before)), style_of(m.before)),
                   cell(std::string(name_of(m.after)), style_of(m.after))});
    }
    return out + table.text(colour);
}

json as_json(const case_result& r) {
    json entries = json::array();
    for (const experiment_result& e : r.experiments) {
        if (e.variants.empty())
            continue;
        json entry = {{"case", r.what->name},
                      {"experiment", e.plan.what->name},
                      {"platform", name_of(r.options.on)},
                      {"machine", r.options.on == target::sim ? json(e.plan.machine.name) : json(nullptr)},
                      {"scale", name_of(r.options.scale)},
                      {"seeds", e.plan.seeds},
                      {"workload", json_of_constants(e.plan)}};
        if (r.options.on == target::native)
            entry["host"] = {{"cpus", host_cpus()}};
        else
            entry["swap_rate"] = e.plan.settings->swap_rate;
        entry["variants"] = json::array();
        for (const variant_result& v : e.variants)
            entry["variants"].push_back(json_of(e, v));
        entry["checks"] = json::array();
        for (const check_result& c : r.checks) {
            const experiment_description* const owner = r.what->find(c.what->variant).experiment;
            const auto run =
                std::find_if(r.experiments.begin(), r.experiments.end(), [&](const experiment_result& each) {
                    return each.plan.what == owner && !each.variants.empty();
                });
            if (owner == e.plan.what || (run == r.experiments.end() && entries.empty()))
                entry["checks"].push_back(json_of(c));
        }
        entries.push_back(std::move(entry));
    }
    return entries;
}

json as_json(const sensitivity& s) {
    json moved = json::array();
    for (const moved_verdict& m : s.moved) {
        moved.push_back({{"where", m.where},
                         {"constant", m.key},
                         {"assumed", m.value},
                         {"tried", m.other},
                         {"check", m.check->name},
                         {"verdict", name_of(m.before)},
                         {"then", name_of(m.after)}});
    }
    return {{"constants", s.constants}, {"reruns", s.reruns}, {"moved", moved}};
}

bool has_miss(const case_result& r) {
    return std::any_of(r.checks.begin(), r.checks.end(),
                       [](const check_result& c) { return c.outcome == verdict::miss; });
}

bool has_failure(const case_result& r) {
    return std::any_of(r.experiments.begin(), r.experiments.end(), [](const experiment_result& e) {
        return std::any_of(e.variants.begin(), e.variants.end(),
                           [](const variant_result& v) { return !v.error.empty(); });
    });
}

std::string listed(const case_description& c, bool colour) {
    std::string out = styled(c.name, style::strong, colour) + fmt::format(": {}\n", c.summary);
    text_table table({"variant", "machine", "about"}, "lll");
    for (const experiment_description& e : c.experiments) {
        for (const variant_description& v : e.variants)
            table.add({fmt::format("{}.{}", e.name, v.name), e.machine.name, v.about});
    }
    return out + table.text(colour);
}

} // namespace holdfast::replay
