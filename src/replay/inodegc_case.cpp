// The case of inodegc: many threads remove, or change the mode of, all files of a metadata engine in the shape of
// XFS.
//
// The variants differ in the engine's settings: whether unlinked inodes are freed in the background, how its log
// collects what is committed, and what the thread thought of against the contention that came of it.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <holdfast/pv_qspinlock.hpp>

#include "replay/code.hpp"
#include "sim/world.hpp"
#include "workload/native_world.hpp"
#include "workload/xfs/load.hpp"

namespace holdfast::replay {

namespace {

// On which spinlock all this stands: a guest's.
template <class P>
using spinlock = pv_qspinlock<P>;

nanoseconds duration(const run_request& r, std::string_view key) {
    return nanoseconds(std::llround(r.constant(key)));
}
std::uint32_t whole(const run_request& r, std::string_view key) {
    return static_cast<std::uint32_t>(r.constant(key));
}

xfs::geometry geometry_of(const run_request& r) {
    return {.groups = whole(r, "groups"),
            .directories = whole(r, "threads") * whole(r, "directories"),
            .files = whole(r, "files")};
}

xfs::costs costs_of(const run_request& r) {
    return {.lookup = duration(r, "lookup_ns"),
            .read_inode = duration(r, "read_inode_ns"),
            .begin = duration(r, "begin_ns"),
            .find_buffer = duration(r, "find_buffer_ns"),
            .remove_entry = duration(r, "remove_entry_ns"),
            .unlinked_list = duration(r, "unlinked_list_ns"),
            .back_link = duration(r, "back_link_ns"),
            .free_inode = duration(r, "free_inode_ns"),
            .evict = duration(r, "evict_ns"),
            .change_mode = duration(r, "change_mode_ns"),
            .jitter_percent = whole(r, "jitter_percent"),
            .cluster_bytes = whole(r, "cluster_bytes"),
            .device = {.latency = duration(r, "read_latency_ns"),
                       .iops = static_cast<std::uint64_t>(r.constant("device_iops"))},
            .reservation = whole(r, "reservation_bytes")};
}

xfs::log_parameters log_of(const run_request& r) {
    return {.bytes = static_cast<std::uint64_t>(r.constant("log_bytes")),
            .soft_limit = static_cast<std::uint64_t>(r.constant("soft_limit_bytes")),
            .commit = duration(r, "commit_ns"),
            .format = duration(r, "format_ns"),
            .account = duration(r, "account_ns"),
            .gather = duration(r, "gather_ns"),
            .device = {.latency = duration(r, "log_latency_ns"),
                       .bytes_per_second = static_cast<std::uint64_t>(r.constant("log_bytes_per_second"))}};
}

xfs::load_parameters load_of(const run_request& r, xfs::operation what, bool pressure) {
    return {.what = what,
            .threads = whole(r, "threads"),
            .user = duration(r, "user_ns"),
            .interval = duration(r, "interval_ns"),
            .pressure = pressure ? duration(r, "pressure_ns") : nanoseconds(0)};
}

// Files a second, so that `percent` of the intervals have fewer. The last interval is not full, and left out.
double rate_at(std::vector<std::uint64_t> counts, double percent, double interval_seconds) {
    if (counts.size() > 1)
        counts.pop_back();
    std::sort(counts.begin(), counts.end());
    const auto at =
        static_cast<std::size_t>(std::lround(percent / 100 * static_cast<double>(counts.size() - 1)));
    return static_cast<double>(counts[at]) / interval_seconds;
}

named_numbers metrics_of(const xfs::load_result& x, const run_request& r) {
    if (!x.end.faults.empty())
        throw std::runtime_error("the checker: " + x.end.faults.front());
    const auto seconds = [](nanoseconds n) { return static_cast<double>(n.count()) * 1e-9; };
    const double scale = r.scaled_by("directories");
    const double interval = r.constant("interval_ns") * 1e-9;
    named_numbers m;
    m["time"] = seconds(x.all_done) * scale;
    m["threads_time"] = seconds(x.threads_done) * scale;
    m["files/s"] = static_cast<double>(x.files) / seconds(x.threads_done);
    m["files_low/s"] = rate_at(x.by_interval, 10, interval);
    m["files_high/s"] = rate_at(x.by_interval, 90, interval);
    m["commits/s"] = static_cast<double>(x.commits) / seconds(x.all_done);
    m["checkpoints"] = static_cast<double>(x.checkpoints);
    return m;
}

// Shares of a run's profile that lie under functions, themselves and what they call.
class shares {
public:
    explicit shares(const sim::report& r) : profile_(r.profile) {
        for (const sim::profile_node& node : profile_) {
            cpu_ += static_cast<double>(node.user + node.system);
            switches_ += static_cast<double>(node.switches_out);
        }
    }

