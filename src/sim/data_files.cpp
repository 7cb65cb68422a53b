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
    for (const char c : text.substr(0, longest_shown)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            line += fmt::format("\\x{:02x}", byte);
        else
            line += c;
    }
    if (text.size() > longest_shown)
        line += "...";
    return line;
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
    std::string mend = suggestion(name, known);
    if (mend.empty())
        mend = fmt::format("; there are: {}", fmt::join(known, ", "));
    throw file_error(fmt::format("{}/{}.toml: no such file{}", folder, printable(name), mend));
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
