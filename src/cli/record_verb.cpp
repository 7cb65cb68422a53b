// holdfast record: runs a program with the recording library in it.
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <elf.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "preload/signal_name.hpp"
#include "sim/data_files.hpp"
#include "trace/command.hpp"
#include "trace/format.hpp"
#include "trace/reader.hpp"

namespace holdfast::cli {

namespace {

namespace fs = std::filesystem;

struct options {
    std::vector<std::string> command;
    std::string file;
    std::uint64_t size_mib = trace::standard_file >> 20;
    bool no_follow = false;
    double delay_s = 0;
    std::string signal;
    std::vector<std::string> start;
    std::vector<std::string> stop;

    // Whether the program begins without being recorded.
    [[nodiscard]] bool waits() const { return delay_s > 0 || !signal.empty(); }
};

constexpr int program_failed = 3;

// ---- The program ----

[[noreturn]] void refuse(const std::string& program, std::string_view why) {
    throw usage_error(fmt::format("{}: {}", printable(program), why));
}

// The file that this name runs, as a shell would find it.
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

// Refuses a program that the library can't get into, saying why. A script is judged by its interpreter.
void check_program(const fs::path& program, int depth = 0) {
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
        refuse(name, "can't be read, so it can't be told whether it can be recorded");
    if (start[0] == '#' && start[1] == '!') {
        const std::string_view line(start + 2, std::strcspn(start + 2, "\n"));
        const std::size_t first = line.find_first_not_of(" \t");
        if (first == std::string_view::npos || depth == 4)
            refuse(name, "a script without an interpreter");
        const std::size_t end = line.find_first_of(" \t", first);
        return check_program(std::string(line.substr(first, end - first)), depth + 1);
    }
    Elf64_Ehdr head{};
    if (size < sizeof head || std::memcmp(start, ELFMAG, SELFMAG) != 0)
        refuse(name, "neither an ELF program nor a script that names its interpreter");
    if (start[EI_CLASS] != ELFCLASS64)
        refuse(name, "a 32-bit program; only 64-bit ones can be recorded");
    if ((info.st_mode & (S_ISUID | S_ISGID)) != 0 && geteuid() != 0)
        refuse(
            name,
            "runs with its owner's rights (setuid or setgid), so no library gets into it; record it as root");
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

// ---- The library ----

// Beside the program in a build directory, or in the installed tree's folder of libraries.
fs::path find_library() {
    constexpr const char* name = "libholdfast_record.so";
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

// ---- Running ----

void set(const char* variable, const std::string& value) {
    if (setenv(variable, value.c_str(), 1) != 0)
        throw std::runtime_error(std::strerror(errno));
}

volatile std::sig_atomic_t running = 0; // the program's process

void pass_on(int signal) {
    if (running > 0)
        kill(static_cast<pid_t>(running), signal);
}

// In the child. The report of an exec that failed goes through the pipe.
[[noreturn]] void become(const options& o, const fs::path& program, const fs::path& library,
                         const sigset_t& mask, int failure) {
    const char* const others = std::getenv("LD_PRELOAD");
    set("LD_PRELOAD", others == nullptr || *others == '\0' ? library.string()
                                                           : fmt::format("{}:{}", library.string(), others));
    set("HOLDFAST_RECORD_FILE", fs::absolute(o.file).string());
    set("HOLDFAST_RECORD_ROOT", fmt::format("{}", getpid()));
    set("HOLDFAST_RECORD_SIZE", fmt::format("{}", o.size_mib << 20));
    set("HOLDFAST_RECORD_FOLLOW", o.no_follow ? "0" : "1");
    if (o.waits())
        set("HOLDFAST_RECORD_WAIT", "1");
    else
        unsetenv("HOLDFAST_RECORD_WAIT");
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    std::vector<char*> arguments;
    arguments.reserve(o.command.size() + 1);
    for (const std::string& argument : o.command)
        arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execv(program.c_str(), arguments.data());
    const int error = errno;
    _exit(write(failure, &error, sizeof error) == sizeof error ? 127 : 126);
}

// The recordings that this run left: o.file, and those of other processes beside it that weren't there before.
std::vector<fs::path> recordings(const fs::path& file, const std::vector<fs::path>& before) {
    std::vector<fs::path> found;
    std::error_code ignored;
    const fs::path folder = fs::absolute(file).parent_path();
    const std::string prefix = file.filename().string() + '.';
    if (fs::exists(file, ignored))
        found.push_back(file);
    for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
        if (entry.path().filename().string().starts_with(prefix) &&
            std::find(before.begin(), before.end(), entry.path()) == before.end())
            found.push_back(entry.path());
    }
    return found;
}

void tell(const std::vector<fs::path>& files) {
    if (files.empty()) {
        fmt::print(stderr, "holdfast: nothing was recorded: the library did not get into the program\n");
        return;
    }
    for (const fs::path& file : files) {
        const trace::recording r = trace::read(file);
        std::uint64_t wait_ns = 0;
        for (const trace::thread_read& t : r.threads)
            wait_ns += t.wait_ns;
        fmt::print(stderr, "holdfast: {}: {}, {} threads, {:.3f} s waiting for locks\n",
                   printable(file.string()), printable(fs::path(r.program).filename().string()),
                   r.threads.size(), static_cast<double>(wait_ns) / 1e9);
    }
}

// ---- When to record ----

std::uint64_t now_ns() {
    timespec t{};
    clock_gettime(CLOCK_MONOTONIC, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

void give(const std::string& file, trace::command what) {
    const int error = trace::give_command(file.c_str(), what, now_ns());
    if (error != 0)
        throw usage_error(fmt::format("{}: {}", printable(file),
                                      error == EBADMSG ? "not a recording of this holdfast"
                                      : error == ESRCH ? "this recording has ended"
                                                       : std::strerror(error)));
}

// Waits for the program's end, and starts and stops the recording meanwhile: when the delay is over, and at each
// signal the next. Signals that this is about are blocked. Gives the program's status.
class supervisor {
public:
    supervisor(const options& o, pid_t child, const std::vector<fs::path>& before)
        : o_(o), child_(child), before_(before), signal_(preload::signal_number(o.signal.c_str())),
          due_ns_(o.delay_s > 0 ? now_ns() + static_cast<std::uint64_t>(o.delay_s * 1e9) : never) {}

    int wait() {
        sigset_t awaited;
        sigemptyset(&awaited);
        sigaddset(&awaited, SIGCHLD);
        if (signal_ != 0)
            sigaddset(&awaited, signal_);
        int status = 0;
        while (waitpid(child_, &status, WNOHANG) == 0) {
            const std::uint64_t now = now_ns();
            if (wanted_ == trace::command::wait && now >= due_ns_)
                wanted_ = trace::command::run;
            if (wanted_ != told_ && tell())
                told_ = wanted_;
            constexpr std::uint64_t retry_ns = 10'000'000; // until the program's recording is there
            constexpr std::uint64_t longest_ns = 3'600'000'000'000;
            const std::uint64_t pause = wanted_ != told_ ? retry_ns
                                        : wanted_ == trace::command::wait && due_ns_ != never
                                            ? std::min(due_ns_ - now, longest_ns)
                                            : longest_ns;
            const timespec timeout{static_cast<time_t>(pause / 1'000'000'000),
                                   static_cast<long>(pause % 1'000'000'000)};
            const int came = sigtimedwait(&awaited, nullptr, &timeout);
            if (came > 0 && came == signal_)
                wanted_ = wanted_ == trace::command::wait ? trace::command::run : trace::command::stop;
        }
        return status;
    }

private:
    static constexpr std::uint64_t never = ~std::uint64_t{0};

    // Writes what is wanted into the program's recording, and then into those of the processes that it started; later
    // ones look into the first. Whether that is there.
    [[nodiscard]] bool tell() const {
        const int error = trace::give_command(o_.file.c_str(), wanted_, now_ns());
        for (const fs::path& file : recordings(o_.file, before_)) {
            if (file != o_.file)
                trace::give_command(file.c_str(), wanted_, now_ns());
        }
        return error == 0 || error == ESRCH;
    }

    const options& o_;
    const pid_t child_;
    const std::vector<fs::path>& before_;
    const int signal_;
    const std::uint64_t due_ns_;
    trace::command wanted_ = trace::command::wait;
    trace::command told_ = trace::command::wait;
};

// SIGCHLD and the signal that triggers wait to be asked for. Gives the former mask.
sigset_t block_awaited(const options& o) {
    sigset_t awaited;
    sigset_t before;
    sigemptyset(&awaited);
    sigaddset(&awaited, SIGCHLD);
    if (!o.signal.empty())
        sigaddset(&awaited, preload::signal_number(o.signal.c_str()));
    sigprocmask(SIG_BLOCK, &awaited, &before);
    return before;
}

int record(const options& given) {
    options o = given;
    for (const std::string& file : o.start)
        give(file, trace::command::run);
    for (const std::string& file : o.stop)
        give(file, trace::command::stop);
    if (o.command.empty()) {
        if (o.start.empty() && o.stop.empty())
            throw usage_error("CMD is required");
        return 0;
    }
    if (!o.signal.empty() && preload::signal_number(o.signal.c_str()) == 0)
        throw usage_error(fmt::format("--start-on-signal: {} is no signal", printable(o.signal)));
    const fs::path program = find_program(o.command.front());
    check_program(program);
    const fs::path library = find_library();
    if (o.file.empty())
        o.file = program.filename().string() + ".holdfast";
    check_writable(o.file);
    if (o.file == "-")
        throw usage_error("-o -: a recording is a file that is written to in place; name one");
    std::error_code ignored;
    // A former recording makes room; anything else is somebody's.
    if (fs::exists(o.file, ignored)) {
        if (!fs::is_regular_file(o.file, ignored) || !trace::is_recording(o.file))
            throw usage_error(
                fmt::format("{}: is there, and not a recording of holdfast record; name another file with -o",
                            printable(o.file)));
        fs::remove(o.file);
    }
    const std::vector<fs::path> before = recordings(o.file, {});

    int failure[2];
    if (pipe2(failure, O_CLOEXEC) != 0)
        throw std::runtime_error(std::strerror(errno));
    const sigset_t mask = block_awaited(o);
    const pid_t child = fork();
    if (child < 0)
        throw std::runtime_error(std::strerror(errno));
    if (child == 0)
        become(o, program, library, mask, failure[1]);
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
    const int status = supervisor(o, child, before).wait();
    running = 0;
    if (failed)
        refuse(program.string(), std::strerror(error));
    tell(recordings(o.file, before));
    if (WIFSIGNALED(status)) {
        fmt::print(stderr, "holdfast: {} was killed by signal {} ({})\n", printable(o.command.front()),
                   WTERMSIG(status), strsignal(WTERMSIG(status)));
        return program_failed;
    }
    if (WEXITSTATUS(status) != 0) {
        fmt::print(stderr, "holdfast: {} exited with status {}\n", printable(o.command.front()),
                   WEXITSTATUS(status));
        return program_failed;
    }
    return 0;
}

} // namespace

action add_record(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb = *app.add_subcommand("record", "run a program and record how it waits for its locks");
    verb.add_option("-o,--output", o->file, "the recording; PROGRAM.holdfast if none is named");
    verb.add_option("--size", o->size_mib, "of the recording, in MiB; only what is used takes up disk")
        ->check(CLI::Range(trace::smallest_file >> 20, trace::largest_file >> 20))
        ->capture_default_str();
    verb.add_flag("--no-follow", o->no_follow, "only this process, not those that it starts");
    verb.add_option("--delay", o->delay_s, "begin after so many seconds")->check(CLI::NonNegativeNumber);
    verb.add_option("--start-on-signal", o->signal,
                    "begin when `holdfast record` gets this signal (USR1), stop when it gets it again");
    verb.add_option("--start", o->start, "begin a recording that waits, of a program that runs");
    verb.add_option("--stop", o->stop, "end a recording; its program runs on");
    verb.add_option("CMD", o->command, "the program and its arguments, after --");
    verb.positionals_at_end();
    verb.footer(
        "Other processes that it starts write FILE.PID, from their first lock on.\n"
        "Exit status: 0; 2 if the program can't be recorded; 3 if it failed: its own status is on stderr.\n"
        "Example: holdfast record -o a.holdfast -- ./program --threads 8\n"
        "         holdfast report a.holdfast\n"
        "         holdfast record -o b.holdfast --delay 60 -- ./service & ... holdfast record --stop "
        "b.holdfast");
    return [o] { return record(*o); };
}

} // namespace holdfast::cli
