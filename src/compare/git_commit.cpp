// gitrepository-layout(5): HEAD names a branch or a commit, a branch is a file or a line of packed-refs.
#include "compare/git_commit.hpp"

#include <fstream>

namespace holdfast::compare {

namespace fs = std::filesystem;

namespace {

std::string first_line(const fs::path& file) {
    std::ifstream stream(file);
    std::string line;
    std::getline(stream, line);
    return line;
}

// What follows the prefix, or "".
std::string after(const std::string& text, const std::string& prefix) {
    return text.starts_with(prefix) ? text.substr(prefix.size()) : "";
}

bool is_commit(const std::string& text) {
    return (text.size() == 40 || text.size() == 64) &&
           text.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// The folder that has HEAD: .git, or what a file of that name points to. Empty: there is none.
fs::path git_folder(fs::path folder) {
    std::error_code ignored;
    for (;; folder = folder.parent_path()) {
        fs::path candidate = folder / ".git";
        if (fs::is_directory(candidate, ignored))
            return candidate;
        if (const std::string elsewhere = after(first_line(candidate), "gitdir: "); !elsewhere.empty())
            return folder / elsewhere;
        if (folder == folder.parent_path())
            return {};
    }
}

std::string packed(const fs::path& file, const std::string& branch) {
    std::ifstream stream(file);
    for (std::string line; std::getline(stream, line);) {
        if (line.ends_with(' ' + branch))
            return line.substr(0, line.find(' '));
    }
    return "";
}

} // namespace

std::string git_commit(const fs::path& folder) {
    const fs::path own = git_folder(folder);
    if (own.empty())
        return "";
    std::string commit = first_line(own / "HEAD");
    if (const std::string branch = after(commit, "ref: "); !branch.empty()) {
        // Of several work trees the branches are in one place.
        const std::string shared = first_line(own / "commondir");
        const fs::path common = shared.empty() ? own : own / shared;
        commit = first_line(common / branch);
        if (commit.empty())
            commit = packed(common / "packed-refs", branch);
    }
    return is_commit(commit) ? commit : "";
}

} // namespace holdfast::compare
