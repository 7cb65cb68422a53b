// The ways into a lock, and what an attempt comes to.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace holdfast::torture {

enum class way : std::uint8_t {
    exclusive,
    try_exclusive,
    timed_exclusive,
    cancellable_exclusive,
    shared,
    try_shared,
    timed_shared,
    cancellable_shared,
    upgradable,
    try_upgradable,
    timed_upgradable,
    downgraded,
    nested,
    nested_shared,
    references
};

struct way_row {
    way how;
    const char* name;
    unsigned weight;   // how often it is chosen
    bool shared;       // its acquisitions count as shared ones
    bool waits_for_it; // without limit
};

inline constexpr std::array all_ways{
    way_row{way::exclusive, "exclusive", 6, false, true},
    way_row{way::try_exclusive, "try", 2, false, false},
    way_row{way::timed_exclusive, "timed", 3, false, false},
    way_row{way::cancellable_exclusive, "cancellable", 3, false, false},
    way_row{way::shared, "shared", 8, true, true},
    way_row{way::try_shared, "try shared", 3, true, false},
    way_row{way::timed_shared, "timed shared", 3, true, false},
    way_row{way::cancellable_shared, "cancellable shared", 3, true, false},
    way_row{way::upgradable, "upgradable", 3, false, true},
    way_row{way::try_upgradable, "try upgradable", 1, true, false},
    way_row{way::timed_upgradable, "timed upgradable", 2, true, false},
    way_row{way::downgraded, "exclusive, then shared", 2, false, true},
    way_row{way::nested, "exclusive, twice", 2, false, true},
    way_row{way::nested_shared, "shared, twice", 2, true, true},
    way_row{way::references, "references", 6, true, true},
};

inline const way_row& row_of(way how) {
    return all_ways[static_cast<std::size_t>(how)];
}

// Of an attempt: it had the lock, the lock was not free, the time was over, or it was cancelled.
enum class outcome : std::uint8_t { taken, in_vain, timed_out, cancelled };

} // namespace holdfast::torture
