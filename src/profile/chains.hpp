// Wait-for chains: threads waited for lock A, whose holder meanwhile waited for B, whose holder waited for C.
//
// What the recording has of each place that waits for a lock: its stack, the stack with which the holder had taken the
// lock, and the call by which that holder let go (with its stack, where that was sampled too). It doesn't have which
// thread held what when. So this is inferred from the stacks, as one would by reading the code:
//
//   hold   The innermost function that is on the stacks both of taking the lock and of a sampled release of it, called
//          from the same places: it was running all the while, so the hold is a stretch of it. Of several releases
//          in that function, the one counts by which the wait ended.
//   inside A wait for another lock is inside the hold if its stack has that function too, called from the same places,
//          at a call that lies behind the one that took the lock and not behind the one that let go.
//
// "Behind" is by the addresses of the calls. Loops, and code that the compiler moved, can hide a link, or make one up
// between a lock and one that the same function takes in the other half of a loop.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/profile.hpp"

namespace holdfast::profile {

struct link {
    const lock* waited_for = nullptr;
    const site* longest = nullptr; // of the waits
    // Estimated. Of the first link, waits for holders that waited for the next one; of others, all waits by holders of
    // the link before.
    std::uint64_t ns = 0;
    std::uint64_t count = 0;
};

// At least two links; no lock twice.
using chain = std::vector<link>;

// Those of the profile, the one with the longest least link first; none whose locks are all in a longer one. Of
// each lock's places only those that waited longest are looked at, 1000 in all. The profile must outlive them.
std::vector<chain> chains_of(const profile& p);

} // namespace holdfast::profile
