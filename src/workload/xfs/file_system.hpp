// A metadata engine in the shape of XFS of 2021: allocation groups, inodes, directories, transactions over a log, and
// two ways to free an inode whose last link is gone, right away or in the background.
//
// To unlink is one transaction: the directory loses an entry, the inode its link, and as somebody may still use the
// inode, it goes onto one of its group's lists of unlinked inodes, so that a crash doesn't lose it. Once nobody uses it, it
// is *inactivated*, in another transaction: off the list, and free. Both change the group's header, and a
// transaction keeps the locks of what it has changed until it has committed. So the two meet at the header when they
// go on at the same time: at its head a list begins in the header; freeing counts there, and takes the inode off.
//
// Locks, in the order in which they are taken: directory, inode, the group's header, the list's own lock (only if
// inodes go to the tail), clusters by rising number, the trees of inodes, the directory's blocks. A list's lock without the
// header's is enough to put an inode behind another one, since nothing in the header changes then.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "workload/program.hpp"
#include "workload/xfs/allocation_group.hpp"
#include "workload/xfs/inodegc.hpp"
#include "workload/xfs/log.hpp"
#include "workload/xfs/transaction.hpp"

namespace holdfast::xfs {

// What the variants differ in.
struct settings {
    bool deferred = false;         // inodes are freed in the background
    bool log_list_per_cpu = false; // see log.hpp
    bool at_tail = false;          // newly unlinked inodes go to the tail of their list; false: to its head
    std::uint32_t lists = 64;      // of unlinked inodes, in a group
    bool back_links_in_inodes = false; // false: in a table that is looked up
    inodegc_settings gc{};
};

// How large the file system is. Directories lie in the groups in turn, files where their directories do.
struct geometry {
    std::uint32_t groups = 1;
    std::uint32_t directories = 1;
    std::uint32_t files = 1; // a directory
};

// What is below the structures: system time.
struct costs {
    nanoseconds lookup{};      // system call, path walk, the entry found
    nanoseconds read_inode{};  // copied from its cluster
    nanoseconds begin{};       // a transaction, besides its space in the log
    nanoseconds find_buffer{}; // in the cache, before its lock is taken
    nanoseconds remove_entry{};
    nanoseconds unlinked_list{}; // a change to a list
    nanoseconds back_link{};     // of that, one look into the table of back links
    nanoseconds free_inode{};    // in the tree of inodes
    nanoseconds evict{};         // a link's last user lets go, the inode's memory is given back
    nanoseconds change_mode{};
    std::uint32_t jitter_percent = 0; // of lookups: so much more or less, at most; below 100
    std::uint64_t cluster_bytes = 0;  // read from the device when a cluster's first inode is wanted
    device_limits device{};
    std::uint64_t reservation = 0; // bytes of log that a transaction asks for; at least what it logs
};

// An object of W::make. Made, started, used by any number of threads, stopped; started again to recover.
template <class W, template <class> class SpinLock>
class file_system {
    using P = typename W::platform;
    using frame = typename P::frame;
    using tx = transaction<W, SpinLock>;

public:
    using group = allocation_group<W, SpinLock>;
    using inode_type = inode<P, SpinLock>;
    using buffer_type = buffer<P, SpinLock>;
    using log_type = log<W, SpinLock>;
    using gc_type = inodegc<W, SpinLock>;

    struct directory {
        explicit directory(inode_type& i) : self(i) {}
        inode_type& self;
        buffer_type block;                // entries by place
        buffer_type leaf;                 // and by name
        std::vector<inode_type*> entries; // null: removed; guarded by the inode's lock
        std::vector<directory*> below;    // by entry, in the root only
    };

    file_system(const settings& s, const geometry& g, const costs& c, log_parameters l)
        : s_(s), c_(c), device_(W::template make<typename W::device>(c.device)) {
        l.list_per_cpu = s.log_list_per_cpu;
        log_ = &W::template make<log_type>(l);
        gc_ = &W::template make<gc_type>(s.gc, [this](inode_type& i) { inactivate(i); });
        groups_.reserve(g.groups);
        for (std::uint32_t i = 0; i < g.groups; ++i)
            groups_.push_back(&W::template make<group>(i, s.lists));
        root_ = &W::template make<directory>(groups_[0]->add_inode());
        for (std::uint32_t i = 0; i < g.directories; ++i) {
            group& in = *groups_[i % g.groups];
            directory& d = W::template make<directory>(in.add_inode());
            root_->entries.push_back(&d.self);
            root_->below.push_back(&d);
            for (std::uint32_t file = 0; file < g.files; ++file)
                d.entries.push_back(&in.add_inode());
        }
    }

    // Starts the workers. From now on the locks' owners decide who may touch what.
    void start() {
        log_->start();
        if (s_.deferred)
            gc_->start();
    }

    // Ends them, with all work done that there is; only with `stop_after` work is left. No call is under way or comes later.
    void stop() {
        if (s_.deferred)
            gc_->stop();
        log_->stop();
    }

