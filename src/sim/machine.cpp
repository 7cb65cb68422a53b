// The table of a machine's parameters.
#include "sim/machine.hpp"

#include <type_traits>

namespace holdfast::sim {

namespace {

using unit = parameter::unit;

constexpr picoseconds nanosecond = 1'000;
constexpr picoseconds longest = 3600 * 1'000'000'000'000;
// What programs and the scheduler repeat must take time, or a run may stand still.
constexpr picoseconds shortest_operation = nanosecond / 10;
constexpr picoseconds shortest_turn = 1'000 * nanosecond;
constexpr std::string_view merges[] = {"none", "socket", "machine"};
constexpr std::string_view favours[] = {"none", "holder", "home"};
constexpr std::string_view pauses[] = {"wait", "switch_thread"};
constexpr std::string_view sharings[] = {"shared", "switch_on_event"};
constexpr std::string_view placements[] = {"spread", "sockets", "random"};

template <auto Member>
constexpr parameter row(std::string_view key, unit in, std::int64_t minimum, std::int64_t maximum,
                        bool required, std::string_view meaning,
                        std::span<const std::string_view> choices = {}) {
    return {key,
            in,
            minimum,
            maximum,
            required,
            meaning,
            [](const machine& m) { return static_cast<std::int64_t>(m.*Member); },
            [](machine& m, std::int64_t value) {
                using type = std::remove_reference_t<decltype(m.*Member)>;
                m.*Member = static_cast<type>(value);
            },
            choices};
}

template <auto Member>
constexpr parameter duration(std::string_view key, std::string_view meaning, bool required = true,
                             picoseconds minimum = 0) {
    return row<Member>(key, unit::nanoseconds, minimum, longest, required, meaning);
}

template <auto Member>
constexpr parameter count(std::string_view key, std::int64_t minimum, std::int64_t maximum,
                          std::string_view meaning) {
    return row<Member>(key, unit::count, minimum, maximum, true, meaning);
}

template <auto Member>
constexpr parameter choice(std::string_view key, std::span<const std::string_view> choices,
                           std::string_view meaning) {
    return row<Member>(key, unit::choice, 0, static_cast<std::int64_t>(choices.size()) - 1, false, meaning,
                       choices);
}

constexpr parameter table[] = {
    count<&machine::sockets>("topology.sockets", 1, max_sockets, "sockets, each with memory of its own"),
    count<&machine::cores_per_socket>("topology.cores_per_socket", 1, max_cpus, "cores in a socket"),
    row<&machine::complexes_per_socket>("topology.complexes_per_socket", unit::count, 1, max_cpus, false,
                                        "groups of cores with a last-level cache of their own, in a socket"),
    count<&machine::threads_per_core>("topology.threads_per_core", 1, 2, "hardware threads of a core"),
    count<&machine::line_bytes>("topology.line_bytes", 64, 256, "size of a cache line, a power of two"),

    duration<&machine::hit>("coherence.hit_ns", "a load or store that hits the core's own cache", true,
                            shortest_operation),
    duration<&machine::rmw>("coherence.rmw_ns", "an atomic read-modify-write on a line that the core owns",
                            true, shortest_operation),
    duration<&machine::fence>("coherence.fence_ns",
                              "a full fence, and what a sequentially consistent operation pays on top"),
    row<&machine::rmw_always_fences>("coherence.rmw_always_fences", unit::count, 0, 1, false,
                                     "1: every read-modify-write pays the fence, whatever its memory order"),
    duration<&machine::transfer_sibling>("coherence.transfer_sibling_ns",
                                         "a line from the other hardware thread of the core", false),
    duration<&machine::transfer_complex>("coherence.transfer_complex_ns",
                                         "a line from a core of the same complex", false),
    duration<&machine::transfer_socket>("coherence.transfer_socket_ns",
                                        "a line from a core of the same socket"),
    duration<&machine::transfer_remote>("coherence.transfer_remote_ns",
                                        "a line from a core of another socket"),
    duration<&machine::memory_local>("coherence.memory_local_ns",
                                     "a line in no cache, from the socket's memory"),
    duration<&machine::memory_remote>("coherence.memory_remote_ns",
                                      "a line in no cache, from another's memory"),
    duration<&machine::invalidate_sharer>("coherence.invalidate_sharer_ns",
                                          "what a write pays for each other cache that shares the line"),
    duration<&machine::stay>("coherence.stay_ns",
                             "how long an acquired line stays before it can be taken away"),
    choice<&machine::merge>("coherence.read_merge", merges,
                            "whose waiting reads of a line one transfer answers together"),
    choice<&machine::favours>("arbitration.favours", favours,
                              "nearness to whom makes the arbiter of a contended line prefer a requester"),
    row<&machine::favour_ppm>("arbitration.probability", unit::per_million, 0, 1'000'000, false,
                              "how often it prefers the near over the oldest"),

    duration<&machine::pause>("core.pause_ns", "the pause instruction, or what stands for it"),
    choice<&machine::pausing>("core.pause", pauses, "what pause does"),
    choice<&machine::sharing>("core.smt", sharings, "how hardware threads share a core"),
    row<&machine::smt_slowdown_ppm>("core.smt_slowdown", unit::per_million, 1'000'000, 100'000'000, false,
                                    "how much longer work takes while the sibling runs (shared)"),
    duration<&machine::smt_switch>("core.smt_switch_ns", "a switch of hardware threads (switch_on_event)",
                                   false),
    duration<&machine::smt_quantum>("core.smt_quantum_ns",
                                    "the longest run while the sibling wants the core (switch_on_event)",
                                    false, shortest_turn),

    choice<&machine::placing>("scheduler.placement", placements, "where a new thread is put"),
    duration<&machine::slice>("scheduler.slice_ns", "a thread's time on the CPU while others wait for it",
                              true, shortest_turn),
    duration<&machine::wakeup_granularity>("scheduler.wakeup_granularity_ns",
                                           "a woken thread does not preempt one that has run for less"),
    duration<&machine::wakeup_latency>("scheduler.wakeup_latency_ns",
                                       "from a wake-up to the woken thread's first chance"),
    duration<&machine::context_switch>("scheduler.context_switch_ns", "a switch of threads"),
    duration<&machine::wake_cost>("scheduler.wake_cost_ns", "what waking a thread costs the waker"),
    duration<&machine::tick>("scheduler.tick_ns", "between two timer interrupts of a CPU; 0: none", false),
    duration<&machine::tick_cost>("scheduler.tick_cost_ns", "what a timer interrupt takes from the thread",
                                  false),
    duration<&machine::steal_after>(
        "scheduler.steal_after_ns",
        "a CPU whose idle times are shorter on average takes no thread from another's "
        "queue when it goes idle; 0: it always does",
        false),
    duration<&machine::balance_interval>("scheduler.balance_interval_ns",
                                         "between two runs of the load balancer; 0: never", false),
    row<&machine::swaps_per_1000s>(
        "scheduler.swaps_per_s", unit::per_1000s, 0, 1'000'000'000, false,
        "exchanges of two threads between sockets a second, on a balanced machine"),
    duration<&machine::ipi>("scheduler.ipi_ns", "an inter-processor interrupt, from sending to handled"),
    duration<&machine::ipi_send>("scheduler.ipi_send_ns", "what sending one costs the sender, each target"),
    duration<&machine::ipi_handler>("scheduler.ipi_handler_ns", "what handling one takes from the target"),
};

} // namespace

std::span<const parameter> parameters() {
    return table;
}

const parameter* find_parameter(std::string_view key) {
    for (const parameter& p : table) {
        if (p.key == key)
            return &p;
    }
    return nullptr;
}

} // namespace holdfast::sim
