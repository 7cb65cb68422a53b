// Plans, runs and judges cases.
#include "replay/runner.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <thread>

#include <fmt/format.h>

#include "sim/machine_file.hpp"
#include "workload/cpu_limit.hpp"

namespace holdfast::replay {

namespace {

// Below this a stack is left out of the profile.
constexpr double least_percent = 0.01;

const std::optional<scale_settings>& settings_of(const experiment_description& e,
                                                 const plan_options& options) {
    const bool short_native = options.on == target::native && options.scale != scale::full;
    return e.scales[static_cast<std::size_t>(short_native ? scale::native : options.scale)];
}

void raise_swap_rate(sim::machine& m, double by) {
    const sim::parameter& rate = *sim::find_parameter("scheduler.swaps_per_s");
    const double raised = static_cast<double>(rate.get(m)) * by;
    rate.set(m, std::llround(std::min(raised, static_cast<double>(rate.maximum))));
}

// What `read` gives; if a file can't be used, the error says first who refers to it.
template <class Read>
auto at(const file_reference& given, Read read) {
    try {
        return read();
    } catch (const file_error& e) {
        throw file_error(fmt::format("{}: {}", given.place, e.what()));
    }
}

std::size_t runs_in(const planned_experiment& e) {
    return e.settings ? e.seeds.size() * e.what->variants.size() : 0;
}

// Sums the profiles of several runs by stack.
class profile_sum {
public:
    // `weight` of a node: what is summed.
    template <class Weight>
    void add(const sim::report& report, Weight weight) {
        std::vector<std::vector<std::string>> stacks(report.profile.size());
        for (std::size_t i = 1; i < report.profile.size(); ++i) {
            const sim::profile_node& node = report.profile[i];
            stacks[i].push_back(node.name);
            const std::vector<std::string>& callers = stacks[node.parent];
            stacks[i].insert(stacks[i].end(), callers.begin(), callers.end());
            sums_[stacks[i]] += static_cast<double>(weight(node));
        }
        if (!report.profile.empty())
            sums_[{report.profile[0].name}] += static_cast<double>(weight(report.profile[0]));
    }

