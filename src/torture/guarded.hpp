// What a tortured lock guards: plain numbers on several cache lines, and a count of who is in.
//
// A writer makes all numbers odd when it comes and even again when it goes, so that whoever gets in meanwhile sees a torn
// payload; and since they are plain, ThreadSanitizer sees sections that the lock has not put in order. The count is changed
// with relaxed orders, lest it does that in the lock's place.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <optional>
#include <string>

#include <fmt/format.h>

namespace holdfast::torture {

// How a section has what is guarded: alone; with other readers; with readers, but no second of its kind; or with so many
// others as a semaphore lets pass, which guards no data.
enum class hold : std::uint8_t { shared, upgradable, pass, exclusive };

class guarded {
    struct alignas(64) line {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
    };

public:
    // What was seen that must not be, in words.
    using complaint = std::optional<std::string>;

    // The calling thread has the lock so; `room`: how many a semaphore lets pass.
    complaint enter(hold how, std::uint32_t room) {
        const std::uint64_t others = inside_.fetch_add(one(how), std::memory_order_relaxed);
        if (!may_enter(how, room, others)) {
            return fmt::format(
                "exclusion: a thread got {}, and found in there: {} exclusive, {} upgradable, {} shared{}",
                words_of(how), count(hold::exclusive, others), count(hold::upgradable, others),
                count(hold::shared, others),
                how == hold::pass ? fmt::format(", {} that passed", count(hold::pass, others)) : "");
        }
        if (how == hold::pass)
            return std::nullopt;
        if (!all_are(lines_[0].first) || lines_[0].first % 2 != 0)
            return torn("coming in", how);
        if (how == hold::exclusive)
            advance();
        std::atomic_signal_fence(std::memory_order_seq_cst); // as in leave
        return std::nullopt;
    }

    // It is about to let go. `version`: version() of when it had just come in.
    complaint leave(hold how, std::uint64_t version) {
        std::atomic_signal_fence(
            std::memory_order_seq_cst); // lest the compiler makes one step of coming and going
        if (how != hold::pass && !all_are(version))
            return torn("going out", how);
        if (how == hold::exclusive)
            advance();
        inside_.fetch_sub(one(how), std::memory_order_relaxed);
        return std::nullopt;
    }

    // To be read with the lock held. An exclusive section has its own, in between; the next has another.
    [[nodiscard]] std::uint64_t version() const { return lines_[0].first; }

    // Once all threads have gone.
    [[nodiscard]] complaint after(std::uint64_t exclusive_sections) const {
        if (inside_.load(std::memory_order_relaxed) != 0)
            return "exclusion: all have gone, and the count of those inside is not 0";
        if (!all_are(2 * exclusive_sections))
            return fmt::format("torn payload: {} exclusive sections, and {} were written", exclusive_sections,
                               version() / 2);
        return std::nullopt;
    }

private:
    static constexpr std::uint64_t one(hold how) {
        return std::uint64_t{1} << (16 * static_cast<unsigned>(how));
    }
    static constexpr std::uint64_t count(hold how, std::uint64_t inside) {
        return inside / one(how) % (std::uint64_t{1} << 16);
    }
    static bool may_enter(hold how, std::uint32_t room, std::uint64_t others) {
        switch (how) {
        case hold::shared:
            return count(hold::exclusive, others) == 0;
        case hold::upgradable:
            return count(hold::exclusive, others) == 0 && count(hold::upgradable, others) == 0;
        case hold::pass:
            return count(hold::pass, others) < room;
        case hold::exclusive:
            return others == 0;
        }
        return false;
    }
    static const char* words_of(hold how) {
        constexpr const char* all[] = {"a shared hold", "the upgradable hold", "past the semaphore",
                                       "the lock for itself"};
        return all[static_cast<std::size_t>(how)];
    }

    void advance() {
        for (line& each : lines_) {
            ++each.first;
            ++each.last;
        }
    }
    [[nodiscard]] bool all_are(std::uint64_t value) const {
        return std::all_of(lines_.begin(), lines_.end(),
                           [value](const line& each) { return each.first == value && each.last == value; });
    }
    [[nodiscard]] std::string torn(const char* when, hold how) const {
        std::string numbers;
        for (const line& each : lines_)
            numbers += fmt::format(" {} {}", each.first, each.last);
        return fmt::format("torn payload: {} with {}, a thread found{}", when, words_of(how), numbers);
    }

    alignas(64) std::atomic<std::uint64_t> inside_{0}; // 16 bits for each kind of hold
    std::array<line, 4> lines_;
};

} // namespace holdfast::torture
