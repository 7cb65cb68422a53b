// holdfast history: how the figures that compare has kept moved.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "compare/history.hpp"
#include "compare/store.hpp"
#include "sim/data_files.hpp"

namespace holdfast::cli {

namespace {

struct options {
    std::string file;
    std::string command;
    bool all_metrics = false;
};

int history(const options& o) {
    const std::vector<compare::course> courses = compare::courses_of(compare::read_store(o.file, o.command));
    if (courses.empty())
        throw usage_error(
            fmt::format("{}: no command with '{}' in it", printable(o.file), printable(o.command)));
    print(compare::as_text(courses, o.all_metrics, colour_wanted()));
    return 0;
}

} // namespace

action add_history(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb =
        *app.add_subcommand("history", "how a command's figures moved over time, and where they changed");
    verb.add_option("FILE", o->file, "that holdfast compare --store wrote")->required();
    verb.add_option("--command", o->command, "only commands that have this in them");
    verb.add_flag("--all", o->all_metrics, "all metrics, not only wall time and what the program prints");
    verb.footer("Example: holdfast history results.db --command sysbench");
    return [o] { return history(*o); };
}

} // namespace holdfast::cli
