// An allocation group: a part of a file system with its own inodes, their clusters, and a header (XFS: the AGI) that
// counts them and starts the lists of those that are unlinked but not freed yet.
//
// Some of it is what a crash leaves ("on disk": what transactions have logged), the rest is made anew by recovery:
//
//   on disk      inode: allocated, links, mode, next_unlinked; header: heads, allocated, free
//   in memory    back links and tails of the unlinked lists, whether a cluster was read, counts for the checker
//
// Who changes what holds: the header's buffer for the header and for whether an inode is allocated; an inode's
// cluster's buffer for its next_unlinked; the inode's lock for the rest of it. Back links and tails: the header's
// buffer, if new inodes go to the head of a list; the list's own lock, if they go to the tail.
#pragma once

#include <cstdint>
#include <vector>

#include <holdfast/kernel_mutex.hpp>
#include <holdfast/semaphore.hpp>

#include "workload/program.hpp"
#include "workload/xfs/log_item.hpp"

namespace holdfast::xfs {

// Number of an inode in its group.
using inode_number = std::uint32_t;
inline constexpr inode_number no_inode = ~inode_number{0};

inline constexpr std::uint32_t inodes_per_cluster = 32;

// A block of metadata in memory: a sleeping lock, and what transactions log of it.
template <class P, template <class> class SpinLock>
struct buffer {
    semaphore<P, SpinLock> lock{1};
    log_item<P> item;
    bool valid = true; // false: not read from the device yet; guarded by the lock
};

template <class P, template <class> class SpinLock>
struct inode {
    inode(std::uint32_t which_group, inode_number which) : group(which_group), number(which) {}

    kernel_mutex<P, kernel_mutex_presets::linux_4_10, SpinLock> lock;
    log_item<P> item;
    const std::uint32_t group;
    const inode_number number;

    // On disk.
    bool allocated = true;
    std::uint32_t links = 1;
    std::uint32_t mode = 0644;
    inode_number next_unlinked = no_inode;

    // In memory.
    bool read = false;             // from its cluster
    inode* next_queued = nullptr;  // for inactivation
    std::uint32_t times_freed = 0; // for the checker; guarded as `allocated` is
};

// An object of W::make.
template <class W, template <class> class SpinLock>
struct allocation_group {
    using P = typename W::platform;
    using inode_type = inode<P, SpinLock>;
    using buffer_type = buffer<P, SpinLock>;

    // A list of unlinked inodes.
    struct unlinked_list {
        kernel_mutex<P, kernel_mutex_presets::linux_4_10, SpinLock> lock; // unused if inodes go to the head
        inode_number head = no_inode;                                     // on disk, in the header
        inode_number tail = no_inode;                                     // in memory
    };

    explicit allocation_group(std::uint32_t which, std::uint32_t list_count) : number(which) {
        lists.reserve(list_count);
        for (std::uint32_t i = 0; i < list_count; ++i)
            lists.push_back(&W::template make<unlinked_list>());
    }

    // One more inode, allocated, of `links` links. Only while the file system is being made.
    inode_type& add_inode() {
        const auto at = static_cast<inode_number>(inodes.size());
        if (at % inodes_per_cluster == 0) {
            clusters.push_back(&W::template make<buffer_type>());
            clusters.back()->valid = false;
        }
        inodes.push_back(&W::template make<inode_type>(number, at));
        back_links.push_back(no_inode);
        ++allocated;
        return *inodes.back();
    }

    buffer_type& cluster_of(inode_number of) { return *clusters[of / inodes_per_cluster]; }
    unlinked_list& list_of(inode_number of) { return *lists[of % lists.size()]; }

    const std::uint32_t number;
    buffer_type header;
    buffer_type inode_tree; // which inodes are allocated
    buffer_type free_tree;  // clusters that have free ones
    std::uint64_t allocated = 0;
    std::uint64_t free = 0;
    std::vector<unlinked_list*> lists;
    std::vector<inode_number> back_links; // of unlinked inodes: the one before in its list; no_inode: none
    std::vector<inode_type*> inodes;
    std::vector<buffer_type*> clusters;
};

} // namespace holdfast::xfs
