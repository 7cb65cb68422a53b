// Finding and reading data files.
#include "sim/data_files.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <numeric>
#include <set>

#include <fmt/format.h>

namespace holdfast {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t longest_shown = 200;
constexpr std::size_t largest_file = 1 << 20;

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

// How many bytes the character takes that the text begins with, or 0 if it may not be shown: a control character, or no
// UTF-8.
std::size_t shown_length(std::string_view text) {
    const auto byte = [text](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    if (byte(0) < 0x80)
        return byte(0) >= 0x20 && byte(0) != 0x7f ? 1 : 0;
    const std::size_t length = byte(0) < 0xc0 ? 0 : byte(0) < 0xe0 ? 2 : byte(0) < 0xf0 ? 3 : 4;
    if (length == 0 || byte(0) > 0xf4 || length > text.size())
        return 0;
    unsigned code = byte(0) & (0x7fu >> length);
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
        code = code << 6 | (byte(i) & 0x3f);
    }
    constexpr unsigned least[] = {0, 0, 0xa0, 0x800, 0x10000}; // of two bytes, those below are controls
    return code >= least[length] ? length : 0;
}

// The places that may have the folder, best first.
std::vector<fs::path> places(std::string_view folder) {
    std::vector<fs::path> found;
    if (const char* given = std::getenv("HOLDFAST_DATA"); given != nullptr && *given != '\0')
        found.push_back(fs::path(given) / folder);
    std::error_code ignored;
    const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
    if (!program.empty()) {
        const fs::path home = program.parent_path();
        found.push_back((home / "../share/holdfast" / folder).lexically_normal());
        found.push_back((home / "../.." / folder).lexically_normal());
    }
    return found;
}

} // namespace

std::string printable(std::string_view text) {
    std::string line;
    std::size_t at = 0;
    while (at < std::min(text.size(), longest_shown)) {
        const std::size_t length = shown_length(text.substr(at));
        if (length == 0)
            line += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at]));
        else
            line += text.substr(at, length);
        at += std::max<std::size_t>(length, 1);
    }
    if (at < text.size())
        line += "...";
    return line;
}

bool is_printable(std::string_view text) {
    while (!text.empty()) {
        const std::size_t length = shown_length(text);
        if (length == 0)
            return false;
        text.remove_prefix(length);
    }
    return true;
}

std::string nearest(std::string_view name, std::span<const std::string> candidates) {
    if (name.size() > longest_shown)
        return {};
    const std::size_t slips = std::max<std::size_t>(2, name.size() / 3);
    std::string best;
    std::size_t least = slips + 1;
    for (const std::string& candidate : candidates) {
        const bool begins = name.size() >= 3 && (candidate.starts_with(name) || name.starts_with(candidate));
        const std::size_t far = begins ? 1 : distance(name, candidate);
        if (far < least && far < std::max(name.size(), candidate.size())) {
            least = far;
            best = candidate;
        }
    }
    return best;
}

std::string suggestion(std::string_view name, std::span<const std::string> candidates) {
    const std::string near = nearest(name, candidates);
    return near.empty() ? "" : fmt::format("; did you mean '{}'?", near);
}

std::string suggestion_or_all(std::string_view name, std::span<const std::string> candidates) {
    const std::string mend = suggestion(name, candidates);
    return mend.empty() ? fmt::format("; there are: {}", fmt::join(candidates, ", ")) : mend;
}

fs::path data_file(std::string_view folder, std::string_view name) {
    if (name.find('/') != std::string_view::npos || name.ends_with(".toml"))
        return name;
    std::error_code ignored;
    for (const fs::path& place : places(folder)) {
        fs::path file = place / fmt::format("{}.toml", name);
        if (fs::exists(file, ignored))
            return file;
    }
    const std::vector<std::string> known = data_names(folder);
    if (known.empty()) {
        throw file_error(
            fmt::format("{}/{}.toml: no such folder of data; set HOLDFAST_DATA to the folder that has {}/",
                        folder, printable(name), folder));
    }
    throw file_error(
        fmt::format("{}/{}.toml: no such file{}", folder, printable(name), suggestion_or_all(name, known)));
}

std::vector<std::string> data_names(std::string_view folder) {
    std::set<std::string> names;
    for (const fs::path& place : places(folder)) {
        std::error_code ignored;
        for (const fs::directory_entry& entry : fs::directory_iterator(place, ignored)) {
            if (entry.path().extension() == ".toml")
                names.insert(entry.path().stem().string());
        }
    }
    return {names.begin(), names.end()};
}

std::string read_text(const fs::path& path) {
    const std::string name = printable(path.string());
    std::error_code ignored; // opening it gives a better reason
    const fs::file_status status = fs::status(path, ignored);
    // A pipe or device may have nobody at its other end, or no end.
    if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
        throw file_error(fmt::format("{}: is not a file; give one that is no pipe and no device", name));
    errno = 0;
    std::ifstream stream(path, std::ios::binary);
    std::string text(largest_file + 1, '\0');
    if (!stream.read(text.data(), static_cast<std::streamsize>(text.size())) && !stream.eof()) {
        const char* reason = errno != 0 ? std::strerror(errno) : "it can't be read";
        throw file_error(fmt::format("{}: {}; give a readable file", name, reason));
    }
    text.resize(static_cast<std::size_t>(stream.gcount()));
    if (text.size() > largest_file)
        throw file_error(
            fmt::format("{}: is larger than {} bytes; data files are small", name, largest_file));
    return text;
}

} // namespace holdfast
