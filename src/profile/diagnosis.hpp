// The verdict: whether locks hold the program back, which one to look at first, and what kind of trouble it is.
#pragma once

#include <vector>

#include "profile/chains.hpp"
#include "profile/profile.hpp"

namespace holdfast::profile {

enum class trouble {
    none,           // nobody waited
    held_long,      // one thread holds it, another waits that long
    convoy,         // most acquisitions queue behind others
    writers_starve, // writers wait for one reader after another
    allocator,      // most of the waiting is inside malloc, free and their like
};

struct diagnosis {
    bool locks_hold_it_back = false;
    const lock* first = nullptr; // to look at; null: nobody waited for a lock
    trouble what = trouble::none;
    std::vector<chain> chains;
    // If `first` isn't the lock that was waited for longest: that is the first link of this chain, and `first` its link
    // number `depth`. Null otherwise.
    const chain* through = nullptr;
    std::size_t depth = 0;

    diagnosis() = default;
    diagnosis(diagnosis&&) = default; // chains stay where they are
    diagnosis& operator=(diagnosis&&) = default;
};

// Refers to the profile. The rules, on estimates where the recording has estimates:
//   - Locks hold it back if waits for them take bad_share of busy thread time.
//   - First is the lock that was waited for longest; but if for half of the time that it is held its holders wait for
//     another one (chains_of), that one, and so on.
//   - writers_starve: most waiting is writers', who wait at least twice as long as readers hold it, on average.
//   - convoy: half of all acquisitions waited, half went to another thread than the one before, and at least two
//     threads queued at once.
diagnosis diagnose(const profile& p);

// The estimated share of the time that the link's lock was held in which its holders waited for the next one; at most
// 1. A lock that shared or alone was held for longer than the recording, or of which no hold was timed, was held all
// the time.
double inner_share(const profile& p, const link& outer, const link& inner);

} // namespace holdfast::profile
