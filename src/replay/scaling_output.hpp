// Throughput against CPUs as text for a terminal and as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "replay/scaling.hpp"

namespace holdfast::replay {

// Of each experiment the curves, a row for each variant and number of CPUs, and the laws, a row a variant.
std::string as_text(const case_scaling& s, bool colour);

// The entries of "curves" for one case: one for each variant.
nlohmann::ordered_json as_json(const case_scaling& s);

} // namespace holdfast::replay
