// Reruns with other values of what was assumed.
#include "replay/sensitivity.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "sim/machine_file.hpp"

namespace holdfast::replay {

namespace {

constexpr double factors[] = {0.5, 2};

// One constant with another value, in the plan of the experiments that have it.
struct variation {
    std::string where;
    std::string key;
    std::string value;
    std::string other;
    case_plan plan;
};

bool is_assumed(const sim::machine& m, std::string_view key) {
    const auto found = m.sources.find(key);
    return found != m.sources.end() && found->second.how == sim::provenance::kind::assumed;
}

// The plan without the experiments that `keep` refuses.
template <class Keep>
case_plan part_of(const case_plan& plan, Keep keep) {
    case_plan part = plan;
    for (planned_experiment& e : part.experiments) {
        if (!keep(e))
            e.settings.reset();
    }
    return part;
}

void vary_machine(const case_plan& plan, const sim::machine& m, const sim::parameter& p,
                  std::vector<variation>& variations) {
    for (const double factor : factors) {
        variation v{m.name, std::string(p.key), sim::shown_value(p, m), {}, part_of(plan, [&](const auto& e) {
                        return e.settings && e.machine.name == m.name;
                    })};
        bool sensible = false;
        for (planned_experiment& e : v.plan.experiments) {
            if (!e.settings)
                continue;
            const std::int64_t value = p.get(e.machine);
            const auto other = static_cast<std::int64_t>(std::llround(static_cast<double>(value) * factor));
            sensible = other != value && other >= p.minimum && other <= p.maximum;
            if (sensible) {
                p.set(e.machine, other);
                sensible = sim::find_contradiction(e.machine).key.empty();
            }
            if (!sensible)
                break;
            // What is shown is the machine file's value, before any swap rate of the experiment.
            sim::machine shown = m;
            p.set(shown, static_cast<std::int64_t>(std::llround(static_cast<double>(p.get(m)) * factor)));
            v.other = sim::shown_value(p, shown);
        }
        if (sensible)
            variations.push_back(std::move(v));
    }
}

void vary_workload(const case_plan& plan, const planned_experiment& e, const constant& k,
                   const constant_description& bounds, std::vector<variation>& variations) {
    for (const double factor : factors) {
        const double value = e.constants.find(k.key)->second;
        const double other = bounds.whole ? std::round(value * factor) : value * factor;
        if (other == value || other < bounds.minimum || other > bounds.maximum)
            continue;
        variation v{fmt::format("{}.workload", e.what->name), k.key, fmt::format("{}", value),
                    fmt::format("{}", other),
                    part_of(plan, [&](const auto& each) { return each.settings && each.what == e.what; })};
        for (planned_experiment& each : v.plan.experiments) {
            if (each.settings)
                each.constants[k.key] = other;
        }
        variations.push_back(std::move(v));
    }
}

std::vector<variation> variations_of(const case_plan& plan) {
    std::vector<variation> variations;
    std::set<std::string> seen;
    for (const planned_experiment& e : plan.experiments) {
        if (!e.settings)
            continue;
        if (seen.insert(e.machine.name).second) {
            for (const sim::parameter& p : sim::parameters()) {
                if (p.in != sim::parameter::unit::choice && is_assumed(e.machine, p.key))
                    vary_machine(plan, e.machine, p, variations);
            }
        }
        for (std::size_t i = 0; i < e.what->workload.size(); ++i) {
            const constant& k = e.what->workload[i];
            if (k.from.how == sim::provenance::kind::assumed)
                vary_workload(plan, e, k, plan.what->code->constants[i], variations);
        }
    }
    return variations;
}

} // namespace

sensitivity vary_assumed(const case_plan& plan, const case_result& base, unsigned jobs,
                         const progress& show) {
    const std::vector<variation> variations = variations_of(plan);
    std::vector<planned_run> runs;
    std::vector<std::size_t> ends;
    for (const variation& v : variations) {
        for (planned_run& run : runs_of(v.plan)) {
            run.label += fmt::format(", {} = {}", v.key, v.other);
            runs.push_back(std::move(run));
        }
        ends.push_back(runs.size());
    }
    const std::vector<run_outcome> outcomes = run_all(runs, jobs, show);

    sensitivity result;
    result.reruns = variations.size();
    std::set<std::pair<std::string, std::string>> constants;
    for (std::size_t i = 0; i < variations.size(); ++i) {
        const variation& v = variations[i];
        constants.emplace(v.where, v.key);
        const std::size_t begin = i == 0 ? 0 : ends[i - 1];
        std::vector<experiment_result> experiments =
            collect(v.plan, std::span(outcomes).subspan(begin, ends[i] - begin)).experiments;
        // What does not have the constant is as before.
        for (std::size_t e = 0; e < experiments.size(); ++e) {
            if (experiments[e].variants.empty())
                experiments[e] = base.experiments[e];
        }
        const std::vector<check_result> checks = judge_checks(*plan.what, plan.options, experiments);
        for (std::size_t c = 0; c < checks.size(); ++c) {
            if (checks[c].outcome != base.checks[c].outcome)
                result.moved.push_back({v.where, v.key, v.value, v.other, checks[c].what,
                                        base.checks[c].outcome, checks[c].outcome});
        }
    }
    result.constants = constants.size();
    return result;
}

} // namespace holdfast::replay
