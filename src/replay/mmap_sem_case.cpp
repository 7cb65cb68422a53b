// The case of mmap_sem: a repair tool whose threads grow one heap and touch its pages.
//
// The variants differ in the semaphore, any of the named read-write locks, and in whether the tool works on
// many allocation groups at once (strided, as it does by default) or on one.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <new>
#include <numeric>
#include <string>

#include <sys/mman.h>
#include <sys/resource.h>

#include "replay/code.hpp"
#include "replay/profile_shares.hpp"
#include "sim/world.hpp"
#include "workload/named_locks.hpp"
#include "workload/native_world.hpp"
#include "workload/repair.hpp"

namespace holdfast::replay {

namespace {

repair_parameters parameters_of(const run_request& r, bool strided) {
    const std::uint32_t buffers = r.whole("buffers");
    const auto part = [&](std::string_view key) { return std::max(1u, buffers * r.whole(key) / 100); };
    return {.groups = r.whole("groups"),
            .stride = strided ? r.whole("stride") : 0,
            .scanners = r.whole("scanners"),
            .readers = r.whole("readers"),
            .headers = part("headers_percent"),
            .buffers = buffers,
            .start_reading = part("start_percent"),
            .read_ahead = part("read_ahead_percent"),
            .buffers_per_read = r.whole("buffers_per_read"),
            .buffer_pages = r.whole("buffer_pages"),
            .record_percent = r.whole("record_percent"),
            .memory = {.syscall = r.duration("syscall_ns"),
                       .mprotect = r.duration("mprotect_ns"),
                       .trap = r.duration("trap_ns"),
                       .fault = r.duration("fault_ns"),
                       .shootdown_percent = r.whole("shootdown_percent")},
            .storage = {.latency = r.duration("read_latency_ns"),
                        .iops = static_cast<std::uint64_t>(r.constant("device_iops"))},
            .submit = r.duration("submit_ns"),
            .queueing = r.duration("queueing_ns"),
            .parsing = r.duration("parsing_ns"),
            .processing = r.duration("processing_ns"),
            .duplicates_alone = r.duration("duplicates_alone_ns"),
            .duplicates = r.duration("duplicates_ns"),
            .rebuilding = r.duration("rebuilding_ns"),
            .directories = r.duration("directories_ns"),
            .jitter_percent = r.whole("jitter_percent")};
}

// Real memory for a native run: one reservation, from which buffers are taken in turn.
class real_heap {
public:
    explicit real_heap(std::uint64_t pages) : bytes_(pages * page) {
        void* const at = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (at == MAP_FAILED)
            throw std::bad_alloc();
        base_ = static_cast<char*>(at);
    }
    ~real_heap() { munmap(base_, bytes_); }
    real_heap(const real_heap&) = delete;
    real_heap& operator=(const real_heap&) = delete;

    std::uint64_t grow(std::uint32_t pages) {
        const std::uint64_t first = used_.fetch_add(pages, std::memory_order_relaxed);
        if ((first + pages) * page > bytes_ ||
            ::mprotect(base_ + first * page, pages * page, PROT_READ | PROT_WRITE) != 0)
            throw std::bad_alloc();
        return first;
    }
    void touch(std::uint64_t at) { *static_cast<volatile char*>(base_ + at * page) = 1; }

private:
    static constexpr std::uint64_t page = 4096;

