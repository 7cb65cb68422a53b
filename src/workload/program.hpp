// The contract between a program and the machine it runs on.
//
// A workload is a template over a world `W`, a type with static members only, which has a lock platform and
// what a program does besides locking. Two worlds keep the contract: `holdfast::native_world` (real threads,
// real time) and `holdfast::sim::world` (the simulated machine). Programs are started by the world's own
// `run`, which is not part of the contract: a machine and a seed on sim, a seed on native.
//
// The clauses; `tests/conformance.hpp` checks them on both.
//
//  A  `W::platform` satisfies holdfast::platform.
//  B  spawn(body) starts a thread that calls body(), and gives its handle; join(handle) waits for its end,
//     once for each handle; all handles are joined before the program ends. Threads end by returning. What one throws
//     comes out of `run`. On sim that ends the run at once. Native waits until the other threads have ended, by
//     themselves or as their handles are destroyed; so whoever starts threads that wait for each other lets them go
//     if a spawn throws: the machine may have no room for another thread.
//  C  cpu_count() is the number of CPUs to run on; pin(cpu), cpu < cpu_count(), keeps the calling thread on
//     one. spawn_on(cpu, body) starts a thread pinned there from its first instruction.
//  D  compute(duration, mode) keeps the CPU busy for that long (counted in CPU time of the thread, not in
//     time passed), as user or as system time. Native has only user time: compare the sum there.
//  E  sleep(duration) sleeps at least so long. now() is the time since the program began.
//  F  random() is the calling thread's generator: `below(n)` is uniform in [0, n), n > 0. On sim it is drawn
//     from the run's seed and the thread's number; on native from the seed given to it, too, so that programs
//     decide alike.
//  G  make<T>(arguments...) makes an object that threads share, and gives a reference. It lives until the
//     program ends. On sim it lies in the simulated memory, on cache lines of its own; atomics and vars
//     elsewhere than there or on a thread's stack are refused. make_near<T>(...) does not start a new line:
//     neighbours share lines as they would from an allocator.
//  H  `W::device` is a storage device by `device_limits`; transfer(bytes) blocks for as long as the device
//     takes, queueing included. Native sleeps for as long as the model says.
//  I  shootdown() interrupts the other CPUs that run threads of this program and waits for all of them to
//     answer, as an unmapping kernel does for TLBs.
//  J  `W::counter` objects, made by make<counter>(), begin at 0; add(n) is cheap and may be called by all
//     threads at the same time; value() is the sum of what was added by threads that were joined before.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>

#include <holdfast/platform.hpp>

namespace holdfast {

using nanoseconds = std::chrono::nanoseconds;

// Whose time a computation is.
enum class cpu_mode : std::uint8_t { user, system };

// What a storage device can do. Zero means no limit.
struct device_limits {
    nanoseconds latency{};  // from issue to completion of a transfer on an idle device
    std::uint64_t iops = 0; // transfers begun a second
    std::uint64_t bytes_per_second = 0;
};

template <class W>
concept program_world = platform<typename W::platform> &&
    requires(typename W::thread& thread, typename W::device& device, typename W::counter& counter,
             void (*body)(), std::uint32_t cpu) {
    { W::spawn(body) } -> std::same_as<typename W::thread>;
    { W::spawn_on(cpu, body) } -> std::same_as<typename W::thread>;
    W::join(thread);
    { W::cpu_count() } -> std::same_as<std::uint32_t>;
    W::pin(cpu);
    W::compute(nanoseconds(1), cpu_mode::user);
    W::sleep(nanoseconds(1));
    { W::now() } -> std::same_as<nanoseconds>;
    { W::random().below(std::uint64_t{2}) } -> std::same_as<std::uint64_t>;
    { W::template make<int>(1) } -> std::same_as<int&>;
    { W::template make_near<int>(1) } -> std::same_as<int&>;
    { W::template make<typename W::device>(device_limits{}) } -> std::same_as<typename W::device&>;
    device.transfer(std::uint64_t{4096});
    { W::template make<typename W::counter>() } -> std::same_as<typename W::counter&>;
    counter.add(std::uint64_t{1});
    { counter.value() } -> std::same_as<std::uint64_t>;
    W::shootdown();
};

} // namespace holdfast
