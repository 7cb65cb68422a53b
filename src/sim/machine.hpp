// What a simulated machine is: its topology and what things cost on it.
//
// Every number has a row in parameters(), which says its place in a machine file, its unit, its bounds and what it
// means. The reader of machine files, `holdfast machines` and the sensitivity runs all work off that table, so
// a new cost is one member here, one row there, and its use in the engine.
//
// Durations are whole picoseconds, so that simulated time is exact and the same on every host.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace holdfast::sim {

using picoseconds = std::int64_t;

inline constexpr std::int64_t max_cpus = 256;
inline constexpr std::int64_t max_sockets = 16;

// Whose outstanding reads of one line are answered together, by one transfer.
enum class read_merge : std::int64_t { none, socket, machine };

// Whom the arbiter of a contended line favours.
enum class favour : std::int64_t { none, holder, home };

// How hardware threads share a core.
enum class smt : std::int64_t {
    shared,          // both run, each slower while the other does
    switch_on_event, // one runs until it misses, pauses, or its time is up
};

// What the pause instruction does.
enum class pause_kind : std::int64_t {
    wait,          // takes its time
    switch_thread, // and offers the core to the sibling, on a switch-on-event core
};

// Where a new thread is put.
enum class placement : std::int64_t {
    spread,  // on the idlest core, of those in the idlest socket
    sockets, // evenly over the sockets, anywhere in each
    random   // anywhere idle
};

// Where a number comes from.
struct provenance {
    enum class kind : std::uint8_t { source, assumed, fitted };
    kind how = kind::assumed;
    std::string words; // the source, the reason, or what it was fitted to
};

struct machine {
    std::string name;
    std::string summary;

    // Topology. CPUs are numbered socket by socket, core by core, a core's two hardware threads side by side.
    std::int64_t sockets = 1;
    std::int64_t cores_per_socket = 1;
    std::int64_t complexes_per_socket = 1; // groups of cores with a cache of their own
    std::int64_t threads_per_core = 1;
    std::int64_t line_bytes = 64;

    // How many CPUs are online, at most all; 0: all. The first hardware thread of every core comes first,
    // socket after socket, then the second ones: the order in which ACPI has firmware list processors, and so
    // in which a kernel booted with maxcpus=N brings them up. Those that are not online don't exist for the
    // engine: the others are numbered as above, from 0 and without gaps. Not in machine files.
    std::int64_t online_cpus = 0;

    // Coherence.
    picoseconds hit = 0;                // a load or store that hits
    picoseconds rmw = 0;                // a read-modify-write that hits
    picoseconds fence = 0;              // a full fence
    std::int64_t rmw_always_fences = 0; // 1: relaxed read-modify-writes pay the fence too
    picoseconds transfer_sibling = 0;   // a line from a cache of: the same core
    picoseconds transfer_complex = 0;   //   the same complex
    picoseconds transfer_socket = 0;    //   the same socket
    picoseconds transfer_remote = 0;    //   another socket
    picoseconds memory_local = 0;       // a line that no cache has, from memory of the same socket
    picoseconds memory_remote = 0;      //   of another socket
    picoseconds invalidate_sharer = 0;  // added to a write, for each other sharer
    picoseconds stay = 0;               // an acquired line can't be taken away earlier
    read_merge merge = read_merge::none;
    favour favours = favour::none;
    std::int64_t favour_ppm = 0; // how often the arbiter favours instead of taking the oldest, per million

    // Core.
    picoseconds pause = 0;
    pause_kind pausing = pause_kind::wait;
    smt sharing = smt::shared;
    std::int64_t smt_slowdown_ppm =
        1'000'000;               // duration of work while the sibling runs, per million of alone
    picoseconds smt_switch = 0;  // a switch between hardware threads
    picoseconds smt_quantum = 0; // the longest run of one hardware thread while the other wants the core

    // Scheduler.
    placement placing = placement::spread;
    picoseconds slice = 0;
    picoseconds wakeup_granularity = 0; // a woken thread does not preempt one that has run for less
    picoseconds wakeup_latency = 0;     // from wake-up to the run queue of another CPU
    picoseconds context_switch = 0;
    picoseconds wake_cost = 0;        // what waking costs the waker
    picoseconds tick = 0;             // between two timer interrupts of a CPU; 0: none
    picoseconds tick_cost = 0;        // what one takes from the thread
    picoseconds steal_after = 0;      // a CPU that idles for less, on average, does not steal
    picoseconds balance_interval = 0; // between two runs of the load balancer; 0: never
    std::int64_t swaps_per_1000s = 0; // exchanges of two threads between sockets, on a balanced machine
    picoseconds ipi = 0;              // from sending an interrupt to the end of its handler
    picoseconds ipi_send = 0;         // what sending costs the sender, each target
    picoseconds ipi_handler = 0;      // what it takes from the target

    // Transfer between sockets where it differs by pair; row-major, sockets * sockets, or empty.
    std::vector<picoseconds> socket_matrix;

    // By key as in parameters(): where each number of the file comes from.
    std::map<std::string, provenance, std::less<>> sources;

    std::int64_t cores() const { return sockets * cores_per_socket; }
    std::int64_t all_cpus() const { return cores() * threads_per_core; }
    // Those online; so are all that are numbered.
    std::int64_t cpus() const { return online_cpus == 0 ? all_cpus() : online_cpus; }
    // The first so many cores have both their hardware threads online, the others one or none.
    std::int64_t paired_cores() const { return std::max<std::int64_t>(cpus() - cores(), 0); }
    std::int64_t core_of(std::int64_t cpu) const {
        const std::int64_t paired = paired_cores();
        return cpu < 2 * paired ? cpu / 2 : cpu - paired;
    }
    std::int64_t socket_of(std::int64_t cpu) const { return core_of(cpu) / cores_per_socket; }
    std::int64_t complex_of(std::int64_t cpu) const {
        return core_of(cpu) * complexes_per_socket / cores_per_socket;
    }
};

// One row of the table of parameters.
struct parameter {
    enum class unit : std::uint8_t {
        nanoseconds, // in the file a number of ns, here ps
        count,       // a whole number
        per_million, // in the file a fraction or factor, here its millionfold
        per_1000s,   // in the file a number a second, here a thousand seconds
        choice       // in the file one of `choices`, here its index
    };
    std::string_view key; // "section.name"
    unit in;
    std::int64_t minimum; // in the unit kept here
    std::int64_t maximum;
    bool required;
    std::string_view meaning;
    std::int64_t (*get)(const machine&);
    void (*set)(machine&, std::int64_t);
    std::span<const std::string_view> choices = {};
};

// All parameters but the name, the summary and the matrix, in the order in which a file should have them.
std::span<const parameter> parameters();

// The parameter of that key; nullptr: there is none.
const parameter* find_parameter(std::string_view key);

} // namespace holdfast::sim
