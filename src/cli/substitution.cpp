// From names to places, and to what the library reads (substitute/identity.hpp).
#include "cli/substitution.hpp"

#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "cli/launch.hpp"
#include "cli/verbs.hpp"
#include "profile/places.hpp"
#include "sim/data_files.hpp"

namespace holdfast::cli {

namespace fs = std::filesystem;

namespace {

const substitute::lock_choice& find_lock(const std::string& name) {
    if (const substitute::lock_choice* const found = substitute::find_lock_choice(name); found != nullptr)
        return *found;
    std::vector<std::string> known;
    for (const substitute::lock_choice& c : substitute::lock_choices())
        known.emplace_back(c.name);
    throw usage_error(
        fmt::format("there is no lock '{}'{}", printable(name), suggestion_or_all(name, known)));
}

// "first last file", a line for each place of the name.
std::string lines_of(const std::string& name, const fs::path& program) {
    // FILE+0x1234
    if (const std::size_t plus = name.rfind("+0x"); plus != std::string::npos) {
        const std::string address = name.substr(plus + 3);
        char* end = nullptr;
        const unsigned long long at = std::strtoull(address.c_str(), &end, 16);
        if (end != address.c_str() && *end == '\0')
            return fmt::format("{0:x} {0:x} {1}\n", at, fs::path(name.substr(0, plus)).filename().string());
    }
    // FILE`NAME or FILE:NAME; NAME alone is in the program. A name may have "::" in it.
    std::size_t mark = name.find('`');
    if (mark == std::string::npos) {
        mark = name.find(':');
        if (mark != std::string::npos && name.compare(mark, 2, "::") == 0)
            mark = std::string::npos;
    }
    fs::path file = mark == std::string::npos ? program : fs::path(name.substr(0, mark));
    const std::string symbol = mark == std::string::npos ? name : name.substr(mark + 1);
    if (file == program.filename())
        file = program;
    if (file != program && !file.has_parent_path())
        throw usage_error(fmt::format("{}: {} is not the program; name the library with its folders",
                                      printable(name), printable(file.string())));
    std::error_code ignored;
    const fs::path real = fs::canonical(file, ignored);
    std::string lines;
    for (const profile::place_range& place : profile::places_of(real.string(), symbol))
        lines += fmt::format("{:x} {:x} {}\n", place.first, place.last, real.filename().string());
    if (lines.empty())
        throw usage_error(fmt::format(
            "{}: {} has no variable or function of that name; locks in memory that is allocated are "
            "named by where they are initialised or first used",
            printable(name), printable(file.string())));
    return lines;
}

std::string lines_of_all(const char* option, const std::vector<std::string>& names, const fs::path& program) {
    std::string lines;
    for (const std::string& name : names)
        lines += lines_of(name, program);
    if (lines.size() >= 8192 || std::count(lines.begin(), lines.end(), '\n') > 64)
        throw usage_error(fmt::format("{}: more than 64 places, or names too long", option));
    return lines;
}

void set_or_unset(const char* variable, const std::string& value) {
    if (value.empty())
        unsetenv(variable);
    else
        set_variable(variable, value);
}

} // namespace

substitution::substitution(const std::string& lock, const std::vector<std::string>& only,
                           const std::vector<std::string>& except, const fs::path& program)
    : lock_(&find_lock(lock)), only_(lines_of_all("--only", only, program)),
      except_(lines_of_all("--not", except, program)) {
    if (!lock_->is_nothing())
        library_ = find_library("libholdfast_run.so");
}

void substitution::prepare() const {
    if (lock_->is_nothing())
        return;
    preload_library(library_);
    set_variable("HOLDFAST_RUN_LOCK", std::string(lock_->name));
    set_or_unset("HOLDFAST_RUN_ONLY", only_);
    set_or_unset("HOLDFAST_RUN_NOT", except_);
}

} // namespace holdfast::cli
