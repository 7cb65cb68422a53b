// Running in turn, and judging.
#include "compare/experiment.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include <fmt/format.h>
#include <sys/wait.h>

#include "replay/statistics.hpp"
#include "sim/data_files.hpp"
#include "workload/system_cpu.hpp"

namespace holdfast::compare {

namespace {

using replay::compute;
using replay::statistic;

struct outside_metric {
    const char* name;
    const char* unit;
    double sample::*value;
};
constexpr outside_metric from_outside[] = {
    {"wall", "s", &sample::wall_s},
    {"user", "s", &sample::user_s},
    {"sys", "s", &sample::system_s},
    {"voluntary switches", "", &sample::voluntary},
    {"forced switches", "", &sample::involuntary},
    {"peak memory", "MiB", &sample::peak_mib},
};

// Puts a run's values behind those of the runs before.
void take(variant& v, const sample& s, const std::vector<figure>& figures, const std::string& which) {
    auto row = v.values.begin();
    for (const outside_metric& m : from_outside)
        (row++)->push_back(s.*m.value);
    for (const figure& f : figures) {
        const std::optional<double> value = f.find(s.output);
        if (!value)
            throw std::runtime_error(fmt::format("--metric {}: no number like this in the output of {}",
                                                 printable(f.pattern()), which));
        (row++)->push_back(*value);
    }
}

variant empty_variant(const std::string& lock, std::size_t metrics) {
    return {.lock = lock, .values = std::vector<std::vector<double>>(metrics)};
}

} // namespace

std::vector<metric> metrics_with(const std::vector<figure>& figures) {
    std::vector<metric> all;
    for (const outside_metric& m : from_outside)
        all.push_back({.name = m.name, .unit = m.unit});
    for (const figure& f : figures)
        all.push_back(
            {.name = f.pattern(), .unit = "", .higher_is_better = f.higher_is_better(), .printed = true});
    return all;
}

experiment perform(const plan& p, const std::function<sample(std::size_t)>& run,
                   const std::function<void(std::size_t, std::size_t, const std::string&)>& tell) {
    experiment e{.command = p.command, .runs = p.runs, .metrics = metrics_with(p.figures), .variants = {}};
    e.cpus = std::max(1u, std::thread::hardware_concurrency());
    std::size_t done = 0;
    const auto one = [&](std::size_t lock, const std::string& which, variant& into) {
        tell(done, p.locks.size() * (p.runs + 1), which);
        const sample s = run(lock);
        if (!WIFEXITED(s.status) || WEXITSTATUS(s.status) != 0)
            throw run_failed(which, s);
        take(into, s, p.figures, which);
        ++done;
        return s.user_s + s.system_s;
    };
    for (std::size_t lock = 0; lock < p.locks.size(); ++lock) {
        e.variants.push_back(empty_variant(p.locks[lock], e.metrics.size()));
        variant unused = e.variants.back();
        one(lock, fmt::format("the warm-up with {}", p.locks[lock]), unused);
    }
    const auto begin = std::chrono::steady_clock::now();
    const double all_before = system_cpu_ns();
    double own_s = 0;
    for (std::size_t round = 0; round < p.runs; ++round) {
        for (std::size_t i = 0; i < p.locks.size(); ++i) {
            const std::size_t lock = round % 2 == 0 ? i : p.locks.size() - 1 - i;
            own_s += one(lock, fmt::format("run {} with {}", round + 1, p.locks[lock]), e.variants[lock]);
        }
    }
    const double took_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    e.foreign_cpus = std::max(0.0, (system_cpu_ns() - all_before) * 1e-9 - own_s) / took_s;
    return e;
}

difference difference_of(const experiment& e, std::size_t metric, std::size_t variant) {
    const std::vector<double>& first = e.variants[0].values[metric];
    const std::vector<double>& other = e.variants[variant].values[metric];
    std::vector<double> changes;
    for (std::size_t i = 0; i < first.size(); ++i) {
        const double step = other[i] - first[i];
        changes.push_back(step == 0 ? 0 : step / std::abs(first[i]) * 100); // infinite from 0
    }
    difference d{.change_percent = {}, .test = mann_whitney_in_rounds(first, other)};
    if (const double change = compute(statistic::median, changes); std::isfinite(change))
        d.change_percent = change;
    return d;
}

std::vector<std::string> warnings(const experiment& e) {
    std::vector<std::string> all;
    if (const double least = smallest_p(e.runs); least >= significance)
        all.push_back(fmt::format("{} runs of each are too few: p can't be less than {:.2g}; "
                                  "from 6 on a difference can be told",
                                  e.runs, least));
    constexpr double busy_share = 0.05;
    if (e.foreign_cpus > busy_share * e.cpus)
        all.push_back(
            fmt::format("others kept {:.2f} of {} CPUs busy meanwhile: the machine is too busy to be sure",
                        e.foreign_cpus, e.cpus));
    constexpr double wide = 0.1;
    for (const variant& v : e.variants) {
        if (const double spread = compute(statistic::sd_over_mean, v.values[0]); spread > wide)
            all.push_back(
                fmt::format("{} of {} spreads by {:.0f} %: small differences hide in that; try more runs",
                            e.metrics[0].name, v.lock, spread * 100));
    }
    return all;
}

std::vector<std::string> regressions(const experiment& e, double percent) {
    const bool prints =
        std::any_of(e.metrics.begin(), e.metrics.end(), [](const metric& m) { return m.printed; });
    std::vector<std::string> all;
    for (std::size_t m = 0; m < e.metrics.size(); ++m) {
        if (prints ? !e.metrics[m].printed : m != 0)
            continue;
        for (std::size_t v = 1; v < e.variants.size(); ++v) {
            const difference d = difference_of(e, m, v);
            if (d.is_worse(e.metrics[m]) && std::abs(*d.change_percent) > percent)
                all.push_back(
                    fmt::format("{} with {} is {:+.1f} % from {} (p {:.2g}), worse by more than {:g} %",
                                printable(e.metrics[m].name), e.variants[v].lock, *d.change_percent,
                                e.variants[0].lock, d.test.p, percent));
        }
    }
    return all;
}

} // namespace holdfast::compare
