// A profile as a page of text, as folded stacks, and as JSON.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "profile/profile.hpp"

namespace holdfast::report {

enum class order { wait, longest, contended, acquisitions };
enum class table_of { locks, threads };

struct options {
    order by = order::wait;
    table_of rows = table_of::locks;
    std::string lock;         // only locks with this in their name; empty: all
    std::size_t top = 20;     // rows of the table
    std::size_t detailed = 3; // locks with histogram and stacks
    bool colour = false;
};

// The verdict, the table, the locks that were waited for longest in detail, and what could not be seen.
std::string as_text(const profile::profile& p, const options& o);

// A line a stack: "root;...;leaf;[lock NAME] nanoseconds", waits for locks only, estimated from samples.
std::string as_folded(const profile::profile& p, const options& o);

// All of it.
nlohmann::ordered_json as_json(const profile::profile& p, const options& o);

// A duration with its unit and three digits: "12.3 us".
std::string duration(std::uint64_t ns);

} // namespace holdfast::report
