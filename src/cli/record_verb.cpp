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

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cli/launch.hpp"
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

// In the child.
void prepare(const options& o, const fs::path& library) {
    preload_library(library);
    set_variable("HOLDFAST_RECORD_FILE", fs::absolute(o.file).string());
    set_variable("HOLDFAST_RECORD_ROOT", fmt::format("{}", getpid()));
    set_variable("HOLDFAST_RECORD_SIZE", fmt::format("{}", o.size_mib << 20));
    set_variable("HOLDFAST_RECORD_FOLLOW", o.no_follow ? "0" : "1");
    if (o.waits())
        set_variable("HOLDFAST_RECORD_WAIT", "1");
    else
        unsetenv("HOLDFAST_RECORD_WAIT");
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
    const fs::path library = find_library("libholdfast_record.so");
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

    const sigset_t mask = block_awaited(o);
    const pid_t child = start(program, o.command, mask, [&] { prepare(o, library); });
    const int status = supervisor(o, child, before).wait();
    tell(recordings(o.file, before));
    return tell_end(o.command.front(), status);
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
