// Which files are mapped where, for those who turn addresses into names later.
#pragma once

#include "trace/writer.hpp"

namespace holdfast::preload {

// Whether a module that is there now covers the address.
bool covered(const trace::writer& to, std::uint64_t address);

// Whether the address is of a module that was gone from this generation on.
bool gone_with(const trace::writer& to, std::uint64_t address, std::uint32_t generation);

// Adds those files that are mapped now and not yet in the recording. Those of the recording that aren't mapped any more
// end, and a new generation begins. By one thread at a time.
void refresh_modules(trace::writer& to);

} // namespace holdfast::preload
