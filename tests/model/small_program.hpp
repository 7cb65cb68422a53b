// A small concurrent program as a list of instructions, and the results that it can have: what judges an explorer.
//
// A few threads do a few operations on a few words, all 0 at first. An operation may depend on a value that the thread has
// seen. The result of an execution is all that its threads saw, and the values that the words have in the end.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "model/explorer.hpp"
#include "model/platform.hpp"

namespace holdfast::model {

enum class action : std::uint8_t {
    load,
    store,
    exchange,
    fetch_add,
    compare_exchange,
    compare_exchange_weak,
    fence,
    await,
    await_both, // two words
    park,
    unpark,
    need_resched,
    read_plain,
    write_plain,
};

constexpr bool writes(action what) {
    return what == action::store || what == action::exchange || what == action::fetch_add ||
           what == action::compare_exchange || what == action::compare_exchange_weak;
}

struct instruction {
    static constexpr unsigned always = ~0u;

    action what = action::load;
    unsigned word = 0;  // unpark: the thread
    unsigned other = 0; // await_both: the second word
    std::memory_order order = std::memory_order_relaxed;
    std::memory_order failure = std::memory_order_relaxed;
    unsigned value = 0;        // stored or added; waited for, 0: any other than 0
    unsigned expected = 0;     // by a compare-exchange
    bool stops = false;        // a wait, for whatever it may
    unsigned if_seen = always; // done only if this instruction of the same thread has seen
    unsigned equal = 0;        // this
};

using instructions = std::vector<std::vector<instruction>>; // of each thread

class small_program final : public program {
public:
    static constexpr std::size_t most_threads = 4;
    static constexpr std::size_t most_operations = 4; // of a thread
    static constexpr std::size_t most_words = 3;
    static constexpr std::uint32_t not_done = 0xffff;
    // What each instruction saw, thread after thread, and the words' final values.
    using result = std::array<std::uint32_t, most_threads * most_operations + most_words>;

    explicit small_program(instructions of, const chances& allowed = {})
        : instructions_(std::move(of)), allowed_(allowed) {
        for (const std::vector<instruction>& thread : instructions_) {
            for (const instruction& i : thread)
                words_ = std::max({words_, i.what == action::unpark ? 0 : i.word + 1, i.other + 1});
        }
    }

    const chances& allowed() const { return allowed_; }
    // Of all executions since the last clear().
    const std::set<result>& results() const { return results_; }
    void clear() { results_.clear(); }

    std::string text() const {
        std::string all;
        for (std::size_t t = 0; t < instructions_.size(); ++t) {
            all += "thread " + std::to_string(t) + "\n";
            for (std::size_t i = 0; i < instructions_[t].size(); ++i)
                all += "    r" + std::to_string(i) + " = " + text(instructions_[t][i]) + "\n";
        }
        return all;
    }
    // As "r0=1 r1=0 | r0=- | x=1 y=2", where - was not done.
    std::string text(const result& r) const {
        std::string all;
        for (std::size_t t = 0; t < instructions_.size(); ++t) {
            for (std::size_t i = 0; i < instructions_[t].size(); ++i) {
                const std::uint32_t seen = r[t * most_operations + i];
                all += "r" + std::to_string(i) + "=" + (seen == not_done ? "-" : std::to_string(seen)) + " ";
            }
            all += "| ";
        }
        for (unsigned w = 0; w < words_; ++w)
            all += name(w) + "=" + std::to_string(r[most_threads * most_operations + w]) + " ";
        return all;
    }

    unsigned threads() const override { return static_cast<unsigned>(instructions_.size()); }
    void begin() override {
        seen_.fill(not_done);
        shared_ = new (room_) shared;
    }
    void thread(unsigned index) override {
        const std::vector<instruction>& mine = instructions_[index];
        std::uint32_t* const seen = &seen_[index * most_operations];
        for (std::size_t i = 0; i < mine.size(); ++i) {
            const instruction& next = mine[i];
            if (next.if_seen == instruction::always || seen[next.if_seen] == next.equal)
                seen[i] = run(next);
        }
    }
    void end() override {
        for (unsigned w = 0; w < words_; ++w)
            seen_[most_threads * most_operations + w] = shared_->words[w].load(std::memory_order_relaxed);
        shared_->~shared();
        results_.insert(seen_);
    }

private:
    using word = platform::atomic<std::uint32_t>;

    struct shared {
        word words[most_words];
        platform::var<std::uint32_t> plain;
    };

    // --- Running.

