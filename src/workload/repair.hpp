// A file-system repair tool, as its threads meet: prefetchers that read metadata into a growing heap, and
// threads that work through what they have read.
//
// After xfs_repair of 2014-15. An image has allocation groups; each is read and checked by six threads:
//
//   control      walks the group's index, queues its buffers and starts the readers
//   readers (4)  take some queued buffers at a time, allocate them (the heap grows by one mprotect a buffer),
//                read them past the kernel's cache, copy and parse them (first touch: page faults)
//   processor    checks each buffer, and keeps records of its own (heap growth and page faults, too)
//
// A segment is `stride` groups one after another; its processor has the next group prefetched while it works
// on one. Segments go on at the same time: 336 groups at a stride of 15 make 23 of them, some 140 threads.
// Without a stride all groups are one segment.
//
//   phase 1  reads the superblock
//   phase 2  scans the groups' headers and free-space trees, in parallel
//   phase 3  as above: the buffer cache fills
//   phase 4  looks for duplicate blocks: one thread over all groups, then the segments, from the cache
//   phase 5  rebuilds the groups' headers
//   phase 6  follows directories, one thread, from the cache
//   phase 7  corrects link counts
//
// Locks of the tool: for each group in work a mutex, two conditions (something queued, something read) and a
// semaphore that bounds what is read ahead; a mutex over the cache's count. Those it meets in the kernel: its
// address space's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "workload/address_space.hpp"
#include "workload/futex_locks.hpp"
#include "workload/program.hpp"

namespace holdfast {

struct repair_parameters {
    std::uint32_t groups = 1;
    std::uint32_t stride = 0;   // groups in a segment; 0: all
    std::uint32_t scanners = 1; // threads of phase 2
    std::uint32_t readers = 4;  // a group

    std::uint32_t headers = 0;          // buffers of a group, in phase 2
    std::uint32_t buffers = 1;          // and in phase 3
    std::uint32_t start_reading = 1;    // so many queued buffers start the readers
    std::uint32_t read_ahead = 1;       // buffers of a group queued and not processed, at most; at least 1
    std::uint32_t buffers_per_read = 1; // at most; at least 1
    std::uint32_t buffer_pages = 1;
    std::uint32_t record_percent = 0; // of buffers: the processor needs another page for its records

    address_space_costs memory{};
    device_limits storage{};
    nanoseconds submit{};             // of a read, system time
    nanoseconds queueing{};           // of the control thread, a buffer; user time, as what follows
    nanoseconds parsing{};            // of a reader, a buffer
    nanoseconds processing{};         // of the processor, a buffer
    nanoseconds duplicates_alone{};   // of phase 4, a buffer, by one thread
    nanoseconds duplicates{};         //   and by the segments
    nanoseconds rebuilding{};         // of phase 5, a buffer
    nanoseconds directories{};        // of phase 6, a buffer
    std::uint32_t jitter_percent = 0; // all of these take this much more or less, at most; below 100
};

inline constexpr std::size_t repair_phases = 7;

struct repair_result {
    std::array<nanoseconds, repair_phases> phases{};
    std::array<std::uint64_t, repair_phases> reads{}; // from the device
    std::uint64_t buffers_read = 0;                   // in phase 3
    std::uint64_t buffers_processed = 0;
    std::uint64_t checksum = 0; // of what was processed: depends on the image alone
};

// The heap of a simulated tool costs what the address space's model says and nothing else.
struct modelled_heap {
    // Makes pages usable, in an mprotect; gives the number of the first.
    std::uint64_t grow(std::uint32_t) { return 0; }
    // Touches a page, in a fault.
    void touch(std::uint64_t) {}
};

// Runs as the program of a world `W` whose address space has this or that semaphore, with `Heap` an object
// like modelled_heap, called by all threads.
template <class W, class Heap = modelled_heap>
class repair {
    using P = typename W::platform;
    using counter = typename W::counter;
    using thread = typename W::thread;

public:
    static repair_result run(const repair_parameters& p, const named<rw_lock>& mmap_sem, Heap& heap) {
        repair tool(p, mmap_sem, heap);
        using phase = void (repair::*)();
        constexpr std::array<phase, repair_phases> phases = {
            &repair::read_superblock, &repair::scan_groups,     &repair::read_inodes,
            &repair::find_duplicates, &repair::rebuild_headers, &repair::walk_directories,
            &repair::correct_links};
        repair_result result;
        for (std::size_t i = 0; i < repair_phases; ++i) {
            const nanoseconds begin = W::now();
            const std::uint64_t reads = tool.reads_.value();
            (tool.*phases[i])();
            result.phases[i] = W::now() - begin;
            result.reads[i] = tool.reads_.value() - reads;
        }
        result.buffers_read = tool.buffers_read_.value();
        result.buffers_processed = tool.buffers_processed_.value();
        result.checksum = tool.checksum_.value();
        return result;
    }

private:
    // A group in phase 3. What is no lock is guarded by `mutex`.
    struct group_in_work {
        group_in_work(std::uint32_t which, std::uint32_t read_ahead) : number(which), may_queue(read_ahead) {}

