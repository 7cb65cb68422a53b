// The model: the platform on which locks are explored instead of run. include/holdfast/platform.hpp says what
// a platform is; this file says what each clause means here, in terms of the explorer (explorer.hpp).
//
// Threads are the threads of a program; contexts with queue nodes are threads, and preempt_disable does
// nothing, as on native. Whatever a real machine may do of its own (take the CPU away, let a deadline pass,
// wake a sleeper for nothing) is a choice that an execution may make as often as `chances` allows.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <holdfast/platform.hpp>

#include "model/explorer.hpp"

namespace holdfast::model {

// Clause A. Each operation is a step; loads may read what is not the newest.
template <class T>
class atomic {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= sizeof(explorer::bits));

public:
    using value_type = T;

    atomic(T value = T(), place at = place::here())
        : word_(explorer::begin_word(bits_of(value))), made_(at) {}
    ~atomic() { explorer::end_word(word_, made_); }
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    T load(ordered order) const { return value_of(explorer::load(word_, order)); }
    void store(T value, ordered order) { explorer::store(word_, bits_of(value), order); }
    T exchange(T value, ordered order) {
        return modify([](T, T operand) { return operand; }, value, order, operation::exchange);
    }
    bool compare_exchange_weak(T& expected, T desired, ordered success, std::memory_order failure) {
        return compare_exchange(expected, desired, success, failure, operation::compare_exchange_weak);
    }
    bool compare_exchange_strong(T& expected, T desired, ordered success, std::memory_order failure) {
        return compare_exchange(expected, desired, success, failure, operation::compare_exchange_strong);
    }
    T fetch_add(T operand, ordered order) {
        return modify([](T a, T b) { return static_cast<T>(a + b); }, operand, order, operation::fetch_add);
    }
    T fetch_sub(T operand, ordered order) {
        return modify([](T a, T b) { return static_cast<T>(a - b); }, operand, order, operation::fetch_sub);
    }
    T fetch_and(T operand, ordered order) {
        return modify([](T a, T b) { return static_cast<T>(a & b); }, operand, order, operation::fetch_and);
    }
    T fetch_or(T operand, ordered order) {
        return modify([](T a, T b) { return static_cast<T>(a | b); }, operand, order, operation::fetch_or);
    }
    T fetch_xor(T operand, ordered order) {
        return modify([](T a, T b) { return static_cast<T>(a ^ b); }, operand, order, operation::fetch_xor);
    }

private:
    friend struct platform;

    static explorer::bits bits_of(T value) {
        explorer::bits bits = 0;
        std::memcpy(&bits, &value, sizeof value);
        return bits;
    }
    static T value_of(explorer::bits bits) {
        T value;
        std::memcpy(&value, &bits, sizeof value);
        return value;
    }

    // `Change` is a lambda without captures: stateless, so it can be made again where the explorer calls it.
    template <class Change>
    T modify(Change, T operand, ordered order, operation what) {
        const auto change = [](explorer::bits value, explorer::bits by) {
            return bits_of(Change()(value_of(value), value_of(by)));
        };
        return value_of(explorer::modify(word_, change, bits_of(operand), order, what));
    }
    bool compare_exchange(T& expected, T desired, ordered success, std::memory_order failure,
                          operation what) {
        explorer::bits bits = bits_of(expected);
        const bool done = explorer::compare_exchange(word_, bits, bits_of(desired), success, failure, what);
        expected = value_of(bits);
        return done;
    }

    explorer::word* word_;
    place made_;
};

// Clause B. Two accesses that nothing orders, one of them a write, fail the execution.
template <class T>
class var {
public:
    var(T value = T(), place at = place::here())
        : value_(value), accesses_(explorer::begin_plain()), made_(at) {}
    ~var() { explorer::end_plain(accesses_, made_); }
    var(const var&) = delete;
    var& operator=(const var&) = delete;

    T get(place at = place::here()) const {
        explorer::read(accesses_, at);
        return value_;
    }
    void set(T value, place at = place::here()) {
        explorer::write(accesses_, at);
        value_ = value;
    }

private:
    T value_;
    explorer::plain* accesses_;
    place made_;
};

struct platform {
    template <class T>
    using atomic = model::atomic<T>;
    template <class T>
    using var = model::var<T>;

    static constexpr std::size_t line_size = 64;
    static constexpr std::uint32_t node_depth = 2;

    static void fence(ordered order) { explorer::fence(order); }

    // Clause G. Passes when the explorer says so, and then for good.
    class deadline {
    public:
        static deadline after(std::chrono::nanoseconds) { return deadline(true); }
        static deadline never() { return deadline(false); }
        bool expired() const {
            if (may_pass_ && !passed_)
                passed_ = explorer::chance(&chances::time_out);
            return passed_;
        }

    private:
        friend struct platform;

        explicit deadline(bool may_pass) : may_pass_(may_pass) {}
        // As the explorer wants it: null where there is none.
        static bool* passing(const deadline* d) {
            return d != nullptr && d->may_pass_ ? &d->passed_ : nullptr;
        }

        bool may_pass_;
        mutable bool passed_ = false;
    };

