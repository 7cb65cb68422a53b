// Lock classes, as lockdep calls them: locks that were initialised (or first used) at the same place, such as one in each of
// a hundred thousand buffers. None of them may stand out where all of them together hold a program back.
#pragma once

#include <cstddef>
#include <vector>

#include "profile/profile.hpp"

namespace holdfast::profile {

// So many are a class; fewer are told one by one.
inline constexpr std::size_t smallest_class = 8;

// Puts one lock in the place of each class of smallest_class and more: its figures are sums, but for longest waits, queues and
// monopolies; its sites are those of all; its address is that of the one that was waited for longest. Locks that are
// variables stay by themselves.
void join_classes(std::vector<lock>& locks);

} // namespace holdfast::profile
