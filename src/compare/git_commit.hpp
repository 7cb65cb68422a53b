// Which commit a folder is of, read from git's files without running anything.
#pragma once

#include <filesystem>
#include <string>

namespace holdfast::compare {

// The commit of the work tree that the folder is in, as 40 or 64 hexadecimal digits; "" if there is none, or it can't be read. Whether
// the tree differs from it isn't known.
std::string git_commit(const std::filesystem::path& folder);

} // namespace holdfast::compare
