// A case's results as text for a terminal and as JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "replay/runner.hpp"
#include "replay/sensitivity.hpp"

namespace holdfast::replay {

// As the tables and the JSON call them.
std::string_view name_of(scale s);
std::string_view name_of(target t);

// What of an experiment was run where, and how that differs from the published run, so that no figure is read for
// more than it is.
std::string what_was_run(const planned_experiment& p, target on);

// The tables of a case, its checks, and a line that sums up.
std::string as_text(const case_result& result, bool colour);

// Which verdicts moved.
std::string as_text(const sensitivity& s, bool colour);

// The entries of "cases" for one case: one for each of its experiments that was run, which has the checks
// whose variant it has. Checks of experiments that were not run stand in the first entry, so that none is
// lost.
nlohmann::ordered_json as_json(const case_result& result);
nlohmann::ordered_json as_json(const sensitivity& s);

// Whether any check is a miss.
bool has_miss(const case_result& result);
// Whether any run failed.
bool has_failure(const case_result& result);

// The case's experiments, variants and machines, for --list.
std::string listed(const case_description& c, bool colour);

} // namespace holdfast::replay
