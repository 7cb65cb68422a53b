// Small programs drawn from seeds: a seed says all of a program.
//
// Two or three threads of a few operations; what they store are different numbers, so that each value says whose it is. Seeds
// differ in how often they wait, take chances and are sequentially consistent: what is too much of all is like all
// others.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "small_program.hpp"

namespace holdfast::model {

// What programs are drawn from.
struct vocabulary {
    bool waits = true;   // await, park and unpark
    bool chances = true; // waits that end otherwise, need_resched, failures of compare_exchange_weak
    bool plain = true;   // plain data, whose races are failures
    // Sequentially consistent loads of what others store otherwise; such fences beside such operations; and such waits
    // for two words.
    bool mixed_seq_cst = true;
};

class drawn_program {
public:
    explicit drawn_program(std::uint64_t seed, const vocabulary& from = {}) : from_(from), random_(seed) {
        draw_shape();
        for (std::vector<instruction>& thread : threads_) {
            for (std::size_t i = 0; i < thread.size(); ++i)
                draw_operands(thread, i);
        }
    }

    const instructions& threads() const { return threads_; }
    const chances& allowed() const { return allowed_; }

private:
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
        seq_cst_fences_ = below(10) < seq_cst_of_ten_;
        threads_.resize(one_of({2u, 2u, 3u}));
        const unsigned most =
            threads_.size() == 2 ? small_program::most_operations : small_program::most_operations - 1;
        for (std::vector<instruction>& thread : threads_) {
            thread.resize(1 + below(most));
            for (instruction& i : thread) {
                i.what = draw_action();
                i.word =
                    i.what == action::unpark ? below(static_cast<unsigned>(threads_.size())) : below(words_);
                i.other = (i.word + 1) % words_;
                if (writes(i.what))
                    i.value = i.what == action::fetch_add ? added : ++stored_;
            }
        }
        for (unsigned t = 0; t < threads_.size(); ++t) {
            for (instruction& i : threads_[t]) {
                if (i.what == action::await_both && !from_.mixed_seq_cst &&
                    (seq_cst_[i.word] || seq_cst_[i.other]))
                    i.what = action::await;
                if (waits_for_nothing(i, t))
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

    // A wait that no other thread ends is a deadlock, and no more.
    bool waits_for_nothing(const instruction& i, unsigned thread) const {
        switch (i.what) {
        case action::await:
            return !changes(i.word, thread);
        case action::await_both:
            return !changes(i.word, thread) || !changes(i.other, thread);
        case action::park:
            return !somebody([thread](const instruction& other, unsigned) {
                return other.what == action::unpark && other.word == thread;
            });
        default:
            return false;
        }
    }
    // Whether another thread writes to the word.
    bool changes(unsigned w, unsigned thread) const {
        return somebody([w, thread](const instruction& i, unsigned t) {
            return t != thread && writes(i.what) && i.word == w;
        });
    }
    template <class Predicate>
    bool somebody(Predicate does) const {
        for (unsigned t = 0; t < threads_.size(); ++t) {
            if (std::ranges::any_of(threads_[t], [&](const instruction& i) { return does(i, t); }))
                return true;
        }
        return false;
    }

    // Orders, what is expected and waited for, and what it depends on.
    void draw_operands(std::vector<instruction>& thread, std::size_t index) {
        using enum std::memory_order;
        instruction& i = thread[index];
        switch (i.what) {
        case action::load:
        case action::await:
        case action::await_both:
            i.order = draw_order(i, false, {relaxed, acquire});
            break;
        case action::store:
            i.order = draw_order(i, true, {relaxed, release});
            break;
        case action::fence:
            i.order = draw_order(i, false, {acquire, release, acq_rel});
            break;
        default:
            i.order = draw_order(i, true, {relaxed, acquire, release, acq_rel});
            break;
        }
        i.failure = draw_order(i, false, {relaxed, acquire});
        i.expected = draw_value(i.word);
        if (i.what == action::await || i.what == action::await_both)
            i.value = one_in(3) ? draw_value(i.word) : 0;
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
    std::memory_order draw_order(const instruction& i, bool stores, const std::memory_order (&weak)[Size]) {
        return draw_seq_cst(i, stores) ? std::memory_order_seq_cst : one_of(weak);
    }
    bool draw_seq_cst(const instruction& i, bool stores) {
        if (from_.mixed_seq_cst)
            return below(10) < seq_cst_of_ten_;
        if (i.what == action::fence)
            return seq_cst_fences_;
        return i.what != action::await_both && seq_cst_[i.word] && (stores || seq_cst_fences_ || one_in(2));
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

    static bool reads(action what) {
        return what == action::load || what == action::exchange || what == action::fetch_add ||
               what == action::compare_exchange || what == action::compare_exchange_weak ||
               what == action::await;
    }

    static constexpr unsigned added = 16; // more than what is stored

    const vocabulary from_;
    std::mt19937_64 random_;
    instructions threads_;
    chances allowed_ = {};
    unsigned words_ = 0;
    unsigned stored_ = 0; // the last number given to a store
    // How many of ten operations are such.
    unsigned seq_cst_of_ten_ = 0, waits_of_ten_ = 0, chances_of_ten_ = 0, plain_of_ten_ = 0;
    // Without mixed_seq_cst: what is such.
    bool seq_cst_[small_program::most_words] = {}; // stores to each word
    bool seq_cst_fences_ = false;
};

} // namespace holdfast::model
