// Strict reading of TOML: every key is known or an error, every value has its type and bounds, and every
// error is one line that names the file, the line, the key and the mend.
//
// A reader stands for one table. Whoever reads one says first which keys it may have: only().
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// Some malformed texts ("[=]") only meet an assertion in toml++ 3.3, and an untrusted file must not end the
// program.
namespace holdfast {
struct toml_assertion {};
constexpr void toml_assert(bool holds) {
    if (!holds)
        throw toml_assertion{};
}
} // namespace holdfast
// The parser is compiled here, as the library's own has its own idea of assertions.
#undef TOML_SHARED_LIB
#undef TOML_HEADER_ONLY
#define TOML_HEADER_ONLY 1
#define TOML_ASSERT(condition) holdfast::toml_assert(static_cast<bool>(condition))
#include <toml++/toml.h>

#include "sim/data_files.hpp"
#include "sim/machine.hpp"

namespace holdfast {

// A parsed file; readers refer to it, so it outlives them.
struct toml_document {
    std::string file; // as errors name it
    toml::table root;

    // Throws file_error if the text is no TOML.
    toml_document(std::string file_name, std::string_view text);
};

class toml_reader {
public:
    explicit toml_reader(const toml_document& document);

    // What errors call a key of this table: "coherence.hit_ns".
    std::string name_of(std::string_view key) const;

    bool has(std::string_view key) const { return table_->contains(key); }

    // Throws file_error, suggesting a known key, if the table has one that is not among `known`.
    void only(const std::vector<std::string>& known) const;

    // Each takes a key that must be there unless has() was asked, and throws file_error if it is not, if it
    // has another type, or is out of bounds.
    std::string text(std::string_view key) const; // a non-empty line, without control characters
    bool flag(std::string_view key) const;
    double number(std::string_view key) const; // a finite number
    std::int64_t whole(std::string_view key, std::int64_t minimum, std::int64_t maximum) const;
    toml_reader table(std::string_view key) const;
    std::vector<toml_reader>
    tables(std::string_view key) const; // an array of tables; none if the key is not there
    std::vector<std::string> texts(std::string_view key) const; // an array of lines
    std::vector<std::vector<double>> matrix(std::string_view key) const;

    // Exactly one of `source`, `assumed` and `fitted`: where the value in this table comes from.
    sim::provenance provenance() const;

    // The keys in the order in which the file has them.
    std::vector<std::string> keys() const;

    // Where a key of this table stands, as errors say it: "file:12: section.key".
    std::string place(std::string_view key) const;

    // Throws file_error about a key of this table, or about the table if it has no such key; an empty key is
    // the table.
    [[noreturn]] void fail(std::string_view key, std::string_view wrong) const;

private:
    toml_reader(const toml_document& document, const toml::table& table, std::string path);
    const toml::node& take(std::string_view key) const;

    const toml_document* document_;
    const toml::table* table_;
    std::string path_; // of this table, dotted; empty: the root
};

} // namespace holdfast
