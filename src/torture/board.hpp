// The memory that a tortured process shares with its supervisor: what each thread does, what has come of it, and what was
// seen that must not be.
//
// All orders are relaxed, on both sides: the board must not order threads that only the lock is to order, or it would hide
// from ThreadSanitizer what the lock has forgotten. The failure's text alone is published.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

namespace holdfast::torture {

inline constexpr std::uint32_t most_threads = 1024;

// What a thread is about. Only `waiting` and beyond have to do with the lock.
enum class doing : std::uint32_t { absent, outside, paused, waiting, inside, leaving };

// A number that one thread writes and others look at.
template <class T>
class shown_number {
public:
    void set(T value) { value_.store(value, std::memory_order_relaxed); }
    void add(T value) { set(get() + value); }
    void raise_to(T value) {
        if (value > get())
            set(value);
    }
    [[nodiscard]] T get() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<T> value_{};
};

// A thread's place; when the thread goes, another gets it, and adds to its sums. On lines of its own.
struct alignas(128) place {
    shown_number<doing> now;
    shown_number<std::uint32_t> how;    // the `way` that it waits or waited in last
    shown_number<std::int32_t> thread;  // the kernel's number of it
    shown_number<std::uint64_t> steps;  // grows whenever it gets on
    shown_number<std::uint64_t> writes; // sections that wrote; an attempt may have several
    shown_number<std::uint64_t> exclusive;
    shown_number<std::uint64_t> shared;
    shown_number<std::uint64_t> timed_out;
    shown_number<std::uint64_t> cancelled;
    shown_number<std::uint64_t> in_vain;
    shown_number<std::int64_t> longest_wait_ns; // for as long as it takes
    shown_number<std::int64_t> longest_hold_ns;
    shown_number<std::uint64_t> lives; // threads that had the place

    void goes_on_to(doing what) {
        now.set(what);
        steps.add(1);
    }
};

// All zeros is a valid, empty one.
struct board {
    shown_number<std::uint32_t> over;  // by the supervisor: it is to end
    shown_number<std::uint32_t> quiet; // by the process: all are to pause, and nothing disturbs them
    shown_number<std::uint64_t> beats; // by the process's own thread
    shown_number<std::uint32_t> cant_move;
    shown_number<std::uint32_t> cant_be_nice;
    std::atomic<std::uint32_t> failures;
    std::atomic<std::uint32_t>
        failure_told; // release, when the text is there: pairs with the supervisor's acquire
    std::array<char, 512> failure;
    std::array<place, most_threads> places;
};

} // namespace holdfast::torture
