#include "replay/scaling_output.hpp"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "replay/output.hpp"
#include "text/text_table.hpp"

namespace holdfast::replay {

namespace {

using json = nlohmann::ordered_json;

std::string throughput_name(const experiment_scaling& e) {
    return (e.is_time ? "1 / " : "") + e.metric;
}

std::string curve_table(const experiment_scaling& e, bool colour) {
    text_table table({"variant", "CPUs", throughput_name(e), "min", "max", "speed-up", "USL"}, "lrrrrrr");
    for (const scaling_curve& c : e.curves) {
        std::string name = c.what->name;
        if (!c.error.empty())
            table.add({name, "", cell("failed", style::bad)});
        for (const scaling_point& p : c.points) {
            table.add({std::exchange(name, {}), fmt::format("{}", p.cpus), shown(p.median), shown(p.min),
                       shown(p.max), fmt::format("{:.2f}", p.speedup),
                       c.fit.law ? shown(c.fit.law->at(static_cast<double>(p.cpus))) : ""});
        }
    }
    return table.text(colour);
}

std::string law_table(const experiment_scaling& e, bool colour) {
    text_table table({"variant", "lambda", "contention sigma", "coherency kappa", "peak at CPUs", "R2"},
                     "lrrrrr");
    std::string without;
    for (const scaling_curve& c : e.curves) {
        const usl_fit& fit = c.fit;
        if (!c.error.empty()) {
            without += fmt::format("  {} failed {}\n", c.what->name, c.error);
        } else if (!fit.law) {
            without += fmt::format("  {}: no USL fit: {}\n", c.what->name, fit.why_not);
        } else {
            const std::optional<double> peak = fit.law->peak();
            table.add({c.what->name, shown(fit.law->lambda), fmt::format("{:.4f}", fit.law->sigma),
                       fmt::format("{:.6f}", fit.law->kappa), peak ? fmt::format("{:.1f}", *peak) : "none",
                       fmt::format("{:.3f}", fit.r2)});
        }
    }
    return (table.empty() ? "" : table.text(colour)) + without;
}

json json_of(const usl_fit& fit) {
    if (!fit.law)
        return nullptr;
    const std::optional<double> peak = fit.law->peak();
    return {{"lambda", fit.law->lambda},
            {"sigma", fit.law->sigma},
            {"kappa", fit.law->kappa},
            {"peak_cpus", peak ? json(*peak) : json(nullptr)},
            {"r2", fit.r2}};
}

json json_of(const scaling_curve& c) {
    json points = json::array();
    for (const scaling_point& p : c.points) {
        points.push_back(
            {{"cpus", p.cpus},
             {"median", p.median},
             {"min", p.min},
             {"max", p.max},
             {"speedup", p.speedup},
             {"usl", c.fit.law ? json(c.fit.law->at(static_cast<double>(p.cpus))) : json(nullptr)}});
    }
    return points;
}

} // namespace

std::string as_text(const case_scaling& s, bool colour) {
    const bool native = s.options.on == target::native;
    std::string out = styled(s.what->name, style::strong, colour) + fmt::format(": {}\n", s.what->summary);
    out += fmt::format("{}\nthroughput against CPUs, {}; no check is judged\n", s.what->thread,
                       native ? "the first of those that this process may use"
                              : "cores before hardware threads, socket after socket");
    for (const experiment_scaling& e : s.experiments) {
        out += fmt::format("\n{}: {}\n  {}\n\n", styled(e.plan.what->name, style::strong, colour),
                           e.plan.what->about, what_was_run(e.plan, s.options.on));
        out += curve_table(e, colour) + '\n' + law_table(e, colour);
    }
    return out;
}

json as_json(const case_scaling& s) {
    json curves = json::array();
    for (const experiment_scaling& e : s.experiments) {
        for (const scaling_curve& c : e.curves) {
            json entry = {
                {"case", s.what->name},
                {"experiment", e.plan.what->name},
                {"variant", c.what->name},
                {"platform", name_of(s.options.on)},
                {"machine", s.options.on == target::sim ? json(e.plan.machine.name) : json(nullptr)},
                {"scale", name_of(s.options.scale)},
                {"seeds", e.plan.seeds},
                {"metric", throughput_name(e)},
                {"unit", e.unit},
                {"points", json_of(c)},
                {"usl", json_of(c.fit)}};
            if (!c.error.empty())
                entry["error"] = c.error;
            curves.push_back(std::move(entry));
        }
    }
    return curves;
}

} // namespace holdfast::replay
