// The contract between a lock and the machine it stands on.
//
// Every lock in this folder is a template over a platform `P`, a type with static members only. Three platforms keep
// the contract: `holdfast::native` (std::atomic, threads, futex, rseq), `holdfast::sim::platform` (a deterministic
// simulated machine) and `holdfast::model::platform` (an explorer of interleavings and of the memory model). The same
// lines of a lock run on all three, so a lock may use what this file names and nothing else: no std::atomic, no
// thread_local, no static state, no clock.
//
// The clauses. `tests/conformance.hpp` checks each of them, by its letter, on every platform.
//
//  A  Atomics. `P::atomic<T>`, T trivially copyable and at most 8 bytes: load, store, exchange, compare_exchange_weak,
//     compare_exchange_strong, and for integers fetch_add, fetch_sub, fetch_and, fetch_or, fetch_xor, with std::atomic's
//     meaning. Memory orders are always spelled out. `P::fence(order)` is std::atomic_thread_fence.
//  B  Plain data. `P::var<T>`: get() and set(v) of data that the lock protects by other means. The model reports two
//     unordered accesses of which one writes; sim charges the cache line; native is a plain T.
//  C  Waiting on memory. `P::await(order, predicate, stop, relax, words...)` returns once predicate(values...) holds for
//     values of the words loaded with `order`, or once one of the conditions of `stop` holds; which of the two, and the
//     values seen last, are in the result. The predicate has no side effects and is called any number of times, by any
//     thread. Between two looks the waiter relaxes `relax.pauses` times. Native gives the CPU away after a bounded
//     while, having looked at `stop`; sim puts the waiting CPU to sleep on the cache lines; the model blocks the thread until
//     a new store, and takes each condition of `stop` as a choice that it may make a bounded number of times.
//     `P::await(order, predicate, words...)` is the same with no other condition and one pause.
//     A change that is undone before the waiter looks may be missed: wait for states that stay, or for tickets.
//  D  pause(): what a spinning thread does with a moment in which it has nothing to do.
//  E  Who and where. self() is the calling thread, never `nobody`; two threads alive at the same time differ. cpu() is the
//     CPU that it ran on a moment ago. on_cpu(t) may be true of a thread that does not run, and is false only
//     if t did not run at some moment during the call. cpus() is how many the program may use, 1 or more; it stays what
//     it was when it was first asked. A thread's identity outlives it: to ask about a thread that is
//     gone, or whose identity has gone to another, is harmless. After fork the child's only thread has an identity anew.
//  F  Preemption. Between preempt_disable() and preempt_enable() (they nest) a thread is not put off its CPU, on machines
//     that can promise this; native can't and does nothing. `no_preempt` is the pair as an object, for optimistic spinning.
//     Inside one, need_resched() says that somebody else wants this CPU; native, which can't know, says so after 3 ms
//     of spinning within the object's life.
//  G  Sleeping. park() returns after an unpark(self()) that no earlier park has used up: one token a thread, not
//     a count. It may also return without one. What the unparker did before unpark is visible after a park that used
//     its token. park(deadline) is false if the deadline passed first. A lock never compares times: `P::deadline` is
//     made by after(nanoseconds) or never(), and asked by expired(). With preemption disabled the CPU sleeps with the thread,
//     and nobody else runs on it (as a virtual CPU halts), on machines that can promise this.
//  H  Queue nodes. A `P::node_slot` object takes the calling context's next free queue node for its lifetime; contexts
//     are CPUs where preemption can be disabled (so a slot is used only while it is), and threads where it can't.
//     depth() is how many the context had before. code() names the node in at most 23 bits, and is never 0 unless there is none left: after `P::node_depth` nested
//     slots, or when there are more contexts than codes. A lock must then do without. `P::node(code)` is the node of a
//     code, of any context; nodes are never freed. Slots of one context end in the reverse order of their making.
//     A `P::sleep_slot` is the same with contexts that are threads on every machine, so a thread may sleep with it.
//     `P::sleeper(code)` is the thread of such a slot's code; it asks nobody's memory.
//  I  Words for profiles. count(event) counts, `frame` names the running function for as long as it lives. Both cost
//     nothing on native unless they are asked for.
//  J  `P::line_size` is how far apart (in bytes) two objects must lie, at most, so as never to share a cache line.
//  K  Waiting threads. `P::waiter(thread)` is the wait record of a thread, by its identity: where a sleeping lock keeps what it
//     must know of one that waits for it. A thread waits for one lock at a time. Records are never freed; a thread that
//     gets the identity of one that is gone gets its record as it was left. gone(t) is false while t waits for a lock of this
//     process, and true if t was alive where a fork made this process, and didn't call it. Then t's record says nothing.
//     of_before_fork(t) is true of such a thread, too, and false of all that ever were threads of this process.
//  L  Waits for profiles. A `P::waiting` object lives as long as its thread waits in a lock's slow path, and is told the
//     lock's address (never followed: the lock may be gone when it ends), what it is, and whether to share it; over(taken)
//     tells it how the wait went, and gives that back. Native passes it on to whoever records the process.
#pragma once

