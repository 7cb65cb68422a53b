// A lock is no system call: whoever takes one between a call that failed and the look at errno finds it
// unchanged.
#pragma once

#include <cerrno>

namespace holdfast::os {

// Gives errno its value back at the end of its life.
class preserved_errno {
public:
    preserved_errno() = default;
    ~preserved_errno() { errno = value_; }
    preserved_errno(const preserved_errno&) = delete;
    preserved_errno& operator=(const preserved_errno&) = delete;

private:
    int value_ = errno;
};

} // namespace holdfast::os