        const std::uint32_t number;
        futex_mutex<P> mutex;
        futex_condition<P> something_queued;
        futex_condition<P> something_read;
        futex_semaphore<P> may_queue;
        std::uint32_t queued = 0; // buffers are numbered in this order
        std::uint32_t taken = 0;  // of these, by readers
        std::vector<std::uint32_t> read;
        bool reading = false; // enough is queued to begin
        bool all_queued = false;
        bool all_read = false;
        bool starved = false;          // the processor waits
        group_in_work* next = nullptr; // to be started when this one is read
        thread controller;
    };

    repair(const repair_parameters& p, const named<rw_lock>& mmap_sem, Heap& heap)
        : p_(p), heap_(heap), storage_(W::template make<typename W::device>(p.storage)),
          memory_(W::template make<address_space<W>>(p.memory, mmap_sem)),
          cache_mutex_(W::template make<futex_mutex<P>>()), reads_(W::template make<counter>()),
          buffers_read_(W::template make<counter>()), buffers_processed_(W::template make<counter>()),
          checksum_(W::template make<counter>()) {}

    std::uint32_t stride() const { return p_.stride == 0 ? p_.groups : p_.stride; }
    std::uint32_t segments() const { return (p_.groups + stride() - 1) / stride(); }

    // Phases ------------------------------------------------------------------------------------------------

    void read_superblock() {
        const std::uint64_t page = allocate(1);
        read();
        touch(page, 1);
    }

    void scan_groups() {
        in_parallel(p_.scanners, p_.groups, [this](std::uint32_t) {
            for (std::uint32_t i = 0; i < p_.headers; ++i) {
                const std::uint64_t pages = allocate(p_.buffer_pages);
                read();
                touch(pages, p_.buffer_pages);
                work(p_.parsing);
            }
        });
    }

    void read_inodes() {
        in_parallel(segments(), segments(), [this](std::uint32_t i) {
            process_segment(i * stride(), std::min((i + 1) * stride(), p_.groups));
        });
    }

    void find_duplicates() {
        for_each_group(p_.duplicates_alone * p_.buffers);
        in_parallel(segments(), p_.groups, [this](std::uint32_t) { work(p_.duplicates * p_.buffers); });
    }

    void rebuild_headers() { for_each_group(p_.rebuilding * p_.buffers); }
    void walk_directories() { for_each_group(p_.directories * p_.buffers); }
    void correct_links() { work(p_.rebuilding * p_.buffers); }

    void for_each_group(nanoseconds duration) {
        for (std::uint32_t group = 0; group < p_.groups; ++group)
            work(duration);
    }

    // Prefetch ----------------------------------------------------------------------------------------------

    void start(group_in_work& g) {
        g.controller = W::spawn([this, &g] { control(g); });
    }

    // Starts `next` once `g` is read.
    void start_after(group_in_work& g, group_in_work& next) {
        g.mutex.lock();
        const bool now = g.all_read;
        g.next = &next;
        g.mutex.unlock();
        if (now)
            start(next);
    }

    void control(group_in_work& g) {
        std::vector<thread> readers;
        for (std::uint32_t i = 0; i < p_.readers; ++i)
            readers.push_back(W::spawn([this, &g] { read_group(g); }));
        // The semaphore lets this many be queued even if none is read.
        const std::uint32_t enough = std::min(p_.start_reading, p_.read_ahead);
        for (std::uint32_t i = 0; i < p_.buffers; ++i) {
            work(p_.queueing);
            g.may_queue.wait();
            g.mutex.lock();
            ++g.queued;
            if (!g.reading && g.queued - g.taken >= enough) {
                g.reading = true;
                g.something_queued.broadcast();
            }
            g.mutex.unlock();
        }
        g.mutex.lock();
        g.all_queued = true;
        g.something_queued.broadcast();
        g.mutex.unlock();
        join_all(readers);
        g.mutex.lock();
        g.all_read = true;
        group_in_work* const next = g.next;
        g.mutex.unlock();
        if (next != nullptr)
            start(*next);
    }

