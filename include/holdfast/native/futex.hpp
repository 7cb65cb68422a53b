// Sleeping until a word changes: the two futex calls that parking needs, on words of this process only, and
// the token that park and unpark exchange (clause G). And a look at a word that may be gone.
#pragma once

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <optional>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <holdfast/native/deadline.hpp>
#include <holdfast/native/preserved_errno.hpp>

namespace holdfast::os {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t),
              "the kernel takes the word's address");

// Sleeps while `word` is `expected`, until a wake, a signal or the deadline, whichever comes first; the
// caller looks at the word and the clock to see which. Leaves errno alone.
inline void futex_wait(const std::atomic<std::uint32_t>& word, std::uint32_t expected,
                       const deadline& until) {
    const preserved_errno errno_now;
    const std::optional<timespec> moment = until.absolute();
    // WAIT_BITSET, because its time is absolute, on CLOCK_MONOTONIC.
    syscall(SYS_futex, &word, FUTEX_WAIT_BITSET_PRIVATE, expected, moment ? &*moment : nullptr, nullptr,
            FUTEX_BITSET_MATCH_ANY);
}

// Wakes one sleeper of `word`, if there is one. The word need not exist any more. Leaves errno alone.
inline void futex_wake(const std::atomic<std::uint32_t>& word) {
    const preserved_errno errno_now;
    syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Compares the word at an address, where there may be anything or nothing, with a value: so it is the kernel that looks. 0: the
// same; EAGAIN: another; EFAULT: no memory. Orders nothing. Costs a system call of the cheapest kind; leaves errno alone.
inline int futex_compare(const void* word, std::uint32_t value) {
    const preserved_errno errno_now;
    // Requeues no waiter from the word to itself, if it has the value.
    return syscall(SYS_futex, word, FUTEX_CMP_REQUEUE_PRIVATE, 0, nullptr, word, value) == 0 ? 0 : errno;
}

// One thread's token.
//
//   state     | park                              | unpark
//   empty     | becomes parked, sleeps            | becomes token
//   token     | becomes empty, returns at once    | stays
//   parked    | (the thread is asleep in park)    | becomes token, wakes
//
// All zeros is a valid, empty one.
class parker {
    static constexpr std::uint32_t empty = 0;
    static constexpr std::uint32_t token = 1;
    static constexpr std::uint32_t parked = empty - 1;

public:
    // Called by the thread itself. True: there was a token, and it is used up. False: the deadline passed
    // first.
    bool park(const deadline& until) {
        // token to empty, empty to parked. acquire: pairs with the release in unpark.
        if (word_.fetch_sub(1, std::memory_order_acquire) == token)
            return true;
        for (;;) {
            futex_wait(word_, parked, until);
            std::uint32_t expected = token;
            // acquire: pairs with the release in unpark.
            if (word_.compare_exchange_strong(expected, empty, std::memory_order_acquire,
                                              std::memory_order_relaxed))
                return true;
            // acquire: as above, for a token that came after the deadline but before we leave.
            if (until.expired())
                return word_.exchange(empty, std::memory_order_acquire) == token;
        }
    }

    // Called by anybody.
    void unpark() {
        // release: pairs with the acquire in park.
        if (word_.exchange(token, std::memory_order_release) == parked)
            futex_wake(word_);
    }

    // For the next thread to use the parker: forgets a token.
    void reset() { word_.store(empty, std::memory_order_relaxed); }

private:
    std::atomic<std::uint32_t> word_{empty};
};

} // namespace holdfast::os
