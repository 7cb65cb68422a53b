// When each CPU has its next event: a winner tree with one leaf a CPU.
//
// A CPU has at most one event outstanding, so the queue never grows and nothing is allocated. Equal times go by CPU
// number, so the order is total and the same on every host. A prototype measured trees, heaps and wheels: trees and flat
// groups were the fastest for contended locks.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace holdfast::sim {

// A moment and who acts then, as one number that orders by time first. Time has 54 bits, a little more than 5 hours in
// picoseconds; what comes later than 5 hours is set to their end, where a run gives up.
class event_key {
public:
    static constexpr unsigned slot_bits = 10;
    static constexpr std::uint64_t never = ~std::uint64_t{0};
    static constexpr std::int64_t last = 5 * 3'600 * 1'000'000'000'000; // that a run may reach
    static constexpr std::int64_t end = last + 1;

    // `time` is at most `end`.
    static constexpr std::uint64_t make(std::int64_t time, std::uint32_t slot) {
        return (static_cast<std::uint64_t>(time) << slot_bits) | slot;
    }
    static constexpr std::int64_t time(std::uint64_t key) {
        return static_cast<std::int64_t>(key >> slot_bits);
    }
    static constexpr std::uint32_t slot(std::uint64_t key) {
        return static_cast<std::uint32_t>(key & ((std::uint64_t{1} << slot_bits) - 1));
    }
};

class event_queue {
public:
    explicit event_queue(std::uint32_t slots)
        : leaves_(std::bit_ceil(std::max(slots, 2u))), tree_(2 * std::size_t{leaves_}, event_key::never) {}

    // The earliest event's key, or event_key::never.
    std::uint64_t first() const { return tree_[1]; }

    void set(std::uint32_t slot, std::int64_t time) {
        update(slot, event_key::make(std::min(time, event_key::end), slot));
    }
    void clear(std::uint32_t slot) { update(slot, event_key::never); }

    // The time set for a slot; meaningless if none is.
    std::int64_t time_of(std::uint32_t slot) const { return event_key::time(tree_[leaves_ + slot]); }

private:
    void update(std::uint32_t slot, std::uint64_t key) {
        std::uint64_t* const tree = tree_.data();
        std::size_t at = leaves_ + slot;
        tree[at] = key;
        while (at > 1) {
            const std::uint64_t winner = std::min(tree[at], tree[at ^ 1]);
            at /= 2;
            if (tree[at] == winner)
                return;
            tree[at] = winner;
        }
    }

    std::uint32_t leaves_;
    std::vector<std::uint64_t> tree_;
};

} // namespace holdfast::sim
