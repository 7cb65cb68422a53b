// Reading the places, and comparing.
#include "substitute/identity.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

namespace holdfast::substitute {

namespace {

struct range {
    std::uintptr_t first;
    std::uintptr_t last;
    std::string_view file; // its last component
};

std::string_view last_component(std::string_view path) {
    return path.substr(path.rfind('/') + 1); // of none: the whole
}

// A copy of a variable of the environment, which a program may write over.
struct selection {
    bool given = false;
    std::size_t count = 0;
    range ranges[64];
    char text[8192];

    void read(const char* variable) {
        const char* const value = std::getenv(variable);
        given = value != nullptr;
        count = 0;
        if (!given)
            return;
        std::strncpy(text, value, sizeof text - 1);
        for (std::string_view rest = text; !rest.empty() && count < std::size(ranges);) {
            const std::string_view line = rest.substr(0, rest.find('\n'));
            rest.remove_prefix(std::min(rest.size(), line.size() + 1));
            char* end = nullptr;
            range& r = ranges[count];
            r.first = std::strtoull(line.data(), &end, 16);
            r.last = std::strtoull(end, &end, 16);
            if (*end != ' ' || end >= line.data() + line.size())
                continue;
            r.file = line.substr(static_cast<std::size_t>(end - line.data()) + 1);
            ++count;
        }
    }

    [[nodiscard]] bool has(const void* address) const;
};

constinit selection only{};
constinit selection excepted{};
constinit char program[4096] = {};

// Whether a file that was recorded by its real name, "liba.so.1.2", is the one that was loaded as "liba.so.1".
bool is_same_file(std::string_view recorded, std::string_view loaded) {
    return recorded.starts_with(loaded) &&
           (recorded.size() == loaded.size() || recorded[loaded.size()] == '.');
}

bool selection::has(const void* address) const {
    dl_find_object found{};
    if (address == nullptr || _dl_find_object(const_cast<void*>(address), &found) != 0)
        return false;
    const char* const path = found.dlfo_link_map->l_name;
    const std::string_view file = last_component(*path == '\0' ? program : path);
    const std::uintptr_t offset =
        reinterpret_cast<std::uintptr_t>(address) - reinterpret_cast<std::uintptr_t>(found.dlfo_map_start);
    return std::any_of(ranges, ranges + count, [&](const range& r) {
        return r.first <= offset && offset <= r.last && is_same_file(r.file, file);
    });
}

} // namespace

void read_selection() {
    only.read("HOLDFAST_RUN_ONLY");
    excepted.read("HOLDFAST_RUN_NOT");
    if (only.given || excepted.given)
        static_cast<void>(readlink("/proc/self/exe", program, sizeof program - 1));
}

bool is_selected(const void* lock, const void* pc) {
    const auto has = [&](const selection& s) { return s.has(lock) || s.has(pc); };
    return (!only.given || has(only)) && !(excepted.given && has(excepted));
}

} // namespace holdfast::substitute
