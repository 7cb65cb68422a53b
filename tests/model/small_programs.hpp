// Small concurrent programs drawn from a seed, and what they can end with: to hold one way of exploring against another.
//
// Two or three threads do a few operations each on up to three atomics, with any memory order that the operation may have: loads,
// stores, read-modify-writes, fences, waits that may be stopped, sleep and wake-up, chances. Some depend on a value
// that the thread has read. The result of an execution is all that was read, and what the atomics end with.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/explorer.hpp"
#include "model/platform.hpp"

namespace holdfast::model {

struct small_program {
    enum class does : std::uint8_t {
        load,
        store,
        exchange,
        add,
        compare_strong,
        compare_weak,
        fence,
        await_one, // not 0
        await_or_stop,
        await_two, // the one not 0, the other not `expected`; or stop
        ask_for_cpu,
        unpark,
        park_or_time_out,
        park,
    };
    struct operation {
        does what;
        unsigned word, other_word;
        unsigned value, expected;
        std::memory_order order, failure;
        int if_result; // only if this earlier operation of the thread gave `expected`; negative: always
    };

    std::vector<std::vector<operation>> threads;
    chances allowed;

    static small_program drawn(std::uint64_t seed);
    std::string text() const;
};

// The operations that do not block and the orders but seq_cst come first, so that a kind can be drawn by a bound.
inline small_program small_program::drawn(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto below = [&random](std::size_t n) { return static_cast<unsigned>(random() % n); };
    using order = std::memory_order;
    constexpr std::array loads{order::relaxed, order::acquire, order::seq_cst};
    constexpr std::array stores{order::relaxed, order::release, order::seq_cst};
    constexpr std::array both{order::relaxed, order::acquire, order::release, order::acq_rel, order::seq_cst};
    using enum does;
    constexpr std::array kinds{
        load,          load,      load,           store,          store,        store,
        exchange,      add,       compare_strong, compare_strong, compare_weak, fence,
        await_or_stop, await_two, ask_for_cpu,    await_one,      unpark,       park_or_time_out,
        park};
    constexpr std::size_t not_blocking = 15;

    small_program p;
    const bool three = below(3) == 0;
    const unsigned words = 1 + below(3);
    const std::size_t with_seq_cst = below(2) == 0 ? 0 : 1; // 1: without
    const bool may_block = below(4) == 0;
    p.allowed = {
        .resched = below(3), .time_out = below(2), .spurious_wake = below(3) == 0, .weak_failure = below(2)};
    for (unsigned t = 0; t < (three ? 3u : 2u); ++t) {
        std::vector<operation>& row = p.threads.emplace_back();
        const unsigned length = 1 + below(three ? 3 : 4);
        for (unsigned i = 0; i < length; ++i) {
            operation o{};
            o.what = kinds[below(may_block ? kinds.size() : not_blocking)];
            o.word = below(words);
            o.other_word = below(words);
            o.value = 1 + below(3);
            o.expected = below(3);
            o.failure = loads[below(loads.size() - with_seq_cst)];
            switch (o.what) {
            case load:
            case await_one:
            case await_or_stop:
            case await_two:
                o.order = loads[below(loads.size() - with_seq_cst)];
                break;
            case store:
                o.order = stores[below(stores.size() - with_seq_cst)];
                break;
            case fence:
                o.order = both[1 + below(both.size() - 1 - with_seq_cst)];
                break;
            default:
                o.order = both[below(both.size() - with_seq_cst)];
            }
            o.if_result = i > 0 && below(4) == 0 ? static_cast<int>(below(i)) : -1;
            row.push_back(o);
        }
    }
    return p;
}

inline std::string small_program::text() const {
    constexpr std::array names{
        "load",         "store",  "exchange",         "add",           "compare_strong",
        "compare_weak", "fence",  "await_one",        "await_or_stop", "await_two",
        "ask_for_cpu",  "unpark", "park_or_time_out", "park"};
    std::string all;
    for (std::size_t t = 0; t < threads.size(); ++t) {
        all += "    thread " + std::to_string(t) + ":";
        for (const operation& o : threads[t]) {
            if (o.if_result >= 0)
                all += " if result " + std::to_string(o.if_result) + " is " + std::to_string(o.expected);
            all += std::string(" ") + names[static_cast<std::size_t>(o.what)] + "(" + name_of(o.order) +
                   ", " + name_of(o.failure) + ") word " + std::to_string(o.word) + " and " +
                   std::to_string(o.other_word) + ", value " + std::to_string(o.value) + ", expected " +
                   std::to_string(o.expected) + ";";
        }
        all += "\n";
    }
    return all + "    chances: resched " + std::to_string(allowed.resched) + ", time_out " +
           std::to_string(allowed.time_out) + ", spurious_wake " + std::to_string(allowed.spurious_wake) +
           ", weak_failure " + std::to_string(allowed.weak_failure) + "\n";
}

// The program as the explorer runs it. `results` has the result of each execution that ended.
class running_program final : public program {
public:
    explicit running_program(const small_program& p) : program_(p) {}

