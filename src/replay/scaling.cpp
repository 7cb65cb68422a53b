#include "replay/scaling.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "replay/statistics.hpp"

namespace holdfast::replay {

namespace {

// A variant's throughput on so many CPUs. Nothing if it was not measured.
std::optional<scaling_point> point_of(const variant_result& v, const experiment_scaling& e,
                                      std::int64_t cpus) {
    for (const metric_runs& m : v.metrics) {
        if (m.name != e.metric)
            continue;
        std::vector<double> values = m.values;
        if (e.is_time)
            std::transform(values.begin(), values.end(), values.begin(),
                           [](double time) { return 1 / time; });
        return scaling_point{.cpus = cpus,
                             .median = compute(statistic::median, values),
                             .min = compute(statistic::min, values),
                             .max = compute(statistic::max, values)};
    }
    return {};
}

// Of the variant at that place in each of the results, which are by CPUs.
scaling_curve curve_of(std::span<const case_result> results, std::size_t experiment, std::size_t variant,
                       const experiment_scaling& e) {
    scaling_curve curve{.what = &e.plan.what->variants[variant]};
    std::vector<throughput> medians;
    for (const case_result& r : results) {
        const variant_result& v = r.experiments[experiment].variants[variant];
        const std::int64_t cpus = r.options.cpus;
        const std::optional<scaling_point> point = point_of(v, e, cpus);
        if (!point) {
            const std::string why = v.error.empty() ? fmt::format("no {} was measured", e.metric) : v.error;
            return {.what = curve.what, .error = fmt::format("with {} CPUs: {}", cpus, why)};
        }
        curve.points.push_back(*point);
        curve.points.back().speedup = point->median / curve.points.front().median;
        medians.push_back({static_cast<double>(cpus), point->median});
    }
    curve.fit = fit_usl(medians);
    return curve;
}

} // namespace

std::vector<case_plan> plan_scaling(const case_description& c, plan_options options,
                                    std::vector<std::int64_t> cpus) {
    std::sort(cpus.begin(), cpus.end());
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    std::vector<case_plan> plans;
    plans.reserve(cpus.size());
    for (const std::int64_t n : cpus) {
        options.cpus = n;
        plans.push_back(plan_case(c, options));
    }
    return plans;
}

case_scaling measure_scaling(std::span<const case_plan> plans, unsigned jobs, const progress& show) {
    // The plans differ in nothing that changes the number and order of runs.
    std::vector<std::vector<planned_run>> by_plan;
    by_plan.reserve(plans.size());
    for (const case_plan& plan : plans)
        by_plan.push_back(runs_of(plan));
    const std::size_t each = by_plan.front().size();
    std::vector<planned_run> runs;
    runs.reserve(each * plans.size());
    for (std::size_t i = 0; i < each; ++i) {
        for (std::size_t p = 0; p < plans.size(); ++p) {
            runs.push_back(std::move(by_plan[p][i]));
            runs.back().label += fmt::format(", {} CPUs", plans[p].options.cpus);
        }
    }
    std::vector<run_outcome> outcomes = run_all(runs, jobs, show);

    std::vector<case_result> results;
    results.reserve(plans.size());
    for (std::size_t p = 0; p < plans.size(); ++p) {
        std::vector<run_outcome> its;
        its.reserve(each);
        for (std::size_t i = 0; i < each; ++i)
            its.push_back(std::move(outcomes[i * plans.size() + p]));
        results.push_back(collect(plans[p], its));
    }

    const case_plan& most = plans.back();
    case_scaling scaling{most.what, most.options, {}};
    for (std::size_t e = 0; e < most.experiments.size(); ++e) {
        const planned_experiment& planned = most.experiments[e];
        if (!planned.settings)
            continue;
        experiment_scaling& its = scaling.experiments.emplace_back(
            experiment_scaling{planned, parse_column(planned.what->metric)->metric, {}, false, {}});
        const std::string unit = unit_of(*most.what->code, its.metric);
        its.is_time = unit == "s";
        its.unit = its.is_time ? "1/s" : unit;
        its.curves.reserve(planned.what->variants.size());
        for (std::size_t v = 0; v < planned.what->variants.size(); ++v)
            its.curves.push_back(curve_of(results, e, v, its));
    }
    return scaling;
}

bool has_error(const case_scaling& s) {
    return std::any_of(s.experiments.begin(), s.experiments.end(), [](const experiment_scaling& e) {
        return std::any_of(e.curves.begin(), e.curves.end(),
                           [](const scaling_curve& c) { return !c.error.empty(); });
    });
}

} // namespace holdfast::replay
