// holdfast machines: the simulated machines, each number with its source.
#include <array>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "sim/machine_file.hpp"
#include "text/text_table.hpp"

namespace holdfast::cli {

namespace {

using json = nlohmann::ordered_json;

struct options {
    std::string machine;
    std::string json;
};

constexpr std::string_view kinds[] = {"source", "assumed", "fitted"};

std::string_view kind_of(const sim::provenance& from) {
    return kinds[static_cast<std::size_t>(from.how)];
}

std::string shape_of(const sim::machine& m) {
    return fmt::format("{} x {} x {}", m.sockets, m.cores_per_socket, m.threads_per_core);
}

// How many numbers have each kind of provenance.
std::array<std::size_t, std::size(kinds)> counts_of(const sim::machine& m) {
    std::array<std::size_t, std::size(kinds)> counts{};
    for (const auto& [key, from] : m.sources)
        ++counts[static_cast<std::size_t>(from.how)];
    return counts;
}

json summary_of(const sim::machine& m) {
    const auto counts = counts_of(m);
    return {{"name", m.name},
            {"summary", m.summary},
            {"sockets", m.sockets},
            {"cores_per_socket", m.cores_per_socket},
            {"threads_per_core", m.threads_per_core},
            {"sourced", counts[0]},
            {"assumed", counts[1]},
            {"fitted", counts[2]}};
}

int list(const options& o) {
    json machines = json::array();
    text_table table({"machine", "sockets x cores x threads", "sourced", "assumed", "fitted", "what"},
                     "lrrrrl");
    for (const std::string& name : data_names("machines")) {
        const sim::machine m = sim::read_machine(data_file("machines", name));
        const auto counts = counts_of(m);
        table.add({m.name, shape_of(m), fmt::format("{}", counts[0]), fmt::format("{}", counts[1]),
                   fmt::format("{}", counts[2]), m.summary});
        machines.push_back(summary_of(m));
    }
    if (o.json != "-")
        print(table.text(colour_wanted(), ""));
    if (!o.json.empty())
        write_json(o.json, {{"holdfast", HOLDFAST_VERSION}, {"machines", machines}});
    return 0;
}

int explain(const options& o) {
    const sim::machine m = sim::read_machine(data_file("machines", o.machine));
    const bool colour = colour_wanted();
    std::string text = fmt::format("{}: {}\n", styled(m.name, style::strong, colour), m.summary);
    json parameters = json::array();
    const auto add = [&](std::string_view key, const std::string& value, std::string_view unit,
                         std::string_view meaning, const sim::provenance* from) {
        text += fmt::format("\n{} = {}{}{}\n    {}\n", styled(key, style::strong, colour), value,
                            unit.empty() ? "" : " ", unit, meaning);
        if (from != nullptr)
            text += fmt::format("    {}: {}\n", kind_of(*from), from->words);
        else
            text += "    not in the file\n";
        json entry = {{"key", key}, {"value", value}, {"unit", unit}, {"meaning", meaning}};
        if (from != nullptr)
            entry[std::string(kind_of(*from))] = from->words;
        parameters.push_back(std::move(entry));
    };
    for (const sim::parameter& p : sim::parameters()) {
        const auto from = m.sources.find(p.key);
        add(p.key, sim::shown_value(p, m), sim::unit_name(p.in), p.meaning,
            from == m.sources.end() ? nullptr : &from->second);
    }
    if (const auto from = m.sources.find(sim::socket_matrix_key); from != m.sources.end()) {
        std::vector<std::string> rows;
        const auto size = static_cast<std::size_t>(m.sockets);
        for (std::size_t row = 0; row < size; ++row) {
            std::vector<double> numbers;
            for (std::size_t column = 0; column < size; ++column)
                numbers.push_back(static_cast<double>(m.socket_matrix[row * size + column]) / 1000);
            rows.push_back(fmt::format("[{}]", fmt::join(numbers, ", ")));
        }
        add(sim::socket_matrix_key, fmt::format("[{}]", fmt::join(rows, ", ")), "ns",
            "a line from a core of another socket, by the pair: from (row) to (column)", &from->second);
    }
    if (o.json != "-")
        print(text);
    if (!o.json.empty()) {
        json machine = summary_of(m);
        machine["parameters"] = parameters;
        write_json(o.json, {{"holdfast", HOLDFAST_VERSION}, {"machines", json::array({machine})}});
    }
    return 0;
}

} // namespace

action add_machines(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb = *app.add_subcommand("machines", "the simulated machines, each number with its source");
    verb.add_option("NAME", o->machine,
                    "explain this machine (a name in machines/, or a path); none: list them all");
    verb.add_option("--json", o->json, "write them to this file; -: to stdout, instead of the table");
    verb.footer("Example: holdfast machines s390-lpar");
    return [o] {
        check_writable(o->json);
        return o->machine.empty() ? list(*o) : explain(*o);
    };
}

} // namespace holdfast::cli
