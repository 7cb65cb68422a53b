// How Holdfast's own locks tell `holdfast record` of their waits (docs/record.md).
//
// The library that it loads into a program leaves a page with functions at an agreed address, as the copies of the thread
// table meet (thread_table.hpp): so it doesn't matter how the program was linked, or who hides which symbols. A copy of
// this code looks there once, when it first has to wait for a lock; a program that isn't recorded pays one load from
// then on, in waits only. Who waits in a library's constructor, before the recording library's own, has looked too early.
#pragma once

#include <atomic>
#include <cstdint>

#include <holdfast/native/futex.hpp>
#include <holdfast/platform.hpp>

namespace holdfast::os {

// What the recording library keeps of a wait, in the frame of who waits.
struct wait_note {
    std::uint64_t words[8];
};

// Both leave errno alone, take no lock, and take the lock's address for a number: it may be gone at the end. Whoever
// begins a wait ends it, on the same thread.
struct recorder {
    std::atomic<std::uint32_t> stamp{0};
    void (*begin)(wait_note& note, const void* lock, waited_for what, bool shared) = nullptr;
    void (*end)(wait_note& note, bool taken) = nullptr;

    // Another layout has another stamp.
    static constexpr std::uint32_t our_stamp = 0x484f'5701;
    // Far from where Linux maps things of itself. Nowhere on 32-bit machines, where nothing is recorded.
    static constexpr std::uintptr_t meeting_place =
        sizeof(void*) == 8 ? static_cast<std::uintptr_t>(0x7e80'0010'0000ull) : 0;
};

// One wait (clause L).
class wait_to_record {
public:
    wait_to_record(const void* lock, waited_for what, bool shared) : recorder_(here()) {
        if (recorder_ != nullptr) [[unlikely]]
            recorder_->begin(note_, lock, what, shared);
    }
    ~wait_to_record() {
        if (recorder_ != nullptr) [[unlikely]]
            recorder_->end(note_, taken_);
    }
    wait_to_record(const wait_to_record&) = delete;
    wait_to_record& operator=(const wait_to_record&) = delete;

    bool over(bool taken) { return taken_ = taken; }

private:
    // The recorder of this process; null if it isn't recorded.
    static const recorder* here() {
        // acquire: pairs with the release in look; null is "not looked yet".
        const recorder* const known = found.load(std::memory_order_acquire);
        const recorder* const seen = known != nullptr ? known : look();
        return seen == &none ? nullptr : seen;
    }

    [[gnu::cold, gnu::noinline]] static const recorder* look() {
        const auto* const there = reinterpret_cast<const recorder*>(recorder::meeting_place);
        const bool stamped = there != nullptr && futex_compare(there, recorder::our_stamp) == 0;
        // acquire: pairs with the release of the stamp, for the functions.
        const recorder* const seen =
            stamped && there->stamp.load(std::memory_order_acquire) == recorder::our_stamp ? there : &none;
        found.store(seen, std::memory_order_release);
        return seen;
    }

    static inline constinit const recorder none{};
    static inline constinit std::atomic<const recorder*> found{nullptr};

    const recorder* recorder_;
    bool taken_ = false;
    wait_note note_;
};

} // namespace holdfast::os
