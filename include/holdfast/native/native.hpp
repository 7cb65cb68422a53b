// The real machine: std::atomic, threads, futex and rseq behind the contract of platform.hpp. This is the
// platform on which users' locks stand: `holdfast::ticket_lock<holdfast::native>`.
//
// What is special here, clause by clause:
//  A  Objects are constant-initialised: a lock may be `constinit`, and be used before main and after it.
//  C  A waiter pauses, then gives its CPU away, then sleeps for moments (native/spin.hpp).
//  E  Identities are slots of a table (native/thread_table.hpp); on_cpu knows only of the caller's own CPU
//     (native/on_cpu.hpp).
//  F  Nothing keeps a thread on its CPU.
//  G  A futex in the slot (native/futex.hpp).
//  H  Contexts are threads: their nodes are in the slot. Signal handlers take the next ones.
//  I  Nothing is counted or named.
//  K  The record is in the slot. A thread that has ended is gone, too, until another has its slot; one of before a fork has a
//     wiped slot.
//  L  `holdfast record` is told, if it records the process (native/recorder.hpp).
// errno is as before after everything. A lock that nobody waits for never looks into the thread table.
#pragma once

#if __cplusplus < 202002L
#error "holdfast needs C++20: compile with -std=c++20 or later"
#endif

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <tuple>

#include <holdfast/native/atomic.hpp>
#include <holdfast/native/deadline.hpp>
#include <holdfast/native/futex.hpp>
#include <holdfast/native/on_cpu.hpp>
#include <holdfast/native/recorder.hpp>
#include <holdfast/native/spin.hpp>
#include <holdfast/native/thread_table.hpp>
#include <holdfast/platform.hpp>

namespace holdfast {

struct native {
private:
    using table = os::thread_table<queue_node<native>, wait_record<native>>;

    // The conditions of an await are looked at once in so many looks at memory: the clock and the kernel are
    // slow.
    static constexpr std::uint32_t looks_between_clocks = 8;
    static constexpr std::uint32_t looks_between_owners = 64;

public:
    // A, B
    template <class T>
    using atomic = os::atomic<T>;
    template <class T>
    using var = os::var<T>;
    static void fence(std::memory_order order) { std::atomic_thread_fence(order); }

    using deadline = os::deadline;

    // C
    template <class Predicate, class... T>
    static awaited<T...> await(std::memory_order order, Predicate predicate, const stop_when<deadline>& stop,
                               relax relaxation, const atomic<T>&... words) {
        const auto look = [&] { return std::tuple<T...>{words.load(order)...}; };
        std::tuple<T...> seen = look();
        if (std::apply(predicate, seen)) [[likely]]
            return {wake::satisfied, seen};
        const os::spin_budget budget; // the wait's own, if it isn't within a no_preempt
        os::spinner spinner(!stop.resched);
        for (std::uint32_t looks = 0;; ++looks) {
            if (looks % looks_between_clocks == 0 || spinner.yields()) {
                if (stop.resched && need_resched())
                    return {wake::resched, seen};
                if (stop.deadline != nullptr && stop.deadline->expired())
                    return {wake::expired, seen};
            }
            if (looks % looks_between_owners == looks_between_owners - 1 && stop.owner_off_cpu != nobody &&
                !on_cpu(stop.owner_off_cpu))
                return {wake::owner_off_cpu, seen};
            spinner.relax(relaxation.pauses);
            seen = look();
            if (std::apply(predicate, seen))
                return {wake::satisfied, seen};
        }
    }
    template <class Predicate, class... T>
    static awaited<T...> await(std::memory_order order, Predicate predicate, const atomic<T>&... words) {
        return await(order, predicate, {}, relax{}, words...);
    }

    // D
    static void pause() { os::pause(); }

    // E
    static thread_id self() { return table::mine().identity.load(std::memory_order_relaxed); }
    static std::uint32_t cpu() { return os::current_cpu(); }
    static std::uint32_t cpus() { return os::usable_cpus(); }
    static bool on_cpu(thread_id thread) {
        const auto* const slot = table::find(thread);
        // Whatever they say was true at some time, and a slot that has changed hands is harmless.
        if (slot == nullptr || !slot->has_owner())
            return false;
        return thread == self() || os::may_execute(slot->cpu_word.load(std::memory_order_relaxed));
    }

    // F
    static void preempt_disable() {}
    static void preempt_enable() {}
    using no_preempt = os::spin_budget;
    static bool need_resched() { return os::spin_budget::spent(); }

    // G
    static void park() { table::mine().token.park(deadline::never()); }
    static bool park(const deadline& until) { return table::mine().token.park(until); }
    static void unpark(thread_id thread) {
        if (auto* const slot = table::find(thread))
            slot->token.unpark();
    }

    // H
    static constexpr std::uint32_t node_depth = os::nodes_per_thread;
    class node_slot {
    public:
        node_slot() : depth_(table::nest()), code_(table::code_of(depth_)) {}
        ~node_slot() { table::unnest(); }
        node_slot(const node_slot&) = delete;
        node_slot& operator=(const node_slot&) = delete;
        [[nodiscard]] std::uint32_t code() const { return code_; }
        [[nodiscard]] std::uint32_t depth() const { return depth_; }

    private:
        std::uint32_t depth_;
        std::uint32_t code_;
    };
    using sleep_slot = node_slot;
    static queue_node<native>& node(std::uint32_t code) { return table::node(code); }
    static thread_id sleeper(std::uint32_t code) { return table::identity_of(code); }

    // K
    static wait_record<native>& waiter(thread_id thread) { return table::find(thread)->waiting; }
    static bool gone(thread_id thread) {
        const auto* const slot = table::find(thread);
        return slot == nullptr || !slot->has_owner();
    }
    static bool of_before_fork(thread_id thread) {
        const auto* const slot = table::find(thread);
        return slot != nullptr && slot->is_wiped();
    }

    // I
    static void count(event) {}
    struct [[maybe_unused]] frame {
        explicit frame(const char*) {}
    };

    // L
    using waiting = os::wait_to_record;

    // J
#if defined(__x86_64__) || defined(__i386__)
    static constexpr std::size_t line_size = 64;
#else
    static constexpr std::size_t line_size = 128;
#endif
};

static_assert(platform<native>);

} // namespace holdfast
