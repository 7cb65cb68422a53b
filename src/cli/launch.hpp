// Starting somebody else's program with a library of ours in it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <signal.h>
#include <sys/types.h>

namespace holdfast::cli {

// The file that this name runs, as a shell would find it.
std::filesystem::path find_program(const std::string& name);

// Refuses a program that a library can't get into, saying why. A script is judged by its interpreter.
void check_program(const std::filesystem::path& program);

// One of our libraries: beside the program in a build directory, or in the installed tree's folder of libraries.
std::filesystem::path find_library(const char* name);

// Changes to the environment, to be made in the child. The first puts a library before those that are preloaded anyway.
void preload_library(const std::filesystem::path& library);
void set_variable(const char* name, const std::string& value);

// Starts a program, with these words for arguments; prepare() is called in the child first, which then has this signal mask.
// Signals that are meant for the program are passed on to it from then on; may be called again after its end. Gives its process, whose end is to be
// waited for; throws if it can't be started.
pid_t start(const std::filesystem::path& program, const std::vector<std::string>& command,
            const sigset_t& mask, const std::function<void()>& prepare);

// Tells on stderr how a program ended, by what waitpid gave, if it failed. Gives our exit status: 0 or 3.
int tell_end(const std::string& name, int status);

} // namespace holdfast::cli
