#include "torture/output.hpp"

#include <cmath>
#include <set>

#include <fmt/format.h>

#include "text/text_table.hpp"

namespace holdfast::torture {

namespace {

// "12.3 ms", of seconds.
std::string shown_time(double seconds) {
    if (seconds < 1e-3)
        return fmt::format("{:.1f} us", seconds * 1e6);
    if (seconds < 1)
        return fmt::format("{:.1f} ms", seconds * 1e3);
    return fmt::format("{:.2f} s", seconds);
}

// "" for none, so that a column of nothing else goes.
std::string shown_count(std::uint64_t n) {
    return n == 0 ? "" : shown(static_cast<double>(n));
}

cell verdict_of(const result& r) {
    if (!r.failure.empty())
        return {"FAILED", style::bad};
    if (r.interrupted)
        return {fmt::format("ok for {:.1f} s", r.seconds), style::fair};
    return {"ok", style::good};
}

} // namespace

std::string again(const result& r) {
    return fmt::format("holdfast torture {} --threads {} --seconds {} --seed {}", r.lock, r.threads,
                       std::max(3.0, std::ceil(r.seconds)), r.seed);
}

std::string as_text(const std::vector<result>& results, bool colour) {
    text_table table({"lock", "threads", "exclusive", "shared", "timed out", "cancelled", "in vain", "came",
                      "least", "most", "longest wait", "hold", "verdict"},
                     "lrrrrrrrrrrrl");
    std::set<std::string> not_done;
    std::string failures;
    for (const result& r : results) {
        table.add({r.lock, fmt::format("{}", r.threads), shown_count(r.exclusive), shown_count(r.shared),
                   shown_count(r.timed_out), shown_count(r.cancelled), shown_count(r.in_vain),
                   shown_count(r.lives), fmt::format("{:.2f}", r.least_share),
                   fmt::format("{:.2f}", r.greatest_share), shown_time(r.longest_wait),
                   shown_time(r.longest_hold), verdict_of(r)});
        not_done.insert(r.not_done.begin(), r.not_done.end());
        if (!r.failure.empty()) {
            failures += fmt::format("\n{}: {} threads, seed {}, after {:.2f} s\n  {}\n  again: {}\n",
                                    styled(r.lock, style::bad, colour), r.threads, r.seed, r.seconds,
                                    r.failure, again(r));
        }
    }
    std::string text = table.empty() ? "" : table.text(colour, "");
    for (const std::string& each : not_done)
        text += "Not done: " + each + ".\n";
    return text + failures;
}

nlohmann::ordered_json as_json(const std::vector<result>& results) {
    nlohmann::ordered_json runs = nlohmann::ordered_json::array();
    for (const result& r : results) {
        nlohmann::ordered_json run{{"lock", r.lock},
                                   {"threads", r.threads},
                                   {"seed", r.seed},
                                   {"seconds", r.seconds},
                                   {"exclusive", r.exclusive},
                                   {"shared", r.shared},
                                   {"timed_out", r.timed_out},
                                   {"cancelled", r.cancelled},
                                   {"in_vain", r.in_vain},
                                   {"threads_that_came", r.lives},
                                   {"least_share", r.least_share},
                                   {"greatest_share", r.greatest_share},
                                   {"longest_wait_ns", std::llround(r.longest_wait * 1e9)},
                                   {"longest_hold_ns", std::llround(r.longest_hold * 1e9)},
                                   {"verdict", r.failure.empty() ? "ok" : "failed"}};
        if (r.interrupted)
            run["interrupted"] = true;
        if (!r.not_done.empty())
            run["not_done"] = r.not_done;
        if (!r.failure.empty()) {
            run["failure"] = r.failure;
            run["again"] = again(r);
        }
        runs.push_back(std::move(run));
    }
    return {{"runs", std::move(runs)}};
}

} // namespace holdfast::torture
