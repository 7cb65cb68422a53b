// holdfast report: what a recording says.
#include <memory>
#include <string>

#include "cli/output.hpp"
#include "cli/verbs.hpp"
#include "profile/profile.hpp"
#include "report/report.hpp"
#include "trace/reader.hpp"

namespace holdfast::cli {

namespace {

struct options {
    std::string file;
    std::string sort = "wait";
    std::string by = "lock";
    std::string lock;
    std::size_t top = 20;
    std::string json;
    bool folded = false;
};

int report_on(const options& o) {
    check_writable(o.json);
    const profile::profile p = profile::make_profile(trace::read(o.file));
    report::options how;
    how.lock = o.lock;
    how.top = o.top;
    how.colour = colour_wanted();
    how.rows = o.by == "thread" ? report::table_of::threads : report::table_of::locks;
    how.by = o.sort == "max"            ? report::order::longest
             : o.sort == "contended"    ? report::order::contended
             : o.sort == "acquisitions" ? report::order::acquisitions
                                        : report::order::wait;
    if (o.folded)
        print(report::as_folded(p, how));
    else if (o.json != "-")
        print(report::as_text(p, how));
    if (!o.json.empty())
        write_json(o.json, report::as_json(p, how));
    return 0;
}

} // namespace

action add_report(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb =
        *app.add_subcommand("report", "which lock a recorded program waits for, where, and for whom");
    verb.add_option("FILE", o->file, "what `holdfast record` wrote; also while the program still runs")
        ->required();
    verb.add_option("--sort", o->sort,
                    "locks by their longest sum of waits, longest wait, contended or all acquisitions")
        ->check(CLI::IsMember({"wait", "max", "contended", "acquisitions"}))
        ->capture_default_str();
    verb.add_option("--by", o->by, "the rows of the table")
        ->check(CLI::IsMember({"lock", "thread"}))
        ->capture_default_str();
    verb.add_option("--lock", o->lock, "only locks with this in their name");
    verb.add_option("--top", o->top, "rows of the table")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
        ->capture_default_str();
    verb.add_flag("--folded", o->folded,
                  "stacks of those who waited, for flame graphs; weights are nanoseconds");
    verb.add_option("--json", o->json, "write all of it to this file; -: to stdout, instead of the text");
    verb.footer("Example: holdfast report program.holdfast --by thread");
    return [o] { return report_on(*o); };
}

} // namespace holdfast::cli
