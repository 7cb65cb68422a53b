// The case of rwsem_asap: threads read and write blocks of one file, whose inode has two read-write semaphores.
//
// The variants differ in one rule of the semaphores: whether a reader that fails gives its bias back at once, or
// only when it has the wait list's lock.
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <holdfast/qspinlock.hpp>
#include <holdfast/rwsem_xadd.hpp>

#include "replay/code.hpp"
#include "sim/data_files.hpp"
#include "sim/world.hpp"
#include "workload/file_io.hpp"
#include "workload/native_world.hpp"

namespace holdfast::replay {

namespace {

file_io_parameters parameters_of(const run_request& r) {
    constexpr double second = 1e9;
    return {.threads = r.whole("threads"),
            .queue_depth = r.whole("queue_depth"),
            .blocks = r.whole("file_blocks"),
            .read_percent = r.whole("read_percent"),
            .warm_up = r.duration("warm_up_seconds", second),
            .duration = r.duration("seconds", second),
            .writers_alone = r.whole("writers_alone") != 0,
            .cached = r.whole("cached") != 0,
            .stamp_each_write = r.whole("stamp_each_write") != 0,
            .tick = r.duration("tick_ns"),
            .allocate_percent = r.whole("allocate_percent"),
            .entry = r.duration("entry_ns"),
            .reserve = r.duration("reserve_ns"),
            .stamp = r.duration("stamp_ns"),
            .allocate = r.duration("allocate_ns"),
            .map = r.duration("map_ns"),
            .user = r.duration("user_ns"),
            .jitter_percent = r.whole("jitter_percent")};
}

file_costs costs_of(const run_request& r) {
    const auto whole = [&](std::string_view key) { return static_cast<std::uint64_t>(r.constant(key)); };
    return {.block_bytes = whole("block_bytes"),
            .copy_bytes_per_second = whole("copy_bytes_per_second"),
            .memory_bytes_per_second = whole("memory_bytes_per_second"),
            .submit = r.duration("submit_ns"),
            .device = {.latency = r.duration("device_latency_ns"),
                       .iops = whole("device_iops"),
                       .bytes_per_second = whole("device_bytes_per_second")}};
}

// A real file for a native run: in the folder for temporary files, without a name almost from the beginning, so
// that nothing is left of it however the run ends. If the CPU is not to copy the data, it goes past the page cache, if
// the file system takes that.
class real_file {
    static constexpr std::size_t alignment = 4096; // direct I/O asks for no more on any usual file system

public:
    class buffer {
    public:
        explicit buffer(const real_file& file)
            : bytes_(static_cast<char*>(std::aligned_alloc(alignment, file.block_bytes_)), &std::free) {
            if (bytes_ == nullptr)
                throw std::bad_alloc();
            std::fill_n(bytes_.get(), file.block_bytes_, 'x');
        }
        char* get() { return bytes_.get(); }

    private:
        std::unique_ptr<char, decltype(&std::free)> bytes_;
    };

    // All blocks are written once. Throws system_error if that can't be done, and invalid_argument if blocks are not of
    // a size that can go past the page cache.
    real_file(std::uint64_t blocks, std::uint64_t block_bytes, bool past_the_cache)
        : bytes_(blocks * block_bytes), block_bytes_(block_bytes) {
        if (past_the_cache) {
            if (block_bytes % alignment != 0) {
                throw std::invalid_argument(
                    fmt::format("block_bytes is {}; past the page cache it must be a multiple of {}",
                                block_bytes, alignment));
            }
            direct_ = fcntl(file_.number, F_SETFL, O_DIRECT) == 0;
        }
        buffer full(*this);
        for (std::uint64_t block = 0; block < blocks; ++block) {
            write(block, full);
            check();
        }
    }

    // Whether the page cache is left out.
    bool direct() const { return direct_; }

    void read(std::uint64_t block, buffer& into) {
        note(pread(file_.number, into.get(), block_bytes_, at(block)));
    }
    void write(std::uint64_t block, buffer& from) {
        note(pwrite(file_.number, from.get(), block_bytes_, at(block)));
    }

    // Throws system_error if a read or a write failed: the last one that did.
    void check() const {
        if (const int error = error_.load(std::memory_order_relaxed); error != 0)
            throw failure(error,
                          fmt::format("a file of {} bytes in {}", bytes_, printable(file_.folder.string())));
    }

private:
    struct unnamed {
        unnamed() {
            std::error_code error;
            folder = std::filesystem::temp_directory_path(error);
            if (error)
                throw failure(error.value(), "the folder for temporary files");
            std::string name = (folder / "holdfast-XXXXXX").string();
            number = mkostemp(name.data(), O_CLOEXEC);
            if (number < 0)
                throw failure(errno, fmt::format("a file in {}", printable(folder.string())));
            unlink(name.c_str());
        }
        ~unnamed() { close(number); }
        unnamed(const unnamed&) = delete;
        unnamed& operator=(const unnamed&) = delete;