    // From the commit of this number on, counted from now, no transaction begins any more: the machine has crashed, and what
    // was committed is on disk.
    void stop_after(std::uint64_t commits) { commits_left_.store(commits, std::memory_order_relaxed); }
    bool stopped() const { return commits_left_.load(std::memory_order_relaxed) == 0; }

    // Removes a file's name, and the file if nobody uses it.
    void unlink(directory& from, std::size_t entry) {
        const frame here{"do_unlinkat"};
        inode_type& i = look_up(from, entry);
        if (remove(from, entry))
            release(i);
    }

    // The same for a directory of the root, which is empty.
    void remove_directory(std::size_t entry) {
        const frame here{"do_rmdir"};
        inode_type& i = look_up(*root_, entry);
        if (remove(*root_, entry))
            release(i);
    }

    void change_mode(directory& of, std::size_t entry, std::uint32_t mode) {
        const frame here{"do_fchmodat"};
        inode_type& i = look_up(of, entry);
        if (!may_begin())
            return;
        const frame setting{"xfs_setattr_nonsize"};
        tx t(*log_, c_.reservation, c_.begin);
        lock(t, i);
        W::compute(c_.change_mode, cpu_mode::system);
        i.mode = mode;
        t.changed(i.item, inode_bytes);
        t.commit();
    }

    // Frees an unlinked inode. Nobody uses it.
    void inactivate(inode_type& i) {
        const frame here{"xfs_inactive"};
        if (!may_begin())
            return;
        tx t(*log_, c_.reservation, c_.begin);
        lock(t, i);
        t.changed(i.item, inode_bytes);
        const frame freeing{"xfs_ifree"};
        group& g = *groups_[i.group];
        read_header(t, g);
        remove_unlinked(t, g, i);
        {
            const frame in_tree{"xfs_difree"};
            read(t, g.inode_tree, "xfs_inobt_lookup");
            read(t, g.free_tree, "xfs_inobt_lookup");
            W::compute(c_.free_inode, cpu_mode::system);
        }
        i.allocated = false;
        ++i.times_freed;
        --g.allocated;
        ++g.free;
        t.changed(g.header.item, header_bytes);
        t.changed(g.inode_tree.item, block_bytes);
        t.changed(g.free_tree.item, block_bytes);
        t.commit();
    }

    // What a mount does after a crash: makes anew what was in memory only, and frees all inodes that are on lists
    // of unlinked ones. To be called after stop and start, by one thread.
    void recover() {
        commits_left_.store(never, std::memory_order_relaxed);
        for (group* const g : groups_) {
            std::fill(g->back_links.begin(), g->back_links.end(), no_inode);
            for (auto* const list : g->lists) {
                list->tail = no_inode;
                for (inode_number n = list->head; n != no_inode; n = g->inodes[n]->next_unlinked) {
                    g->back_links[n] = list->tail;
                    list->tail = n;
                }
            }
        }
        for (group* const g : groups_) {
            for (const auto* const list : g->lists) {
                while (list->head != no_inode)
                    inactivate(*g->inodes[list->head]);
            }
        }
    }

    directory& root() { return *root_; }
    const directory& root() const { return *root_; }
    const std::vector<group*>& groups() const { return groups_; }
    log_type& metadata_log() { return *log_; }
    const log_type& metadata_log() const { return *log_; }
    gc_type& gc() { return *gc_; }

private:
    // Bytes of an item, as logged.
    static constexpr std::uint32_t inode_bytes = 256;
    static constexpr std::uint32_t header_bytes = 128; // a buffer is logged by pieces of 128
    static constexpr std::uint32_t cluster_bytes = 128;
    static constexpr std::uint32_t block_bytes = 256;

    static constexpr std::uint64_t never = ~std::uint64_t{0};

    // False once the machine has crashed.
    bool may_begin() {
        std::uint64_t left = commits_left_.load(std::memory_order_relaxed);
        while (left != never && left != 0 &&
               !commits_left_.compare_exchange_weak(left, left - 1, std::memory_order_relaxed,
                                                    std::memory_order_relaxed)) {
        }
        return left != 0;
    }

    void lock(tx& t, inode_type& i) {
        i.lock.lock();
        t.join(i.lock);
    }

    // Locks a buffer, for `whom`, and has it read if it wasn't yet.
    void take(buffer_type& b, const char* whom) {
        const frame caller{whom};
        const frame here{"xfs_buf_read_map"};
        W::compute(c_.find_buffer, cpu_mode::system);
        b.lock.down();
        if (!b.valid) {
            const frame waiting{"xfs_buf_iowait"};
            device_.transfer(c_.cluster_bytes);
            b.valid = true;
        }
    }
    // The same, for a transaction.
    void read(tx& t, buffer_type& b, const char* whom) {
        if (t.has(b))
            return;
        take(b, whom);
        t.join(b);
    }
    void read_header(tx& t, group& g) { read(t, g.header, "xfs_read_agi"); }
    // One or two clusters, in their order; no_inode: none.
    void read_clusters(tx& t, group& g, inode_number a, inode_number b = no_inode) {
        for (const inode_number n : {std::min(a, b), std::max(a, b)}) {
            if (n != no_inode)
                read(t, g.cluster_of(n), "xfs_imap_to_bp");
        }
    }