#if __cplusplus < 202002L
#error "holdfast needs C++20: compile with -std=c++20 or later"
#endif

#include <atomic>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

namespace holdfast {

// A thread's identity on some platform. Small, so that a lock can keep an owner in half a word.
using thread_id = std::uint32_t;
inline constexpr thread_id nobody = 0;

// How a waiter spends the time between two looks at memory: so many `pause`s.
struct relax {
    std::uint32_t pauses = 1;
};

// Why an await ended.
enum class wake : std::uint8_t {
    satisfied,     // the predicate held
    resched,       // somebody else wants this CPU
    owner_off_cpu, // the thread watched is not running
    expired        // the deadline passed
};

// What may end an await besides its predicate. The default is nothing.
template <class Deadline>
struct stop_when {
    bool resched = false;               // need_resched() turned true
    thread_id owner_off_cpu = nobody;   // on_cpu(this thread) turned false
    const Deadline* deadline = nullptr; // expired() turned true; null: never
};

// The result of an await: why it ended and the values that it saw last.
template <class... T>
struct awaited {
    wake why;
    std::tuple<T...> values;

    explicit operator bool() const { return why == wake::satisfied; }
    // The value of word number I, in the order of await's arguments.
    template <std::size_t I = 0>
    auto value() const {
        return std::get<I>(values);
    }
};

// Lock events, under the names that the kernel gives them (kernel/locking/lock_events_list.h).
enum class event : std::uint8_t {
    lock_pending,   // qspinlock: acquired through the pending bit
    lock_slowpath,  // qspinlock: went to the queue
    lock_use_node2, // qspinlock: queued with the context's second node (third, fourth)
    lock_use_node3,
    lock_use_node4,
    lock_no_node,        // qspinlock: no node left, spun on the word
    rwsem_sleep_reader,  // rwsem: a reader slept
    rwsem_sleep_writer,  //   a writer slept
    rwsem_wake_reader,   //   a reader was woken
    rwsem_wake_writer,   //   a writer was woken
    rwsem_opt_lock,      //   a write lock got by optimistic spinning
    rwsem_opt_fail,      //   optimistic spinning that got nothing
    rwsem_opt_nospin,    //   optimistic spinning refused, as readers have held the lock for long
    rwsem_rlock,         //   read locks got by the slow path
    rwsem_rlock_steal,   //     without queueing, from waiters
    rwsem_rlock_fast,    //     by a first reader for others behind it
    rwsem_rlock_fail,    //   read locks given up
    rwsem_rlock_handoff, //   hand-offs asked for by readers
    rwsem_wlock,         //   write locks got by the slow path
    rwsem_wlock_fail,    //   write locks given up
    rwsem_wlock_handoff, //   hand-offs asked for by writers
};
inline constexpr std::size_t event_count = 21;

// The kernel's name of an event.
constexpr const char* name_of(event e) {
    constexpr const char* names[event_count] = {
        "lock_pending",       "lock_slowpath",       "lock_use_node2",     "lock_use_node3",
        "lock_use_node4",     "lock_no_node",        "rwsem_sleep_reader", "rwsem_sleep_writer",
        "rwsem_wake_reader",  "rwsem_wake_writer",   "rwsem_opt_lock",     "rwsem_opt_fail",
        "rwsem_opt_nospin",   "rwsem_rlock",         "rwsem_rlock_steal",  "rwsem_rlock_fast",
        "rwsem_rlock_fail",   "rwsem_rlock_handoff", "rwsem_wlock",        "rwsem_wlock_fail",
        "rwsem_wlock_handoff"};
    return names[static_cast<std::size_t>(e)];
}

// A queue node as MCS-style queues need it, with links as 32-bit codes so that a lock's tail fits in half a word. It is
// owned by the platform (clause H), one cache line each. Which lock uses which field when is the lock's business.
template <class P>
struct alignas(P::line_size) queue_node {
    typename P::template atomic<std::uint32_t> next{0};
    typename P::template atomic<std::uint32_t> prev{0};
    typename P::template atomic<std::uint32_t> granted{0};
};

// What a thread waits for (clause L). The numbers are part of how locks and `holdfast record` meet: they stay.
enum class waited_for : std::uint32_t { mutex, shared_mutex, condition };

// A wait of which nobody is told.
struct [[maybe_unused]] unrecorded_wait {
    unrecorded_wait(const void*, waited_for, bool) {}
    bool over(bool taken) { return taken; }
};

// What a sleeping lock keeps of a thread that waits for it (clause K): links to other threads by their identities, so that a
// lock's line of waiters fits in half a word. Which lock uses which field when is the lock's business.
template <class P>
struct alignas(P::line_size) wait_record {
    typename P::template var<thread_id> next{nobody};
    typename P::template var<thread_id> previous{nobody};
    typename P::template var<thread_id> last{nobody};
};

// The contract, as far as a compiler can check it.
template <class P>
concept platform = requires(typename P::template atomic<std::uint32_t>& word,
                            typename P::template var<int>& plain, const typename P::deadline& deadline,
                            thread_id thread, std::uint32_t expected, typename P::waiting& waiting) {
    // A
    { word.load(std::memory_order_acquire) } -> std::same_as<std::uint32_t>;
    word.store(1u, std::memory_order_release);
    { word.exchange(1u, std::memory_order_acq_rel) } -> std::same_as<std::uint32_t>;
    {
        word.compare_exchange_strong(expected, 1u, std::memory_order_acquire, std::memory_order_relaxed)
        } -> std::same_as<bool>;
    {
        word.compare_exchange_weak(expected, 1u, std::memory_order_acquire, std::memory_order_relaxed)
        } -> std::same_as<bool>;
    { word.fetch_add(1u, std::memory_order_relaxed) } -> std::same_as<std::uint32_t>;
    { word.fetch_sub(1u, std::memory_order_relaxed) } -> std::same_as<std::uint32_t>;
    { word.fetch_and(1u, std::memory_order_relaxed) } -> std::same_as<std::uint32_t>;
    { word.fetch_or(1u, std::memory_order_relaxed) } -> std::same_as<std::uint32_t>;
    { word.fetch_xor(1u, std::memory_order_relaxed) } -> std::same_as<std::uint32_t>;
    P::fence(std::memory_order_seq_cst);
    // B
    { plain.get() } -> std::same_as<int>;
    plain.set(1);
    // C
    {
        P::await(
            std::memory_order_acquire, [](std::uint32_t a, std::uint32_t b) { return a == b; },
            stop_when<typename P::deadline>{}, relax{}, word, word)
        } -> std::same_as<awaited<std::uint32_t, std::uint32_t>>;
    {
        P::await(
            std::memory_order_acquire, [](std::uint32_t v) { return v == 1; }, word)
        } -> std::same_as<awaited<std::uint32_t>>;
    // D, E, F
    P::pause();
    { P::self() } -> std::same_as<thread_id>;
    { P::cpu() } -> std::same_as<std::uint32_t>;
    { P::on_cpu(thread) } -> std::same_as<bool>;
    { P::cpus() } -> std::same_as<std::uint32_t>;
    P::preempt_disable();
    P::preempt_enable();
    typename P::no_preempt;
    { P::need_resched() } -> std::same_as<bool>;
    // G
    P::park();
    { P::park(deadline) } -> std::same_as<bool>;
    P::unpark(thread);
    { P::deadline::after(std::chrono::nanoseconds(1)) } -> std::same_as<typename P::deadline>;
    { P::deadline::never() } -> std::same_as<typename P::deadline>;
    { deadline.expired() } -> std::same_as<bool>;
    // H
    { typename P::node_slot().code() } -> std::same_as<std::uint32_t>;
    { typename P::node_slot().depth() } -> std::same_as<std::uint32_t>;
    { P::node(1u) } -> std::same_as<queue_node<P>&>;
    { P::node_depth } -> std::convertible_to<std::uint32_t>;
    { typename P::sleep_slot().code() } -> std::same_as<std::uint32_t>;
    { typename P::sleep_slot().depth() } -> std::same_as<std::uint32_t>;
    { P::sleeper(1u) } -> std::same_as<thread_id>;
    // K
    { P::waiter(thread) } -> std::same_as<wait_record<P>&>;
    { P::gone(thread) } -> std::same_as<bool>;
    { P::of_before_fork(thread) } -> std::same_as<bool>;
    // I, J
    P::count(event::lock_pending);
    requires std::constructible_from<typename P::frame, const char*>;
    // L
    requires std::constructible_from<typename P::waiting, const void*, waited_for, bool>;
    { waiting.over(true) } -> std::same_as<bool>;
    { P::line_size } -> std::convertible_to<std::size_t>;
};

} // namespace holdfast
