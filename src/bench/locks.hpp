// The locks that benches know by name: ours, the standard's, and those of other libraries that the build has found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "bench/lock_programs.hpp"
#include "sim/world.hpp"
#include "workload/contend.hpp"
#include "workload/native_world.hpp"

namespace holdfast::bench {

enum class lock_kind : std::uint8_t {
    exclusive,
    shared,
    counter // no lock, but counts references; beside it the lockref, which guards its count by a lock
};
enum class waiting : std::uint8_t { spins, parks }; // what its waiters do in the end

// Where a lock is measured without being named.
enum class asked : std::uint8_t {
    quick,           // in every grid
    full,            // but not in a quick one
    by_name,         // in none on this machine
    uncontended_only // in every grid's uncontended cells, and nowhere else, as it is no lock
};

// What can be run with a lock.
enum class lock_program : std::uint8_t {
    contend,
    uncontended,
    ping_pong,
    condition,
    sleeping_owner,
    references
};

struct program_result : contend_result {
    nanoseconds waiters_cpu{}; // of sleeping_owner
};

// A lock is a row: its name, what kind it is, and how programs with it are run.
struct bench_lock {
    std::string name; // as its users write it
    lock_kind kind;
    waiting waits;
    asked when;
    std::size_t bytes;
    bool conditions; // it has condition variables
    program_result (*on_native)(lock_program,
                                const contend_settings&); // nullptr: it is for simulated machines
    contend_result (*on_sim)(const contend_settings&);    // contend; nullptr: it is native only
};

template <class Lock>
inline constexpr bool can_be_shared = requires(Lock& lock) {
    lock.lock_shared();
}
|| requires {
    typename Lock::shared_guard;
};

// Runs a program with a Lock on this machine, within a program of native_world. WithConditions is a lock with wait(i)
// and notify(i), or void.
template <class Lock, class WithConditions>
program_result run_native(lock_program program, const contend_settings& s) {
    program_result r;
    contend_result& common = r;
    switch (program) {
    case lock_program::contend:
        common = contend<native_world, Lock>(s);
        break;
    case lock_program::uncontended:
        common = uncontended_pairs<native_world, Lock>(s);
        break;
    case lock_program::ping_pong:
        common = ping_pong<native_world, Lock>(s);
        break;
    case lock_program::condition:
        if constexpr (std::is_void_v<WithConditions>)
            throw std::logic_error("a lock without condition variables");
        else
            common = condition_hand_over<native_world, WithConditions>(s);
        break;
    case lock_program::sleeping_owner:
        common = sleeping_owner<native_world, Lock>(s, r.waiters_cpu);
        break;
    case lock_program::references:
        throw std::logic_error("a lock that counts nothing");
    }
    return r;
}

// The row of a default-constructible lock that is native.
template <class Lock, class WithConditions = void>
bench_lock native_lock(std::string name, waiting waits, asked when) {
    return {.name = std::move(name),
            .kind = can_be_shared<Lock> ? lock_kind::shared : lock_kind::exclusive,
            .waits = waits,
            .when = when,
            .bytes = sizeof(Lock),
            .conditions = !std::is_void_v<WithConditions>,
            .on_native = run_native<Lock, WithConditions>,
            .on_sim = nullptr};
}

// The row of a counter of references (see count_references).
template <class Counter>
bench_lock native_counter(std::string name, asked when) {
    return {.name = std::move(name),
            .kind = lock_kind::counter,
            .waits = waiting::spins,
            .when = when,
            .bytes = sizeof(Counter),
            .conditions = false,
            .on_native =
                [](lock_program, const contend_settings& s) {
                    program_result r;
                    static_cast<contend_result&>(r) = count_references<native_world, Counter>(s);
                    return r;
                },
            .on_sim = nullptr};
}

// The row of a lock that is a template over the machine.
template <template <class> class Lock, class WithConditions = void>
bench_lock lock_of_ours(std::string name, waiting waits, asked when) {
    bench_lock row = native_lock<Lock<native>, WithConditions>(std::move(name), waits, when);
    row.on_sim = contend<sim::world, Lock<sim::platform>>;
    return row;
}

// Those of other libraries.
std::vector<bench_lock> peer_locks();

// All, ours first. The first that is asked for in a quick grid is the one that others are compared with.
const std::vector<bench_lock>& all_locks();

// The lock of that name, with or without our namespace; nullptr if there is none.
const bench_lock* find_lock(const std::string& name);

} // namespace holdfast::bench
