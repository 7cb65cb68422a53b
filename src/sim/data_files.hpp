// Where the program's data lies (`machines/`, `cases/`), and how an error in such a file reads.
//
// A folder of data is looked for in $HOLDFAST_DATA, then beside an installed program
// (<exe>/../share/holdfast), then in a checkout whose build directory the program stands in (<exe>/../..).
// The first that has the file wins.
#pragma once

#include <filesystem>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast {

// A file that can't be used. what() is one line: `file:line: key: what is wrong; the mend`, without the parts
// that there are none of.
struct file_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The text as it may stand in a line on a terminal: control characters, and what is no UTF-8, escaped; what is longer
// than 200 bytes cut.
std::string printable(std::string_view text);

// Whether it is UTF-8 without control characters, of whatever length.
bool is_printable(std::string_view text);

// The candidate most like `name`: by edit distance, or because one of the two begins with the other. Empty if
// none is alike enough to be a slip of the hand.
std::string nearest(std::string_view name, std::span<const std::string> candidates);

// "; did you mean 'x'?" for the nearest candidate, or "" if none is near.
std::string suggestion(std::string_view name, std::span<const std::string> candidates);

// The same; if none is alike, a list of all: "; there are: a, b".
std::string suggestion_or_all(std::string_view name, std::span<const std::string> candidates);

// The file of that name in a data folder ("machines"), without its ".toml"; or, if `name` has a slash in it
// or ends in .toml, the file of that path. Throws file_error, naming the nearest, if there is none.
std::filesystem::path data_file(std::string_view folder, std::string_view name);

// The names of a data folder's files, sorted, each once.
std::vector<std::string> data_names(std::string_view folder);

// The whole text of a file of at most 1 MiB. Throws file_error, also if it is a pipe or a device.
std::string read_text(const std::filesystem::path& path);

} // namespace holdfast
