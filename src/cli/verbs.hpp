// The verbs of the program. Each adds its subcommand to the parser and gives what to do when it was chosen:
// that returns the exit status (0 done, 1 done with a bad verdict, 3 the program under test failed) or
// throws.
#pragma once

#include <functional>
#include <stdexcept>

#include <CLI/CLI.hpp>

namespace holdfast::cli {

using action = std::function<int()>;

// Wrong usage that the parser can't know of; ends the program with status 2 and what() on stderr.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

action add_replay(CLI::App& app);
action add_machines(CLI::App& app);
action add_bench(CLI::App& app);
action add_grid(CLI::App& bench);
action add_record(CLI::App& app);
action add_report(CLI::App& app);
action add_run(CLI::App& app);
action add_compare(CLI::App& app);
action add_history(CLI::App& app);
action add_torture(CLI::App& app);
action add_check(CLI::App& app);

} // namespace holdfast::cli
