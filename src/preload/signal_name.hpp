// Signals as people name them.
#pragma once

#include <csignal>
#include <cstdlib>
#include <cstring>

namespace holdfast::preload {

// The number of "USR1", "SIGUSR1" or "10"; 0 if it is none. Allocates nothing.
inline int signal_number(const char* name) {
    char* end = nullptr;
    const long number = std::strtol(name, &end, 10);
    if (end != name && *end == '\0')
        return number > 0 && number < NSIG ? static_cast<int>(number) : 0;
    if (std::strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (int n = 1; n < NSIG; ++n) {
        const char* const known = sigabbrev_np(n);
        if (known != nullptr && std::strcmp(known, name) == 0)
            return n;
    }
    return 0;
}

} // namespace holdfast::preload
