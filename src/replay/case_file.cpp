// Reads case files.
#include "replay/case_file.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "sim/toml_reader.hpp"

namespace holdfast::replay {

namespace {

constexpr std::int64_t most_seeds = 10'000;
constexpr std::int64_t most_stacks = 1'000;
constexpr std::string_view scale_names[scale_count] = {"default", "full", "native"};

bool contains(const std::vector<std::string>& names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

template <class Named>
std::vector<std::string> names_of(const std::vector<Named>& all) {
    std::vector<std::string> names;
    names.reserve(all.size());
    for (const Named& one : all)
        names.push_back(one.name);
    return names;
}

template <class Named>
const Named* find_named(const std::vector<Named>& all, std::string_view name) {
    const auto found =
        std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
    return found == all.end() ? nullptr : &*found;
}

// Complains about a name under `key` that is not among the known.
[[noreturn]] void unknown(const toml_reader& where, std::string_view key, std::string_view name,
                          const std::vector<std::string>& known) {
    where.fail(key, fmt::format("there is no '{}'{}", printable(name), suggestion_or_all(name, known)));
}

double positive(const toml_reader& where, std::string_view key) {
    const double value = where.number(key);
    if (value <= 0)
        where.fail(key, fmt::format("is {}; give a positive number", value));
    return value;
}

// The value under `key` for a constant of the workload.
double read_constant(const toml_reader& where, std::string_view key, const constant_description& c) {
    const double value = where.number(key);
    if (value < c.minimum || value > c.maximum)
        where.fail(key, fmt::format("is {}; give {} to {}", value, c.minimum, c.maximum));
    if (c.whole && value != std::floor(value))
        where.fail(key, fmt::format("is {}, not whole; give a whole number", value));
    return value;
}

file_reference reference(const toml_reader& where, std::string_view key) {
    return {where.text(key), where.place(key)};
}

class case_reader {
public:
    case_reader(std::string_view text, std::string_view file, const std::vector<case_code>& code)
        : document_(std::string(file), text), code_(code) {}

    case_description read() {
        const toml_reader root(document_);
        root.only({"name", "summary", "thread", "workload", "experiments", "comparisons", "checks"});
        case_.name = root.text("name");
        case_.code = find_named(code_, case_.name);
        if (case_.code == nullptr)
            unknown(root, "name", case_.name, names_of(code_));
        case_.summary = root.text("summary");
        case_.thread = root.text("thread");
        for (const metric_description& metric : case_.code->metrics)
            metrics_.push_back(metric.name);
        for (const metric_description& metric : report_metrics())
            metrics_.push_back(metric.name);
        for (const toml_reader& entry : root.tables("experiments"))
            case_.experiments.push_back(read_experiment(entry));
        if (case_.experiments.empty())
            root.fail("experiments", "there are none; add an [[experiments]]");
        for (const toml_reader& entry : root.tables("comparisons"))
            case_.comparisons.push_back(read_comparison(entry));
        for (const toml_reader& entry : root.tables("checks"))
            case_.checks.push_back(read_check(entry));
        return std::move(case_);
    }

private:
    // The name of an entry, which no earlier one of its kind has. Dots separate names in checks.
    template <class Named>
    static std::string new_name(const toml_reader& entry, const std::vector<Named>& earlier, bool dots) {
        std::string name = entry.text("name");
        if (!dots && name.find('.') != std::string::npos)
            entry.fail("name", "has a dot in it; give a name without");
        if (find_named(earlier, name) != nullptr)
            entry.fail("name", fmt::format("'{}' is there already; give another", printable(name)));
        return name;
    }

    std::string column_of(const toml_reader& entry, std::string_view key, std::string text) const {
        const std::optional<column> parsed = parse_column(text);
        if (!parsed)
            entry.fail(
                key,
                fmt::format("'{}' has no statistic after its metric; give one of median, mean, min, max, sd, "
                            "sd/mean, or none",
                            printable(text)));
        if (!contains(metrics_, parsed->metric))
            unknown(entry, key, parsed->metric, metrics_);
        return text;
    }

    experiment_description read_experiment(const toml_reader& entry) const {
        entry.only({"name", "about", "machine", "metric", "baseline", "default", "full", "native", "workload",
                    "inputs", "variants", "tables", "profile", "by_command"});
        experiment_description e;
        e.name = new_name(entry, case_.experiments, false);
        e.about = entry.text("about");
        e.machine = reference(entry, "machine");
        e.metric = column_of(entry, "metric", entry.text("metric"));
        e.workload = read_workload(entry);
        e.inputs = read_inputs(entry);
        for (std::size_t i = 0; i < scale_count; ++i) {
            if (entry.has(scale_names[i]))
                e.scales[i] = read_scale(entry.table(scale_names[i]));
        }
        for (const toml_reader& variant : entry.tables("variants"))
            e.variants.push_back(read_variant(variant, e));
        if (e.variants.empty())
            entry.fail("variants", "there are none; add an [[experiments.variants]]");
        if (entry.has("baseline")) {
            e.baseline = entry.text("baseline");
            if (find_named(e.variants, e.baseline) == nullptr)
                unknown(entry, "baseline", e.baseline, names_of(e.variants));
        }
        for (const toml_reader& table : entry.tables("tables"))
            e.tables.push_back(read_table(table));
        if (entry.has("profile"))
            e.profile = entry.whole("profile", 1, most_stacks);
        if (entry.has("by_command"))
            e.by_command = entry.whole("by_command", 1, most_stacks);
        return e;
    }

    // Of an experiment's own constants, and those of the whole case that it doesn't replace.
    std::vector<constant> read_workload(const toml_reader& experiment) const {
        std::vector<std::string> keys;
        for (const constant_description& c : case_.code->constants)
            keys.push_back(c.key);
        std::vector<toml_reader> tables;
        for (const toml_reader& place : {experiment, toml_reader(document_)}) {
            if (!place.has("workload"))
                continue;
            tables.push_back(place.table("workload"));
            tables.back().only(keys);
        }
        if (tables.empty())
            experiment.fail("workload", "is missing; add it");
        std::vector<constant> workload;
        for (const constant_description& c : case_.code->constants) {
            const auto nearest = std::find_if(tables.begin(), tables.end(),
                                              [&](const toml_reader& table) { return table.has(c.key); });
            const toml_reader entry = (nearest != tables.end() ? *nearest : tables.front()).table(c.key);
            entry.only({"value", "source", "assumed", "fitted"});
            workload.push_back({c.key, read_constant(entry, "value", c), entry.provenance()});
        }
        return workload;
    }

    std::map<std::string, file_reference, std::less<>> read_inputs(const toml_reader& experiment) const {
        std::map<std::string, file_reference, std::less<>> inputs;
        if (case_.code->inputs.empty()) {
            if (experiment.has("inputs"))
                experiment.fail("inputs",
                                "is for cases whose workload reads files, and this is none; remove it");
            return inputs;
        }
        const toml_reader table = experiment.table("inputs");
        std::vector<std::string> keys;
        keys.reserve(case_.code->inputs.size());
        for (const input_description& input : case_.code->inputs) {
            keys.push_back(input.key);
            inputs[input.key] = reference(table, input.key);
        }
        table.only(keys);
        return inputs;
    }

    scale_settings read_scale(const toml_reader& entry) const {
        std::vector<std::string> known = {"seeds", "swap_rate"};
        for (const constant_description& c : case_.code->constants)
            known.push_back(c.key);
        entry.only(known);
        scale_settings s;
        s.seeds = entry.whole("seeds", 1, most_seeds);
        if (entry.has("swap_rate"))
            s.swap_rate = positive(entry, "swap_rate");
        for (const constant_description& c : case_.code->constants) {
            if (entry.has(c.key))
                s.set[c.key] = read_constant(entry, c.key, c);
        }
        return s;
    }

    variant_description read_variant(const toml_reader& entry, const experiment_description& e) const {
        entry.only({"name", "about", "code", "published"});
        variant_description v;
        v.name = new_name(entry, e.variants, false);
        v.about = entry.text("about");
        const std::string code = entry.text("code");
        v.code = find_named(case_.code->variants, code);
        if (v.code == nullptr)
            unknown(entry, "code", code, names_of(case_.code->variants));
        if (entry.has("published")) {
            const toml_reader published = entry.table("published");
            for (const std::string& key : published.keys())
                v.published[column_of(published, key, key)] = published.number(key);
        }
        return v;
    }

    table_description read_table(const toml_reader& entry) const {
        entry.only({"title", "columns"});
        table_description t{entry.text("title"), entry.texts("columns")};
        for (const std::string& column : t.columns)
            column_of(entry, "columns", column);
        return t;
    }

    comparison_description read_comparison(const toml_reader& entry) const {
        entry.only({"title", "metric", "before", "after", "experiments"});
        comparison_description c{entry.text("title"), column_of(entry, "metric", entry.text("metric")),
                                 entry.text("before"), entry.text("after"), entry.texts("experiments")};
        if (c.experiments.empty())
            entry.fail("experiments", "is empty; give the experiments to compare in");
        for (const std::string& name : c.experiments) {
            const experiment_description* const e = find_named(case_.experiments, name);
            if (e == nullptr)
                unknown(entry, "experiments", name, names_of(case_.experiments));
            for (const auto& [key, variant] : {std::pair{"before", c.before}, {"after", c.after}}) {
                if (find_named(e->variants, variant) == nullptr)
                    unknown(entry, key, variant, names_of(e->variants));
            }
        }
        return c;
    }

    check_description read_check(const toml_reader& entry) const {
        entry.only({"name", "kind", "metric", "variant", "baseline", "published", "within", "direction",
                    "full", "fitted"});
        check_description c;
        c.name = new_name(entry, case_.checks, true);
        const std::string kind = entry.text("kind");
        if (kind != "ratio" && kind != "value")
            entry.fail("kind", fmt::format("is '{}'; give ratio or value", printable(kind)));
        c.how = kind == "ratio" ? check_description::kind::ratio : check_description::kind::value;
        c.column = column_of(entry, "metric", entry.text("metric"));
        c.variant = qualified_variant(entry, "variant");
        if (c.how == check_description::kind::ratio || entry.has("baseline"))
            c.baseline = qualified_variant(entry, "baseline");
        c.published = c.how == check_description::kind::ratio ? positive(entry, "published")
                                                              : entry.number("published");
        if (entry.has("within"))
            c.within = positive(entry, "within");
        c.direction_only = entry.has("direction") && entry.flag("direction");
        c.full = entry.has("full") && entry.flag("full");
        c.fitted = entry.has("fitted") && entry.flag("fitted");
        if (c.direction_only && c.baseline.empty())
            entry.fail("direction", "needs a baseline to be on a side of; add one");
        if (c.how == check_description::kind::value && !c.baseline.empty() &&
            !case_.find(c.baseline).variant->published.contains(c.column))
            entry.fail("baseline", fmt::format("'{}' has no published '{}' to be on a side of; add it there",
                                               printable(c.baseline), c.column));
        return c;
    }

    std::string qualified_variant(const toml_reader& entry, std::string_view key) const {
        std::string name = entry.text(key);
        if (case_.find(name).variant == nullptr) {
            std::vector<std::string> known;
            for (const experiment_description& e : case_.experiments) {
                for (const variant_description& v : e.variants)
                    known.push_back(fmt::format("{}.{}", e.name, v.name));
            }
            unknown(entry, key, name, known);
        }
        return name;
    }

    toml_document document_;
    const std::vector<case_code>& code_;
    case_description case_;
    std::vector<std::string> metrics_;
};

} // namespace

case_description::place case_description::find(std::string_view qualified) const {
    const std::size_t dot = qualified.find('.');
    if (dot == std::string_view::npos)
        return {};
    const experiment_description* experiment = find_named(experiments, qualified.substr(0, dot));
    if (experiment == nullptr)
        return {};
    const variant_description* variant = find_named(experiment->variants, qualified.substr(dot + 1));
    return variant == nullptr ? place{} : place{experiment, variant};
}

case_description parse_case(std::string_view text, std::string_view file,
                            const std::vector<case_code>& code) {
    return case_reader(text, file, code).read();
}

case_description read_case(const std::filesystem::path& path, const std::vector<case_code>& code) {
    return parse_case(read_text(path), path.string(), code);
}

} // namespace holdfast::replay
