// Sees threads that don't get on.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include <sys/types.h>

#include "torture/board.hpp"

namespace holdfast::torture {

// Two verdicts. The quick one is sure, as nobody is left who could change anything: the process is quiet, its own thread
// beats, all threads pause or wait for a lock that nobody has, and those who wait either sleep in the kernel without having
// been switched to even once, or have been awake a hundred times and seen nothing new. The slow one is a long time without
// any step of anybody.
//
// Time is that of the supervisor's ticks: when the machine stands still, so does the clock.
class watchdog {
public:
    watchdog(pid_t process, const board& shown, std::uint32_t threads, std::chrono::nanoseconds asleep,
             std::chrono::nanoseconds stuck)
        : process_(process), board_(shown), threads_(threads), asleep_after_(asleep), stuck_after_(stuck) {}

    // So much time has gone by. What is wrong; "" if nothing is.
    std::string look(std::chrono::nanoseconds passed);

private:
    struct activity {
        bool sleeps = false;
        std::uint64_t voluntary = 0; // switches
        std::uint64_t switches = 0;  // of all kinds
    };

    [[nodiscard]] std::uint64_t steps() const;
    [[nodiscard]] bool only_waiters_left() const;
    [[nodiscard]] std::string lost_ones();
    [[nodiscard]] std::string everybody() const;
    [[nodiscard]] std::map<std::uint32_t, activity> waiters() const;

    pid_t process_;
    const board& board_;
    std::uint32_t threads_;
    std::chrono::nanoseconds asleep_after_;
    std::chrono::nanoseconds stuck_after_;
    std::uint64_t last_steps_ = 0;
    std::chrono::nanoseconds without_step_{};
    // Of those who wait, since only they are left: how often each was awake when that began, and the rest as seen last.
    std::map<std::uint32_t, activity> seen_;
    std::uint64_t seen_beats_ = 0;
    std::chrono::nanoseconds since_seen_{};
};

} // namespace holdfast::torture
