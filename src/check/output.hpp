// What was checked, for people, for programs, and for the docs.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/jobs.hpp"

namespace holdfast::check {

// How text is shown.
struct look {
    bool colour = false;
    std::size_t width = 100; // of a chart
    bool each = false;       // every scenario, instead of those with as many threads together
};

// Per lock and number of threads: what was explored, how far, and in how many executions. Then, of each scenario that failed, the
// execution in columns and the command that shows it again; and the totals.
std::string as_text(const std::vector<model::exploration>& done, const look& how);
std::string as_markdown(const std::vector<model::exploration>& done);
nlohmann::ordered_json as_json(const std::vector<model::exploration>& done);

// Each mutant: the scenario that caught it, in how many executions, and as what; or why it may survive. With `charts`, each
// one's execution, too.
std::string as_text(const std::vector<model::judgement>& judged, bool charts, const look& how);
std::string as_markdown(const std::vector<model::judgement>& judged);
nlohmann::ordered_json as_json(const std::vector<model::judgement>& judged);

// The scenarios, with their bounds.
std::string list_as_text(std::span<const model::suite* const> suites, const look& how);
std::string list_as_markdown(std::span<const model::suite* const> suites);
nlohmann::ordered_json list_as_json(std::span<const model::suite* const> suites);

// One execution: its chart, and how it ended.
std::string as_text(const model::outcome& replayed, const look& how);

// What shows an execution again, at the shell. `mutant`: the name of the one in force; empty: none.
std::string again(const model::suite& s, const model::scenario& of, const model::limits& bounds,
                  const std::string& mutant, const std::string& choices);

} // namespace holdfast::check
