// The locks that can be checked, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "model/checking.hpp"

namespace holdfast::check {

// All: simple ones first.
const std::vector<model::suite>& all_suites();

// The suite of the lock of that name, with or without its namespace; nullptr if there is none.
const model::suite* find_suite(std::string_view lock);

// The lock's name without its namespace.
std::string short_name(const model::suite& s);

} // namespace holdfast::check
