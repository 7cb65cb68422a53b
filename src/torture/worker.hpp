// A thread that tortures a lock: what it does around its attempts, and within its sections.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "sim/random.hpp"
#include "torture/board.hpp"
#include "torture/guarded.hpp"
#include "torture/ways.hpp"

namespace holdfast::torture {

using nanoseconds = std::chrono::nanoseconds;

class tortured;

// How others can make the wait end that a thread is in.
class cancellation {
public:
    // Until withdrawn by an empty one.
    void offer(std::function<void()> cancel) {
        const std::scoped_lock guard(mutex_);
        cancel_ = std::move(cancel);
    }
    // Makes the wait end, if there is one.
    void cancel() {
        const std::scoped_lock guard(mutex_);
        if (cancel_)
            cancel_();
    }

private:
    std::mutex mutex_;
    std::function<void()> cancel_; // guarded by mutex_
};

// What the threads of a tortured process share.
struct scene {
    board& shown;
    tortured& lock;
    const std::vector<way>& ways; // each as often as its weight
    guarded data{};
    std::atomic<std::uint32_t> gate{0}; // odd: closed
};

// Tells the supervisor, unless somebody has done so, and ends the process.
[[noreturn]] void fail(board& shown, std::string_view what);

class worker {
public:
    // The thread of that place for a while; `seed` for what it chooses.
    worker(scene& on, std::uint32_t number, cancellation& own, std::uint64_t seed)
        : scene_(on), place_(on.shown.places[number]), number_(number), cancellation_(own), random_(seed) {}

    // To be called by the thread itself: attempts over and over for so long, at least once, or until the torture is over.
    // Pauses while the gate is closed.
    void live(nanoseconds life);

    // ---- For an attempt.

    // A section, with the lock held so: checks, and stays a while. `room`: how many may hold a `pass`. `version`: what was
    // there in an earlier section of the attempt, if nobody may have changed it since. Gives that of this one.
    std::uint64_t section(hold how, std::uint32_t room = 1,
                          std::optional<std::uint64_t> version = std::nullopt);

    // Waits once more, for another kind of hold.
    void waits();

    // For how long to wait at most.
    nanoseconds patience();

    // Calls wait(), which another thread may end by calling cancel(), any number of times; gives its result.
    template <class Wait>
    bool cancellable(std::function<void()> cancel, Wait wait) {
        cancellation_.offer(std::move(cancel));
        const bool got = wait();
        cancellation_.offer({});
        return got;
    }

    // The lock has done what it must not.
    [[noreturn]] void complain(std::string_view what);

private:
    using clock = std::chrono::steady_clock;

    // True once in so many times.
    bool one_in(std::uint64_t n) { return random_.below(n) == 0; }
    // Up to so long, awake or asleep.
    void compute_up_to(nanoseconds most);
    void sleep_up_to(nanoseconds most);
    void stay();
    void think();
    void count(way how, outcome result, nanoseconds waited);

    scene& scene_;
    place& place_;
    std::uint32_t number_;
    cancellation& cancellation_;
    random_source random_;
    clock::time_point wait_began_{};
    nanoseconds waited_{}; // of the attempt, until its first section
    bool in_ = false;      // the attempt has had a section
};

} // namespace holdfast::torture
