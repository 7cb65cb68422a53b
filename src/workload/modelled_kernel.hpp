// Those parts of a kernel where the processes of many users meet: locks, and the data behind them where it
// matters how long it takes to work on.
//
//   root_anon_vma   A process's private mappings are in trees of intervals that began with those of the first
//                   ancestor, each tree with a read-write lock: fork inserts the child's mappings, exit
//                   erases them. So all users that one parent has forked meet there.
//   i_mmap          A file's mappings, by a sleeping mutex.
//   directory       A directory's entries, by a sleeping mutex.
//   dentry          A reference count that lookups get and put.
//   page lists      The pages in use (LRU), a spinlock for each memory node. New pages go there by the vector
//                   (pagevec): each CPU collects some and takes the lock once; pages that are given back go
//                   by the vector, too.
//   journal         A read-write lock: transactions share it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include <holdfast/kernel_mutex.hpp>
#include <holdfast/ticket_lock.hpp>

#include "workload/interval_tree.hpp"
#include "workload/named_locks.hpp"
#include "workload/program.hpp"

namespace holdfast {

// How many there are of what, at least one each, and what working on it costs.
struct kernel_parameters {
    std::uint32_t roots = 1;
    std::uint32_t mappings = 1; // private ones of a process; they go to the roots in turn
    std::uint32_t files = 1;
    std::uint32_t directories = 1;
    std::uint32_t dentries = 1;
    std::uint32_t journals = 1;
    std::uint32_t memory_nodes = 1; // of as many CPUs each, in the order of their numbers
    std::uint32_t pagevec = 1;      // pages
    nanoseconds page_fault{};       // taking a page into use, without its list's lock
    nanoseconds page_release{};     // giving one back, without that lock
    nanoseconds page_listed{};      // with that lock, a page
    device_limits disk{};
};

// An object of W::make.
template <class W>
class modelled_kernel {
    using P = typename W::platform;
    using frame = typename P::frame;

public:
    using tree = interval_tree<W>;
    using node = typename tree::node;

    struct anon_vma {
        explicit anon_vma(rw_lock& l) : lock(l) {}
        rw_lock& lock;
        tree mappings;
    };
    using mutex = kernel_mutex<P, kernel_mutex_presets::linux_3_12>;

    // Pages in use, by memory node; a process's.
    using pages = std::vector<std::uint64_t>;

    modelled_kernel(const kernel_parameters& p, const named<rw_lock>& rw,
                    const named<reference_count>& reference)
        : disk(W::template make<typename W::device>(p.disk)), p_(p) {
        for (std::uint32_t i = 0; i < p.roots; ++i)
            roots.push_back(&W::template make<anon_vma>(rw.make()));
        fill(files, p.files);
        fill(directories, p.directories);
        for (std::uint32_t i = 0; i < p.dentries; ++i)
            dentries.push_back(&reference.make());
        for (std::uint32_t i = 0; i < p.journals; ++i)
            journals.push_back(&rw.make());
        fill(page_lists_, p.memory_nodes);
        fill(collected_, W::cpu_count());
    }

    // Takes pages into use for a process.
    void fault(pages& of, std::uint64_t count) {
        const frame fault{"page_fault"};
        of.resize(p_.memory_nodes);
        while (count > 0) {
            const std::uint64_t some = std::min<std::uint64_t>(count, p_.pagevec);
            count -= some;
            W::compute(p_.page_fault * some, cpu_mode::system);
            const typename P::no_preempt here;
            const std::uint32_t memory_node = node_of(P::cpu());
            of[memory_node] += some;
            auto& collected = *collected_[P::cpu()];
            if (collected.fetch_add(static_cast<std::uint32_t>(some), std::memory_order_relaxed) + some >=
                p_.pagevec) {
                const std::uint32_t all = collected.exchange(0, std::memory_order_relaxed);
                list(memory_node, all, "pagevec_lru_move_fn");
            }
        }
    }

    // Gives up to so many of a process's pages back.
    void release(pages& of, std::uint64_t count) {
        for (std::uint32_t memory_node = 0; memory_node < of.size(); ++memory_node) {
            while (of[memory_node] > 0 && count > 0) {
                const std::uint64_t some = std::min({of[memory_node], count, std::uint64_t{p_.pagevec}});
                of[memory_node] -= some;
                count -= some;
                {
                    const frame zap{"zap_pte_range"};
                    W::compute(p_.page_release * some, cpu_mode::system);
                }
                list(memory_node, some, "release_pages");
            }
        }
    }

    std::vector<anon_vma*> roots;
    std::vector<mutex*> files;
    std::vector<mutex*> directories;
    std::vector<reference_count*> dentries;
    std::vector<rw_lock*> journals;
    typename W::device& disk;

private:
    template <class T>
    static void fill(std::vector<T*>& objects, std::uint32_t count) {
        for (std::uint32_t i = 0; i < count; ++i)
            objects.push_back(&W::template make<T>());
    }

    std::uint32_t node_of(std::uint32_t cpu) const { return cpu * p_.memory_nodes / W::cpu_count(); }

    // Moves pages in or out of a memory node's list.
    void list(std::uint32_t memory_node, std::uint64_t count, const char* what) {
        const frame moving{what};
        ticket_lock<P>& lock = *page_lists_[memory_node];
        lock.lock();
        W::compute(p_.page_listed * count, cpu_mode::system);
        lock.unlock();
    }

    const kernel_parameters p_;
    std::vector<ticket_lock<P>*> page_lists_;
    std::vector<typename P::template atomic<std::uint32_t>*> collected_; // pages, by CPU
};

} // namespace holdfast
