// Results for people and for programs.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "torture/torture.hpp"

namespace holdfast::torture {

// A table, the disturbances that were not possible, and of each lock that failed what was seen and how to see it again.
std::string as_text(const std::vector<result>& results, bool colour);

// {"runs": [..]}
nlohmann::ordered_json as_json(const std::vector<result>& results);

// What a failed run is to be repeated with, at the shell.
std::string again(const result& r);

} // namespace holdfast::torture