    std::vector<stack_share> shares() const {
        double total = 0;
        for (const auto& [frames, sum] : sums_)
            total += sum;
        std::vector<stack_share> all;
        for (const auto& [frames, sum] : sums_) {
            if (total > 0 && 100 * sum / total >= least_percent)
                all.push_back({frames, 100 * sum / total});
        }
        // Stable: equal shares stay in the order of their names.
        std::stable_sort(all.begin(), all.end(),
                         [](const stack_share& a, const stack_share& b) { return a.percent > b.percent; });
        return all;
    }

private:
    std::map<std::vector<std::string>, double> sums_;
};

variant_result sum_up(const case_code& code, const variant_description& v,
                      const std::vector<const run_outcome*>& runs) {
    variant_result result{.what = &v};
    std::map<std::string, std::vector<double>> values;
    profile_sum profile;
    profile_sum switches;
    for (const run_outcome* run : runs) {
        if (!run->error.empty()) {
            result.error = run->error;
            return result;
        }
        for (const auto& [metric, value] : run->result.metrics)
            values[metric].push_back(value);
        profile.add(run->result.report, [](const sim::profile_node& n) { return n.user + n.system; });
        switches.add(run->result.report, [](const sim::profile_node& n) { return n.switches_out; });
    }
    // In the order in which they are described, not by name.
    for (const auto* list : {&code.metrics, &report_metrics()}) {
        for (const metric_description& m : *list) {
            if (values.contains(m.name))
                result.metrics.push_back({m.name, unit_of(code, m.name), values[m.name]});
        }
    }
    result.profile = profile.shares();
    result.switches = switches.shares();
    return result;
}

const variant_result* find_variant(const case_description& c,
                                   const std::vector<experiment_result>& experiments,
                                   std::string_view qualified) {
    const case_description::place place = c.find(qualified);
    for (const experiment_result& e : experiments) {
        for (const variant_result& v : e.variants) {
            if (v.what == place.variant)
                return &v;
        }
    }
    return nullptr;
}

check_result judge_check(const case_description& c, const plan_options& options,
                         const std::vector<experiment_result>& experiments, const check_description& check) {
    check_result result{.what = &check};
    if (check.full && options.on == target::sim && options.scale != scale::full) {
        result.outcome = verdict::needs_full;
        return result;
    }
    const variant_result* const variant = find_variant(c, experiments, check.variant);
    const variant_result* const baseline =
        check.baseline.empty() ? nullptr : find_variant(c, experiments, check.baseline);
    if (variant == nullptr || (baseline == nullptr && !check.baseline.empty()))
        return result;

    comparison compared{.published = check.published,
                        .replayed = variant->value(check.column),
                        .direction_only = check.direction_only,
                        .published_divide = {},
                        .replayed_divide = {},
                        .within = check.within};
    if (check.how == check_description::kind::ratio) {
        const std::optional<double> base = baseline->value(check.column);
        compared.replayed = compared.replayed && base && *base != 0
                                ? std::optional(*compared.replayed / *base)
                                : std::nullopt;
        compared.published_divide = compared.replayed_divide = 1;
    } else if (baseline != nullptr) {
        compared.published_divide = baseline->what->published.find(check.column)->second;
        compared.replayed_divide = baseline->value(check.column);
    }
    result.replayed = compared.replayed;
    if (options.on == target::native) {
        result.outcome = verdict::not_comparable;
        return result;
    }
    if (result.replayed)
        result.error = ratio_error(*result.replayed, check.published);
    result.outcome = judge(compared);
    return result;
}

// Throws file_error unless there are as many CPUs as the options ask for.
void check_cpus(const case_description& c, const experiment_description& e, const plan_options& options,
                std::string_view machine, std::int64_t cpus) {
    if (options.cpus < 0 || options.cpus > cpus)
        throw file_error(fmt::format("{}.{}: can't run on {} CPUs: {} has {}; give 1 to {}, or choose other "
                                     "experiments",
                                     c.name, e.name, options.cpus, machine, cpus, cpus));
}

} // namespace

case_plan plan_case(const case_description& c, const plan_options& options) {
    for (const std::string& name : options.only) {
        std::vector<std::string> known;
        for (const experiment_description& e : c.experiments)
            known.push_back(e.name);
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            throw file_error(fmt::format("{}: has no experiment '{}'{}", c.name, printable(name),
                                         suggestion_or_all(name, known)));
        }
    }
    case_plan plan{&c, options, {}};
    for (const experiment_description& e : c.experiments) {
        planned_experiment p{.what = &e};
        const bool chosen = options.only.empty() ||
                            std::find(options.only.begin(), options.only.end(), e.name) != options.only.end();
        if (chosen)
            p.settings = settings_of(e, options);
        if (p.settings) {
            for (const constant& k : e.workload)
                p.published[k.key] = k.value;
            p.constants = p.published;
            for (const auto& [key, value] : p.settings->set)
                p.constants[key] = value;
            for (const input_description& input : c.code->inputs) {
                const file_reference& given = e.inputs.find(input.key)->second;
                p.inputs[input.key] =
                    at(given, [&] { return input.read(data_file(input.folder, given.name)); });
            }
            if (options.on == target::sim) {
                p.machine = options.machine.empty()
                                ? at(e.machine,
                                     [&] { return sim::read_machine(data_file("machines", e.machine.name)); })
                                : sim::read_machine(data_file("machines", options.machine));
                raise_swap_rate(p.machine, p.settings->swap_rate);
                if (const std::string wrong = too_many_fitted(p); !wrong.empty())
                    throw file_error(fmt::format("{}: {}", c.name, wrong));
                check_cpus(c, e, options, p.machine.name, p.machine.all_cpus());
                p.machine.online_cpus = options.cpus;
            } else {
                check_cpus(c, e, options, "this process", std::ssize(usable_cpus()));
            }
            p.settings->seeds = options.runs.value_or(p.settings->seeds);
            for (std::int64_t i = 0; i < p.settings->seeds; ++i)
                p.seeds.push_back(options.first_seed + static_cast<std::uint64_t>(i));
        }
        plan.experiments.push_back(std::move(p));
    }
    return plan;
}

