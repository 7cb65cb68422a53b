// Comparisons kept in an SQLite file, to see later how a program's figures moved.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compare/experiment.hpp"

namespace holdfast::compare {

// When, of what and where a comparison was made.
struct circumstances {
    std::int64_t time = 0; // seconds since 1970
    std::string commit;    // of the folder it was made in; "" if it has none
    std::string label;     // as its user calls it
    std::string host;
    std::string kernel;
};

// What this process can tell of itself, now.
circumstances here_and_now(const std::string& label);

// The runs of one lock and metric in one comparison.
struct stored_series {
    circumstances when;
    unsigned cpus = 1;
    std::string command;
    std::string lock;
    metric what;
    std::vector<double> values;
};

// All of these throw std::runtime_error, a line that names the file, if it isn't one of ours, is damaged, is of another version or can't
// be read or written, or if this holdfast was built without SQLite.

// Whether append() could work, to be asked before a long run.
void check_store(const std::string& file);

// Adds a comparison, all of it or nothing. Makes the file if there is none.
void append(const std::string& file, const experiment& e, const circumstances& c);

// All that was kept, as it was added, with commands that have `command` in them.
std::vector<stored_series> read_store(const std::string& file, const std::string& command);

} // namespace holdfast::compare
