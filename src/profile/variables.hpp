// Which variable, and which member of it, has an address: what debug information says of static storage.
#pragma once

#include <cstdint>
#include <map>

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

} // namespace holdfast::profile
