// The locks that can be tortured, by name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "torture/tortured.hpp"

namespace holdfast::torture {

// All: ours, the standard's to compare with, and the broken ones, which nobody gets who doesn't name them.
const std::vector<torture_lock>& all_locks();

// The lock of that name, with or without our namespace; nullptr if there is none.
const torture_lock* find_lock(std::string_view name);

// The name without our namespace.
std::string short_name(const torture_lock& lock);

// What the parts of the list are made of, in files of their own since they take long to compile.
void add_spinning_locks(std::vector<torture_lock>& locks);
void add_sleeping_locks(std::vector<torture_lock>& locks);
void add_semaphores(std::vector<torture_lock>& locks);
void add_broken_locks(std::vector<torture_lock>& locks);

} // namespace holdfast::torture
