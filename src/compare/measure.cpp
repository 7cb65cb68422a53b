// wait4's account of a process, and its output in a file without a name.
#include "compare/measure.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <stdexcept>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace holdfast::compare {

namespace {

using clock = std::chrono::steady_clock;

constexpr off_t longest_output = 16 << 20;
constexpr std::size_t longest_line = 4096; // std::regex needs stack for each byte

double seconds(const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
}

// A file in memory, gone when it is closed.
class memory_file {
public:
    memory_file() : fd_(memfd_create("output", MFD_CLOEXEC)) {
        if (fd_ < 0)
            throw std::runtime_error(fmt::format("no memory for the output: {}", std::strerror(errno)));
    }
    ~memory_file() { close(fd_); }
    memory_file(const memory_file&) = delete;
    memory_file& operator=(const memory_file&) = delete;

    [[nodiscard]] int fd() const { return fd_; }

    [[nodiscard]] std::string end() const {
        const off_t size = lseek(fd_, 0, SEEK_END);
        const off_t length = std::min(size, longest_output);
        std::string text(static_cast<std::size_t>(std::max<off_t>(length, 0)), '\0');
        const ssize_t n = pread(fd_, text.data(), text.size(), size - length);
        text.resize(static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
        return text;
    }

private:
    int fd_;
};

} // namespace

sample measure(const starter& start) {
    const memory_file output;
    const clock::time_point begin = clock::now();
    const pid_t child = start([&output] {
        const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
        dup2(nothing, STDIN_FILENO);
        dup2(output.fd(), STDOUT_FILENO);
        dup2(output.fd(), STDERR_FILENO);
    });
    sample s;
    rusage used{};
    while (wait4(child, &s.status, 0, &used) < 0) {
        if (errno != EINTR)
            throw std::runtime_error(fmt::format("the program's end was missed: {}", std::strerror(errno)));
    }
    s.wall_s = std::chrono::duration<double>(clock::now() - begin).count();
    s.user_s = seconds(used.ru_utime);
    s.system_s = seconds(used.ru_stime);
    s.voluntary = static_cast<double>(used.ru_nvcsw);
    s.involuntary = static_cast<double>(used.ru_nivcsw);
    s.peak_mib = static_cast<double>(used.ru_maxrss) / 1024;
    s.output = output.end();
    return s;
}

figure::figure(const std::string& pattern, bool higher_is_better)
    : pattern_(pattern), higher_is_better_(higher_is_better) {
    try {
        regex_ = std::regex(pattern);
    } catch (const std::regex_error& e) {
        throw std::runtime_error(fmt::format("not a regular expression: {}", e.what()));
    }
    if (regex_.mark_count() != 1)
        throw std::runtime_error(
            fmt::format("has {} groups in parentheses, not one, which is the number", regex_.mark_count()));
}

std::optional<double> figure::find(std::string_view output) const {
    std::optional<double> found;
    while (!output.empty()) {
        const std::size_t end = std::min(output.find('\n'), output.size());
        const std::string_view line = output.substr(0, std::min(end, longest_line));
        output.remove_prefix(std::min(end + 1, output.size()));
        std::cmatch match;
        const char* at = line.data();
        const char* const last = at + line.size();
        if (!std::regex_search(at, last, match, regex_) || !match[1].matched)
            continue;
        double value = 0;
        const auto [stop, error] = std::from_chars(match[1].first, match[1].second, value);
        if (error == std::errc{} && stop == match[1].second && std::isfinite(value))
            found = value;
    }
    return found;
}

} // namespace holdfast::compare
