// What a child process finds after a fork.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

namespace holdfast {

// Runs `check` in a child process; true if it gave true there. A hang is a failure, after 20 seconds.
template <class Check>
bool in_a_child(Check check) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(20);
        _exit(check() ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

} // namespace holdfast
