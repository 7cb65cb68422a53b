// Threads that read and write blocks of one file at random, as they meet at its inode's two semaphores.
//
// After fio's randrw and randwrite on XFS of 2016. An inode has
//
//   IOLOCK  held while data is moved: shared by readers and, in direct I/O, by writers of aligned blocks;
//           writers that must see each other's writes whole take it exclusively
//   ILOCK   held over what the inode says: shared to find a block on the device, exclusive to allocate one and
//           to change a time stamp, which is a transaction
//
// A request here:
//
//   enter the system call              compute(entry)
//   IOLOCK                             shared, or exclusive by writers if they must be alone
//     write: time stamps               compute(reserve), ILOCK exclusive, compute(stamp)
//     read: access time                the same, if it is older than the time of the last write and of this tick
//     find the block                   ILOCK shared, compute(map); not if the page cache has it
//     allocate it, some writes         compute(reserve), ILOCK exclusive, compute(allocate)
//     move the data                    the file's business: modelled_file, or a real one
//   look at the result, draw the next  compute(user)
//
// Time stamps are of the kernel's coarse clock, so most writes would find them to be of this tick already. But
// an inode of XFS's fifth version also counts its changes, and before Linux 4.16 each write counted: so each write
// is a transaction (`stamp_each_write`).
//
// A thread with a queue depth of n is n threads here, which have a request in flight each: what a thread does
// between its requests is little.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workload/program.hpp"

namespace holdfast {

struct file_io_parameters {
    std::uint32_t threads = 1;
    std::uint32_t queue_depth = 1; // requests of a thread in flight
    std::uint64_t blocks = 1;      // in the file
    std::uint32_t read_percent = 0;
    nanoseconds warm_up{};  // requests that end before are not counted
    nanoseconds duration{}; // from then on

    bool writers_alone = false;         // IOLOCK: exclusive for writers
    bool cached = false;                // the page cache knows where all blocks are
    bool stamp_each_write = true;       // else once a tick
    nanoseconds tick{1'000'000};        // of the clock for time stamps; more than 0
    std::uint32_t allocate_percent = 0; // of writes

    // System time, but for `user`.
    nanoseconds entry{};
    nanoseconds reserve{}; // room in the log, before a transaction
    nanoseconds stamp{};   // with ILOCK exclusive, as the next
    nanoseconds allocate{};
    nanoseconds map{}; // with ILOCK shared
    nanoseconds user{};
    std::uint32_t jitter_percent = 0; // all of these take this much more or less, at most; below 100
};

struct file_io_result {
    std::uint64_t reads = 0; // that ended in the time that counts
    std::uint64_t writes = 0;
    std::uint64_t all_requests = 0; // those before and after, too, as in what follows
    std::uint64_t exclusive = 0;    // acquisitions of IOLOCK and ILOCK
};

struct file_costs {
    std::uint64_t block_bytes = 4096;
    std::uint64_t copy_bytes_per_second = 0;   // by one CPU; 0: the device moves the data
    std::uint64_t memory_bytes_per_second = 0; // by all together; 0: no limit
    nanoseconds submit{};                      // of a request to the device, system time
    device_limits device{};
};

// A file whose data is moved in the time that the model says: copied by CPUs, from and to memory that keeps its
// contents (DAX) or pages of the cache, or by a device past the CPUs.
template <class W>
class modelled_file {
public:
    // What a thread brings along to read into.
    struct buffer {
        explicit buffer(const modelled_file&) {}
    };

    explicit modelled_file(const file_costs& costs)
        : costs_(costs), device_(W::template make<typename W::device>(costs.device)),
          copying_(W::template make<typename W::counter>()) {}

    void read(std::uint64_t, buffer&) { move(); }
    void write(std::uint64_t, buffer&) { move(); }

private:
    void move() {
        if (costs_.copy_bytes_per_second == 0) {
            W::compute(costs_.submit, cpu_mode::system);
            device_.transfer(costs_.block_bytes);
        } else {
            copy();
        }
    }

    // A memory that is slow keeps the CPUs busy. Those that copy as this one begins share it; a counter says how many,
    // at no cost on a simulated machine, and near enough elsewhere.
    void copy() {
        copying_.add(1);
        nanoseconds duration = time_of(costs_.block_bytes, costs_.copy_bytes_per_second);
        if (costs_.memory_bytes_per_second != 0)
            duration = std::max(
                duration, time_of(costs_.block_bytes * copying_.value(), costs_.memory_bytes_per_second));
        W::compute(duration, cpu_mode::system);
        copying_.add(minus_one);
    }

    // As long as can be counted if it is longer.
    static nanoseconds time_of(std::uint64_t bytes, std::uint64_t bytes_per_second) {
        __extension__ using wide = unsigned __int128;
        constexpr wide second = 1'000'000'000;
        constexpr wide longest = nanoseconds::max().count();
        return nanoseconds(static_cast<std::int64_t>(std::min(bytes * second / bytes_per_second, longest)));
    }

    static constexpr std::uint64_t minus_one = ~std::uint64_t{0};