        std::filesystem::path folder; // $TMPDIR, or /tmp
        int number;
    };

    off_t at(std::uint64_t block) const { return static_cast<off_t>(block * block_bytes_); }

    void note(ssize_t moved) {
        if (moved != static_cast<ssize_t>(block_bytes_))
            error_.store(moved < 0 ? errno : EIO, std::memory_order_relaxed);
    }

    static std::system_error failure(int error, const std::string& what) {
        return {error, std::generic_category(), what + " ($TMPDIR)"};
    }

    std::uint64_t bytes_; // of all blocks
    std::uint64_t block_bytes_;
    unnamed file_;
    bool direct_ = false;
    std::atomic<int> error_{0}; // an errno
};

named_numbers metrics_of(const file_io_result& x, const run_request& r) {
    constexpr double megabyte = 1e6;
    const double each = r.constant("block_bytes") / megabyte / r.constant("seconds");
    const auto rate = [each](std::uint64_t requests) { return static_cast<double>(requests) * each; };
    return {{"MB/s", rate(x.reads + x.writes)}, {"read_MB/s", rate(x.reads)}, {"write_MB/s", rate(x.writes)}};
}

// Its wait list's lock is a queued spinlock, as x86 has had since Linux 4.2.
template <class P, rwsem_xadd_rules Rules>
using semaphore = rwsem_xadd<P, Rules, qspinlock>;

template <rwsem_xadd_rules Rules>
run_result fio(const run_request& r) {
    file_io_parameters p = parameters_of(r);
    const file_costs costs = costs_of(r);
    file_io_result done;
    run_result result;
    if (r.on == nullptr) {
        // The real calls bring these along.
        p.entry = p.user = nanoseconds(0);
        real_file file(p.blocks, costs.block_bytes, costs.copy_bytes_per_second == 0);
        native_world::run(r.seed, [&] {
            done = file_io<native_world, semaphore<native_world::platform, Rules>, real_file>::run(p, file);
        });
        file.check();
        result.metrics = metrics_of(done, r);
        result.metrics["o_direct"] = file.direct() ? 1 : 0;
        return result;
    }
    result.report = sim::run({.on = r.on, .seed = r.seed}, [&] {
        using file = modelled_file<sim::world>;
        file data(costs);
        done = file_io<sim::world, semaphore<sim::platform, Rules>, file>::run(p, data);
    });
    named_numbers& m = result.metrics = metrics_of(done, r);
    const auto per_request = [&](event counted) {
        return static_cast<double>(result.report.events[static_cast<std::size_t>(counted)]) /
               static_cast<double>(std::max<std::uint64_t>(done.all_requests, 1));
    };
    m["exclusive"] = static_cast<double>(done.exclusive) /
                     static_cast<double>(std::max<std::uint64_t>(done.all_requests, 1));
    m["stolen"] = per_request(event::rwsem_opt_lock);
    m["reader_sleeps"] = per_request(event::rwsem_sleep_reader);
    m["writer_sleeps"] = per_request(event::rwsem_sleep_writer);
    return result;
}

} // namespace

case_code rwsem_asap_case() {
    return {.name = "rwsem_asap",
            .constants = {{"threads", 1, 1000},
                          {"queue_depth", 1, 1000},
                          {"block_bytes", 4096, 1 << 24},
                          {"file_blocks", 1, 1e9},
                          {"read_percent", 0, 100},
                          {"warm_up_seconds", 0, 3600},
                          {"seconds", 1e-6, 3600},
                          {"writers_alone", 0, 1},
                          {"cached", 0, 1},
                          {"stamp_each_write", 0, 1},
                          {"tick_ns", 1, 1e9},
                          {"allocate_percent", 0, 100},
                          {"entry_ns", 0, 1e9},
                          {"reserve_ns", 0, 1e9},
                          {"stamp_ns", 0, 1e9},
                          {"allocate_ns", 0, 1e9},
                          {"map_ns", 0, 1e9},
                          {"copy_bytes_per_second", 0, 1e12},
                          {"memory_bytes_per_second", 0, 1e12},
                          {"submit_ns", 0, 1e9},
                          {"device_latency_ns", 0, 1e9},
                          {"device_iops", 0, 1e9},
                          {"device_bytes_per_second", 0, 1e12},
                          {"user_ns", 0, 1e9},
                          {"jitter_percent", 0, 99}},
            .metrics = {{"MB/s", "MB/s"},
                        {"read_MB/s", "MB/s"},
                        {"write_MB/s", "MB/s"},
                        // Of a request: acquisitions of either semaphore, those got by spinning, sleeps.
                        {"exclusive", ""},
                        {"stolen", ""},
                        {"reader_sleeps", ""},
                        {"writer_sleeps", ""},
                        {"o_direct", ""}}, // natively; 0: through the page cache
            .variants = {{"linux_4_7", fio<rwsem_xadd_presets::linux_4_7>},
                         {"rfc_2016_v4", fio<rwsem_xadd_presets::rfc_2016_v4>}}};
}

} // namespace holdfast::replay
