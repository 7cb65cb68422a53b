// Ctrl-C, for verbs that then show what they have.
#pragma once

#include <csignal>

namespace holdfast::cli {

// Ctrl-C ends the measuring, not the program, while this exists.
class until_interrupted {
public:
    until_interrupted();
    ~until_interrupted();
    until_interrupted(const until_interrupted&) = delete;
    until_interrupted& operator=(const until_interrupted&) = delete;

private:
    struct sigaction before_ {};
};

// Whether it came, while there was one.
bool interrupted();

} // namespace holdfast::cli
