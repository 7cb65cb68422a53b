// Which files are mapped where, for those who turn addresses into names later.
#pragma once

#include "trace/writer.hpp"

namespace holdfast::preload {

// Whether a module of the recording covers the address.
bool covered(const trace::writer& to, std::uint64_t address);

// Adds those files that are mapped now and not yet in the recording. By one thread at a time.
void add_modules(trace::writer& to);

} // namespace holdfast::preload
