// What the simulator's tests share: a machine on which everything is free, and short ways to run a program on
// it.
//
// A test turns on the costs that it is about. What it measures is then exactly their sum, which its comment
// works out.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "sim/world.hpp"
#include "workload/program.hpp"

namespace holdfast::sim {

using namespace std::chrono_literals;
using W = world;
using P = platform;

inline constexpr auto relaxed = std::memory_order_relaxed;

inline constexpr picoseconds ns = 1'000;
inline constexpr picoseconds us = 1'000 * ns;
inline constexpr picoseconds ms = 1'000 * us;

// Nothing costs anything, and nothing preempts.
inline machine free_machine(std::int64_t sockets, std::int64_t cores_per_socket,
                            std::int64_t threads_per_core = 1) {
    machine m;
    m.name = "free";
    m.sockets = sockets;
    m.cores_per_socket = cores_per_socket;
    m.threads_per_core = threads_per_core;
    m.slice = 1'000'000 * ms;
    m.wakeup_granularity = 1'000'000 * ms;
    return m;
}

// The same with costs of memory, each of them another number. A 1 in a sum is a hit, 10 a read-modify-write.
inline machine memory_machine(std::int64_t sockets, std::int64_t cores_per_socket,
                              std::int64_t threads_per_core = 1) {
    machine m = free_machine(sockets, cores_per_socket, threads_per_core);
    m.hit = 1 * ns;
    m.rmw = 10 * ns;
    m.transfer_sibling = 5 * ns;
    m.transfer_complex = 20 * ns;
    m.transfer_socket = 50 * ns;
    m.transfer_remote = 130 * ns;
    m.memory_local = 100 * ns;
    m.memory_remote = 150 * ns;
    return m;
}

// The same with a scheduler as Linux has it.
inline machine scheduling_machine(std::int64_t sockets, std::int64_t cpus_per_socket) {
    machine m = memory_machine(sockets, cpus_per_socket);
    m.pause = 10 * ns;
    m.slice = 4 * ms;
    m.wakeup_granularity = 1 * ms;
    m.context_switch = 1'500 * ns;
    m.wakeup_latency = 2 * us;
    m.wake_cost = 1 * us;
    m.balance_interval = 4 * ms;
    return m;
}

// Runs `main` on CPU 0.
inline report run_on_first(const machine& m, const std::function<void()>& main, std::uint64_t seed = 1) {
    return run({&m, seed, 0}, [&main] {
        W::pin(0);
        main();
    });
}

// Within a program: runs all bodies at the same time, each pinned to its CPU, and waits for them.
using placed = std::pair<std::uint32_t, std::function<void()>>;
inline void together(const std::vector<placed>& bodies) {
    std::vector<W::thread> threads;
    threads.reserve(bodies.size());
    for (const auto& [cpu, body] : bodies)
        threads.push_back(W::spawn_on(cpu, body));
    for (W::thread& thread : threads)
        W::join(thread);
}

// Within a program: one body on a CPU.
inline void on(std::uint32_t cpu, const std::function<void()>& body) {
    together({{cpu, body}});
}

// Within a program: how many nanoseconds `work` takes; now, in nanoseconds.
inline std::int64_t now_ns() {
    return W::now().count();
}
template <class Work>
std::int64_t took(const Work& work) {
    const std::int64_t begin = now_ns();
    work();
    return now_ns() - begin;
}

} // namespace holdfast::sim
