// A profile as a page of text, as folded stacks, as JSON, and as profiles for pprof.
#pragma once

#include <cstddef>
#include <string>

#include <nlohmann/json.hpp>

#include "profile/diagnosis.hpp"
#include "profile/profile.hpp"

namespace holdfast::report {

enum class order { wait, longest, contended, acquisitions, hold };
enum class table_of { locks, threads, sites };

struct options {
    order by = order::wait;
    table_of rows = table_of::locks;
    std::string lock;         // only locks with this in their name; empty: all
    std::size_t top = 20;     // rows of the table
    std::size_t detailed = 3; // locks with histogram and stacks
    bool colour = false;
};

// Whether the rows of that table have what the order is by. Sites have no acquisitions, only locks have holds.
bool can_sort(table_of rows, order by);

// The verdict and what to do next, the table, wait-for chains, fairness, conditions, the locks that were waited for
// longest in detail, and what could not be seen. At most 100 columns wide, but for names in the verdict and headings.
std::string as_text(const profile::profile& p, const profile::diagnosis& d, const options& o);

// A line a stack: "root;...;leaf;[lock NAME] nanoseconds", waits for locks only, estimated from samples.
std::string as_folded(const profile::profile& p, const options& o);

// All of it.
nlohmann::ordered_json as_json(const profile::profile& p, const profile::diagnosis& d, const options& o);

// By whom waits for locks are counted: by the stack that waited, or by that which let go of the lock.
enum class blame { waiters, holders };

// A profile for `go tool pprof` and all that reads its format, gzipped: contentions/count and delay/nanoseconds, both
// estimated from samples, with the labels `lock` and `kind`. Both have the same sums. By holders, a wait whose releasing
// call is known but not its stack has that call alone, and one without either has the place "[not sampled]".
// Throws std::runtime_error if it can't be compressed.
std::string as_pprof(const profile::profile& p, blame whom, const options& o);

} // namespace holdfast::report
