// How the checked locks speak: one line on stderr that names what was done to which lock, and the end.
#pragma once

#include <cstdio>
#include <cstdlib>

namespace holdfast::os {

// Ends the program. `name`: of the lock's type, or its user's for it; `lock`: its address; `what`: was done to it.
[[noreturn, gnu::cold, gnu::noinline]] inline void report_misuse(const char* name, const void* lock,
                                                                 const char* what) {
    std::fprintf(stderr, "holdfast: %s at %p: %s\n", name, lock, what);
    std::abort();
}

} // namespace holdfast::os
