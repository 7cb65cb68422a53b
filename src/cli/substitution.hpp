// A program's locks replaced: the library and the environment for it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "substitute/locks.hpp"

namespace holdfast::cli {

class substitution {
public:
    // `lock`: by name. `only` and `except`: names of locks as a report gives them; none in `only`: all. Throws usage_error if
    // there is no such lock or name.
    substitution(const std::string& lock, const std::vector<std::string>& only,
                 const std::vector<std::string>& except, const std::filesystem::path& program);

    // To be called in the child, before it becomes the program. A lock that changes nothing puts no library into it.
    void prepare() const;

private:
    const substitute::lock_choice* lock_;
    std::filesystem::path library_;
    std::string only_;
    std::string except_;
};

} // namespace holdfast::cli