    // Of the CPU time that was not idle, in per cent: under `inner`, called by whatever from `outer`.
    double of_cpu(std::string_view inner, std::string_view outer = {}) const {
        double sum = 0;
        for (std::size_t i = 0; i < profile_.size(); ++i)
            sum += under(i, inner, outer) ? static_cast<double>(profile_[i].user + profile_[i].system) : 0;
        return 100 * sum / cpu_;
    }
    // The same, of context switches.
    double of_switches(std::string_view inner, std::string_view outer = {}) const {
        double sum = 0;
        for (std::size_t i = 0; i < profile_.size(); ++i)
            sum += under(i, inner, outer) ? static_cast<double>(profile_[i].switches_out) : 0;
        return 100 * sum / switches_;
    }

private:
    bool under(std::size_t at, std::string_view inner, std::string_view outer) const {
        for (; at != 0; at = profile_[at].parent) {
            if (profile_[at].name == inner)
                return outer.empty() || under(profile_[at].parent, outer, {});
        }
        return false;
    }

    const std::vector<sim::profile_node>& profile_;
    double cpu_ = 0;
    double switches_ = 0;
};

void add_shares(run_result& result) {
    named_numbers& m = result.metrics;
    const shares of(result.report);
    m["share.commit"] = of.of_cpu("xlog_cil_commit");
    m["share.commit_spinlock"] = of.of_cpu("_raw_spin_lock", "xlog_cil_commit");
    m["share.remove"] = of.of_cpu("xfs_remove");
    m["share.worker"] = of.of_cpu("xfs_inodegc_worker");
    m["switches.buffer"] = of.of_switches("xfs_buf_read_map");
    m["switches.agi"] = of.of_switches("xfs_buf_read_map", "xfs_read_agi");
    m["switches.inode_cluster"] = of.of_switches("xfs_buf_read_map", "xfs_imap_to_bp");
    m["switches.throttled"] = of.of_switches("xfs_inodegc_queue");
    m["switches/s"] = static_cast<double>(result.report.context_switches) * 1e12 /
                      static_cast<double>(result.report.elapsed);
}

template <class W>
xfs::load_result run_in(const run_request& r, const xfs::settings& s, const xfs::load_parameters& p) {
    return xfs::load<W, spinlock>::run(s, geometry_of(r), costs_of(r), log_of(r), p);
}

run_result run_load(const run_request& r, xfs::settings s, xfs::operation what, bool pressure) {
    s.gc.throttle_above = s.gc.throttle_above != 0 ? s.gc.throttle_above : whole(r, "backlog");
    const xfs::load_parameters p = load_of(r, what, pressure);
    run_result result;
    xfs::load_result done;
    if (r.on == nullptr)
        native_world::run(r.seed, [&] { done = run_in<native_world>(r, s, p); });
    else
        result.report = sim::run({.on = r.on, .seed = r.seed}, [&] { done = run_in<sim::world>(r, s, p); });
    result.metrics = metrics_of(done, r);
    if (r.on != nullptr)
        add_shares(result);
    return result;
}

runnable removing(const char* name, const xfs::settings& s, bool pressure = false) {
    return {name,
            [s, pressure](const run_request& r) { return run_load(r, s, xfs::operation::remove, pressure); }};
}
runnable changing_modes(const char* name, const xfs::settings& s) {
    return {name, [s](const run_request& r) { return run_load(r, s, xfs::operation::change_mode, false); }};
}

std::vector<runnable> variants() {
    using xfs::settings;
    constexpr std::uint32_t turn = 256; // inodes of a CPU
    const settings inline_{};
    const settings inline_scalable{.log_list_per_cpu = true};
    const settings deferred{.deferred = true};
    const settings scalable{.deferred = true, .log_list_per_cpu = true};

    settings tail = scalable;
    tail.at_tail = true;
    settings single = scalable;
    single.lists = 1;
    single.back_links_in_inodes = true;
    settings single_tail = single;
    single_tail.at_tail = true;
    settings bound = scalable;
    bound.gc.bound = true;
    // The two sides take turns: as many as fill a queue are unlinked, then freed, and who unlinks waits.
    settings turns = scalable;
    turns.gc.work_above = turn;
    turns.gc.throttle_above = turn;
    settings bound_turns = turns;
    bound_turns.gc.bound = true;
    settings bound_turns_tail = bound_turns;
    bound_turns_tail.at_tail = true;
    settings bound_turns_one_log_list = bound_turns;
    bound_turns_one_log_list.log_list_per_cpu = false;
    // As it was merged: work from a cluster on, and who unlinks waits at eight.
    settings merged = bound;
    merged.gc.work_above = xfs::inodes_per_cluster;
    merged.gc.throttle_above = 8 * xfs::inodes_per_cluster;
    settings one_shot = bound_turns;
    one_shot.gc.shrinker_by_priority = false;

    return {removing("inline", inline_),
            removing("inline_scalable", inline_scalable),
            removing("deferred", deferred),
            removing("scalable", scalable),
            removing("tail", tail),
            removing("single_list", single),
            removing("single_list_tail", single_tail),
            removing("bound", bound),
            removing("turns", turns),
            removing("bound_turns", bound_turns),
            removing("bound_turns_tail", bound_turns_tail),
            removing("bound_turns_one_log_list", bound_turns_one_log_list),
            removing("merged", merged),
            removing("pressure_by_priority", bound_turns, true),
            removing("pressure_one_shot", one_shot, true),
            changing_modes("chmod", inline_),
            changing_modes("chmod_scalable", inline_scalable)};
}

} // namespace

case_code inodegc_case() {
    return {.name = "inodegc",
            .constants = {{"threads", 1, 1000},
                          {"groups", 1, 10'000},
                          {"directories", 1, 1e6},
                          {"files", 1, 1e6},
                          {"backlog", 0, 1e9},
                          {"user_ns", 0, 1e9},
                          {"lookup_ns", 0, 1e9},
                          {"read_inode_ns", 0, 1e9},
                          {"begin_ns", 0, 1e9},
                          {"find_buffer_ns", 0, 1e9},
                          {"remove_entry_ns", 0, 1e9},
                          {"unlinked_list_ns", 0, 1e9},
                          {"back_link_ns", 0, 1e9},
                          {"free_inode_ns", 0, 1e9},
                          {"evict_ns", 0, 1e9},
                          {"change_mode_ns", 0, 1e9},
                          {"jitter_percent", 0, 99},
                          {"commit_ns", 0, 1e9},
                          {"format_ns", 0, 1e9},
                          {"account_ns", 0, 1e9},
                          {"gather_ns", 0, 1e9},
                          {"log_bytes", 1e6, 1e12},
                          {"soft_limit_bytes", 1e4, 1e12},
                          {"reservation_bytes", 4096, 1e7},
                          {"log_latency_ns", 0, 1e9},
                          {"log_bytes_per_second", 0, 1e12},
                          {"cluster_bytes", 512, 1e6},
                          {"read_latency_ns", 0, 1e9},
                          {"device_iops", 0, 1e9},
                          {"interval_ns", 1000, 1e12},
                          {"pressure_ns", 1000, 1e12}},
            .metrics = {{"time", "s"},         // until all is inactivated, too
                        {"threads_time", "s"}, // until the last thread has ended
                        {"files/s", "1/s"},
                        {"files_low/s", "1/s"},  // in a tenth of the intervals fewer
                        {"files_high/s", "1/s"}, // in a tenth more
                        {"commits/s", "1/s"},
                        {"checkpoints", ""},
                        {"switches/s", "1/s"},
                        {"share.commit", "%"},
                        {"share.commit_spinlock", "%"},
                        {"share.remove", "%"},
                        {"share.worker", "%"},
                        {"switches.buffer", "%"},
                        {"switches.agi", "%"},
                        {"switches.inode_cluster", "%"},
                        {"switches.throttled", "%"}},
            .variants = variants()};
}

} // namespace holdfast::replay
