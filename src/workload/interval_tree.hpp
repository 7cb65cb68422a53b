// A tree of intervals that threads share under a lock of theirs, with its nodes in the world's memory: a walk
// through it costs what the cache lines on its way cost.
//
// After the tree in which Linux keeps the mappings of a page's family (anon_vma, since 3.8): ordered by where
// intervals begin, each node knowing how far its subtree reaches. There it is a red-black tree; here a treap,
// which is as deep (about 1.4 times the binary logarithm, on average) and much shorter: a heap by random
// priorities, a search tree by beginnings (Aragon and Seidel 1989). Of equal beginnings the later insertion
// comes later, as there.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "workload/program.hpp"

namespace holdfast {

// An object of W::make. All its functions are for one thread at a time; contains_overlap for several if no
// other runs.
template <class W>
class interval_tree {
    template <class T>
    using var = typename W::platform::template var<T>;

public:
    // An interval [begin, last], in one cache line where lines have 64 bytes. An object of W::make; whoever
    // made it keeps it for the next insertion when it is erased.
    class node {
    public:
        explicit node(std::uint64_t priority) : priority_(static_cast<std::uint32_t>(priority)) {}

    private:
        friend class interval_tree;
        var<std::uint64_t> begin_{0};
        var<std::uint64_t> last_{0};
        var<std::uint64_t> reach_{0}; // the largest `last` of the subtree
        var<std::uint64_t> order_{0}; // of insertion, among equal beginnings
        var<node*> low_{nullptr};
        var<node*> high_{nullptr};
        const std::uint32_t priority_; // larger ones are nearer to the root
    };

    // Inserts a node that is in no tree. begin <= last.
    void insert(node& n, std::uint64_t begin, std::uint64_t last) {
        n.begin_.set(begin);
        n.last_.set(last);
        n.order_.set(++insertions_);
        var<node*>* place = &root_;
        for (node* at = place->get(); at != nullptr && at->priority_ >= n.priority_; at = place->get()) {
            if (at->reach_.get() < last)
                at->reach_.set(last);
            place = before(*at, n) ? &at->high_ : &at->low_;
        }
        split(place->get(), n, n.low_, n.high_);
        place->set(&n);
        refresh(n);
        ++size_;
    }

    // Takes out a node that is in this tree.
    void erase(node& n) {
        path_.clear();
        var<node*>* place = &root_;
        for (node* at = place->get(); at != &n; at = place->get()) {
            path_.push_back(at);
            place = before(*at, n) ? &at->high_ : &at->low_;
        }
        merge(*place, n.low_.get(), n.high_.get());
        for (auto above = path_.rbegin(); above != path_.rend() && refresh(**above);)
            ++above;
        --size_;
    }

    // Whether some interval has a point in common with [begin, last].
    bool contains_overlap(std::uint64_t begin, std::uint64_t last) const {
        const node* at = root_.get();
        while (at != nullptr && at->reach_.get() >= begin) {
            const std::uint64_t at_begin = at->begin_.get();
            if (at_begin <= last && at->last_.get() >= begin)
                return true;
            const node* const low = at->low_.get();
            // If nothing before `at` reaches `begin`, only what comes after it can.
            at = low != nullptr && low->reach_.get() >= begin ? low : at->high_.get();
        }
        return false;
    }

    std::uint64_t size() const { return size_; }

private:
    static bool before(const node& a, const node& b) {
        const std::uint64_t x = a.begin_.get();
        const std::uint64_t y = b.begin_.get();
        return x != y ? x < y : a.order_.get() < b.order_.get();
    }

    // Computes how far the subtree of `n` reaches. False: it was known.
    static bool refresh(node& n) {
        std::uint64_t reach = n.last_.get();
        for (const node* child : {n.low_.get(), n.high_.get()})
            reach = child != nullptr ? std::max(reach, child->reach_.get()) : reach;
        if (n.reach_.get() == reach)
            return false;
        n.reach_.set(reach);
        return true;
    }

    // Parts the subtree of `at`: what comes before `n` goes to `low`, the rest to `high`.
    static void split(node* at, const node& n, var<node*>& low, var<node*>& high) {
        if (at == nullptr) {
            low.set(nullptr);
            high.set(nullptr);
        } else if (before(*at, n)) {
            low.set(at);
            split(at->high_.get(), n, at->high_, high);
            refresh(*at);
        } else {
            high.set(at);
            split(at->low_.get(), n, low, at->low_);
            refresh(*at);
        }
    }

    // Puts two subtrees, all of `low` before all of `high`, at `place` as one.
    static void merge(var<node*>& place, node* low, node* high) {
        if (low == nullptr || high == nullptr) {
            place.set(low == nullptr ? high : low);
        } else if (low->priority_ > high->priority_) {
            place.set(low);
            merge(low->high_, low->high_.get(), high);
            refresh(*low);
        } else {
            place.set(high);
            merge(high->low_, low, high->low_.get());
            refresh(*high);
        }
    }

    var<node*> root_{nullptr};
    // The lock's holder's, at no cost: they stand for what it has in registers.
    std::uint64_t insertions_ = 0;
    std::uint64_t size_ = 0;
    std::vector<node*> path_;
};

} // namespace holdfast
