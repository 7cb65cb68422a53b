// The tortured process: its threads, and what disturbs them.
#pragma once

#include <cstdint>

#include "torture/board.hpp"
#include "torture/tortured.hpp"

namespace holdfast::torture {

// Tortures the lock with so many threads until the board says that it is over, checks what is left of it, and ends the
// process, with status 0 if the lock has done nothing that it must not. To be called by a process with one thread.
[[noreturn]] void be_tortured(const torture_lock& lock, std::uint32_t threads, std::uint64_t seed,
                              board& shown);

} // namespace holdfast::torture
