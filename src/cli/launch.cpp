// Finding the program and the library, and the child's first steps.
#include "cli/launch.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/verbs.hpp"
#include "sim/data_files.hpp"

namespace holdfast::cli {

namespace fs = std::filesystem;

namespace {

constexpr int program_failed = 3;

[[noreturn]] void refuse(const std::string& program, std::string_view why) {
    throw usage_error(fmt::format("{}: {}", printable(program), why));
}

void check(const fs::path& program, int depth) {
    const std::string name = program.string();
    struct stat info {};
    if (stat(name.c_str(), &info) != 0)
        refuse(name, std::strerror(errno));
    if (!S_ISREG(info.st_mode))
        refuse(name, "not a file that can be run");
    if (access(name.c_str(), X_OK) != 0)
        refuse(name, "not executable; chmod +x it, or name its interpreter");
    std::ifstream stream(program, std::ios::binary);
    char start[4096] = {};
    stream.read(start, sizeof start - 1);
    const auto size = static_cast<std::size_t>(stream.gcount());
    if (size == 0)
        refuse(name, "can't be read, so it can't be told whether a library gets into it");
    if (start[0] == '#' && start[1] == '!') {
        const std::string_view line(start + 2, std::strcspn(start + 2, "\n"));
        const std::size_t first = line.find_first_not_of(" \t");
        if (first == std::string_view::npos || depth == 4)
            refuse(name, "a script without an interpreter");
        const std::size_t end = line.find_first_of(" \t", first);
        return check(std::string(line.substr(first, end - first)), depth + 1);
    }
    Elf64_Ehdr head{};
    if (size < sizeof head || std::memcmp(start, ELFMAG, SELFMAG) != 0)
        refuse(name, "neither an ELF program nor a script that names its interpreter");
    if (start[EI_CLASS] != ELFCLASS64)
        refuse(name, "a 32-bit program, and our libraries are 64-bit");
    if ((info.st_mode & (S_ISUID | S_ISGID)) != 0 && geteuid() != 0)
        refuse(name,
               "runs with its owner's rights (setuid or setgid), so no library gets into it; try as root");
    std::memcpy(&head, start, sizeof head);
    stream.clear();
    stream.seekg(static_cast<std::streamoff>(head.e_phoff));
    bool has_loader = false;
    for (unsigned p = 0; p < head.e_phnum; ++p) {
        Elf64_Phdr part{};
        if (!stream.read(reinterpret_cast<char*>(&part), sizeof part))
            break;
        has_loader = has_loader || part.p_type == PT_INTERP;
    }
    if (!has_loader)
        refuse(name, "linked statically, so no library gets into it");
}

volatile std::sig_atomic_t running = 0; // the program's process

void pass_on(int signal) {
    if (running > 0)
        kill(static_cast<pid_t>(running), signal);
}

// What these signals do, as this process found it.
struct dispositions {
    static constexpr int signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
    struct sigaction actions[std::size(signals)] = {};

    dispositions() {
        for (std::size_t i = 0; i < std::size(signals); ++i)
            sigaction(signals[i], nullptr, &actions[i]);
    }
    void restore() const {
        for (std::size_t i = 0; i < std::size(signals); ++i)
            sigaction(signals[i], &actions[i], nullptr);
    }
};

// In the child. The report of an exec that failed goes through the pipe.
[[noreturn]] void become(const fs::path& program, const std::vector<std::string>& command, int failure) {
    std::vector<char*> arguments;
    arguments.reserve(command.size() + 1);
    for (const std::string& argument : command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    const int error = errno;
    _exit(write(failure, &error, sizeof error) == sizeof error ? 127 : 126);
}

} // namespace

fs::path find_program(const std::string& name) {
    if (name.find('/') != std::string::npos)
        return name;
    const char* const path = std::getenv("PATH");
    std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
    for (;;) {
        const std::size_t end = rest.find(':');
        const std::string_view folder = rest.substr(0, end);
        fs::path candidate = fs::path(folder.empty() ? "." : folder) / name;
        if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate))
            return candidate;
        if (end == std::string_view::npos)
            refuse(name, "no such program in PATH");
        rest.remove_prefix(end + 1);
    }
}

void check_program(const fs::path& program) {
    check(program, 0);
}

fs::path find_library(const char* name) {
    std::error_code ignored;
    const fs::path home = fs::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const fs::path& place :
         {home / name, (home / HOLDFAST_LIBRARY_FROM_PROGRAM / name).lexically_normal()}) {
        if (fs::exists(place, ignored))
            return place;
    }
    throw usage_error(fmt::format("{} is neither in {} nor in its {}; it comes with an x86-64 build", name,
                                  home.string(), HOLDFAST_LIBRARY_FROM_PROGRAM));
}

void set_variable(const char* name, const std::string& value) {
    if (setenv(name, value.c_str(), 1) != 0)
        throw std::runtime_error(std::strerror(errno));
}

void preload_library(const fs::path& library) {
    const char* const others = std::getenv("LD_PRELOAD");
    set_variable("LD_PRELOAD", others == nullptr || *others == '\0'
                                   ? library.string()
                                   : fmt::format("{}:{}", library.string(), others));
}

pid_t start(const fs::path& program, const std::vector<std::string>& command, const sigset_t& mask,
            const std::function<void()>& prepare) {
    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0)
        throw std::runtime_error(std::strerror(errno));
    // An earlier program's start has changed them for us, not for this program.
    static const dispositions found;
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error(std::strerror(errno));
    if (child == 0) {
        prepare();
        found.restore();
        sigprocmask(SIG_SETMASK, &mask, nullptr);
        become(program, command, failure[1]);
    }
    close(failure[1]);
    // The terminal tells the program itself; what is meant for us is meant for it.
    running = child;
    std::signal(SIGINT, SIG_IGN);
    std::signal(SIGQUIT, SIG_IGN);
    std::signal(SIGTERM, pass_on);
    std::signal(SIGHUP, pass_on);
    int error = 0;
    const bool failed = read(failure[0], &error, sizeof error) == sizeof error;
    close(failure[0]);
    if (failed) {
        running = 0;
        waitpid(child, nullptr, 0);
        refuse(program.string(), std::strerror(error));
    }
    return child;
}

int tell_end(const std::string& name, int status) {
    running = 0;
    if (WIFSIGNALED(status)) {
        fmt::print(stderr, "holdfast: {} was killed by signal {} ({})\n", printable(name), WTERMSIG(status),
                   strsignal(WTERMSIG(status)));
        return program_failed;
    }
    if (WEXITSTATUS(status) != 0) {
        fmt::print(stderr, "holdfast: {} exited with status {}\n", printable(name), WEXITSTATUS(status));
        return program_failed;
    }
    return 0;
}

} // namespace holdfast::cli