    std::uint32_t run(const instruction& i) {
        word& w = shared_->words[i.what == action::unpark ? 0 : i.word];
        const auto until =
            i.stops ? platform::deadline::after(std::chrono::seconds(1)) : platform::deadline::never();
        switch (i.what) {
        case action::load:
            return w.load(i.order);
        case action::store:
            w.store(i.value, i.order);
            return 0;
        case action::exchange:
            return w.exchange(i.value, i.order);
        case action::fetch_add:
            return w.fetch_add(i.value, i.order);
        case action::compare_exchange: {
            std::uint32_t expected = i.expected;
            return w.compare_exchange_strong(expected, i.value, i.order, i.failure) ? i.expected : expected;
        }
        case action::compare_exchange_weak: {
            std::uint32_t expected = i.expected;
            const bool done = w.compare_exchange_weak(expected, i.value, i.order, i.failure);
            return !done && expected == i.expected ? failed_by_chance : expected;
        }
        case action::fence:
            platform::fence(i.order);
            return 0;
        case action::await:
            return seen_by(platform::await(
                i.order, [&i](std::uint32_t v) { return waited_for(i, v); }, stop_of(i, until), relax{}, w));
        case action::await_both:
            return seen_by(platform::await(
                i.order,
                [&i](std::uint32_t v, std::uint32_t other) { return waited_for(i, v) && other != 0; },
                stop_of(i, until), relax{}, w, shared_->words[i.other]));
        case action::park:
            return platform::park(until);
        case action::unpark:
            platform::unpark(i.word + 1);
            return 0;
        case action::need_resched:
            return platform::need_resched();
        case action::read_plain:
            return shared_->plain.get();
        case action::write_plain:
            shared_->plain.set(i.value);
            return 0;
        }
        return 0;
    }
    static bool waited_for(const instruction& i, std::uint32_t v) {
        return i.value == 0 ? v != 0 : v == i.value;
    }
    static stop_when<platform::deadline> stop_of(const instruction& i, const platform::deadline& until) {
        return {.resched = i.stops, .owner_off_cpu = i.stops ? 1 : nobody, .deadline = &until};
    }
    template <class... T>
    static std::uint32_t seen_by(const awaited<T...>& a) {
        std::uint32_t all = static_cast<std::uint32_t>(a.why);
        std::apply([&all](T... values) { ((all = all * 1000 + values), ...); }, a.values);
        return all;
    }

    // --- Writing down.

    static std::string name(unsigned w) { return std::string(1, "xyz"[w]); }

    static std::string text(const instruction& i) {
        const std::string on = i.what == action::unpark ? "" : name(i.word);
        const std::string order = name_of(i.order), value = std::to_string(i.value);
        const std::string until = i.value == 0 ? " != 0" : " == " + value;
        const std::string stops = i.stops ? ", or stops" : "";
        const std::string exchanges =
            std::to_string(i.expected) + " -> " + value + ", " + order + ", " + name_of(i.failure) + ")";
        std::string all;
        if (i.if_seen != instruction::always)
            all += "if (r" + std::to_string(i.if_seen) + " == " + std::to_string(i.equal) + ") ";
        switch (i.what) {
        case action::load:
            return all + on + ".load(" + order + ")";
        case action::store:
            return all + on + ".store(" + value + ", " + order + ")";
        case action::exchange:
            return all + on + ".exchange(" + value + ", " + order + ")";
        case action::fetch_add:
            return all + on + ".fetch_add(" + value + ", " + order + ")";
        case action::compare_exchange:
            return all + on + ".compare_exchange_strong(" + exchanges;
        case action::compare_exchange_weak:
            return all + on + ".compare_exchange_weak(" + exchanges;
        case action::fence:
            return all + "fence(" + order + ")";
        case action::await:
            return all + "await(" + on + until + ", " + order + stops + ")";
        case action::await_both:
            return all + "await(" + on + until + " && " + name(i.other) + " != 0, " + order + stops + ")";
        case action::park:
            return all + "park(" + (i.stops ? "deadline" : "") + ")";
        case action::unpark:
            return all + "unpark(thread " + std::to_string(i.word) + ")";
        case action::need_resched:
            return all + "need_resched()";
        case action::read_plain:
            return all + "plain.get()";
        case action::write_plain:
            return all + "plain.set()";
        }
        return all;
    }

    static constexpr std::uint32_t failed_by_chance = 1000;

    const instructions instructions_;
    const chances allowed_;
    unsigned words_ = 1;
    std::set<result> results_;
    // Of the execution under way:
    result seen_{};
    alignas(shared) std::byte room_[sizeof(shared)];
    shared* shared_ = nullptr; // left as it is where an execution fails
};

} // namespace holdfast::model