    std::uint64_t bytes_;
    char* base_;
    std::atomic<std::uint64_t> used_{0};
};

// As many as all phases can take.
std::uint64_t pages_of(const repair_parameters& p) {
    const std::uint64_t of_a_group = std::uint64_t{p.headers + p.buffers} * p.buffer_pages + p.buffers;
    return 1 + p.groups * of_a_group;
}

// In seconds, of all threads of this process.
double cpu_seconds() {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    const auto seconds = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// The phases, as long as they would be had the groups been as full as in the published run.
named_numbers metrics_of(const repair_result& x, double scale) {
    named_numbers m;
    const auto seconds = [scale](nanoseconds n) { return static_cast<double>(n.count()) * 1e-9 * scale; };
    for (std::size_t i = 0; i < repair_phases; ++i)
        m["phase" + std::to_string(i + 1)] = seconds(x.phases[i]);
    m["time"] = seconds(std::accumulate(x.phases.begin(), x.phases.end(), nanoseconds(0)));
    // Of phase 3, where most are.
    m["iops"] = static_cast<double>(x.reads[2]) * scale / m["phase3"];
    return m;
}

// The share of the semaphore's wait_lock: waiting for it (a spin_lock in one of the semaphore's slow paths),
// and what is done under it, which is wake-ups mostly. Kernel profiles without an interrupt that nothing
// holds off show all this where interrupts open again, in _raw_spin_unlock_irq and
// _raw_spin_unlock_irqrestore.
double share_of_wait_lock(const profile_shares& shares) {
    return shares.of([](std::string_view name, std::string_view caller) {
        return name == "rwsem_wake" || name == "rwsem_down_read_failed" ||
               (name == "spin_lock" && caller.starts_with("rwsem_"));
    });
}

// `lock`: which of rw_locks.
run_result repair_image(const run_request& r, std::size_t lock, bool strided) {
    const repair_parameters p = parameters_of(r, strided);
    const double scale = r.scaled_by("buffers");
    repair_result done;
    run_result result;
    if (r.on == nullptr) {
        real_heap heap(pages_of(p));
        const double before = cpu_seconds();
        native_world::run(r.seed, [&] {
            done = repair<native_world, real_heap>::run(p, rw_locks<native_world>()[lock], heap);
        });
        result.metrics = metrics_of(done, scale);
        result.metrics["cpu"] = (cpu_seconds() - before) * scale;
        return result;
    }
    modelled_heap heap;
    result.report = sim::run({.on = r.on, .seed = r.seed},
                             [&] { done = repair<sim::world>::run(p, rw_locks<sim::world>()[lock], heap); });
    constexpr double second = 1e12;
    named_numbers& m = result.metrics = metrics_of(done, scale);
    const sim::report& report = result.report;
    m["cpu_user"] = static_cast<double>(report.user) / second * scale;
    m["cpu_sys"] = static_cast<double>(report.system) / second * scale;
    m["cpu"] = m["cpu_user"] + m["cpu_sys"];
    m["switches/s"] = static_cast<double>(report.context_switches) * scale / m["time"];
    const profile_shares shares(report);
    m["share.osq_lock"] = shares.of_function("osq_lock");
    m["share.rwsem_down_write_failed"] = shares.of_function("rwsem_down_write_failed");
    m["share.wait_lock"] = share_of_wait_lock(shares);
    m["share.flush_tlb_page"] = shares.of_function("flush_tlb_page");
    return result;
}

} // namespace

case_code mmap_sem_case() {
    case_code code{.name = "mmap_sem",
                   .constants = {{"groups", 1, 100'000},
                                 {"stride", 1, 100'000},
                                 {"scanners", 1, 1000},
                                 {"readers", 1, 100},
                                 {"buffers", 1, 1e6},
                                 {"headers_percent", 0, 100},
                                 {"start_percent", 0, 100},
                                 {"read_ahead_percent", 0, 1000},
                                 {"buffers_per_read", 1, 1000},
                                 {"buffer_pages", 1, 1000},
                                 {"record_percent", 0, 100},
                                 {"syscall_ns", 0, 1e9},
                                 {"mprotect_ns", 0, 1e9},
                                 {"trap_ns", 0, 1e9},
                                 {"fault_ns", 0, 1e9},
                                 {"shootdown_percent", 0, 100},
                                 {"read_latency_ns", 0, 1e9},
                                 {"device_iops", 0, 1e9},
                                 {"submit_ns", 0, 1e9},
                                 {"queueing_ns", 0, 1e9},
                                 {"parsing_ns", 0, 1e9},
                                 {"processing_ns", 0, 1e9},
                                 {"duplicates_alone_ns", 0, 1e9},
                                 {"duplicates_ns", 0, 1e9},
                                 {"rebuilding_ns", 0, 1e9},
                                 {"directories_ns", 0, 1e9},
                                 {"jitter_percent", 0, 99}},
                   .metrics = {{"time", "s"},
                               {"phase1", "s"},
                               {"phase2", "s"},
                               {"phase3", "s"},
                               {"phase4", "s"},
                               {"phase5", "s"},
                               {"phase6", "s"},
                               {"phase7", "s"},
                               {"cpu", "s"}, // user and system
                               {"cpu_user", "s"},
                               {"cpu_sys", "s"},
                               {"iops", "reads/s"},
                               {"switches/s", "1/s"},
                               {"share.osq_lock", "%"},
                               {"share.rwsem_down_write_failed", "%"},
                               {"share.wait_lock", "%"},
                               {"share.flush_tlb_page", "%"}},
                   .variants = {}};
    const auto locks = rw_locks<sim::world>();
    for (std::size_t i = 0; i < locks.size(); ++i) {
        const std::string name(locks[i].name);
        code.variants.push_back({name, [i](const run_request& r) { return repair_image(r, i, true); }});
        code.variants.push_back(
            {name + ", unstrided", [i](const run_request& r) { return repair_image(r, i, false); }});
    }
    return code;
}

} // namespace holdfast::replay