std::string too_many_fitted(const planned_experiment& e) {
    std::vector<std::string> fitted;
    for (const auto& [key, from] : e.machine.sources) {
        if (from.how == sim::provenance::kind::fitted)
            fitted.push_back(fmt::format("{} of {}", key, e.machine.name));
    }
    for (const constant& k : e.what->workload) {
        if (k.from.how == sim::provenance::kind::fitted)
            fitted.push_back(fmt::format("{} of the workload", k.key));
    }
    if (fitted.size() < 2)
        return {};
    return fmt::format("{}: {} are fitted; one may be, mark the others as assumed", e.what->name,
                       fmt::join(fitted, " and "));
}

std::vector<planned_run> runs_of(const case_plan& plan) {
    std::vector<planned_run> runs;
    for (const planned_experiment& e : plan.experiments) {
        if (!e.settings)
            continue;
        for (const std::uint64_t seed : e.seeds) {
            for (const variant_description& v : e.what->variants) {
                runs.push_back(
                    {fmt::format("{}: {}.{}, seed {}", plan.what->name, e.what->name, v.name, seed),
                     v.code,
                     {.on = plan.options.on == target::sim ? &e.machine : nullptr,
                      .seed = seed,
                      .constants = e.constants,
                      .published = e.published,
                      .inputs = e.inputs},
                     plan.options.on == target::sim ? 0 : static_cast<std::uint32_t>(plan.options.cpus)});
            }
        }
    }
    return runs;
}

std::vector<run_outcome> run_all(std::span<const planned_run> runs, unsigned jobs, const progress& show) {
    std::vector<run_outcome> outcomes(runs.size());
    std::mutex showing;
    std::size_t next = 0; // both guarded by `showing`
    std::size_t done = 0;

    // The next run to do; none are left at runs.size().
    const auto take = [&] {
        const std::lock_guard lock(showing);
        if (next < runs.size())
            show(done, runs.size(), runs[next].label);
        return next++;
    };
    const auto work = [&] {
        for (std::size_t i = take(); i < runs.size(); i = take()) {
            try {
                std::optional<cpu_limit> limit;
                if (runs[i].native_cpus > 0)
                    limit.emplace(runs[i].native_cpus);
                outcomes[i].result = runs[i].code->run(runs[i].request);
                if (runs[i].request.on != nullptr)
                    add_report_metrics(outcomes[i].result);
            } catch (const std::exception& e) {
                outcomes[i].error = e.what();
            }
            const std::lock_guard lock(showing);
            ++done;
        }
    };

    std::vector<std::jthread> workers;
    for (unsigned i = 1; i < std::min<std::size_t>(jobs, runs.size()); ++i)
        workers.emplace_back(work);
    work();
    workers.clear();
    show(done, runs.size(), "");
    return outcomes;
}

std::optional<double> variant_result::value(std::string_view text) const {
    const std::optional<column> c = parse_column(text);
    for (const metric_runs& m : metrics) {
        if (c && m.name == c->metric)
            return compute(c->what, m.values);
    }
    return {};
}

case_result collect(const case_plan& plan, std::span<const run_outcome> outcomes) {
    case_result result{plan.what, plan.options, {}, {}};
    std::size_t first = 0;
    for (const planned_experiment& e : plan.experiments) {
        experiment_result& collected = result.experiments.emplace_back(experiment_result{e, {}});
        const std::size_t variants = e.what->variants.size();
        for (std::size_t v = 0; v < variants && e.settings; ++v) {
            std::vector<const run_outcome*> runs;
            for (std::size_t seed = 0; seed < e.seeds.size(); ++seed)
                runs.push_back(&outcomes[first + seed * variants + v]);
            collected.variants.push_back(sum_up(*plan.what->code, e.what->variants[v], runs));
        }
        first += runs_in(e);
    }
    result.checks = judge_checks(*plan.what, plan.options, result.experiments);
    return result;
}

std::vector<check_result> judge_checks(const case_description& c, const plan_options& options,
                                       const std::vector<experiment_result>& experiments) {
    std::vector<check_result> results;
    for (const check_description& check : c.checks)
        results.push_back(judge_check(c, options, experiments, check));
    return results;
}

} // namespace holdfast::replay