    unsigned threads() const override { return static_cast<unsigned>(program_.threads.size()); }
    void begin() override {
        words_ = new (room_) words;
        for (auto& row : seen_)
            row.fill(unseen);
    }
    void thread(unsigned me) override {
        auto& seen = seen_[me];
        for (std::size_t i = 0; i < program_.threads[me].size(); ++i) {
            const small_program::operation& o = program_.threads[me][i];
            if (o.if_result < 0 || seen[static_cast<std::size_t>(o.if_result)] == o.expected)
                seen[i] = result_of(o);
        }
    }
    void end() override {
        std::string text;
        for (std::size_t t = 0; t < program_.threads.size(); ++t) {
            for (std::size_t i = 0; i < program_.threads[t].size(); ++i)
                text += (seen_[t][i] == unseen ? "-" : std::to_string(seen_[t][i])) + " ";
            text += "| ";
        }
        for (const auto& w : *words_)
            text += std::to_string(w.load(std::memory_order_relaxed)) + " ";
        results.insert(text);
        words_->~words();
    }

    std::set<std::string> results;

private:
    using words = std::array<platform::atomic<unsigned>, 3>;
    static constexpr unsigned unseen = ~0u;

    unsigned result_of(const small_program::operation& o) {
        using enum small_program::does;
        platform::atomic<unsigned>& w = (*words_)[o.word];
        const auto not_zero = [](unsigned v) { return v != 0; };
        const stop_when<platform::deadline> for_others{.resched = true};
        unsigned expected = o.expected;
        switch (o.what) {
        case load:
            return w.load(o.order);
        case store:
            w.store(o.value, o.order);
            return 0;
        case exchange:
            return w.exchange(o.value, o.order);
        case add:
            return w.fetch_add(o.value, o.order);
        case compare_strong: {
            const bool done = w.compare_exchange_strong(expected, o.value, o.order, o.failure);
            return 2 * expected + done;
        }
        case compare_weak: {
            const bool done = w.compare_exchange_weak(expected, o.value, o.order, o.failure);
            return 2 * expected + done;
        }
        case fence:
            platform::fence(o.order);
            return 0;
        case await_one:
            return platform::await(o.order, not_zero, w).value();
        case await_or_stop: {
            const auto seen = platform::await(o.order, not_zero, for_others, relax{}, w);
            return 2 * seen.value() + bool(seen);
        }
        case await_two: {
            const auto both = [expected](unsigned a, unsigned b) { return a != 0 && b != expected; };
            const auto seen = platform::await(o.order, both, for_others, relax{}, w, (*words_)[o.other_word]);
            return 2 * (10 * seen.value<0>() + seen.value<1>()) + bool(seen);
        }
        case ask_for_cpu:
            return platform::need_resched();
        case unpark:
            platform::unpark(1 + o.word % threads());
            return 0;
        case park_or_time_out:
            return platform::park(platform::deadline::after(std::chrono::nanoseconds(1)));
        case park:
            platform::park();
            return 1;
        }
        return unseen;
    }

    const small_program& program_;
    alignas(words) std::byte room_[sizeof(words)];
    words* words_ = nullptr;
    std::array<std::array<unsigned, 4>, 3> seen_{};
};

} // namespace holdfast::model
