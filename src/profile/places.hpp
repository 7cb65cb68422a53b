// The other way round from symbols.hpp: from a name that a report gives to the places in a file that have it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace holdfast::profile {

// Addresses from where the file is mapped to; both are part of it.
struct place_range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
};

// Where a file has variables or functions of this name, as a report prints it behind the file's: "lock",
// "pool.shards[3].lock", "fill(int)". A member is the address where it begins; what has no member named is all of it, and so
// is a function, whose range is that of the addresses to which its calls return. None if the file has no such name, or
// can't be read.
std::vector<place_range> places_of(const std::string& file, const std::string& name);

} // namespace holdfast::profile