    file_costs costs_;
    typename W::device& device_;
    typename W::counter& copying_;
};

// Runs as the program of a world `W` with an inode whose semaphores are of type `Semaphore`, a SharedLockable on W's
// platform, and a file of a type like modelled_file, whose read and write are called by all threads.
template <class W, class Semaphore, class File>
class file_io {
    using P = typename W::platform;
    using frame = typename P::frame;
    using counter = typename W::counter;

public:
    static file_io_result run(const file_io_parameters& p, File& file) {
        file_io program(p, file);
        std::vector<typename W::thread> threads;
        const std::uint32_t count = p.threads * p.queue_depth;
        threads.reserve(count);
        for (std::uint32_t i = 0; i < count; ++i)
            threads.push_back(W::spawn([&program] { program.request_until_end(); }));
        for (typename W::thread& thread : threads)
            W::join(thread);
        return {.reads = program.reads_.value(),
                .writes = program.writes_.value(),
                .all_requests = program.all_requests_.value(),
                .exclusive = program.exclusive_.value()};
    }

private:
    using tick_count = std::uint64_t;

    // Neighbours, as in XFS: the semaphores share cache lines.
    struct inode {
        Semaphore ilock;
        Semaphore iolock;
        // Written with ILOCK exclusive, looked at without.
        typename P::template atomic<tick_count> written{0};
        typename P::template atomic<tick_count> accessed{0};
    };

    file_io(const file_io_parameters& p, File& file)
        : p_(p), file_(file), inode_(W::template make<inode>()), counted_from_(W::now() + p.warm_up),
          end_(counted_from_ + p.duration), reads_(W::template make<counter>()),
          writes_(W::template make<counter>()), all_requests_(W::template make<counter>()),
          exclusive_(W::template make<counter>()) {}

    void request_until_end() {
        typename File::buffer buffer(file_);
        while (W::now() < end_) {
            const std::uint64_t block = W::random().below(p_.blocks);
            const bool reading = percent(p_.read_percent);
            if (reading)
                read(block, buffer);
            else
                write(block, buffer);
            const nanoseconds now = W::now();
            if (now >= counted_from_ && now < end_)
                (reading ? reads_ : writes_).add(1);
            all_requests_.add(1);
            work(p_.user, cpu_mode::user);
        }
    }

    void read(std::uint64_t block, typename File::buffer& buffer) {
        const frame system_call{"sys_pread64"};
        work(p_.entry, cpu_mode::system);
        inode_.iolock.lock_shared();
        // relaxed, here and below: as the kernel looks at time stamps. One transaction more or less.
        const tick_count accessed = inode_.accessed.load(std::memory_order_relaxed);
        if (inode_.written.load(std::memory_order_relaxed) >= accessed && accessed != tick())
            stamp(inode_.accessed);
        find();
        file_.read(block, buffer);
        inode_.iolock.unlock_shared();
    }

    void write(std::uint64_t block, typename File::buffer& buffer) {
        const frame system_call{"sys_pwrite64"};
        work(p_.entry, cpu_mode::system);
        if (p_.writers_alone)
            inode_.iolock.lock();
        else
            inode_.iolock.lock_shared();
        if (p_.stamp_each_write || inode_.written.load(std::memory_order_relaxed) != tick())
            stamp(inode_.written);
        find();
        if (percent(p_.allocate_percent))
            transaction("xfs_iomap_write_direct", p_.allocate, [] {});
        file_.write(block, buffer);
        if (p_.writers_alone) {
            inode_.iolock.unlock();
            exclusive_.add(1);
        } else {
            inode_.iolock.unlock_shared();
        }
    }

    void stamp(typename P::template atomic<tick_count>& which) {
        transaction("xfs_vn_update_time", p_.stamp, [&] { which.store(tick(), std::memory_order_relaxed); });
    }

    template <class Change>
    void transaction(const char* name, nanoseconds duration, Change change) {
        const frame transaction{name};
        work(p_.reserve, cpu_mode::system);
        inode_.ilock.lock();
        change();
        work(duration, cpu_mode::system);
        inode_.ilock.unlock();
        exclusive_.add(1);
    }

    void find() {
        if (p_.cached)
            return;
        const frame mapping{"xfs_get_blocks"};
        inode_.ilock.lock_shared();
        work(p_.map, cpu_mode::system);
        inode_.ilock.unlock_shared();
    }

    void work(nanoseconds duration, cpu_mode mode) {
        const auto span = static_cast<std::uint64_t>(duration.count()) * p_.jitter_percent / 100;
        const auto drawn = static_cast<std::int64_t>(W::random().below(2 * span + 1));
        W::compute(nanoseconds(duration.count() - static_cast<std::int64_t>(span) + drawn), mode);
    }

    // The first is 1, so an inode begins with old stamps.
    tick_count tick() const { return 1 + static_cast<tick_count>(W::now().count() / p_.tick.count()); }
    static bool percent(std::uint32_t of) { return W::random().below(100) < of; }

    const file_io_parameters p_;
    File& file_;
    inode& inode_;
    const nanoseconds counted_from_;
    const nanoseconds end_;
    counter& reads_;
    counter& writes_;
    counter& all_requests_;
    counter& exclusive_;
};

} // namespace holdfast
