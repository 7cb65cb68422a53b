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
#include "replay/profile_shares.hpp"
#include "sim/world.hpp"
#include "workload/native_world.hpp"
#include "workload/xfs/load.hpp"

namespace holdfast::replay {

namespace {

// On which spinlock all this stands: a guest's.
template <class P>
using spinlock = pv_qspinlock<P>;

xfs::geometry geometry_of(const run_request& r) {
    return {.groups = r.whole("groups"),
            .directories = r.whole("threads") * r.whole("directories"),
            .files = r.whole("files")};
}

xfs::costs costs_of(const run_request& r) {
    return {.lookup = r.duration("lookup_ns"),
            .read_inode = r.duration("read_inode_ns"),
            .begin = r.duration("begin_ns"),
            .find_buffer = r.duration("find_buffer_ns"),
            .remove_entry = r.duration("remove_entry_ns"),
            .unlinked_list = r.duration("unlinked_list_ns"),
            .back_link = r.duration("back_link_ns"),
            .free_inode = r.duration("free_inode_ns"),
            .evict = r.duration("evict_ns"),
            .change_mode = r.duration("change_mode_ns"),
            .jitter_percent = r.whole("jitter_percent"),
            .cluster_bytes = r.whole("cluster_bytes"),
            .device = {.latency = r.duration("read_latency_ns"),
                       .iops = static_cast<std::uint64_t>(r.constant("device_iops"))},
            .reservation = r.whole("reservation_bytes")};
}

xfs::log_parameters log_of(const run_request& r) {
    return {.bytes = static_cast<std::uint64_t>(r.constant("log_bytes")),
            .soft_limit = static_cast<std::uint64_t>(r.constant("soft_limit_bytes")),
            .commit = r.duration("commit_ns"),
            .format = r.duration("format_ns"),
            .account = r.duration("account_ns"),
            .gather = r.duration("gather_ns"),
            .device = {.latency = r.duration("log_latency_ns"),
                       .bytes_per_second = static_cast<std::uint64_t>(r.constant("log_bytes_per_second"))}};
}

xfs::load_parameters load_of(const run_request& r, xfs::operation what, bool pressure) {
    return {.what = what,
            .threads = r.whole("threads"),
            .user = r.duration("user_ns"),
            .interval = r.duration("interval_ns"),
            .pressure = pressure ? r.duration("pressure_ns") : nanoseconds(0)};
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

void add_shares(run_result& result) {
    named_numbers& m = result.metrics;
    const profile_shares shares(result.report);
    m["share.commit"] = shares.under("xlog_cil_commit");
    m["share.commit_spinlock"] = shares.under("_raw_spin_lock", "xlog_cil_commit");
    m["share.remove"] = shares.under("xfs_remove");
    m["share.worker"] = shares.under("xfs_inodegc_worker");
    m["switches.buffer"] = shares.switches_under("xfs_buf_read_map");
    m["switches.agi"] = shares.switches_under("xfs_buf_read_map", "xfs_read_agi");
    m["switches.inode_cluster"] = shares.switches_under("xfs_buf_read_map", "xfs_imap_to_bp");
    m["switches.throttled"] = shares.switches_under("xfs_inodegc_queue");
    m["switches/s"] = static_cast<double>(result.report.context_switches) * 1e12 /
                      static_cast<double>(result.report.elapsed);
}

template <class W>
xfs::load_result run_in(const run_request& r, const xfs::settings& s, const xfs::load_parameters& p) {
    return xfs::load<W, spinlock>::run(s, geometry_of(r), costs_of(r), log_of(r), p);
}

run_result run_load(const run_request& r, xfs::settings s, xfs::operation what, bool pressure) {
    s.gc.throttle_above = s.gc.throttle_above != 0 ? s.gc.throttle_above : r.whole("backlog");
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
