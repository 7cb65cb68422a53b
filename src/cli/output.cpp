// Writing.
#include "cli/output.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "sim/data_files.hpp"

namespace holdfast::cli {

namespace fs = std::filesystem;

namespace {

bool is_set(const char* variable) {
    const char* value = std::getenv(variable);
    return value != nullptr && *value != '\0';
}

[[noreturn]] void fail(std::string_view name, int error) {
    throw std::runtime_error(fmt::format("{}: can't be written: {}", printable(name), std::strerror(error)));
}

// Writes the text to a file and closes it. False, with errno: it can't be.
bool write_file(const std::string& path, std::string_view text) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr)
        return false;
    const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    return (std::fclose(file) == 0) && written;
}

} // namespace

bool colour_wanted() {
    const char* terminal = std::getenv("TERM");
    return isatty(STDOUT_FILENO) == 1 && !is_set("NO_COLOR") && terminal != nullptr &&
           std::strcmp(terminal, "dumb") != 0;
}

void print(std::string_view text) {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    if (!written || std::fflush(stdout) != 0)
        fail("standard output", errno);
}

void check_writable(const std::string& path) {
    if (path.empty() || path == "-")
        return;
    std::error_code ignored;
    if (fs::is_directory(path, ignored))
        fail(path, EISDIR);
    const fs::path folder = fs::path(path).parent_path();
    if (access(folder.empty() ? "." : folder.c_str(), W_OK) != 0 && access(path.c_str(), W_OK) != 0)
        fail(path, errno);
}

void write_text(const std::string& path, std::string_view text) {
    if (path == "-")
        return print(text);
    // A pipe or a device can't be replaced by a file, nor does it have to be whole.
    std::error_code ignored;
    if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
        if (!write_file(path, text))
            fail(path, errno);
        return;
    }
    const std::string temporary = fmt::format("{}.{}.tmp", path, getpid());
    if (!write_file(temporary, text) || std::rename(temporary.c_str(), path.c_str()) != 0) {
        const int error = errno;
        fs::remove(temporary, ignored);
        fail(path, error);
    }
}

void write_json(const std::string& path, const nlohmann::ordered_json& value) {
    write_text(path, value.dump(1) + '\n');
}

progress_bar::progress_bar() : on_(isatty(STDERR_FILENO) == 1) {}

progress_bar::~progress_bar() {
    if (on_)
        std::fputs("\r\x1b[K", stderr);
}

void progress_bar::show(std::size_t done, std::size_t total, std::string_view what) {
    if (!on_ || total == 0)
        return;
    constexpr std::size_t width = 24;
    winsize window{};
    const std::size_t columns =
        ioctl(STDERR_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0 ? window.ws_col : 80;
    const std::size_t filled = width * done / total;
    std::string line = fmt::format("[{}{}] {}/{} {}", std::string(filled, '#'),
                                   std::string(width - filled, '.'), done, total, what);
    line.resize(std::min(line.size(), columns - 1));
    fmt::print(stderr, "\r{}\x1b[K", line);
    std::fflush(stderr);
}

} // namespace holdfast::cli
