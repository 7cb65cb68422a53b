// Strict reading of TOML.
#include "sim/toml_reader.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace holdfast {

namespace {

std::string type_name(const toml::node& node) {
    switch (node.type()) {
    case toml::node_type::table:
        return "a table";
    case toml::node_type::array:
        return "an array";
    case toml::node_type::string:
        return "a text";
    case toml::node_type::integer:
        return "a whole number";
    case toml::node_type::floating_point:
        return "a number with a fraction";
    case toml::node_type::boolean:
        return "true or false";
    default:
        return "a date or time";
    }
}

// The number in a node, or nothing if it has another type.
std::optional<double> number_in(const toml::node& node) {
    if (const auto* whole = node.as_integer())
        return static_cast<double>(whole->get());
    if (const auto* real = node.as_floating_point())
        return real->get();
    return {};
}

} // namespace

toml_document::toml_document(std::string file_name, std::string_view text) : file(std::move(file_name)) {
    // toml++ 3.3 is undefined on some letters beyond ASCII where they don't belong, such as an accent outside
    // of quotes.
    const auto beyond_ascii = std::find_if(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
    if (beyond_ascii != text.end()) {
        throw file_error(fmt::format("{}:{}: is not ASCII here; data files are plain ASCII", printable(file),
                                     1 + std::count(text.begin(), beyond_ascii, '\n')));
    }
    try {
        root = toml::parse(text, std::string_view(file));
    } catch (const toml::parse_error& error) {
        throw file_error(fmt::format("{}:{}: is not TOML here: {}; see https://toml.io", printable(file),
                                     error.source().begin.line, printable(error.description())));
    } catch (const toml_assertion&) {
        throw file_error(fmt::format("{}: is not TOML; see https://toml.io", printable(file)));
    }
}

toml_reader::toml_reader(const toml_document& document) : toml_reader(document, document.root, "") {}

toml_reader::toml_reader(const toml_document& document, const toml::table& table, std::string path)
    : document_(&document), table_(&table), path_(std::move(path)) {}

std::string toml_reader::name_of(std::string_view key) const {
    if (key.empty())
        return path_;
    return path_.empty() ? printable(key) : fmt::format("{}.{}", path_, printable(key));
}

std::string toml_reader::place(std::string_view key) const {
    const toml::node* at = key.empty() ? nullptr : table_->get(key);
    const toml::node& node = at != nullptr ? *at : *table_;
    const auto line = std::max<toml::source_index>(node.source().begin.line, 1);
    const std::string name = name_of(key);
    return fmt::format("{}:{}{}{}", printable(document_->file), line, name.empty() ? "" : ": ", name);
}

void toml_reader::fail(std::string_view key, std::string_view wrong) const {
    throw file_error(fmt::format("{}: {}", place(key), wrong));
}

const toml::node& toml_reader::take(std::string_view key) const {
    const toml::node* node = table_->get(key);
    if (node == nullptr)
        fail(key, "is missing; add it");
    return *node;
}

std::string toml_reader::text(std::string_view key) const {
    const toml::node& node = take(key);
    const auto* value = node.as_string();
    if (value == nullptr)
        fail(key, fmt::format("is {}; give a text in quotes", type_name(node)));
    if (value->get().empty())
        fail(key, "is empty; say something");
    if (!is_printable(value->get()))
        fail(key, "has a line break or another control character in it; give one line of text");
    return value->get();
}

bool toml_reader::flag(std::string_view key) const {
    const toml::node& node = take(key);
    const auto* value = node.as_boolean();
    if (value == nullptr)
        fail(key, fmt::format("is {}; give true or false", type_name(node)));
    return value->get();
}

double toml_reader::number(std::string_view key) const {
    const toml::node& node = take(key);
    const std::optional<double> value = number_in(node);
    if (!value)
        fail(key, fmt::format("is {}; give a number", type_name(node)));
    if (!std::isfinite(*value))
        fail(key, "is not finite; give a number");
    return *value;
}

std::int64_t toml_reader::whole(std::string_view key, std::int64_t minimum, std::int64_t maximum) const {
    const double value = number(key);
    if (value != std::floor(value))
        fail(key, fmt::format("is {}, not whole; give a whole number", value));
    if (value < static_cast<double>(minimum) || value > static_cast<double>(maximum))
        fail(key, fmt::format("is {}; give {} to {}", value, minimum, maximum));
    return static_cast<std::int64_t>(value);
}

toml_reader toml_reader::table(std::string_view key) const {
    const toml::node& node = take(key);
    if (node.as_table() == nullptr)
        fail(key, fmt::format("is {}; give a table", type_name(node)));
    return {*document_, *node.as_table(), name_of(key)};
}

std::vector<toml_reader> toml_reader::tables(std::string_view key) const {
    if (!has(key))
        return {};
    const toml::array* array = table_->get(key)->as_array();
    if (array == nullptr)
        fail(key,
             fmt::format("is {}; write [[{}]] above each entry", type_name(*table_->get(key)), name_of(key)));
    std::vector<toml_reader> readers;
    for (const toml::node& node : *array) {
        if (node.as_table() == nullptr)
            fail(key, fmt::format("has {} in it; give tables", type_name(node)));
        readers.push_back(
            {*document_, *node.as_table(), fmt::format("{}[{}]", name_of(key), readers.size() + 1)});
    }
    return readers;
}

std::vector<std::string> toml_reader::texts(std::string_view key) const {
    const toml::node& node = take(key);
    if (node.as_array() == nullptr)
        fail(key, fmt::format("is {}; give an array of texts", type_name(node)));
    std::vector<std::string> lines;
    for (const toml::node& element : *node.as_array()) {
        const auto* line = element.as_string();
        if (line == nullptr || line->get().empty() || !is_printable(line->get()))
            fail(key, "is an array of something else; give non-empty texts of one line");
        lines.push_back(line->get());
    }
    return lines;
}

std::vector<std::vector<double>> toml_reader::matrix(std::string_view key) const {
    const toml::node& node = take(key);
    if (node.as_array() == nullptr)
        fail(key, fmt::format("is {}; give an array of rows of numbers", type_name(node)));
    std::vector<std::vector<double>> rows;
    for (const toml::node& row : *node.as_array()) {
        if (row.as_array() == nullptr)
            fail(key, fmt::format("has {} for a row; give an array of rows of numbers", type_name(row)));
        rows.emplace_back();
        for (const toml::node& element : *row.as_array()) {
            const std::optional<double> value = number_in(element);
            if (!value || !std::isfinite(*value))
                fail(key, "has something in it that is no finite number; give rows of numbers");
            rows.back().push_back(*value);
        }
    }
    return rows;
}

sim::provenance toml_reader::provenance() const {
    using kind = sim::provenance::kind;
    std::optional<sim::provenance> found;
    for (const auto& [key, how] :
         {std::pair{"source", kind::source}, {"assumed", kind::assumed}, {"fitted", kind::fitted}}) {
        if (!has(key)) {
            continue;
        }
        if (found)
            fail("", "says twice where the number comes from; keep one of source, assumed and fitted");
        found = {how, text(key)};
    }
    if (!found)
        fail("", "does not say where the number comes from; add source, assumed (why) or fitted (to what)");
    return *found;
}

std::vector<std::string> toml_reader::keys() const {
    std::vector<std::pair<std::pair<toml::source_index, toml::source_index>, std::string>> placed;
    for (const auto& [key, node] : *table_) {
        const toml::source_position& at = key.source().begin;
        placed.push_back({{at.line, at.column}, std::string(key.str())});
    }
    std::sort(placed.begin(), placed.end());
    std::vector<std::string> names;
    names.reserve(placed.size());
    for (auto& [at, name] : placed)
        names.push_back(std::move(name));
    return names;
}

void toml_reader::only(const std::vector<std::string>& known) const {
    for (const std::string& key : keys()) {
        if (std::find(known.begin(), known.end(), key) != known.end())
            continue;
        const std::string mend = suggestion(key, known);
        fail(key, fmt::format("is not known here{}", mend.empty() ? "; remove it" : mend));
    }
}

} // namespace holdfast
