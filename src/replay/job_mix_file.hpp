// Job mixes and the operations that they weigh, from files. docs/job_mixes.md describes them for those who
// write one.
#pragma once

#include <filesystem>
#include <string_view>

#include "workload/job_mix.hpp"

namespace holdfast::replay {

// The mix of a file, with its operations and those of the file that it names. Throws file_error, naming file,
// line and key, if one can't be read, an operation or lock is unknown, a number out of bounds, or operations
// perform each other in a circle.
job_mix read_job_mix(const std::filesystem::path& path);

// The same from a text; errors name it `file`.
job_mix parse_job_mix(std::string_view text, std::string_view file);

} // namespace holdfast::replay
