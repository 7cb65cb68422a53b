// Who has which cache line, what it costs to get it, and who gets a contended line next.
//
// A directory protocol with the states that matter for locks: in no cache, one exclusive owner, or many sharers. A line
// serves one request at a time: a request is granted, its transfer takes as long as the distance says, the requester
// then has the line for at least `stay`. Requests that come meanwhile queue; the arbiter takes the oldest, or,
// as often as the machine file says, the oldest of those near the holder or the line's home. Outstanding reads may be
// merged: one transfer answers all of a socket (or of the machine), as a shared cache's miss table or a bus does.
//
// Simplifications. A store that misses holds up its CPU (real ones retire into a buffer). A transfer costs one
// distance, whatever way the directory takes. Caches never run full.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/cpu.hpp"
#include "sim/event_queue.hpp"
#include "sim/machine.hpp"
#include "sim/random.hpp"

namespace holdfast::sim {

class coherence {
public:
    // The CPUs get their distance sets; events go to `events`.
    coherence(const machine& m, std::vector<cpu>& cpus, event_queue& events, random_source& random);

    // Whether the CPU may do this now, at its clock, without asking anybody.
    static bool hits(const line& l, const cpu& c, access kind, picoseconds now) {
        if (kind == access::load)
            return l.sharers.has(c.number) && (!l.granted || l.granted_to_read || now < l.leaves_at);
        return l.exclusive && l.owner == c.number && (!l.granted || now < l.leaves_at);
    }

    // Asks for the CPU's op_line at time `now`: its phase becomes transferring (with an event) or queued.
    void request(cpu& c, picoseconds now);

    // The transfer has arrived: the line is the CPU's, those who watched it are woken, the next request is granted.
    void arrive(cpu& c, picoseconds now);

    // Makes the CPU a watcher of a line that it has a copy of.
    void watch_line(cpu& c, line& l);
    // Ends all its watches.
    void unwatch(cpu& c);

    // The line is the CPU's own from now on, without a transfer: a new object on a stack.
    static void claim(line& l, const cpu& c);

    std::uint64_t transfers() const { return transfers_; }

private:
    struct wait_queue {
        std::array<std::uint16_t, max_sockets> head;
        std::array<std::uint16_t, max_sockets> tail;
        std::uint32_t size;
        std::uint32_t next_free;
    };

    void enqueue(cpu& c, line& l);
    cpu* pick(line& l, const cpu& holder);
    cpu* pop(line& l, std::uint32_t socket);
    void grant(line& l, cpu& c, picoseconds now);
    void merge_reads(line& l, std::uint32_t socket, picoseconds arrival);
    void release_queue_if_empty(line& l);
    void wake_watchers(line& l, picoseconds now);
    picoseconds transfer_time(const line& l, const cpu& c, access kind) const;
    picoseconds nearest(const cpu_set& set, const cpu& c) const;
    picoseconds farthest(const cpu_set& set, const cpu& c) const;
    picoseconds between_sockets(std::uint32_t to, std::uint32_t from) const;
    picoseconds distance(const cpu& a, const cpu& b) const;

    const machine& machine_;
    std::vector<cpu>& cpus_;
    event_queue& events_;
    random_source& random_;
    std::vector<cpu_set> socket_sets_;
    std::vector<wait_queue> queues_; // [0] is unused
    std::uint32_t free_queue_ = 0;
    std::uint64_t arrivals_ = 0;
    std::uint64_t transfers_ = 0;
};

} // namespace holdfast::sim
