// Which variable, and which member of it, has an address, and what is likely of a lock on the heap: what debug information
// says of types.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <elfutils/libdw.h>

#include "profile/symbols.hpp"

struct Dwfl_Module;

namespace holdfast::profile {

// The static variables of one file, by their address in libdw's address space.
class static_variables {
public:
    explicit static_variables(Dwfl_Module* module);

    // The members that lead from the variable at `start` to the lock that is `offset` bytes into it:
    // name is ".shards[3].lock", or "+24" as far as nothing is known.
    [[nodiscard]] variable_name member(std::uint64_t start, std::uint64_t offset) const;

private:
    void collect(Dwarf_Die* parent, std::uint64_t bias, int depth);

    std::map<std::uint64_t, Dwarf_Die> types_;
};

// What a member function says of the lock that it takes or makes: the member of its class that must be it, if just one is
// of that kind ("account::lock"), or the class, if more are ("a ledger"); empty if it has none, is no member function, or
// debug information doesn't say. That the lock is the function's own object's is an inference.
std::string likely_member(Dwarf_Die function, trace::lock_kind kind);

} // namespace holdfast::profile
