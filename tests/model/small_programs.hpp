// Small concurrent programs drawn from seeds, and the results that they can have.
//
// What judges an explorer: two ways to explore the same program must show the same results. A program is two or three
// threads of a few operations on a few words, all 0 at first; what it stores are different numbers, so that each value
// says whose it is. An operation may depend on a value read before. The result of an execution is all that its
// threads saw, and the values that the words have in the end. A seed says all of a program; text() writes it down.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <new>
#include <random>
#include <set>
#include <string>
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

// What programs are drawn from.
struct vocabulary {
    bool waits = true; // await, park and unpark
    bool chances =
        true; // need_resched, waits that end without what they wait for, failures of compare_exchange_weak
    bool plain = true; // plain data, whose races are failures
    bool seq_cst_anywhere =
        true; // false: all operations on a word are sequentially consistent or none, and so are all fences
};

struct instruction {
    static constexpr unsigned always = ~0u;

    action what = action::load;
    unsigned word = 0;  // unpark: the thread
    unsigned other = 0; // await_both: the second word
    std::memory_order order = std::memory_order_relaxed;
    std::memory_order failure = std::memory_order_relaxed;
    unsigned value = 0;        // stored or added; waited for, 0: any other than 0
    unsigned expected = 0;     // by a compare-exchange
    bool stops = false;        // an await, when somebody else wants the CPU; a park, when its deadline passes
    unsigned if_seen = always; // done only if this instruction of the same thread has seen
    unsigned equal = 0;        // this
};

class small_program final : public program {
public:
    static constexpr std::size_t max_operations = 4; // of a thread
    static constexpr std::size_t max_words = 3;
    static constexpr std::uint32_t not_done = 0xffff;
    // What each instruction saw, thread after thread, and the words' final values.
    using result = std::array<std::uint32_t, 3 * max_operations + max_words>;

    explicit small_program(std::uint64_t seed, const vocabulary& from = {}) : from_(from), random_(seed) {
        draw_shape();
        for (std::vector<instruction>& thread : threads_) {
            for (std::size_t i = 0; i < thread.size(); ++i)
                draw_operands(thread, i);
        }
    }

    const chances& allowed() const { return allowed_; }
    // Of all executions since the last clear().
    const std::set<result>& results() const { return results_; }
    void clear() { results_.clear(); }

    std::string text() const {
        std::string all;
        for (std::size_t t = 0; t < threads_.size(); ++t) {
            all += "thread " + std::to_string(t) + "\n";
            for (std::size_t i = 0; i < threads_[t].size(); ++i)
                all += "    r" + std::to_string(i) + " = " + text(threads_[t][i]) + "\n";
        }
        return all;
    }
    // As "r0=1 r1=0 | r0=- | x=1 y=2", where - was not done.
    std::string text(const result& r) const {
        std::string all;
        for (std::size_t t = 0; t < threads_.size(); ++t) {
            for (std::size_t i = 0; i < threads_[t].size(); ++i) {
                const std::uint32_t seen = r[t * max_operations + i];
                all += "r" + std::to_string(i) + "=" + (seen == not_done ? "-" : std::to_string(seen)) + " ";
            }
            all += "| ";
        }
        for (unsigned w = 0; w < words_; ++w)
            all += name(w) + "=" + std::to_string(r[3 * max_operations + w]) + " ";
        return all;
    }

    unsigned threads() const override { return static_cast<unsigned>(threads_.size()); }
    void begin() override {
        seen_.fill(not_done);
        shared_ = new (room_) shared;
    }
    void thread(unsigned index) override {
        const std::vector<instruction>& mine = threads_[index];
        std::uint32_t* const seen = &seen_[index * max_operations];
        for (std::size_t i = 0; i < mine.size(); ++i) {
            const instruction& next = mine[i];
            if (next.if_seen == instruction::always || seen[next.if_seen] == next.equal)
                seen[i] = run(next);
        }
    }
    void end() override {
        for (unsigned w = 0; w < words_; ++w)
            seen_[3 * max_operations + w] = shared_->words[w].load(std::memory_order_relaxed);
        shared_->~shared();
        results_.insert(seen_);
    }

private:
    using word = platform::atomic<std::uint32_t>;

    struct shared {
        word words[max_words];
        platform::var<std::uint32_t> plain;
    };

    // --- Drawing.

    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool one_in(unsigned times) { return below(times) == 0; }
    template <class T, std::size_t Size>
    T one_of(const T (&list)[Size]) {
        return list[below(Size)];
    }

    // How many threads, operations and words; which operations, on which words.
    void draw_shape() {
        words_ = one_of({1u, 2u, 2u, 2u, 3u});
        seq_cst_of_ten_ = one_of({0u, 0u, 2u, 5u, 10u});
        waits_of_ten_ = from_.waits ? one_of({0u, 2u, 4u}) : 0;
        chances_of_ten_ = from_.chances ? one_of({0u, 1u, 3u}) : 0;
        if (from_.chances)
            allowed_ = {.resched = below(3),
                        .off_cpu = below(2),
                        .time_out = below(2),
                        .spurious_wake = below(2),
                        .weak_failure = below(2)};
        plain_of_ten_ = from_.plain ? one_of({0u, 0u, 0u, 1u}) : 0;
        for (bool& s : seq_cst_)
            s = below(10) < seq_cst_of_ten_;
        threads_.resize(one_of({2u, 2u, 3u}));
        const unsigned most = threads_.size() == 2 ? max_operations : max_operations - 1;
        for (std::vector<instruction>& thread : threads_) {
            thread.resize(1 + below(most));
            for (instruction& i : thread) {
                i.what = draw_action();
                i.word = i.what == action::unpark ? below(threads()) : below(words_);
                i.other = (i.word + 1) % words_;
                if (writes(i.what))
                    i.value = i.what == action::fetch_add ? added : ++stored_;
            }
        }
        // A park that nobody ends is a deadlock, and no more.
        for (unsigned t = 0; t < threads(); ++t) {
            for (instruction& i : threads_[t]) {
                if (i.what == action::park && !somebody([t](const instruction& other, unsigned) {
                        return other.what == action::unpark && other.word == t;
                    }))
                    i.what = action::load;
                if ((i.what == action::await || i.what == action::await_both) &&
                    !(changes(i.word, t) && (i.what == action::await || changes(i.other, t))))
                    i.what = action::load;
            }
        }
    }