    // Clause C. One operation, which is possible once the predicate holds for values that the thread may see: a wake-up that
    // never comes is a deadlock and not an endless spin.
    template <class Predicate, class... T>
    static awaited<T...> await(ordered order, Predicate predicate, const stop_when<deadline>& stop, relax,
                               const atomic<T>&... words) {
        const std::array<explorer::word*, sizeof...(T)> handles{words.word_...};
        std::array<explorer::bits, sizeof...(T)> seen{};
        const auto values = [&seen] { return values_of<T...>(seen, std::index_sequence_for<T...>{}); };
        const wake why = explorer::await({.words = handles,
                                          .seen = seen,
                                          .holds = [&] { return bool(std::apply(predicate, values())); },
                                          .resched = stop.resched,
                                          .off_cpu = stop.owner_off_cpu != nobody,
                                          .deadline = deadline::passing(stop.deadline)},
                                         order);
        return {why, values()};
    }
    template <class Predicate, class... T>
    static awaited<T...> await(ordered order, Predicate predicate, const atomic<T>&... words) {
        return await(order, predicate, stop_when<deadline>{}, relax{}, words...);
    }

    // Clauses D, E and F.
    static void pause() { explorer::pause(); }
    static thread_id self() { return explorer::self() + 1; }
    static std::uint32_t cpu() { return explorer::self(); }
    static std::uint32_t cpus() { return 2; }
    static bool on_cpu(thread_id) { return !explorer::chance(&chances::off_cpu); }
    static void preempt_disable() {}
    static void preempt_enable() {}
    struct no_preempt {
        no_preempt() {} // not trivial, lest it count as an unused variable
        no_preempt(const no_preempt&) = delete;
        no_preempt& operator=(const no_preempt&) = delete;
    };
    static bool need_resched() { return explorer::chance(&chances::resched); }

    // Clause G.
    static void park(place at = place::here()) { explorer::park(token(self()).word_, nullptr, at); }
    static bool park(const deadline& until, place at = place::here()) {
        return explorer::park(token(self()).word_, deadline::passing(&until), at);
    }
    static void unpark(thread_id thread, place at = place::here()) {
        check(thread != nobody && thread <= max_threads, "no such thread to wake");
        const auto to_one = [](explorer::bits, explorer::bits one) { return one; };
        explorer::modify(token(thread).word_, to_one, 1, {std::memory_order_release, at}, operation::unpark);
    }

    // Clause H.
    class node_slot {
    public:
        node_slot() : depth_(depth_in_use()++) {}
        ~node_slot() { --depth_in_use(); }
        node_slot(const node_slot&) = delete;
        node_slot& operator=(const node_slot&) = delete;

        std::uint32_t code() const {
            return depth_ < node_depth ? explorer::self() * node_depth + depth_ + 1 : 0;
        }
        std::uint32_t depth() const { return depth_; }

    private:
        std::uint32_t depth_;
    };
    using sleep_slot = node_slot;
    static thread_id sleeper(std::uint32_t code) { return (code - 1) / node_depth + 1; }
    static queue_node<platform>& node(std::uint32_t code) {
        check(code != 0 && code <= max_threads * node_depth, "no such queue node");
        return lasting_one<queue_node<platform>, max_threads * node_depth>(code - 1);
    }

    // Clause K. Nobody forks.
    static wait_record<platform>& waiter(thread_id thread) {
        check(thread != nobody && thread <= max_threads, "no such thread to wait");
        return lasting_one<wait_record<platform>, max_threads>(thread - 1);
    }
    static bool gone(thread_id) { return false; }
    static bool of_before_fork(thread_id) { return false; }

    // Clause I.
    static void count(event) {}
    struct frame {
        explicit frame(const char*) {}
    };

    // Clause L.
    using waiting = unrecorded_wait;

private:
    // How many queue nodes each thread has in use in this execution.
    static std::uint32_t& depth_in_use() {
        static thread_local std::array<std::uint32_t, max_threads> depths;
        static thread_local std::uint64_t execution = 0;
        if (std::exchange(execution, explorer::execution()) != explorer::execution())
            depths = {};
        return depths[explorer::self()];
    }

    // One of `Count` objects of an execution: made when first asked for, as if before the threads; never
    // ended.
    template <class T, std::size_t Count>
    static T& lasting_one(std::size_t i) {
        struct alignas(T) room {
            std::byte bytes[sizeof(T)];
            std::uint64_t execution;
        };
        static thread_local std::array<room, Count> rooms;
        room& r = rooms[i];
        if (std::exchange(r.execution, explorer::execution()) != explorer::execution())
            explorer::before_threads([&] { new (r.bytes) T; });
        return *std::launder(reinterpret_cast<T*>(r.bytes));
    }

    static atomic<std::uint32_t>& token(thread_id thread) {
        return lasting_one<atomic<std::uint32_t>, max_threads>(thread - 1);
    }

    template <class... T, std::size_t Size, std::size_t... I>
    static std::tuple<T...> values_of(const std::array<explorer::bits, Size>& seen,
                                      std::index_sequence<I...>) {
        return {atomic<T>::value_of(seen[I])...};
    }
};

static_assert(holdfast::platform<platform>);

} // namespace holdfast::model
