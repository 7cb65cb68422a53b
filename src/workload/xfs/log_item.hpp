// What a transaction logs of a buffer or an inode, and the lists that such items are in between their commit and
// the checkpoint that writes them.
#pragma once

#include <cstdint>

#include <holdfast/platform.hpp>

namespace holdfast::xfs {

// Everything but the links is guarded by the lock of what the item is of.
template <class P>
struct log_item {
    typename P::template var<log_item*> previous{nullptr}; // guarded by the list's lock
    typename P::template var<log_item*> next{nullptr};
    std::uint64_t checkpoint = 0; // the last that it is part of; 0: none
    std::uint32_t bytes = 0;      // formatted for that checkpoint
};

// Items in the order in which they were put in. All calls need the list's lock.
template <class P>
class item_list {
public:
    using item = log_item<P>;

    item_list() {
        end_.next.set(&end_);
        end_.previous.set(&end_);
    }
    item_list(const item_list&) = delete;
    item_list& operator=(const item_list&) = delete;

    void append(item& i) {
        item* const last = end_.previous.get();
        i.previous.set(last);
        i.next.set(&end_);
        last->next.set(&i);
        end_.previous.set(&i);
    }

    void remove(item& i) {
        item* const before = i.previous.get();
        item* const after = i.next.get();
        before->next.set(after);
        after->previous.set(before);
    }

    // Empties the list; gives how many there were.
    std::uint64_t take_all() {
        std::uint64_t count = 0;
        for (const item* i = end_.next.get(); i != &end_; i = i->next.get())
            ++count;
        end_.next.set(&end_);
        end_.previous.set(&end_);
        return count;
    }

private:
    item end_;
};

} // namespace holdfast::xfs
