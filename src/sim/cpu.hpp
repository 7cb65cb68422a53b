// The simulated CPUs and threads, as the parts of the engine share them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <vector>

#include <holdfast/platform.hpp>

#include "fiber/fiber.hpp"
#include "sim/memory.hpp"
#include "sim/random.hpp"

namespace holdfast::sim {

enum class access : std::uint8_t { load, store, rmw };

// What a CPU is at. Its slot in the event queue says until when, where that is known.
enum class phase : std::uint8_t {
    idle,         // no thread
    running,      // its thread's fiber is being executed by the host
    ordering,     // the fiber got ahead of the other CPUs and goes on when its time has come
    issuing,      // about to issue a memory operation
    queued,       // the operation waits for its line (no event)
    transferring, // the line is on its way
    computing,    // busy for a known time
    watching,     // spins on lines that it has in its cache (no event unless woken)
    halted,       // sleeps, with its thread on it (no event unless woken)
    core_waiting, // wants the core from its switch-on-event sibling; event: may force it
    leaving,      // its thread is about to be taken off
    switching,    // a context switch to its thread is under way
};

enum class thread_state : std::uint8_t { runnable, running, blocked, finished };

struct cpu;

struct thread {
    thread_id id = nobody;
    std::function<void()> body;
    fiber context;
    memory::stack stack;
    random_source random{0};
    thread_state state = thread_state::runnable;

    cpu* on = nullptr;               // where it runs, or ran last
    std::uint32_t pinned = no_cpu;   // the only CPU it may run on
    std::uint32_t move_to = no_cpu;  // the CPU that the balancer wants it on
    std::uint32_t preempt_depth = 0; // how many preempt_disable are open
    picoseconds compute_left = 0;    // of a computation that was interrupted
    bool compute_user = false;       // whose time that is
    std::uint32_t frame = 0;         // its node in the profile
    std::uint32_t nodes_taken = 0;   // queue nodes of its own in use (clause H)
    void* nodes = nullptr;           // where they are, once it has needed one
    picoseconds off_since = 0;       // when it left its CPU

    bool parked = false;               // blocked in park
    bool token = false;                // an unpark not used up
    bool timed_out = false;            // the last block ended by its timer
    std::uint64_t timer = 0;           // identifies the timer that may end its block or watch; 0: none
    std::vector<thread*> off_watchers; // threads whose await ends when this one is off its CPU
    std::vector<thread*> joiners;
};

// One line watched by a spinning CPU, linked into the line's list.
struct watch {
    line* on = nullptr;
    std::uint32_t next = 0; // numbers of watches + 1
    std::uint32_t previous = 0;
};
inline constexpr std::uint32_t watches_per_cpu = 4;

struct cpu {
    std::uint32_t number = 0;
    std::uint32_t socket = 0;
    phase at = phase::idle;
    bool attention = false;    // one of the flags below, or the core, wants looking at
    bool need_resched = false; // somebody else should run here
    picoseconds clock = 0;     // its thread's time; never behind the events handled
    thread* current = nullptr;

    line* op_line = nullptr; // the memory operation in hand
    access op_kind = access::load;
    bool merged = false; // another reader's transfer answers it too
    std::uint16_t next_queued = no_cpu;
    std::uint64_t arrival = 0;

    std::deque<thread*> run_queue;
    picoseconds running_since = 0; // when its thread was dispatched
    std::uint64_t slice = 0;       // identifies the timer that ends the slice
    picoseconds idle_since = 0;    // when it last had nothing to do
    picoseconds average_idle = 0;  // how long that lasts, the last times counting most
    picoseconds stolen = 0;        // time taken by interrupts, not yet on the clock
    picoseconds charged = 0;       // CPU time before this is in the profile

    std::array<watch, watches_per_cpu> watches;
    std::uint32_t watching = 0; // how many of them are in use
    picoseconds watch_start = 0;
    picoseconds watch_period = 0; // it looks at its lines so often
    bool watch_resched = false;   // need_resched ends the watch

    phase after_core = phase::running; // what to go on with once it has the core
    std::uint32_t nodes_taken = 0;     // queue nodes in use (clause H)

    // Other CPUs by distance, each set without those of the nearer ones, and without itself.
    cpu_set siblings, in_complex, in_socket;
};

} // namespace holdfast::sim
