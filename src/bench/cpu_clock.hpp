// The clock of benches that keep one core busy: it stands still while others have the core.
#pragma once

#include <ctime>

namespace holdfast::bench {

// CPU time of the calling thread so far, in seconds.
inline double cpu_seconds() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

} // namespace holdfast::bench