    inode_type& look_up(directory& in, std::size_t entry) {
        const auto span = static_cast<std::uint64_t>(c_.lookup.count()) * c_.jitter_percent / 100;
        const auto drawn = static_cast<std::int64_t>(W::random().below(2 * span + 1));
        W::compute(c_.lookup + nanoseconds(drawn - static_cast<std::int64_t>(span)), cpu_mode::system);
        inode_type& i = *in.entries[entry];
        const frame here{"xfs_iget"};
        if (!i.read) { // by one thread only, as files have one name
            buffer_type& cluster = groups_[i.group]->cluster_of(i.number);
            take(cluster, "xfs_imap_to_bp");
            W::compute(c_.read_inode, cpu_mode::system);
            cluster.lock.up();
            i.read = true;
        }
        return i;
    }

    // False: the machine has crashed.
    bool remove(directory& from, std::size_t entry) {
        const frame here{"xfs_remove"};
        if (!may_begin())
            return false;
        tx t(*log_, c_.reservation, c_.begin);
        inode_type& i = *from.entries[entry];
        lock(t, from.self);
        lock(t, i);
        t.changed(from.self.item, inode_bytes);
        t.changed(i.item, inode_bytes);
        --i.links;
        add_unlinked(t, *groups_[i.group], i);
        {
            const frame removing{"xfs_dir_removename"};
            read(t, from.leaf, "xfs_da_read_buf");
            read(t, from.block, "xfs_da_read_buf");
            W::compute(c_.remove_entry, cpu_mode::system);
            from.entries[entry] = nullptr;
        }
        t.changed(from.leaf.item, block_bytes);
        t.changed(from.block.item, block_bytes);
        t.commit();
        return true;
    }

    // The last user lets go of an inode without links.
    void release(inode_type& i) {
        const frame here{"evict"};
        W::compute(c_.evict, cpu_mode::system);
        if (s_.deferred)
            gc_->add(i);
        else
            inactivate(i);
    }

    // Lists of unlinked inodes ------------------------------------------------------------------------------

    void charge_list(std::uint32_t table_looks) {
        W::compute(c_.unlinked_list + (s_.back_links_in_inodes ? 0 : table_looks) * c_.back_link,
                   cpu_mode::system);
    }

    void add_unlinked(tx& t, group& g, inode_type& i) {
        const frame here{"xfs_iunlink"};
        auto& list = g.list_of(i.number);
        if (s_.at_tail) {
            list.lock.lock();
            if (list.tail != no_inode) {
                t.join(list.lock);
                put_behind(t, g, list, i);
                return;
            }
            // The header is to change, and comes first.
            list.lock.unlock();
            read_header(t, g);
            lock_list(t, list);
            if (list.tail != no_inode) {
                put_behind(t, g, list, i);
                return;
            }
            list.tail = i.number;
        } else {
            read_header(t, g);
            if (list.head != no_inode) {
                read_clusters(t, g, i.number);
                i.next_unlinked = list.head;
                g.back_links[list.head] = i.number;
                t.changed(g.cluster_of(i.number).item, cluster_bytes);
            }
        }
        charge_list(1);
        list.head = i.number;
        t.changed(g.header.item, header_bytes);
    }

    template <class List>
    void lock_list(tx& t, List& list) {
        list.lock.lock();
        t.join(list.lock);
    }

    template <class List>
    void put_behind(tx& t, group& g, List& list, inode_type& i) {
        read_clusters(t, g, list.tail);
        charge_list(1);
        g.inodes[list.tail]->next_unlinked = i.number;
        g.back_links[i.number] = list.tail;
        t.changed(g.cluster_of(list.tail).item, cluster_bytes);
        list.tail = i.number;
    }

    // With the group's header.
    void remove_unlinked(tx& t, group& g, inode_type& i) {
        const frame here{"xfs_iunlink_remove"};
        auto& list = g.list_of(i.number);
        if (s_.at_tail)
            lock_list(t, list);
        const inode_number before = g.back_links[i.number];
        // Its own cluster, and that of the one before.
        read_clusters(t, g, i.number, before);
        const inode_number after = i.next_unlinked;
        charge_list(2);
        if (before == no_inode) {
            if (list.head != i.number)
                throw std::logic_error("xfs: an inode to be freed is on no list of unlinked ones");
            list.head = after;
        } else {
            g.inodes[before]->next_unlinked = after;
            t.changed(g.cluster_of(before).item, cluster_bytes);
        }
        if (after != no_inode)
            g.back_links[after] = before;
        else if (s_.at_tail)
            list.tail = before;
        i.next_unlinked = no_inode;
        g.back_links[i.number] = no_inode;
        t.changed(g.cluster_of(i.number).item, cluster_bytes);
    }

    const settings s_;
    const costs c_;
    typename W::device& device_;
    log_type* log_ = nullptr;
    gc_type* gc_ = nullptr;
    std::vector<group*> groups_;
    directory* root_ = nullptr;
    typename P::template atomic<std::uint64_t> commits_left_{never};
};

} // namespace holdfast::xfs
