#include "bench/cell.hpp"

#include "replay/statistics.hpp"

namespace holdfast::bench {

spread spread_of(std::span<const double> values) {
    using replay::compute;
    using replay::statistic;
    return {compute(statistic::median, values), compute(statistic::min, values),
            compute(statistic::max, values)};
}

nlohmann::ordered_json to_json(const cell& c) {
    nlohmann::ordered_json j = {{"bench", c.bench},           {"lock", c.lock},
                                {"threads", c.threads},       {"write_percent", c.write_percent},
                                {"section_ns", c.section_ns}, {"think_ns", c.think_ns},
                                {"platform", c.platform}};
    if (c.ops_per_s.max > 0) {
        j["ops_per_s"] = {{"median", c.ops_per_s.median}, {"min", c.ops_per_s.min}, {"max", c.ops_per_s.max}};
    }
    if (!c.machine.empty())
        j["machine"] = c.machine;
    if (c.cpu_ns_per_op)
        j["cpu_ns_per_op"] = *c.cpu_ns_per_op;
    if (c.jain)
        j["jain"] = *c.jain;
    if (c.wait_ns) {
        j["wait_ns"] = {{"p50", c.wait_ns->p50},
                        {"p99", c.wait_ns->p99},
                        {"p999", c.wait_ns->p999},
                        {"max", c.wait_ns->max}};
    }
    if (c.switches_per_op) {
        j["switches_per_op"] = {{"voluntary", c.switches_per_op->voluntary},
                                {"involuntary", c.switches_per_op->involuntary}};
    }
    if (c.foreign_load)
        j["foreign_load"] = *c.foreign_load;
    if (c.memory_bytes)
        j["memory_bytes"] = *c.memory_bytes;
    if (!c.failure.empty())
        j["failure"] = c.failure;
    return j;
}

} // namespace holdfast::bench
