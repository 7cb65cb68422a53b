// The lock platform of the simulated machine: include/holdfast/platform.hpp, kept by the engine.
//
// atomic and var are as large as what they hold, so a lock has the layout that it has natively, and its
// fields share cache lines as they do there. They live in objects of world::make or on threads' stacks. Those
// on a stack must be aligned to line_size (as MCS nodes are): what else is in a line would depend on the
// compiler.
#pragma once

#include <algorithm>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include <holdfast/platform.hpp>

#include "sim/engine.hpp"

namespace holdfast::sim {

class platform {
    static engine& e() { return engine::now_running(); }

public:
    static constexpr std::size_t line_size = 256; // the largest of any machine file
    static constexpr std::uint32_t node_depth = 4;

    template <class T>
    class atomic {
    public:
        atomic(T value = T()) : value_(value) { e().born(this); }
        atomic(const atomic&) = delete;
        atomic& operator=(const atomic&) = delete;

        T load([[maybe_unused]] std::memory_order order) const {
            e().operate(this, access::load);
            return value_;
        }
        void store(T value, std::memory_order order) {
            e().operate(this, access::store, order == std::memory_order_seq_cst ? e().on().fence : 0);
            value_ = value;
        }
        T exchange(T value, std::memory_order order) {
            modify(order);
            return std::exchange(value_, value);
        }
        bool compare_exchange_strong(T& expected, T desired, std::memory_order success, std::memory_order) {
            modify(success);
            if (value_ != expected) {
                expected = value_;
                return false;
            }
            value_ = desired;
            return true;
        }
        bool compare_exchange_weak(T& expected, T desired, std::memory_order success,
                                   std::memory_order failure) {
            return compare_exchange_strong(expected, desired, success, failure);
        }
        T fetch_add(T by, std::memory_order order) {
            modify(order);
            return std::exchange(value_, static_cast<T>(value_ + by));
        }
        T fetch_sub(T by, std::memory_order order) {
            modify(order);
            return std::exchange(value_, static_cast<T>(value_ - by));
        }
        T fetch_and(T with, std::memory_order order) {
            modify(order);
            return std::exchange(value_, static_cast<T>(value_ & with));
        }
        T fetch_or(T with, std::memory_order order) {
            modify(order);
            return std::exchange(value_, static_cast<T>(value_ | with));
        }
        T fetch_xor(T with, std::memory_order order) {
            modify(order);
            return std::exchange(value_, static_cast<T>(value_ ^ with));
        }

    private:
        // The cost of a read-modify-write; afterwards the value is ours to change.
        void modify(std::memory_order order) const {
            const machine& m = e().on();
            const bool fences = order == std::memory_order_seq_cst || m.rmw_always_fences != 0;
            e().operate(this, access::rmw, fences ? m.fence : 0);
        }

        T value_;
    };

    static void fence(std::memory_order order) {
        if (order == std::memory_order_seq_cst)
            e().compute(e().on().fence, false);
    }

    template <class T>
    class var {
    public:
        var(T value = T()) : value_(value) { e().born(this); }
        var(const var&) = delete;
        var& operator=(const var&) = delete;

        T get() const {
            e().operate(this, access::load);
            return value_;
        }
        void set(T value) {
            e().operate(this, access::store);
            value_ = value;
        }

    private:
        T value_;
    };

    class deadline {
    public:
        // Never if it is further away than the clock counts.
        static deadline after(std::chrono::nanoseconds duration) {
            const picoseconds now = e().clock();
            if (duration.count() > (endless - now) / 1000)
                return never();
            return deadline(now + std::max<std::int64_t>(duration.count(), 0) * 1000);
        }
        static deadline never() { return deadline(endless); }
        bool expired() const { return e().clock() >= at_; }
        // As the engine takes it: 0 means never, so the first moment of a run is its second one.
        picoseconds at() const { return at_ == endless ? 0 : std::max<picoseconds>(at_, 1); }

    private:
        static constexpr picoseconds endless = std::numeric_limits<picoseconds>::max();

        explicit deadline(picoseconds at) : at_(at) {}
        picoseconds at_;
    };

    template <class Predicate, class... T>
    static awaited<T...> await(std::memory_order order, Predicate predicate, stop_when<deadline> stop,
                               relax r, const atomic<T>&... words) {
        static_assert(sizeof...(T) >= 1 && sizeof...(T) <= watches_per_cpu);
        const machine& m = e().on();
        const void* const addresses[] = {&words...};
        const engine::watch_request request{addresses,
                                            sizeof...(T),
                                            m.hit + r.pauses * m.pause,
                                            r.pauses > 0,
                                            stop.resched,
                                            stop.owner_off_cpu,
                                            stop.deadline != nullptr ? stop.deadline->at() : 0};
        for (;;) {
            awaited<T...> seen{wake::satisfied, std::tuple<T...>{words.load(order)...}};
            if (std::apply(predicate, seen.values))
                return seen;
            if (stop.resched && e().need_resched())
                seen.why = wake::resched;
            else if (stop.owner_off_cpu != nobody && !e().on_cpu(stop.owner_off_cpu))
                seen.why = wake::owner_off_cpu;
            else if (stop.deadline != nullptr && stop.deadline->expired())
                seen.why = wake::expired;
            if (seen.why != wake::satisfied)
                return seen;
            e().watch(request);
        }
    }
    template <class Predicate, class... T>
    static awaited<T...> await(std::memory_order order, Predicate predicate, const atomic<T>&... words) {
        return await(order, predicate, stop_when<deadline>{}, relax{}, words...);
    }

