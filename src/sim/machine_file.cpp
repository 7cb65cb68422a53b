// Reads machine files off the table of parameters.
#include "sim/machine_file.hpp"

#include <cmath>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/toml_reader.hpp"

namespace holdfast::sim {

namespace {

using unit = parameter::unit;

std::pair<std::string_view, std::string_view> split(std::string_view key) {
    const std::size_t dot = key.find('.');
    return {key.substr(0, dot), key.substr(dot + 1)};
}

std::string shown_bound(const parameter& p, std::int64_t bound) {
    return fmt::format("{}", static_cast<double>(bound) / static_cast<double>(kept_per_file_unit(p.in)));
}

// A file's number in the unit kept, if it is within the parameter's bounds.
std::optional<std::int64_t> kept(const parameter& p, double value) {
    const double scaled = value * static_cast<double>(kept_per_file_unit(p.in));
    if (!(scaled >= static_cast<double>(p.minimum) && scaled <= static_cast<double>(p.maximum)))
        return {};
    return std::llround(scaled);
}

std::int64_t read_choice(const parameter& p, const toml_reader& entry) {
    const std::string value = entry.text("value");
    std::vector<std::string> choices(p.choices.begin(), p.choices.end());
    for (std::size_t i = 0; i < choices.size(); ++i) {
        if (choices[i] == value)
            return static_cast<std::int64_t>(i);
    }
    entry.fail("value", fmt::format("is '{}'; give one of: {}", printable(value), fmt::join(choices, ", ")));
}

std::int64_t read_number(const parameter& p, const toml_reader& entry) {
    const double value = entry.number("value");
    if (p.in == unit::count && value != std::floor(value))
        entry.fail("value", fmt::format("is {}, not whole; give a whole number", value));
    const std::optional<std::int64_t> number = kept(p, value);
    if (!number) {
        entry.fail("value",
                   fmt::format("is {}{}; give {} to {} {}", value, value < 0 ? ", negative" : "",
                               shown_bound(p, p.minimum), shown_bound(p, p.maximum), unit_name(p.in)));
    }
    return *number;
}

std::vector<picoseconds> read_matrix(const toml_reader& entry, std::int64_t sockets) {
    const auto size = static_cast<std::size_t>(sockets);
    const std::vector<std::vector<double>> rows = entry.matrix("value");
    const parameter& remote = *find_parameter("coherence.transfer_remote_ns");
    if (rows.size() != size)
        entry.fail("value", fmt::format("has {} rows; give {}, one a socket", rows.size(), size));
    std::vector<picoseconds> matrix;
    for (std::size_t from = 0; from < size; ++from) {
        if (rows[from].size() != size) {
            entry.fail("value", fmt::format("has {} numbers in row {}; give {}, one a socket",
                                            rows[from].size(), from + 1, size));
        }
        for (std::size_t to = 0; to < size; ++to) {
            // A socket's distance to itself is transfer_socket_ns.
            const std::optional<std::int64_t> cost = from == to ? 0 : kept(remote, rows[from][to]);
            if (!cost) {
                entry.fail("value", fmt::format("has {} in row {}; give {} to {} ns", rows[from][to],
                                                from + 1, shown_bound(remote, remote.minimum),
                                                shown_bound(remote, remote.maximum)));
            }
            matrix.push_back(*cost);
        }
    }
    return matrix;
}

// Parameters that are needed in some machines and say nothing in others.
struct dependency {
    std::string_view key;
    bool (*needed)(const machine&);
    std::string_view when;
};

constexpr dependency dependencies[] = {
    {"coherence.transfer_sibling_ns", [](const machine& m) { return m.threads_per_core > 1; },
     "topology.threads_per_core is 2"},
    {"coherence.transfer_complex_ns", [](const machine& m) { return m.complexes_per_socket > 1; },
     "topology.complexes_per_socket is more than 1"},
    {"arbitration.probability", [](const machine& m) { return m.favours != favour::none; },
     "arbitration.favours is not none"},
    {"core.smt_slowdown", [](const machine& m) { return m.threads_per_core > 1 && m.sharing == smt::shared; },
     "topology.threads_per_core is 2 and core.smt is shared"},
    {"core.smt_switch_ns",
     [](const machine& m) { return m.threads_per_core > 1 && m.sharing == smt::switch_on_event; },
     "topology.threads_per_core is 2 and core.smt is switch_on_event"},
    {"core.smt_quantum_ns",
     [](const machine& m) { return m.threads_per_core > 1 && m.sharing == smt::switch_on_event; },
     "topology.threads_per_core is 2 and core.smt is switch_on_event"},
};

// Says about a key of the file, which has its section's reader.
[[noreturn]] void fail_at(const toml_document& document, std::string_view key, std::string_view wrong) {
    const toml_reader root(document);
    const auto [section, name] = split(key);
    if (!root.has(section))
        root.fail("", fmt::format("{}: {}", key, wrong));
    root.table(section).fail(name, wrong);
}

} // namespace

std::int64_t kept_per_file_unit(unit in) {
    switch (in) {
    case unit::nanoseconds:
        return 1'000;
    case unit::per_million:
        return 1'000'000;
    case unit::per_1000s:
        return 1'000;
    case unit::count:
    case unit::choice:
        break;
    }
    return 1;
}

std::string_view unit_name(unit in) {
    switch (in) {
    case unit::nanoseconds:
        return "ns";
    case unit::per_1000s:
        return "a second";
    case unit::per_million:
    case unit::count:
    case unit::choice:
        break;
    }
    return "";
}

std::string shown_value(const parameter& p, const machine& m) {
    const std::int64_t value = p.get(m);
    return p.in == unit::choice ? std::string(p.choices[static_cast<std::size_t>(value)])
                                : shown_bound(p, value);
}

contradiction find_contradiction(const machine& m) {
    if (m.cpus() > max_cpus) {
        return {"topology.sockets",
                fmt::format("the machine has {} CPUs; sockets, cores and threads may multiply to {}",
                            m.cpus(), max_cpus)};
    }
    if ((m.line_bytes & (m.line_bytes - 1)) != 0)
        return {"topology.line_bytes", fmt::format("is {}; give a power of two", m.line_bytes)};
    if (m.cores_per_socket % m.complexes_per_socket != 0) {
        return {"topology.complexes_per_socket",
                fmt::format("{} complexes can't share {} cores evenly; give a divisor",
                            m.complexes_per_socket, m.cores_per_socket)};
    }
    if (m.pausing == pause_kind::switch_thread && m.sharing != smt::switch_on_event)
        return {"core.pause",
                "is switch_thread, which needs core.smt to be switch_on_event; mend one of them"};
    constexpr picoseconds shortest_period = 10'000'000;
    for (const auto& [key, period] :
         {std::pair{"scheduler.tick_ns", m.tick}, {"scheduler.balance_interval_ns", m.balance_interval}}) {
        if (period != 0 && period < shortest_period) {
            return {key, fmt::format("is {}; give {} ns or more, or 0 for none",
                                     shown_value(*find_parameter(key), m), shortest_period / 1'000)};
        }
    }
    if (m.tick != 0 && m.tick_cost >= m.tick) {
        return {"scheduler.tick_cost_ns",
                "is not less than scheduler.tick_ns, which leaves the threads no time; mend one of them"};
    }
    for (const dependency& d : dependencies) {
        const bool given = m.sources.contains(d.key);
        if (d.needed(m) && !given)
            return {std::string(d.key), fmt::format("is missing; it is needed where {}", d.when)};
        if (!d.needed(m) && given)
            return {std::string(d.key), fmt::format("has no effect but where {}; remove it", d.when)};
    }
    return {};
}

machine parse_machine(std::string_view text, std::string_view file) {
    const toml_document document(std::string(file), text);
    const toml_reader root(document);

    std::map<std::string, std::vector<std::string>> known = {{"", {"name", "summary"}}};
    for (const parameter& p : parameters()) {
        const auto [section, name] = split(p.key);
        known[std::string(section)].emplace_back(name);
    }
    const auto [matrix_section, matrix_name] = split(socket_matrix_key);
    known[std::string(matrix_section)].emplace_back(matrix_name);
    for (const auto& [section, names] : known) {
        if (!section.empty())
            known[""].push_back(section);
    }
    root.only(known[""]);
    for (const auto& [section, names] : known) {
        if (!section.empty() && root.has(section))
            root.table(section).only(names);
    }

    machine m;
    m.name = root.text("name");
    m.summary = root.text("summary");
    std::string fitted;
    const auto read_entry = [&](std::string_view key, const auto& read_value) {
        const auto [section, name] = split(key);
        const toml_reader entry = root.table(section).table(name);
        entry.only({"value", "source", "assumed", "fitted"});
        read_value(entry);
        const provenance from = entry.provenance();
        if (from.how == provenance::kind::fitted) {
            if (!fitted.empty())
                entry.fail(
                    "", fmt::format("is fitted, and so is {}; a machine may have one fitted number", fitted));
            fitted = key;
        }
        m.sources.emplace(key, from);
    };
    const auto given = [&](std::string_view key) {
        const auto [section, name] = split(key);
        return root.has(section) && root.table(section).has(name);
    };
    for (const parameter& p : parameters()) {
        if (!p.required && !given(p.key))
            continue;
        read_entry(p.key, [&](const toml_reader& entry) {
            p.set(m, p.in == unit::choice ? read_choice(p, entry) : read_number(p, entry));
        });
    }
    if (given(socket_matrix_key)) {
        read_entry(socket_matrix_key,
                   [&](const toml_reader& entry) { m.socket_matrix = read_matrix(entry, m.sockets); });
    }
    if (const contradiction found = find_contradiction(m); !found.key.empty())
        fail_at(document, found.key, found.wrong);
    return m;
}

machine read_machine(const std::filesystem::path& path) {
    return parse_machine(read_text(path), path.string());
}

} // namespace holdfast::sim
