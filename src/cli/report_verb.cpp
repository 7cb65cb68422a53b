// holdfast report: what a recording says.
#include <map>
#include <memory>
#include <string>

#include <fmt/format.h>

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
    std::string pprof;
    bool folded = false;
    bool each = false;
};

int report_on(const options& o) {
    const std::map<std::string, report::order> orders{{"wait", report::order::wait},
                                                      {"max", report::order::longest},
                                                      {"contended", report::order::contended},
                                                      {"acquisitions", report::order::acquisitions},
                                                      {"hold", report::order::hold}};
    const std::map<std::string, report::table_of> tables{{"lock", report::table_of::locks},
                                                         {"thread", report::table_of::threads},
                                                         {"site", report::table_of::sites}};
    report::options how;
    how.lock = o.lock;
    how.top = o.top;
    how.colour = colour_wanted();
    how.rows = tables.at(o.by);
    how.by = orders.at(o.sort);
    if (!report::can_sort(how.rows, how.by))
        throw usage_error(
            fmt::format("--sort {}: not with --by {}, whose rows have none of that", o.sort, o.by));
    const std::string waiters = o.pprof.empty() ? "" : o.pprof + ".waiters.pb.gz";
    const std::string holders = o.pprof.empty() ? "" : o.pprof + ".holders.pb.gz";
    for (const std::string& file : {o.json, waiters, holders})
        check_writable(file);
    const profile::profile p = profile::make_profile(trace::read(o.file), !o.each);
    const profile::diagnosis d = profile::diagnose(p);
    if (o.folded)
        print(report::as_folded(p, how));
    else if (o.json != "-" && o.pprof.empty())
        print(report::as_text(p, d, how));
    if (!o.json.empty())
        write_json(o.json, report::as_json(p, d, how));
    if (!o.pprof.empty()) {
        write_text(waiters, report::as_pprof(p, report::blame::waiters, how));
        write_text(holders, report::as_pprof(p, report::blame::holders, how));
    }
    return 0;
}

} // namespace

action add_report(CLI::App& app) {
    const auto o = std::make_shared<options>();
    CLI::App& verb =
        *app.add_subcommand("report", "which lock a recorded program waits for, where, and for whom");
    verb.add_option("FILE", o->file, "what `holdfast record` wrote; also while the program still runs")
        ->required();
    verb.add_option(
            "--sort", o->sort,
            "rows by their sum of waits, longest wait, number of waits, acquisitions, or average hold")
        ->check(CLI::IsMember({"wait", "max", "contended", "acquisitions", "hold"}))
        ->capture_default_str();
    verb.add_option("--by", o->by, "the rows of the table")
        ->check(CLI::IsMember({"lock", "thread", "site"}))
        ->capture_default_str();
    verb.add_option("--lock", o->lock, "only locks with this in their name");
    verb.add_flag("--each", o->each,
                  "every lock by itself; else 8 and more that were initialised at one place are one row");
    verb.add_option("--top", o->top, "rows of the table")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1'000'000}))
        ->capture_default_str();
    verb.add_flag("--folded", o->folded,
                  "stacks of those who waited, for flame graphs; weights are nanoseconds");
    verb.add_option(
            "--pprof", o->pprof,
            "write PREFIX.waiters.pb.gz and PREFIX.holders.pb.gz, for go tool pprof, instead of the text")
        ->type_name("PREFIX");
    verb.add_option("--json", o->json, "write all of it to this file; -: to stdout, instead of the text");
    verb.footer("Example: holdfast report program.holdfast --by thread");
    return [o] { return report_on(*o); };
}

} // namespace holdfast::cli
