// How a thread waits for memory to change when it doesn't sleep for it, and for how long it may.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include <sched.h>

#include <holdfast/native/deadline.hpp>
#include <holdfast/native/futex.hpp>

namespace holdfast::os {

// Tells the CPU that the thread has nothing to do for a moment.
inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    // `yield` does nothing on most cores; an isb waits about as long as an x86 pause.
    asm volatile("isb" ::: "memory");
#else
    asm volatile("" ::: "memory");
#endif
}

// One thread's wait. At first it pauses only: whom we wait for is running, we hope, and soon done. Then it
// offers its CPU to others, since that thread may be one that is ready to run on it; and since an offer is
// declined if nobody waits on this CPU, or only somebody of lower priority, it sleeps in the end, longer each
// time.
class spinner {
    static constexpr std::uint32_t pauses_before_yielding = 1000; // 10 to 50 us
    static constexpr std::uint32_t yields_before_sleeping =
        1000; // a fair lock's queue of 140 moves on by yields
    static constexpr std::chrono::microseconds first_sleep{50};
    static constexpr std::chrono::microseconds longest_sleep{1000};

public:
    // May it sleep? Not if it is to look at the clock meanwhile.
    explicit spinner(bool may_sleep) : may_sleep_(may_sleep) {}

    // Whether the next relax() gives the CPU away, or sleeps.
    [[nodiscard]] bool yields() const { return paused_ >= pauses_before_yielding; }

    // Spends the time between two looks, `pauses` pauses as long as pausing is what it does.
    void relax(std::uint32_t pauses) {
        if (!yields()) {
            paused_ += pauses + 1;
            for (std::uint32_t i = 0; i < pauses; ++i)
                pause();
        } else if (!may_sleep_ || yielded_ < yields_before_sleeping) {
            ++yielded_;
            sched_yield();
        } else {
            // On a word that nobody wakes: unlike nanosleep that is no point of cancellation, where a thread would end
            // while it stands in a queue.
            const std::atomic<std::uint32_t> nobodys{0};
            futex_wait(nobodys, 0, deadline::after(sleep_));
            sleep_ = std::min(2 * sleep_, longest_sleep);
        }
    }

private:
    bool may_sleep_;
    std::uint32_t paused_ = 0;
    std::uint32_t yielded_ = 0;
    std::chrono::microseconds sleep_ = first_sleep;
};

// How long the calling thread has been spinning within its outermost spin_budget object. A program can't know
// whether somebody else wants its CPU; 3 ms is what a thread gets at least, on most kernels, when somebody
// does.
class [[gnu::visibility("default")]] spin_budget {
    using clock = std::chrono::steady_clock;
    static constexpr std::chrono::milliseconds allowed{3};

public:
    spin_budget() {
        if (depth++ == 0)
            since = clock::time_point::max();
    }
    ~spin_budget() {
        --depth;
    }
    spin_budget(const spin_budget&) = delete;
    spin_budget& operator=(const spin_budget&) = delete;

    // Whether it is used up. Counts from the first time that it's asked within the object; false outside of
    // one.
    [[nodiscard]] static bool spent() {
        if (depth == 0)
            return false;
        const clock::time_point now = clock::now();
        if (since == clock::time_point::max())
            since = now;
        return now - since >= allowed;
    }

private:
    static inline constinit thread_local std::uint32_t depth = 0;
    static inline constinit thread_local clock::time_point since = clock::time_point::max();
};

} // namespace holdfast::os
