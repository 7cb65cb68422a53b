// A failing execution as people read it: its steps from top to bottom, one thread a column, each with its place in the source.
#pragma once

#include <cstddef>
#include <string>

#include "model/explorer.hpp"

namespace holdfast::model {

// The chart of a trace, as lines of at most `width` columns (80 or more). What begin() does is one line; what end() does stands in the first column.
std::string chart(const std::vector<step>& trace, std::size_t width = 100);

// "mcs_lock.hpp:58 lock"; "" for nowhere.
std::string text_of(const place& at);

} // namespace holdfast::model
