// Where the program writes: tables and JSON to stdout, JSON to files, progress to a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace holdfast::cli {

// Whether stdout takes colour: it is a terminal, and neither NO_COLOR nor a dumb terminal forbids.
bool colour_wanted();

// Writes all of the text to stdout. Throws std::runtime_error if that fails.
void print(std::string_view text);

// Throws std::runtime_error if write_text(path, ...) is bound to fail, so that a long run need not end in it.
// An empty path is never written to.
void check_writable(const std::string& path);

// Writes text: to stdout for "-", else to a file that is there as a whole or not at all. Throws
// std::runtime_error.
void write_text(const std::string& path, std::string_view text);

// The same for JSON.
void write_json(const std::string& path, const nlohmann::ordered_json& value);

// A bar on stderr if that is a terminal, nothing otherwise. Gone when it is destroyed.
class progress_bar {
public:
    progress_bar();
    ~progress_bar();
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;

    // `done` of `total` are done, `what` is running.
    void show(std::size_t done, std::size_t total, std::string_view what);

private:
    bool on_;
};

} // namespace holdfast::cli
