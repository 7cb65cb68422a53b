// The two contracts as small programs: one scenario or more for each clause of platform.hpp, to be run on
// native, on sim and on the model, and for each clause of program.hpp, to be run on native and on sim.
//
// A lock scenario is a class of a few shared objects:
// static constexpr const char* name;     the clause, and what is expected static constexpr unsigned threads;
// how many void thread(unsigned index);           what thread number `index` does; all run at the same time
// bool ok() const;                       after their end: was everything as the contract says? Its runner
// makes a new object for each run (on sim in the simulated memory), starts the threads and asks ok(). What
// isn't atomic or var in it is written by one thread only. There are few operations in each, so that the
// model can try all their orders. A scenario that never ends is a failure, too.
//
// `lock_scenarios` hold wherever threads run; `timed_scenarios` need a platform on which time passes by
// itself, so not the model. A program scenario is a class with a name and `static bool run()`, called within
// a program of its world.
//
// The lists are templates over the list, so that GoogleTest's testing::Types takes them. Nothing here needs
// GoogleTest.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <tuple>

#include <holdfast/platform.hpp>

#include "workload/program.hpp"

namespace holdfast::conformance {

using namespace std::chrono_literals;

inline constexpr auto relaxed = std::memory_order_relaxed;
inline constexpr auto acquire = std::memory_order_acquire;
inline constexpr auto release = std::memory_order_release;
inline constexpr auto acq_rel = std::memory_order_acq_rel;
inline constexpr auto seq_cst = std::memory_order_seq_cst;

// What each of N threads found.
template <unsigned N>
class findings {
public:
    // Thread `index` expects `fact`. Once it has been disappointed it stays so.
    void expect(unsigned index, bool fact) {
        if (!fact)
            wrong_[index] = true;
    }
    [[nodiscard]] bool ok() const {
        for (const bool wrong : wrong_) {
            if (wrong)
                return false;
        }
        return true;
    }

private:
    std::array<bool, N> wrong_{};
};

// ---- A: atomics
// ------------------------------------------------------------------------------------------------------

template <class P>
struct operations {
    static constexpr const char* name = "A_operations_mean_what_they_mean_in_the_standard";
    static constexpr unsigned threads = 1;
    typename P::template atomic<std::uint32_t> word{7};
    typename P::template atomic<std::uint64_t> wide{std::uint64_t{1} << 40};
    typename P::template atomic<std::uint8_t> small{255};
    typename P::template atomic<operations*> pointer{nullptr};
    findings<threads> found;

