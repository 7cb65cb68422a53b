// A comparison as the table of a mailing list's before and after, and as JSON.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "compare/experiment.hpp"

namespace holdfast::compare {

// Metrics down, locks across, at most three beside the first before the table begins anew; then what it stands on, and warnings.
std::string as_text(const experiment& e, bool colour);

nlohmann::ordered_json as_json(const experiment& e);

} // namespace holdfast::compare
