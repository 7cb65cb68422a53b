// The cases, and the metrics that they have in common.
#include "replay/code.hpp"

namespace holdfast::replay {

const std::vector<case_code>& all_cases() {
    static const std::vector<case_code> cases = {lockref_case(), mmap_sem_case(),   anon_vma_case(),
                                                 aim7_case(),    rwsem_asap_case(), inodegc_case()};
    return cases;
}

const std::vector<metric_description>& report_metrics() {
    static const std::vector<metric_description> metrics = {
        {"elapsed", "s"},   {"user", "s"},          {"system", "s"},
        {"busy_cpus", ""},  {"idle", "%"},          {"context_switches", ""},
        {"migrations", ""}, {"line_transfers", ""}, {"memory_operations", ""}};
    return metrics;
}

void add_report_metrics(run_result& result) {
    constexpr double second = 1e12;
    const sim::report& r = result.report;
    const auto busy = static_cast<double>(r.user + r.system);
    const auto all = busy + static_cast<double>(r.idle);
    named_numbers& m = result.metrics;
    m["elapsed"] = static_cast<double>(r.elapsed) / second;
    m["user"] = static_cast<double>(r.user) / second;
    m["system"] = static_cast<double>(r.system) / second;
    if (r.elapsed > 0)
        m["busy_cpus"] = busy / static_cast<double>(r.elapsed);
    if (all > 0)
        m["idle"] = 100 * static_cast<double>(r.idle) / all;
    m["context_switches"] = static_cast<double>(r.context_switches);
    m["migrations"] = static_cast<double>(r.migrations);
    m["line_transfers"] = static_cast<double>(r.line_transfers);
    m["memory_operations"] = static_cast<double>(r.memory_operations);
}

std::string unit_of(const case_code& code, std::string_view metric) {
    for (const auto* list : {&code.metrics, &report_metrics()}) {
        for (const metric_description& m : *list) {
            if (m.name == metric)
                return m.unit;
        }
    }
    return {};
}

} // namespace holdfast::replay