    void thread(unsigned) {
        const auto expect = [this](bool fact) { found.expect(0, fact); };
        expect(word.load(acquire) == 7);
        word.store(8, release);
        expect(word.exchange(12, acq_rel) == 8);
        expect(word.fetch_add(1, relaxed) == 12);
        expect(word.fetch_sub(14, relaxed) == 13);
        expect(word.fetch_and(0xff, relaxed) == 0xffffffff);
        expect(word.fetch_or(0x100, relaxed) == 0xff);
        expect(word.fetch_xor(0x101, relaxed) == 0x1ff);
        std::uint32_t expected = 0;
        expect(!word.compare_exchange_strong(expected, 1, acquire, relaxed) && expected == 0xfe);
        expect(word.compare_exchange_strong(expected, 1, acq_rel, acquire) && expected == 0xfe);
        expected = 1;
        while (!word.compare_exchange_weak(expected, 2, release, relaxed))
            expect(expected == 1);
        expect(word.load(relaxed) == 2);
        expect(wide.fetch_add(1, relaxed) == std::uint64_t{1} << 40);
        expect(wide.load(relaxed) == (std::uint64_t{1} << 40) + 1);
        expect(small.fetch_add(1, relaxed) == 255 && small.load(relaxed) == 0);
        expect(pointer.exchange(this, acq_rel) == nullptr && pointer.load(acquire) == this);
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct no_update_is_lost {
    static constexpr const char* name = "A_no_update_is_lost";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> sum{0};
    std::array<std::uint32_t, threads> first{};
    std::array<std::uint32_t, threads> second{};

    void thread(unsigned index) {
        first[index] = sum.fetch_add(1, relaxed);
        second[index] = sum.fetch_add(1, relaxed);
    }
    [[nodiscard]] bool ok() const {
        unsigned seen = 0;
        for (unsigned i = 0; i < threads; ++i)
            seen |= 1u << first[i] | 1u << second[i];
        return seen == 15 && first[0] < second[0] && first[1] < second[1];
    }
};

template <class P>
struct one_exchange_wins {
    static constexpr const char* name = "A_one_compare_exchange_of_two_wins";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> word{0};
    std::array<bool, threads> won{};
    std::array<std::uint32_t, threads> seen{};

    void thread(unsigned index) {
        won[index] = word.compare_exchange_strong(seen[index], index + 1, acq_rel, acquire);
    }
    [[nodiscard]] bool ok() const {
        const unsigned winner = won[0] ? 0 : 1;
        return won[0] != won[1] && seen[winner] == 0 && seen[1 - winner] == winner + 1;
    }
};

template <class P>
struct release_to_acquire {
    static constexpr const char* name = "A_acquire_sees_what_was_before_the_release";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> flag{0};
    typename P::template var<int> data{0};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            data.set(42);
            flag.store(1, release);
        } else if (flag.load(acquire) == 1) {
            found.expect(index, data.get() == 42);
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct release_through_update {
    static constexpr const char* name = "A_a_release_reaches_through_others_updates";
    static constexpr unsigned threads = 3;
    typename P::template atomic<std::uint32_t> flags{0};
    typename P::template var<int> data{0};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            data.set(42);
            flags.fetch_add(1, release);
        } else if (index == 1) {
            flags.fetch_add(2, relaxed);
        } else if ((flags.load(acquire) & 1) != 0) {
            found.expect(index, data.get() == 42);
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct fence_to_fence {
    static constexpr const char* name = "A_fences_order_what_is_relaxed";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> flag{0};
    typename P::template atomic<std::uint32_t> data{0};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            data.store(42, relaxed);
            P::fence(release);
            flag.store(1, relaxed);
        } else if (flag.load(relaxed) == 1) {
            P::fence(acquire);
            found.expect(index, data.load(relaxed) == 42);
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct store_then_load {
    static constexpr const char* name = "A_a_seq_cst_fence_keeps_a_load_behind_a_store";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> first{0};
    typename P::template atomic<std::uint32_t> second{0};
    std::array<std::uint32_t, threads> seen{};

    void thread(unsigned index) {
        auto& mine = index == 0 ? first : second;
        auto& other = index == 0 ? second : first;
        mine.store(1, relaxed);
        P::fence(seq_cst);
        seen[index] = other.load(relaxed);
    }
    [[nodiscard]] bool ok() const { return seen[0] + seen[1] != 0; }
};

// ---- B: plain data
// ---------------------------------------------------------------------------------------------------

template <class P>
struct plain_data {
    static constexpr const char* name = "B_var_holds_what_was_set_last";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> turn{0};
    typename P::template var<int> data{1};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            found.expect(0, data.get() == 1);
            data.set(2);
            turn.store(1, release);
        } else {
            P::await(
                acquire, [](std::uint32_t value) { return value == 1; }, turn);
            found.expect(1, data.get() == 2);
            data.set(3);
            found.expect(1, data.get() == 3);
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

// ---- C: waiting on memory
// --------------------------------------------------------------------------------------------

template <class P>
struct await_two_words {
    static constexpr const char* name = "C_await_gives_the_values_that_satisfied_it_in_order";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> low{0};
    typename P::template atomic<std::uint64_t> high{0};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            low.store(2, relaxed);
            high.store(std::uint64_t{1} << 40, relaxed);
        } else {
            const auto result = P::await(
                relaxed, [](std::uint32_t l, std::uint64_t h) { return l == 2 && h >> 40 == 1; },
                stop_when<typename P::deadline>{}, relax{.pauses = 3}, low, high);
            found.expect(1, result.why == wake::satisfied && static_cast<bool>(result));
            found.expect(1, result.template value<0>() == 2);
            found.expect(1, result.template value<1>() == std::uint64_t{1} << 40);
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct await_acquires {
    static constexpr const char* name = "C_await_loads_with_the_order_given";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> flag{0};
    typename P::template var<int> data{0};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            data.set(42);
            flag.store(1, release);
        } else {
            found.expect(1, P::await(
                                acquire, [](std::uint32_t value) { return value != 0; }, flag)
                                    .value() == 1);
            found.expect(1, data.get() == 42);
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct await_both_ways {
    static constexpr const char* name = "C_threads_that_wait_for_each_other_in_turn_go_on";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> turn{0};
    findings<threads> found;

    void thread(unsigned index) {
        for (std::uint32_t round = index; round < 4; round += 2) {
            const std::uint32_t value = P::await(
                                            acquire, [round](std::uint32_t v) { return v == round; }, turn)
                                            .value();
            found.expect(index, value == round);
            turn.store(round + 1, release);
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct await_or_give_up {
    static constexpr const char* name = "C_await_ends_by_its_predicate_or_by_a_condition_that_was_asked_for";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> flag{0};
    typename P::template atomic<thread_id> setter{nobody};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            setter.store(P::self(), relaxed);
            flag.store(1, release);
            return;
        }
        const auto set = [](std::uint32_t value) { return value == 1; };
        const auto until = P::deadline::after(1h);
        const typename P::no_preempt spinning;
        const auto by_clock = P::await(acquire, set, {.deadline = &until}, relax{}, flag);
        found.expect(1, by_clock ? by_clock.value() == 1 : by_clock.why == wake::expired && until.expired());
        const auto by_cpu = P::await(acquire, set, {.resched = true}, relax{}, flag);
        found.expect(1, by_cpu ? by_cpu.value() == 1 : by_cpu.why == wake::resched);
        const thread_id owner = setter.load(relaxed);
        const auto by_owner = P::await(acquire, set, {.owner_off_cpu = owner}, relax{}, flag);
        found.expect(1, by_owner ? by_owner.value() == 1
                                 : by_owner.why == wake::owner_off_cpu && owner != nobody);
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct await_until {
    static constexpr const char* name = "C_await_ends_at_its_deadline";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> word{5};
    findings<threads> found;

    void thread(unsigned index) {
        const auto until = P::deadline::after(std::chrono::microseconds(100 * index));
        const auto result = P::await(
            acquire, [](std::uint32_t value) { return value == 6; }, {.deadline = &until}, relax{}, word);
        found.expect(index, result.why == wake::expired && !result && result.value() == 5 && until.expired());
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

// ---- D, E, F: pausing, identity, preemption
// --------------------------------------------------------------------------

template <class P>
struct pausing {
    static constexpr const char* name = "D_pause_returns";
    static constexpr unsigned threads = 2;

    void thread(unsigned) {
        P::pause();
        P::pause();
    }
    [[nodiscard]] bool ok() const { return true; }
};

template <class P>
struct identities {
    static constexpr const char* name = "E_threads_alive_together_differ";
    static constexpr unsigned threads = 2;
    typename P::template atomic<thread_id> first{nobody};
    typename P::template atomic<thread_id> second{nobody};
    findings<threads> found;

    void thread(unsigned index) {
        const thread_id me = P::self();
        found.expect(index, me != nobody);
        auto& mine = index == 0 ? first : second;
        auto& other = index == 0 ? second : first;
        mine.store(me, relaxed);
        const thread_id them = P::await(
                                   relaxed, [](thread_id id) { return id != nobody; }, other)
                                   .value();
        found.expect(index, them != me);
        found.expect(index, P::self() == me);
        found.expect(index, P::cpus() >= 1 && P::cpus() == P::cpus());
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct asking_about_the_gone {
    static constexpr const char* name = "E_a_thread_may_be_asked_about_and_woken_when_it_is_gone";
    static constexpr unsigned threads = 2;
    typename P::template atomic<thread_id> one{nobody};

    void thread(unsigned index) {
        if (index == 0) {
            one.store(P::self(), relaxed);
        } else {
            const thread_id it = P::await(
                                     relaxed, [](thread_id id) { return id != nobody; }, one)
                                     .value();
            static_cast<void>(P::on_cpu(it));
            P::unpark(it);
            static_cast<void>(P::cpu());
        }
    }
    [[nodiscard]] bool ok() const { return true; }
};

template <class P>
struct preemption {
    static constexpr const char* name = "F_preemption_is_switched_off_and_on_in_pairs";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> sum{0};

    void thread(unsigned) {
        P::preempt_disable();
        P::preempt_disable();
        sum.fetch_add(1, relaxed);
        P::preempt_enable();
        {
            const typename P::no_preempt object;
            const typename P::no_preempt nested;
            static_cast<void>(P::need_resched());
            sum.fetch_add(1, relaxed);
        }
        P::preempt_enable();
        // Preemption is on again: sleeping is allowed.
        P::unpark(P::self());
        P::park();
    }
    [[nodiscard]] bool ok() const { return sum.load(relaxed) == 4; }
};

// ---- G: sleeping
// -----------------------------------------------------------------------------------------------------

template <class P>
struct token_first {
    static constexpr const char* name = "G_unpark_before_park_is_not_lost";
    static constexpr unsigned threads = 1;

    void thread(unsigned) {
        const thread_id me = P::self();
        P::unpark(me);
        P::unpark(me);
        P::park();
        P::unpark(me);
        found.expect(0, P::park(P::deadline::never()));
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
    findings<threads> found;
};

// The flag is relaxed: only the token orders it. If the token did not, the sleeper could use it up without
// seeing the flag and sleep for ever.
template <class P>
struct token_orders {
    static constexpr const char* name = "G_what_was_before_unpark_is_seen_after_park";
    static constexpr unsigned threads = 2;
    typename P::template atomic<thread_id> sleeper{nobody};
    typename P::template atomic<std::uint32_t> flag{0};

    void thread(unsigned index) {
        if (index == 0) {
            sleeper.store(P::self(), release);
            while (flag.load(relaxed) == 0)
                P::park();
        } else {
            const thread_id it = P::await(
                                     acquire, [](thread_id id) { return id != nobody; }, sleeper)
                                     .value();
            flag.store(1, relaxed);
            P::unpark(it);
        }
    }
    [[nodiscard]] bool ok() const { return flag.load(relaxed) == 1; }
};

template <class P>
struct two_wakers {
    static constexpr const char* name = "G_no_wake_up_of_two_is_lost";
    static constexpr unsigned threads = 3;
    typename P::template atomic<thread_id> sleeper{nobody};
    typename P::template atomic<std::uint32_t> flags{0};

    void thread(unsigned index) {
        if (index == 0) {
            sleeper.store(P::self(), release);
            while (flags.load(relaxed) != 3)
                P::park(P::deadline::never());
        } else {
            const thread_id it = P::await(
                                     acquire, [](thread_id id) { return id != nobody; }, sleeper)
                                     .value();
            flags.fetch_add(index, relaxed);
            P::unpark(it);
        }
    }
    [[nodiscard]] bool ok() const { return flags.load(relaxed) == 3; }
};

template <class P>
struct park_until {
    static constexpr const char* name = "G_park_ends_at_its_deadline";
    static constexpr unsigned threads = 2;
    findings<threads> found;

    void thread(unsigned index) {
        const auto until = P::deadline::after(std::chrono::microseconds(100 * index));
        while (P::park(until)) { // true: woken for nothing, which is allowed
        }
        found.expect(index, until.expired());
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct deadlines {
    static constexpr const char* name = "G_deadlines_expire_and_never_does_not";
    static constexpr unsigned threads = 1;
    findings<threads> found;

    void thread(unsigned) {
        const auto gone = P::deadline::after(-1ns);
        const auto endless = P::deadline::after(std::chrono::nanoseconds::max());
        found.expect(0, gone.expired());
        found.expect(0, !endless.expired());
        found.expect(0, !P::deadline::never().expired());
        while (P::park(gone)) {
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

// ---- H: queue nodes
// --------------------------------------------------------------------------------------------------

template <class P, class Slot>
struct nesting {
    static constexpr unsigned threads = 1;
    static constexpr std::uint32_t most = P::node_depth;
    findings<threads> found;
    std::array<std::uint32_t, most + 1> codes{};

    void nest(std::uint32_t level) {
        Slot slot;
        codes[level] = slot.code();
        found.expect(0, slot.depth() == level);
        found.expect(0, slot.code() < (1u << 23) && (slot.code() == 0) == (level == most));
        for (std::uint32_t below = 0; below < level; ++below)
            found.expect(0, codes[below] != codes[level]);
        if (slot.code() != 0)
            found.expect(0, &P::node(slot.code()) == &P::node(codes[level]));
        if (level < most)
            nest(level + 1);
    }
    void twice() {
        nest(0);
        const std::uint32_t again = Slot().code();
        found.expect(0, again == codes[0]);
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct nested_slots : nesting<P, typename P::node_slot> {
    static constexpr const char* name = "H_nested_slots_differ_until_there_are_none_left";
    void thread(unsigned) {
        P::preempt_disable();
        this->twice();
        P::preempt_enable();
    }
};

template <class P>
struct nested_sleep_slots : nesting<P, typename P::sleep_slot> {
    static constexpr const char* name = "H_nested_sleep_slots_differ_until_there_are_none_left";
    void thread(unsigned) { this->twice(); }
};

template <class P>
struct sleeping_with_a_node {
    static constexpr const char* name = "H_a_code_names_its_sleeper_for_every_thread";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> shared{0};
    typename P::template var<int> work{0};
    findings<threads> found;

    void thread(unsigned index) {
        if (index == 0) {
            typename P::sleep_slot slot;
            found.expect(0, P::sleeper(slot.code()) == P::self());
            auto& told = P::node(slot.code()).granted;
            told.store(0, relaxed);
            shared.store(slot.code(), release);
            while (told.load(acquire) == 0)
                P::park();
            found.expect(0, work.get() == 1);
        } else {
            const std::uint32_t code = P::await(
                                           acquire, [](std::uint32_t c) { return c != 0; }, shared)
                                           .value();
            work.set(1);
            P::node(code).granted.store(1, release);
            P::unpark(P::sleeper(code));
        }
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

template <class P>
struct others_nodes {
    static constexpr const char* name = "H_a_code_names_its_node_for_every_thread";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> first{0};
    typename P::template atomic<std::uint32_t> second{0};
    findings<threads> found;

    void thread(unsigned index) {
        P::preempt_disable();
        {
            typename P::node_slot slot;
            auto& mine = index == 0 ? first : second;
            auto& other = index == 0 ? second : first;
            P::node(slot.code()).granted.store(0, relaxed);
            mine.store(slot.code(), release);
            const std::uint32_t theirs = P::await(
                                             acquire, [](std::uint32_t code) { return code != 0; }, other)
                                             .value();
            found.expect(index, theirs != slot.code());
            P::node(theirs).granted.store(slot.code(), release);
            const std::uint32_t granted =
                P::await(
                    acquire, [](std::uint32_t value) { return value != 0; }, P::node(slot.code()).granted)
                    .value();
            found.expect(index, granted == theirs);
        }
        P::preempt_enable();
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

// ---- K: waiting threads

template <class P>
struct wait_records {
    static constexpr const char* name = "K_each_thread_has_a_wait_record_that_others_find";
    static constexpr unsigned threads = 2;
    static_assert(alignof(wait_record<P>) >= P::line_size);
    typename P::template atomic<thread_id> first{nobody};
    typename P::template atomic<thread_id> second{nobody};
    findings<threads> found;

    void thread(unsigned index) {
        const thread_id me = P::self();
        auto& mine = index == 0 ? first : second;
        auto& other = index == 0 ? second : first;
        P::waiter(me).next.set(me);
        mine.store(me, release);
        const thread_id them = P::await(
                                   acquire, [](thread_id id) { return id != nobody; }, other)
                                   .value();
        found.expect(index, P::waiter(them).next.get() == them);
        found.expect(index, &P::waiter(them) != &P::waiter(me) && &P::waiter(me) == &P::waiter(P::self()));
        found.expect(index, !P::gone(me));
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

// ---- I, J: words for profiles, cache lines
// ---------------------------------------------------------------------------

template <class P>
struct naming {
    static constexpr const char* name = "I_counting_and_naming_change_nothing";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> word{0};

    void thread(unsigned) {
        typename P::frame outer{"outer"};
        word.fetch_add(1, relaxed);
        {
            typename P::frame inner{"inner"};
            P::count(event::lock_pending);
            word.fetch_add(1, relaxed);
        }
        P::count(event::lock_no_node);
    }
    [[nodiscard]] bool ok() const { return word.load(relaxed) == 4; }
};

template <class P>
struct waits {
    static constexpr const char* name = "L_a_wait_gives_back_how_it_went";
    static constexpr unsigned threads = 2;
    typename P::template atomic<std::uint32_t> word{0};

    void thread(unsigned) {
        for (const waited_for what : {waited_for::mutex, waited_for::shared_mutex, waited_for::condition}) {
            typename P::waiting first{this, what, false};
            typename P::waiting inner{&word, what, true};
            if (first.over(true) && !inner.over(false))
                word.fetch_add(1, relaxed);
        }
    }
    [[nodiscard]] bool ok() const { return word.load(relaxed) == 6; }
};

template <class P>
struct lines {
    static constexpr const char* name = "J_queue_nodes_have_cache_lines_of_their_own";
    static constexpr unsigned threads = 1;
    static_assert(P::line_size >= 8 && (P::line_size & (P::line_size - 1)) == 0);
    static_assert(alignof(queue_node<P>) >= P::line_size);
    findings<threads> found;

    void thread(unsigned) {
        P::preempt_disable();
        {
            typename P::node_slot outer;
            typename P::node_slot inner;
            const auto at = [](std::uint32_t code) {
                return reinterpret_cast<std::uintptr_t>(&P::node(code));
            };
            const std::uintptr_t a = at(outer.code());
            const std::uintptr_t b = at(inner.code());
            found.expect(0, (a < b ? b - a : a - b) >= P::line_size);
        }
        P::preempt_enable();
    }
    [[nodiscard]] bool ok() const { return found.ok(); }
};

// ---- The contract for programs
// --------------------------------------------------------------------------------------- A is in the
// concept. Each of these runs within a program of W and says whether all was well.

template <class W>
struct spawn_and_join {
    static constexpr const char* name = "B_threads_run_and_are_waited_for";
    static bool run() {
        auto& sum = W::template make<typename W::platform::template atomic<std::uint32_t>>(0u);
        auto& plain = W::template make<typename W::platform::template var<int>>(0);
        typename W::thread threads[3];
        for (auto& thread : threads)
            thread = W::spawn([&sum] { sum.fetch_add(1, relaxed); });
        for (auto& thread : threads)
            W::join(thread);
        typename W::thread last = W::spawn([&plain] { plain.set(42); });
        W::join(last);
        return sum.load(relaxed) == 3 && plain.get() == 42;
    }
};

template <class W>
struct pinning {
    static constexpr const char* name = "C_pinned_threads_stay_where_they_are";
    static bool run() {
        if (W::cpu_count() == 0)
            return false;
        // Each thread's CPU, and whether it has always been that.
        auto& moved = W::template make<typename W::platform::template atomic<std::uint32_t>>(0u);
        auto& first = W::template make<typename W::platform::template atomic<std::uint32_t>>(0u);
        auto& last = W::template make<typename W::platform::template atomic<std::uint32_t>>(0u);
        const auto stay = [&moved](auto& at) {
            at.store(W::platform::cpu(), relaxed);
            for (int i = 0; i < 10; ++i) {
                W::compute(1us, cpu_mode::user);
                W::sleep(1us);
                if (W::platform::cpu() != at.load(relaxed))
                    moved.store(1, relaxed);
            }
        };
        typename W::thread threads[] = {W::spawn_on(0, [&] { stay(first); }), W::spawn([&] {
                                            W::pin(W::cpu_count() - 1);
                                            stay(last);
                                        })};
        for (auto& thread : threads)
            W::join(thread);
        const bool differ = first.load(relaxed) != last.load(relaxed);
        return moved.load(relaxed) == 0 && differ == (W::cpu_count() > 1);
    }
};

template <class W>
struct computing {
    static constexpr const char* name = "D_computing_takes_its_time";
    static bool run() {
        const auto begin = W::now();
        for (int i = 0; i < 1000; ++i)
            W::compute(1us, i % 2 == 0 ? cpu_mode::user : cpu_mode::system);
        const auto middle = W::now();
        W::compute(2ms, cpu_mode::user);
        W::compute(0ns, cpu_mode::system);
        // Real clocks differ a little in what they call a second, and a CPU may be faster now than it was.
        return middle - begin >= 500us && W::now() - middle >= 1900us;
    }
};

template <class W>
struct sleeping {
    static constexpr const char* name = "E_sleeping_is_not_shorter_than_asked_for";
    static bool run() {
        const auto begin = W::now();
        W::sleep(0ns);
        W::sleep(2ms);
        return begin >= 0ns && W::now() - begin >= 2ms;
    }
};

template <class W>
struct drawing {
    static constexpr const char* name = "F_random_numbers_are_in_range_and_differ_between_threads";
    static bool run() {
        auto& words = W::template make<std::array<std::uint64_t, 2>>();
        typename W::thread threads[] = {
            W::spawn([&words] { words[0] = W::random().below(std::uint64_t{1} << 62); }),
            W::spawn([&words] { words[1] = W::random().below(std::uint64_t{1} << 62); })};
        for (auto& thread : threads)
            W::join(thread);
        unsigned seen = 0;
        for (int i = 0; i < 200; ++i) {
            const std::uint64_t drawn = W::random().below(3);
            if (drawn >= 3)
                return false;
            seen |= 1u << drawn;
        }
        return seen == 7 && words[0] != words[1] && W::random().below(1) == 0;
    }
};

template <class W>
struct making {
    static constexpr const char* name = "G_made_objects_are_constructed_and_each_in_its_place";
    struct pair {
        pair(int a, int b) : sum(a + b) {}
        pair(const pair&) = delete;
        int sum;
    };
    static bool run() {
        auto& first = W::template make<pair>(1, 2);
        auto& second = W::template make<pair>(3, 4);
        auto& near = W::template make_near<pair>(5, 6);
        return first.sum == 3 && second.sum == 7 && near.sum == 11 && &first != &second && &near != &first &&
               &near != &second;
    }
};

template <class W>
struct transferring {
    static constexpr const char* name = "H_transfers_take_latency_and_queue_at_the_limits";
    static bool run() {
        auto& slow = W::template make<typename W::device>(device_limits{.latency = 2ms});
        auto begin = W::now();
        slow.transfer(4096);
        if (W::now() - begin < 2ms)
            return false;
        // Four transfers, begun at most every millisecond.
        auto& few = W::template make<typename W::device>(device_limits{.iops = 1000});
        begin = W::now();
        typename W::thread threads[4];
        for (auto& thread : threads)
            thread = W::spawn([&few] { few.transfer(1); });
        for (auto& thread : threads)
            W::join(thread);
        if (W::now() - begin < 3ms)
            return false;
        auto& narrow = W::template make<typename W::device>(device_limits{.bytes_per_second = 1'000'000});
        begin = W::now();
        narrow.transfer(1000);
        narrow.transfer(1000);
        return W::now() - begin >= 2ms;
    }
};

template <class W>
struct shooting_down {
    static constexpr const char* name = "I_shootdowns_return_whoever_runs";
    static bool run() {
        auto& done = W::template make<typename W::platform::template atomic<std::uint32_t>>(0u);
        typename W::thread other = W::spawn([&done] {
            while (done.load(relaxed) == 0)
                W::compute(1us, cpu_mode::user);
        });
        for (int i = 0; i < 10; ++i)
            W::shootdown();
        done.store(1, relaxed);
        W::join(other);
        return true;
    }
};

template <class W>
struct counting {
    static constexpr const char* name = "J_counters_sum_up_what_all_threads_add";
    static bool run() {
        auto& counter = W::template make<typename W::counter>();
        if (counter.value() != 0)
            return false;
        typename W::thread threads[3];
        for (auto& thread : threads) {
            thread = W::spawn([&counter] {
                for (int i = 0; i < 100; ++i)
                    counter.add(2);
            });
        }
        for (auto& thread : threads)
            W::join(thread);
        counter.add(1);
        return counter.value() == 601;
    }
};

// ---- The lists
// -------------------------------------------------------------------------------------------------------

template <class P, template <class...> class List = std::tuple>
using lock_scenarios =
    List<operations<P>, no_update_is_lost<P>, one_exchange_wins<P>, release_to_acquire<P>,
         release_through_update<P>, fence_to_fence<P>, store_then_load<P>, plain_data<P>, await_two_words<P>,
         await_acquires<P>, await_both_ways<P>, await_or_give_up<P>, pausing<P>, identities<P>,
         asking_about_the_gone<P>, preemption<P>, token_first<P>, token_orders<P>, two_wakers<P>,
         nested_slots<P>, others_nodes<P>, nested_sleep_slots<P>, sleeping_with_a_node<P>, naming<P>,
         lines<P>, wait_records<P>, waits<P>>;

template <class P, template <class...> class List = std::tuple>
using timed_scenarios = List<await_until<P>, park_until<P>, deadlines<P>>;

template <class W, template <class...> class List = std::tuple>
using program_scenarios = List<spawn_and_join<W>, pinning<W>, computing<W>, sleeping<W>, drawing<W>,
                               making<W>, transferring<W>, shooting_down<W>, counting<W>>;

// Calls run.template operator()<Scenario>() for each scenario of a list.
template <class... Scenario, class Run>
void for_each(std::tuple<Scenario...>*, Run&& run) {
    (run.template operator()<Scenario>(), ...);
}

// Runs the contract for locks on P: `run` starts one scenario's threads, and judges.
template <class P, class Run>
void lock_half(Run&& run) {
    for_each(static_cast<lock_scenarios<P>*>(nullptr), run);
}

// Runs what besides that holds where time passes.
template <class P, class Run>
void timed_half(Run&& run) {
    for_each(static_cast<timed_scenarios<P>*>(nullptr), run);
}

} // namespace holdfast::conformance
