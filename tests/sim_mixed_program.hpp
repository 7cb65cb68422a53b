// A program that does a bit of everything, on machines of every kind: for tests of what must hold of any run.
#pragma once

#include <array>

#include <holdfast/mcs_lock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/ticket_lock.hpp>

#include "sim_support.hpp"

namespace holdfast::sim {

// What the program's threads saw.
struct mixed_result {
    std::uint64_t trace = 14695981039346656037u; // a digest (FNV-1a) of who was where, when
    picoseconds lifetimes = 0;                   // of all threads together
    std::int64_t computed = 0;                   // what they asked compute for, ns
    std::int64_t sections = 0;                   // critical sections entered...
    std::int64_t counted = 0;                    // ...and what was counted in them, under the locks

    void note(std::uint64_t value) {
        for (int byte = 0; byte < 8; ++byte) {
            trace = (trace ^ (value & 0xff)) * 1099511628211u;
            value >>= 8;
        }
    }
};

class mixed_program {
    static constexpr int threads = 14;
    static constexpr int rounds = 200;

    template <class T>
    using shared = T&;
    using number = P::var<std::int64_t>;

    mixed_result& result_;
    shared<ticket_lock<P>> ticket_ = W::make<ticket_lock<P>>();
    shared<mcs_lock<P>> mcs_ = W::make<mcs_lock<P>>();
    shared<qspinlock<P>> queued_ = W::make<qspinlock<P>>();
    shared<P::atomic<std::uint32_t>> count_ = W::make<P::atomic<std::uint32_t>>(0u);
    shared<number> by_ticket_ = W::make_near<number>(0);
    shared<number> by_mcs_ = W::make_near<number>(0);
    shared<number> by_queue_ = W::make_near<number>(0);
    shared<P::atomic<std::uint32_t>> flag_ = W::make<P::atomic<std::uint32_t>>(0u);
    shared<W::device> device_ = W::make<W::device>(
        device_limits{.latency = 50us, .iops = 100'000, .bytes_per_second = 1'000'000'000});
    std::array<thread_id, threads> ids_{};

    void compute(std::int64_t nanoseconds_long, cpu_mode mode) {
        result_.computed += nanoseconds_long;
        W::compute(std::chrono::nanoseconds(nanoseconds_long), mode);
    }
    void section(number& n) {
        ++result_.sections;
        n.set(n.get() + 1);
        compute(300, cpu_mode::system);
    }

    void compare_and_exchange() {
        const P::frame here("compare_and_exchange");
        std::uint32_t value = count_.load(relaxed);
        while (!count_.compare_exchange_strong(value, value + 1, relaxed, relaxed))
            P::pause();
    }

    void step(std::uint64_t what) {
        switch (what) {
        case 0: {
            const P::frame here("work");
            compute(1'000 + static_cast<std::int64_t>(W::random().below(100'000)), cpu_mode::user);
            break;
        }
        case 1: {
            const P::frame here("sleep");
            W::sleep(std::chrono::nanoseconds(W::random().below(200'000)));
            break;
        }
        case 2: {
            const P::frame here("read");
            device_.transfer(512 + W::random().below(8'192));
            break;
        }
        case 3:
        case 4:
            ticket_.lock();
            section(by_ticket_);
            ticket_.unlock();
            break;
        case 5:
        case 6: {
            const mcs_lock<P>::guard guard(mcs_);
            section(by_mcs_);
            break;
        }
        case 7:
        case 8:
            queued_.lock();
            section(by_queue_);
            queued_.unlock();
            break;
        case 9:
            for (int i = 0; i < 20; ++i)
                compare_and_exchange();
            break;
        case 10: {
            const auto until = P::deadline::after(40us);
            static_cast<void>(P::park(until));
            break;
        }
        case 11:
            P::unpark(ids_[W::random().below(threads)]);
            break;
        case 12: {
            const P::no_preempt spinning;
            const auto until = P::deadline::after(30us);
            const thread_id watched = ids_[W::random().below(threads)];
            const auto end = P::await(
                relaxed, [](std::uint32_t value) { return value % 4 == 3; },
                {.resched = true, .owner_off_cpu = watched, .deadline = &until}, relax{2}, flag_);
            result_.note(static_cast<std::uint64_t>(end.why));
            break;
        }
        case 13:
            flag_.fetch_add(1, std::memory_order_seq_cst);
            break;
        case 14:
            W::shootdown();
            break;
        default:
            for (int i = 0; i < 10; ++i)
                P::pause();
        }
    }

    void thread(std::size_t index, picoseconds born) {
        ids_[index] = P::self();
        if (index % 5 == 4)
            W::pin(static_cast<std::uint32_t>(W::random().below(W::cpu_count())));
        for (int round = 0; round < rounds; ++round) {
            step(W::random().below(16));
            result_.note(index);
            result_.note(static_cast<std::uint64_t>(now_ns()));
            result_.note(P::cpu());
        }
        result_.lifetimes += engine::now_running().clock() - born;
    }

public:
    explicit mixed_program(mixed_result& result) : result_(result) { ids_.fill(P::self()); }

    void run() {
        std::vector<W::thread> started;
        for (std::size_t i = 0; i < threads; ++i)
            started.push_back(W::spawn([this, i, born = engine::now_running().clock()] { thread(i, born); }));
        for (W::thread& t : started)
            W::join(t);
        result_.counted = by_ticket_.get() + by_mcs_.get() + by_queue_.get();
        result_.lifetimes += engine::now_running().clock();
    }
};

// The machines: hardware threads that share a core, take turns on it, and none; every rule of arbitration and
// of merged reads; balancing, swaps and ticks.
inline std::vector<machine> mixed_machines() {
    machine shared = memory_machine(2, 2, 2);
    shared.name = "shared";
    shared.fence = 12 * ns;
    shared.pause = 4 * ns;
    shared.stay = 100 * ns;
    shared.invalidate_sharer = 3 * ns;
    shared.smt_slowdown_ppm = 2'000'000;
    shared.favours = favour::home;
    shared.favour_ppm = 900'000;
    shared.slice = 200 * us;
    shared.wakeup_granularity = 50 * us;
    shared.wakeup_latency = 3 * us;
    shared.context_switch = 2 * us;
    shared.wake_cost = 1 * us;
    shared.balance_interval = 500 * us;
    shared.swaps_per_1000s = 2'000'000;
    shared.tick = 250 * us;
    shared.tick_cost = 2 * us;
    shared.ipi = 1 * us;
    shared.ipi_send = 100 * ns;
    shared.ipi_handler = 500 * ns;

    machine turns = shared;
    turns.name = "turns";
    turns.sharing = smt::switch_on_event;
    turns.pausing = pause_kind::switch_thread;
    turns.smt_quantum = 3 * us;
    turns.smt_switch = 9 * ns;
    turns.pause = 200 * ns;
    turns.placing = placement::random;
    turns.favours = favour::none;
    turns.merge = read_merge::socket;
    turns.rmw_always_fences = 1;
    turns.line_bytes = 128;

    machine four = shared;
    four.name = "four";
    four.sockets = 4;
    four.threads_per_core = 1;
    four.complexes_per_socket = 2;
    four.favours = favour::holder;
    four.merge = read_merge::machine;
    four.socket_matrix.assign(16, 130 * ns);
    four.socket_matrix[1] = four.socket_matrix[4] = 90 * ns;
    four.line_bytes = 256;
    four.stay = 0;
    return {shared, turns, four};
}

} // namespace holdfast::sim
