// Machine files: a machine of machine.hpp as TOML, each number with where it comes from. docs/machines.md
// describes them for those who write one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "sim/data_files.hpp"
#include "sim/machine.hpp"

namespace holdfast::sim {

// The key of the one parameter that is a matrix and so has no row in parameters().
inline constexpr std::string_view socket_matrix_key = "coherence.socket_matrix_ns";

// The machine of a file that anybody may have written. Throws file_error if it can't be read or is not a
// machine.
machine read_machine(const std::filesystem::path& path);

// The same from a text; errors name it `file`.
machine parse_machine(std::string_view text, std::string_view file);

// What makes no sense about a machine whose numbers are each within bounds.
struct contradiction {
    std::string key; // the parameter to mend; empty: there is no contradiction
    std::string wrong;
};
contradiction find_contradiction(const machine& m);

// How many of the kept unit (see parameter::unit) one of the file's unit is.
std::int64_t kept_per_file_unit(parameter::unit in);

// The value of a parameter as its file would have it: "135", "0.95", "home".
std::string shown_value(const parameter& p, const machine& m);

// The unit in a file: "ns", "a second", or "" for plain numbers.
std::string_view unit_name(parameter::unit in);

} // namespace holdfast::sim
