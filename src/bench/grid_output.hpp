// What a grid came to, for people and for programs.
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "bench/grid.hpp"

namespace holdfast::bench {

// A line for each lock with its ratios to the subject, a line for each lock with what it did beside the grid, and what
// failed or was left out. With `cells`, every cell before it.
std::string as_text(const grid_result& r, bool cells, bool colour);

// {"cells": [..], "comparisons": [..], "worst": [..], "left_out": [..]}. Cells are as of other benches; those of other locks
// than the subject also have "ratio": the subject's.
nlohmann::ordered_json as_json(const grid_result& r);

// Whether a lock has let in whom it must not.
bool has_broken_lock(const grid_result& r);

} // namespace holdfast::bench
