// The program `holdfast`: finds the verb and maps what comes of it to an exit status.
//
//   0  done
//   1  done, and the verdict is bad
//   2  wrong usage or unreadable input; one line on stderr says what, where, and the mend
//   3  the program under test failed
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cli/verbs.hpp"
#include "sim/data_files.hpp"

namespace {

constexpr int wrong_usage = 2;

int complain(std::string_view what) {
    fmt::print(stderr, "holdfast: {}\n", what);
    return wrong_usage;
}

} // namespace

int main(int argc, char** argv) {
    using namespace holdfast;
    try {
        CLI::App app{"Finds the lock that holds a program back, and replays what was published about locks.\n"
                     "Example: holdfast replay lockref",
                     "holdfast"};
        app.set_version_flag("--version", "holdfast " HOLDFAST_VERSION);
        app.require_subcommand(1);
        const std::pair<std::string, cli::action> verbs[] = {
            {"replay", cli::add_replay(app)},   {"machines", cli::add_machines(app)},
            {"bench", cli::add_bench(app)},     {"record", cli::add_record(app)},
            {"report", cli::add_report(app)},   {"run", cli::add_run(app)},
            {"compare", cli::add_compare(app)}, {"history", cli::add_history(app)},
            {"torture", cli::add_torture(app)}, {"check", cli::add_check(app)}};
        // The parser would call an unknown verb an unexpected argument.
        std::vector<std::string> names;
        for (const auto& [name, act] : verbs)
            names.push_back(name);
        if (argc > 1 && argv[1][0] != '-' && std::find(names.begin(), names.end(), argv[1]) == names.end()) {
            return complain(fmt::format("there is no verb '{}'{}", printable(argv[1]),
                                        suggestion_or_all(argv[1], names)));
        }
        try {
            app.parse(argc, argv);
        } catch (const CLI::Success& wanted) {
            return app.exit(wanted);
        } catch (const CLI::ParseError& error) {
            const auto chosen = app.get_subcommands();
            return complain(fmt::format("{}; see holdfast {}{}--help", printable(error.what()),
                                        chosen.empty() ? "" : chosen[0]->get_name(),
                                        chosen.empty() ? "" : " "));
        }
        for (const auto& [name, act] : verbs) {
            if (app.got_subcommand(name))
                return act();
        }
        return complain("no verb; see holdfast --help");
    } catch (const std::exception& error) {
        return complain(error.what());
    }
}