    void read_group(group_in_work& g) {
        std::vector<std::uint64_t> places;
        g.mutex.lock();
        for (;;) {
            if (g.taken == g.queued) {
                if (g.all_queued)
                    break;
                g.reading = false;
            }
            if (!g.reading && !g.all_queued) {
                g.something_queued.wait(g.mutex);
                continue;
            }
            const std::uint32_t first = g.taken;
            g.taken += std::min(1 + below(p_.buffers_per_read), g.queued - first);
            const std::uint32_t end = g.taken;
            g.mutex.unlock();

            places.clear();
            for (std::uint32_t i = first; i < end; ++i)
                places.push_back(allocate(p_.buffer_pages));
            read();
            for (const std::uint64_t pages : places) {
                touch(pages, p_.buffer_pages);
                work(p_.parsing);
            }
            buffers_read_.add(end - first);

            g.mutex.lock();
            for (std::uint32_t i = first; i < end; ++i)
                g.read.push_back(i);
            if (g.starved) {
                g.starved = false;
                g.something_read.broadcast();
            }
        }
        g.mutex.unlock();
    }

    // Processing --------------------------------------------------------------------------------------------

    void process_segment(std::uint32_t first, std::uint32_t end) {
        group_in_work* g = &W::template make<group_in_work>(first, p_.read_ahead);
        start(*g);
        for (std::uint32_t number = first; number < end; ++number) {
            group_in_work* next = nullptr;
            if (number + 1 < end) {
                next = &W::template make<group_in_work>(number + 1, p_.read_ahead);
                start_after(*g, *next);
            }
            process(*g);
            W::join(g->controller);
            g = next;
        }
    }

    void process(group_in_work& g) {
        for (std::uint32_t done = 0; done < p_.buffers; ++done) {
            g.mutex.lock();
            while (g.read.empty()) {
                g.starved = true;
                g.something_read.wait(g.mutex);
            }
            const std::uint32_t buffer = g.read.back();
            g.read.pop_back();
            g.mutex.unlock();

            work(p_.processing);
            if (below(100) < p_.record_percent)
                touch(allocate(1), 1);
            checksum_.add(std::uint64_t{g.number} * p_.buffers + buffer + 1);
            buffers_processed_.add(1);
            g.may_queue.post();
        }
    }

    // What all phases do ------------------------------------------------------------------------------------

    // Has the heap grow by a buffer or record; gives its first page.
    std::uint64_t allocate(std::uint32_t pages) {
        cache_mutex_.lock();
        cache_mutex_.unlock();
        std::uint64_t first = 0;
        memory_.mprotect([&] { first = heap_.grow(pages); });
        return first;
    }

    void touch(std::uint64_t first, std::uint32_t pages) {
        for (std::uint64_t page = first; page < first + pages; ++page)
            memory_.fault([&] { heap_.touch(page); });
    }

    // One read; how large matters little to a device that is slow to begin with.
    void read() {
        const typename P::frame system_call{"sys_pread64"};
        W::compute(p_.submit, cpu_mode::system);
        storage_.transfer(std::uint64_t{4096} * p_.buffer_pages);
        reads_.add(1);
    }

    void work(nanoseconds duration) {
        const typename P::frame itself{"xfs_repair"};
        const auto span = static_cast<std::uint64_t>(duration.count()) * p_.jitter_percent / 100;
        const auto drawn = static_cast<std::int64_t>(W::random().below(2 * span + 1));
        W::compute(nanoseconds(duration.count() - static_cast<std::int64_t>(span) + drawn), cpu_mode::user);
    }

    // Calls body(i) for all i below `count`, from some threads at once.
    template <class Body>
    void in_parallel(std::uint32_t threads, std::uint32_t count, Body body) {
        auto& next = W::template make<typename P::template atomic<std::uint32_t>>(0u);
        std::vector<thread> started;
        for (std::uint32_t t = 0; t < std::min(threads, count); ++t) {
            started.push_back(W::spawn([&next, &body, count] {
                for (;;) {
                    const std::uint32_t i = next.fetch_add(1, std::memory_order_relaxed);
                    if (i >= count)
                        return;
                    body(i);
                }
            }));
        }
        join_all(started);
    }

    static void join_all(std::vector<thread>& threads) {
        for (thread& t : threads)
            W::join(t);
    }

    static std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(W::random().below(n)); }

    const repair_parameters p_;
    Heap& heap_;
    typename W::device& storage_;
    address_space<W>& memory_;
    futex_mutex<P>& cache_mutex_;
    counter& reads_;
    counter& buffers_read_;
    counter& buffers_processed_;
    counter& checksum_;
};

} // namespace holdfast