    action draw_action() {
        constexpr action basic[] = {action::load,
                                    action::load,
                                    action::load,
                                    action::store,
                                    action::store,
                                    action::store,
                                    action::exchange,
                                    action::fetch_add,
                                    action::compare_exchange,
                                    action::compare_exchange_weak};
        constexpr action waiting[] = {action::await, action::await,  action::await_both,
                                      action::park,  action::unpark, action::unpark};
        if (one_in(8))
            return action::fence;
        if (below(10) < waits_of_ten_)
            return one_of(waiting);
        if (below(10) < chances_of_ten_)
            return one_in(2) ? action::need_resched : action::compare_exchange_weak;
        if (below(10) < plain_of_ten_)
            return one_in(2) ? action::read_plain : action::write_plain;
        return one_of(basic);
    }

    template <class Predicate>
    bool somebody(Predicate does) const {
        for (unsigned t = 0; t < threads(); ++t) {
            for (const instruction& i : threads_[t]) {
                if (does(i, t))
                    return true;
            }
        }
        return false;
    }
    // Whether another thread writes to the word.
    bool changes(unsigned w, unsigned thread) const {
        return somebody([w, thread](const instruction& i, unsigned t) {
            return t != thread && writes(i.what) && i.word == w;
        });
    }

    // Orders, what is expected and waited for, and what it depends on.
    void draw_operands(std::vector<instruction>& thread, std::size_t index) {
        using enum std::memory_order;
        instruction& i = thread[index];
        switch (i.what) {
        case action::load:
        case action::await:
        case action::await_both:
            i.order = order_of(i, {relaxed, acquire});
            break;
        case action::store:
            i.order = order_of(i, {relaxed, release});
            break;
        case action::fence:
            i.order = order_of(i, {acquire, release, acq_rel});
            break;
        default:
            i.order = order_of(i, {relaxed, acquire, release, acq_rel});
            break;
        }
        i.failure = order_of(i, {relaxed, acquire});
        i.expected = draw_value(i.word);
        if (i.what == action::await || i.what == action::await_both) {
            i.value = one_in(3) ? draw_value(i.word) : 0;
        }
        i.stops = below(4) < chances_of_ten_;
        // Mostly on the operation just before; always where plain data is at stake.
        const bool at_stake = i.what == action::read_plain || i.what == action::write_plain;
        if (index != 0 && (at_stake || one_in(4))) {
            const std::size_t of = one_in(3) ? below(static_cast<unsigned>(index)) : index - 1;
            if (reads(thread[of].what)) {
                i.if_seen = static_cast<unsigned>(of);
                i.equal = draw_value(thread[of].word);
            }
        }
    }

    template <std::size_t Size>
    std::memory_order order_of(const instruction& i, const std::memory_order (&weak)[Size]) {
        const bool seq_cst = from_.seq_cst_anywhere ? below(10) < seq_cst_of_ten_
                             : i.what == action::fence
                                 ? seq_cst_of_ten_ >= 5
                                 : seq_cst_[i.word] || (i.what == action::await_both && seq_cst_[i.other]);
        return seq_cst ? std::memory_order_seq_cst : one_of(weak);
    }

    // One that the word may have.
    unsigned draw_value(unsigned w) {
        std::vector<unsigned> values{0};
        for (const std::vector<instruction>& thread : threads_) {
            for (const instruction& i : thread) {
                if (writes(i.what) && i.word == w)
                    values.push_back(i.value);
            }
        }
        return values[below(static_cast<unsigned>(values.size()))];
    }

    static bool writes(action what) {
        return what == action::store || what == action::exchange || what == action::fetch_add ||
               what == action::compare_exchange || what == action::compare_exchange_weak;
    }
    static bool reads(action what) {
        return what == action::load || what == action::exchange || what == action::fetch_add ||
               what == action::compare_exchange || what == action::compare_exchange_weak ||
               what == action::await;
    }

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

    static constexpr unsigned added = 16; // more than what is stored
    static constexpr std::uint32_t failed_by_chance = 1000;

    const vocabulary from_;
    std::mt19937_64 random_;
    unsigned words_ = 0;
    unsigned seq_cst_of_ten_ = 0, waits_of_ten_ = 0, chances_of_ten_ = 0, plain_of_ten_ = 0; // operations
    bool seq_cst_[max_words] = {};                                                           // of each word
    unsigned stored_ = 0; // the last number given to a store
    chances allowed_ = {};
    std::vector<std::vector<instruction>> threads_;
    std::set<result> results_;
    // Of the execution under way:
    result seen_{};
    alignas(shared) std::byte room_[sizeof(shared)];
    shared* shared_ = nullptr; // left as it is where an execution fails
};

} // namespace holdfast::model
