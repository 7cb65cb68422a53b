// Which lock this process's locks become, and for each lock whether it does.
#pragma once

#include <atomic>
#include <cstdint>

#include "substitute/in_place.hpp"
#include "substitute/in_place_condition.hpp"
#include "substitute/locks.hpp"

namespace holdfast::substitute {

// A page that the kernel wipes in a child, however it was forked. 0: not begun; the first lock used begins.
struct alignas(4096) epoch_page {
    std::atomic<std::uint32_t> epoch;
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit
extern constinit epoch_page process;
// Valid once the process has begun: all pass through, unless the environment says otherwise.
extern constinit const lock_choice* chosen;
// NOLINTEND(bugprone-dynamic-static-initializers)

// The slow half of is_ours: decides of a lock that nobody has decided of, and makes those again that are from before a fork.
// `pc`: the caller's, where the lock is initialised or used first.
bool settle(mutex_bytes& mutex, const void* pc);
bool settle(rwlock_bytes& lock, const void* pc);

// Whether the lock is ours and ready to be used.
template <class Bytes>
[[gnu::always_inline]] inline bool is_ours(Bytes& lock, const void* pc) {
    // acquire: pairs with the release in settle: who sees it made sees the lock.
    const std::uint32_t made = lock.made.load(std::memory_order_acquire);
    // relaxed: this thread, or one that it has synchronised with, has begun.
    if (made == ~process.epoch.load(relaxed)) [[likely]]
        return true;
    return (made & upper_half) != left_to_glibc && settle(lock, pc);
}

// Makes the condition ours, if it isn't.
void take_over(condition_bytes& condition);

// Whether somebody may wait for the condition as ours. False: glibc knows who waits.
inline bool is_ours(const condition_bytes& condition) {
    return (condition.marks.load(relaxed) & condition_bytes::ours) != 0;
}

// Whether it was made in this process; if not, nobody waits.
inline bool is_of_now(const condition_bytes& condition) {
    // acquire: pairs with the release in take_over.
    return condition.made.load(std::memory_order_acquire) == ~process.epoch.load(relaxed);
}

} // namespace holdfast::substitute
