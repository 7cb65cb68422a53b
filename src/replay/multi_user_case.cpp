// The cases of many users on one machine, anon_vma and aim7: an AIM7 load whose kernel has this or that
// read-write lock, and lockrefs that pause or don't.
//
// Both have all named locks for variants, "LOCK" or "LOCK, LOCKREF"; which of them are run with which mix of
// jobs stands in their files.
#include <any>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

#include <fmt/format.h>

#include "replay/code.hpp"
#include "replay/job_mix_file.hpp"
#include "replay/profile_shares.hpp"
#include "sim/world.hpp"
#include "workload/multi_user.hpp"
#include "workload/native_world.hpp"

namespace holdfast::replay {

namespace {

multi_user_parameters parameters_of(const run_request& r) {
    return {.users = r.whole("users"),
            .jobs = r.whole("jobs"),
            .size = r.constant("size_percent") / 100,
            .work = r.constant("work_percent") / 100,
            .hold = r.constant("hold_percent") / 100,
            .jitter_percent = r.whole("jitter_percent"),
            .kernel = {.roots = r.whole("roots"),
                       .mappings = r.whole("mappings"),
                       .files = r.whole("files"),
                       .directories = r.whole("directories"),
                       .dentries = r.whole("dentries"),
                       .journals = r.whole("journals"),
                       .memory_nodes = r.whole("memory_nodes"),
                       .pagevec = r.whole("pagevec"),
                       .page_fault = r.duration("page_fault_ns"),
                       .page_release = r.duration("page_release_ns"),
                       .page_listed = r.duration("page_listed_ns"),
                       .disk = {.latency = r.duration("disk_latency_ns"),
                                .iops = static_cast<std::uint64_t>(r.constant("disk_iops"))}}};
}

bool is_page_list(std::string_view function) {
    return function == "release_pages" || function == "pagevec_lru_move_fn";
}

void add_shares(named_numbers& m, const sim::report& report) {
    const profile_shares s(report);
    using name = std::string_view;
    m["share.write_slowpath"] =
        s.of([](name n, name) { return n == "__write_lock_failed" || n == "queue_write_lock_slowpath"; });
    m["share.read_slowpath"] =
        s.of([](name n, name) { return n == "__read_lock_failed" || n == "queue_read_lock_slowpath"; });
    // All that its slow paths do.
    m["share.rwsem"] =
        s.of([](name n, name caller) { return n.starts_with("rwsem_") || caller.starts_with("rwsem_"); });
    // Interrupts are off while the pages' lock is awaited, so kernel profiles show _raw_spin_lock_irqsave.
    m["share.osq_lock"] =
        s.of([](name n, name caller) { return n == "osq_lock" && caller.starts_with("rwsem_"); });
    m["share.spin_lock"] = s.of([](name n, name caller) { return n == "spin_lock" && is_page_list(caller); });
    m["share.dentry_lock"] =
        s.of([](name n, name caller) { return n == "spin_lock" && caller.starts_with("lockref_"); });
    m["share.mutex_mcs"] =
        s.of([](name n, name caller) { return n == "osq_lock" && caller == "__mutex_lock_slowpath"; });
    m["share.mutex_spin_on_owner"] = s.of_function("mutex_spin_on_owner");
    m["share.tree_insert"] = s.of_function("anon_vma_interval_tree_insert");
}

// A spinning lock's holder must not sleep: those who wait for it have the CPUs. Throws if the mix has one that does.
void refuse_sleep_under_spinning_lock(const job_mix& mix, const named<rw_lock>& lock) {
    if (lock.spins && mix.sleeps_in_rw_lock)
        throw std::runtime_error(
            fmt::format("{} sleeps with a read-write lock held, and {} spins; give it a lock that sleeps",
                        mix.name, lock.name));
}

template <class W>
multi_user_result run_in(const run_request& r, const job_mix& mix, std::size_t rw, std::size_t reference) {
    return multi_user<W>::run(parameters_of(r), mix, rw_locks<W>()[rw], reference_counts<W>()[reference]);
}

run_result run_users(const run_request& r, std::size_t rw, std::size_t reference) {
    const job_mix& mix = *std::any_cast<const std::shared_ptr<const job_mix>&>(r.inputs.find("mix")->second);
    refuse_sleep_under_spinning_lock(mix, rw_locks<sim::world>()[rw]);
    multi_user_result done;
    run_result result;
    if (r.on == nullptr) {
        native_world::run(r.seed, [&] { done = run_in<native_world>(r, mix, rw, reference); });
    } else {
        result.report =
            sim::run({.on = r.on, .seed = r.seed}, [&] { done = run_in<sim::world>(r, mix, rw, reference); });
        add_shares(result.metrics, result.report);
    }
    named_numbers& m = result.metrics;
    m["jpm"] = done.jobs_per_minute;
    m["seconds"] =
        static_cast<double>(done.elapsed.count()) * 1e-9 * r.scaled_by("size_percent") * r.scaled_by("jobs");
    m["children/s"] = static_cast<double>(done.children) * 1e9 / static_cast<double>(done.elapsed.count());
    return result;
}

case_code multi_user_case(std::string name) {
    case_code code{.name = std::move(name),
                   .constants = {{"users", 1, 10'000, true},
                                 {"jobs", 1, 100'000, true},
                                 {"size_percent", 1e-3, 1e4},
                                 {"work_percent", 0, 1e4},
                                 {"hold_percent", 0, 1e4},
                                 {"jitter_percent", 0, 99, true},
                                 {"roots", 1, 100, true},
                                 {"mappings", 1, 100, true},
                                 {"files", 1, 1000, true},
                                 {"directories", 1, 10'000, true},
                                 {"dentries", 1, 10'000, true},
                                 {"journals", 1, 1000, true},
                                 {"memory_nodes", 1, 64, true},
                                 {"pagevec", 1, 1000, true},
                                 {"page_fault_ns", 0, 1e9},
                                 {"page_release_ns", 0, 1e9},
                                 {"page_listed_ns", 0, 1e9},
                                 {"disk_latency_ns", 0, 1e9},
                                 {"disk_iops", 0, 1e9, true}},
                   .metrics = {{"jpm", "jobs/min"},
                               {"seconds", "s"},
                               {"children/s", "1/s"},
                               {"share.write_slowpath", "%"},
                               {"share.read_slowpath", "%"},
                               {"share.rwsem", "%"},
                               {"share.osq_lock", "%"},
                               {"share.spin_lock", "%"},
                               {"share.dentry_lock", "%"},
                               {"share.mutex_mcs", "%"},
                               {"share.mutex_spin_on_owner", "%"},
                               {"share.tree_insert", "%"}},
                   .variants = {},
                   .inputs = {{"mix", "job_mixes", [](const auto& path) {
                                   return std::make_shared<const job_mix>(read_job_mix(path));
                               }}}};
    for (std::size_t rw = 0; rw < rw_locks<sim::world>().size(); ++rw) {
        for (std::size_t reference = 0; reference < reference_counts<sim::world>().size(); ++reference) {
            const auto run = [rw, reference](const run_request& r) { return run_users(r, rw, reference); };
            const std::string lock(rw_locks<sim::world>()[rw].name);
            if (reference == 0)
                code.variants.push_back({lock, run});
            code.variants.push_back(
                {fmt::format("{}, {}", lock, reference_counts<sim::world>()[reference].name), run});
        }
    }
    return code;
}

} // namespace

case_code anon_vma_case() {
    return multi_user_case("anon_vma");
}

case_code aim7_case() {
    return multi_user_case("aim7");
}

} // namespace holdfast::replay
