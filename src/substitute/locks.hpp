// The locks that a program can be given in place of its own, by name.
#pragma once

#include <span>
#include <string_view>

#include "substitute/in_place.hpp"

namespace holdfast::substitute {

// A row: what becomes of the program's mutexes, and of its read-write locks.
struct lock_choice {
    std::string_view name;                    // as its users write it
    std::string_view what;                    // for people, a line
    const mutex_functions* mutex = nullptr;   // null: mutexes stay glibc's
    const rwlock_functions* rwlock = nullptr; // null: read-write locks stay glibc's
    // Kinds that those of glibc's have which were of the normal kind, or the default one.
    int mutex_kind = 0;
    unsigned rwlock_kind = 0;

    // Whether nothing changes.
    [[nodiscard]] bool is_nothing() const {
        return mutex == nullptr && rwlock == nullptr && mutex_kind == 0 && rwlock_kind == 0;
    }
};

std::span<const lock_choice> lock_choices();

// The lock of that name, with or without our namespace; null if there is none.
const lock_choice* find_lock_choice(std::string_view name);

} // namespace holdfast::substitute