    static void pause() { e().pause(1); }
    static thread_id self() { return e().self().id; }
    static std::uint32_t cpu() { return e().here().number; }
    static std::uint32_t cpus() { return static_cast<std::uint32_t>(e().on().cpus()); }
    static bool on_cpu(thread_id thread) { return e().on_cpu(thread); }

    static void preempt_disable() { e().preempt_disable(); }
    static void preempt_enable() { e().preempt_enable(); }
    class no_preempt {
    public:
        no_preempt() { preempt_disable(); }
        ~no_preempt() { preempt_enable(); }
        no_preempt(const no_preempt&) = delete;
        no_preempt& operator=(const no_preempt&) = delete;
    };
    static bool need_resched() { return e().need_resched(); }

    static void park() { e().park(0); }
    static bool park(const deadline& until) { return e().park(until.at()); }
    static void unpark(thread_id thread) { e().unpark(thread); }

    // Contexts are CPUs: preemption is disabled while a slot lives.
    class node_slot {
    public:
        node_slot() : depth_(e().here().nodes_taken) {
            if (depth_ < node_depth)
                code_ = e().here().number * node_depth + depth_ + 1;
            ++e().here().nodes_taken;
        }
        ~node_slot() { --e().here().nodes_taken; }
        node_slot(const node_slot&) = delete;
        node_slot& operator=(const node_slot&) = delete;

        std::uint32_t code() const { return code_; }
        std::uint32_t depth() const { return depth_; }

    private:
        std::uint32_t depth_;
        std::uint32_t code_ = 0;
    };
    // Contexts are threads. Their nodes are made when first needed, near the thread's CPU of that moment.
    class sleep_slot {
    public:
        sleep_slot() : depth_(e().self().nodes_taken++) {
            if (depth_ < node_depth) {
                make_nodes(e().self());
                code_ = sleepers + (e().self().id - 1) * node_depth + depth_;
            }
        }
        ~sleep_slot() { --e().self().nodes_taken; }
        sleep_slot(const sleep_slot&) = delete;
        sleep_slot& operator=(const sleep_slot&) = delete;

        std::uint32_t code() const { return code_; }
        std::uint32_t depth() const { return depth_; }

    private:
        static void make_nodes(thread& t);

        std::uint32_t depth_;
        std::uint32_t code_ = 0;
    };
    static thread_id sleeper(std::uint32_t code) { return (code - sleepers) / node_depth + 1; }
    static queue_node<platform>& node(std::uint32_t code);

    // Nobody forks.
    static wait_record<platform>& waiter(thread_id thread);
    static bool gone(thread_id) { return false; }
    static bool of_before_fork(thread_id) { return false; }

    static void count(event what) { e().count(what); }
    class frame {
    public:
        explicit frame(const char* name) : caller_(e().enter_frame(name)) {}
        ~frame() { e().leave_frame(caller_); }
        frame(const frame&) = delete;
        frame& operator=(const frame&) = delete;

    private:
        std::uint32_t caller_;
    };

    using waiting = unrecorded_wait;

private:
    static constexpr std::uint32_t sleepers = 1u << 22; // codes from here on are threads' nodes, below CPUs'
};

static_assert(holdfast::platform<platform>);

inline void platform::sleep_slot::make_nodes(thread& t) {
    if (t.nodes != nullptr)
        return;
    using node = queue_node<platform>;
    t.nodes = e().allocate(node_depth * sizeof(node), alignof(node), true, e().here().socket);
    for (std::uint32_t i = 0; i < node_depth; ++i)
        new (static_cast<node*>(t.nodes) + i) node;
}

inline queue_node<platform>& platform::node(std::uint32_t code) {
    if (code >= sleepers)
        return static_cast<queue_node<platform>*>(
            e().known(sleeper(code)).nodes)[(code - sleepers) % node_depth];
    return static_cast<queue_node<platform>*>(e().queue_nodes())[code - 1];
}

// Made when first asked for: a run has as many threads as it spawns.
inline wait_record<platform>& platform::waiter(thread_id thread) {
    using record = wait_record<platform>;
    std::vector<void*>& records = e().wait_records();
    if (records.size() <= thread)
        records.resize(thread + 1);
    if (records[thread] == nullptr) {
        const auto socket = static_cast<std::uint32_t>(e().on().socket_of(std::int64_t{cpu()}));
        void* const at = e().allocate(sizeof(record), alignof(record), true, socket);
        records[thread] = new (at) record;
    }
    return *static_cast<record*>(records[thread]);
}

} // namespace holdfast::sim
