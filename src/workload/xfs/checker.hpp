// Walks a file system's structures while nobody uses it, and says what is wrong with them.
//
// What must hold, whatever has happened before:
//
//   entries     each names an allocated inode with one link, and no inode has two names
//   lists       each has inodes of its own group and of its own number only, allocated, without links, each once, and ends
//   back links  each inode on a list links to the one before it, all others to none; tails are the last
//   inodes      an allocated inode has a name or is on a list, else it was freed exactly once
//   counts      allocated and free ones of each group add up to its inodes
//   log         no space is reserved, nothing is left in the list
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/xfs/file_system.hpp"

namespace holdfast::xfs {

struct check_report {
    std::vector<std::string> faults; // empty: all is well
    std::uint64_t named = 0;         // inodes with a name
    std::uint64_t unlinked = 0;      // on lists
    std::uint64_t freed = 0;
};

// To be called after file_system::stop. `tails`: inodes go to the tails, so these are kept up.
template <class W, template <class> class SpinLock>
class checker {
    using fs_type = file_system<W, SpinLock>;
    using group = typename fs_type::group;

public:
    static check_report check(const fs_type& fs, bool tails) {
        checker all(fs, tails);
        return all.check();
    }

private:
    checker(const fs_type& fs, bool tails) : fs_(fs), tails_(tails) {
        names_.resize(fs.groups().size());
        listed_.resize(fs.groups().size());
        for (const group* const g : fs.groups()) {
            names_[g->number].resize(g->inodes.size());
            listed_[g->number].resize(g->inodes.size());
        }
    }

    check_report check() {
        names_[fs_.root().self.group][fs_.root().self.number] = 1;
        count_names(fs_.root());
        for (const auto* const below : fs_.root().below)
            count_names(*below);
        for (const group* const g : fs_.groups())
            check_group(*g);
        expect(fs_.metadata_log().reserved() == 0,
               "log: space is still reserved: ", fs_.metadata_log().reserved());
        expect(fs_.metadata_log().used() == 0, "log: bytes were not written: ", fs_.metadata_log().used());
        return report_;
    }

    void expect(bool holds, const char* what, std::uint64_t which) {
        if (!holds && report_.faults.size() < most_faults)
            report_.faults.push_back(what + std::to_string(which));
    }

    void count_names(const typename fs_type::directory& d) {
        for (const auto* const i : d.entries) {
            if (i != nullptr)
                ++names_[i->group][i->number];
        }
    }

    void check_group(const group& g) {
        for (std::size_t l = 0; l < g.lists.size(); ++l)
            walk(g, l);
        std::uint64_t allocated = 0;
        for (const auto* const i : g.inodes) {
            const std::uint32_t names = names_[g.number][i->number];
            const std::uint32_t lists = listed_[g.number][i->number];
            expect(names <= 1, "inode has more than one name: ", i->number);
            expect(names == 0 || i->allocated, "name of a free inode: ", i->number);
            expect(names == i->links, "inode's links are not its names: ", i->number);
            expect(!i->allocated || names + lists == 1,
                   "inode has neither a name nor a list, or both: ", i->number);
            expect(i->times_freed == (i->allocated ? 0u : 1u),
                   "inode was not freed exactly once: ", i->number);
            if (lists == 0) {
                expect(i->next_unlinked == no_inode, "inode on no list has a next: ", i->number);
                expect(g.back_links[i->number] == no_inode, "inode on no list has a back link: ", i->number);
            }
            allocated += i->allocated ? 1 : 0;
            report_.named += names;
            report_.unlinked += lists;
            report_.freed += i->allocated ? 0 : 1;
        }
        expect(g.allocated == allocated, "group's count of allocated inodes is wrong: ", g.number);
        expect(g.free == g.inodes.size() - allocated, "group's count of free inodes is wrong: ", g.number);
    }

    void walk(const group& g, std::size_t l) {
        const auto& list = *g.lists[l];
        inode_number before = no_inode;
        inode_number n = list.head;
        while (n != no_inode) {
            if (n >= g.inodes.size() || n % g.lists.size() != l) {
                expect(false, "list has an inode that does not belong there: ", n);
                return;
            }
            const auto& i = *g.inodes[n];
            if (listed_[g.number][n]++ != 0) {
                expect(false, "inode is on lists twice: ", n);
                return; // it may be a ring
            }
            expect(i.allocated && i.links == 0, "inode on a list is free or has a link: ", n);
            expect(g.back_links[n] == before, "inode's back link is wrong: ", n);
            before = n;
            n = i.next_unlinked;
        }
        if (tails_)
            expect(list.tail == before, "list's tail is not its last: ", l);
    }

    static constexpr std::size_t most_faults = 20;

    const fs_type& fs_;
    const bool tails_;
    // By group and inode.
    std::vector<std::vector<std::uint32_t>> names_;
    std::vector<std::vector<std::uint32_t>> listed_;
    check_report report_;
};

} // namespace holdfast::xfs
