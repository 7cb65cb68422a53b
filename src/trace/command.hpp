// Tells a process that records, by a word in its recording, to begin or to stop. It looks there before and while it
// records; no signal is sent and no thread of it is woken. System calls alone, for this also stands in somebody else's
// process.
#pragma once

#include <cstdint>

#include "trace/format.hpp"

namespace holdfast::trace {

// The command in a recording, in `to`. Gives 0 or an error number; EBADMSG: it is no recording of this version.
int read_command(const char* file, command& to);

// Writes one. `now` is CLOCK_MONOTONIC; a stopped recording ends there. Errors as above, and ESRCH: it has ended.
int give_command(const char* file, command what, std::uint64_t now);

} // namespace holdfast::trace
