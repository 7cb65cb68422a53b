#include "sim/coherence.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace holdfast::sim {

coherence::coherence(const machine& m, std::vector<cpu>& cpus, event_queue& events, random_source& random)
    : machine_(m), cpus_(cpus), events_(events), random_(random),
      socket_sets_(static_cast<std::size_t>(m.sockets)), queues_(1) {
    for (cpu& a : cpus_) {
        socket_sets_[a.socket].add(a.number);
        for (const cpu& b : cpus_) {
            if (a.number == b.number)
                continue;
            if (m.core_of(a.number) == m.core_of(b.number))
                a.siblings.add(b.number);
            else if (m.complexes_per_socket > 1 && m.complex_of(a.number) == m.complex_of(b.number))
                a.in_complex.add(b.number);
            else if (a.socket == b.socket)
                a.in_socket.add(b.number);
        }
    }
}

void coherence::request(cpu& c, picoseconds now) {
    line& l = *c.op_line;
    if (l.home == 0)
        l.home = static_cast<std::uint8_t>(c.socket + 1);
    if (l.granted || l.queue != 0) {
        enqueue(c, l);
        c.at = phase::queued;
    } else {
        grant(l, c, now);
    }
}

void coherence::arrive(cpu& c, picoseconds now) {
    if (std::exchange(c.merged, false))
        return; // the reader whose transfer this was does the rest
    line& l = *c.op_line;
    if (c.op_kind == access::load) {
        l.exclusive = false;
    } else {
        l.sharers.clear();
        l.exclusive = true;
        l.owner = static_cast<std::uint16_t>(c.number);
        if (l.watchers != 0)
            wake_watchers(l, now);
    }
    l.cached = true;
    l.sharers.add(c.number);
    l.granted = false;
    l.free_at = now + machine_.stay;
    if (l.queue != 0) {
        cpu* const next = pick(l, c);
        grant(l, *next, now);
    }
}

void coherence::claim(line& l, const cpu& c) {
    const std::uint8_t home = l.home != 0 ? l.home : static_cast<std::uint8_t>(c.socket + 1);
    l = {};
    l.home = home;
    l.cached = true;
    l.exclusive = true;
    l.owner = static_cast<std::uint16_t>(c.number);
    l.sharers.add(c.number);
}

void coherence::grant(line& l, cpu& c, picoseconds now) {
    const picoseconds start = std::max(now, l.free_at);
    const picoseconds arrival = start + transfer_time(l, c, c.op_kind);
    l.granted = true;
    l.granted_to_read = c.op_kind == access::load;
    l.leaves_at = start;
    c.at = phase::transferring;
    events_.set(c.number, arrival);
    ++transfers_;
    if (c.op_kind == access::load && l.queue != 0 && machine_.merge != read_merge::none) {
        for (std::uint32_t socket = 0; socket < static_cast<std::uint32_t>(machine_.sockets); ++socket) {
            if (machine_.merge == read_merge::machine || socket == c.socket)
                merge_reads(l, socket, arrival);
        }
        release_queue_if_empty(l);
    }
}

void coherence::merge_reads(line& l, std::uint32_t socket, picoseconds arrival) {
    wait_queue& q = queues_[l.queue];
    std::uint16_t* link = &q.head[socket];
    std::uint16_t last = no_cpu;
    while (*link != no_cpu) {
        cpu& c = cpus_[*link];
        if (c.op_kind != access::load) {
            last = *link;
            link = &c.next_queued;
            continue;
        }
        *link = c.next_queued;
        --q.size;
        // Its share of the line is booked now; nobody else is granted the line before the first reader has it.
        l.sharers.add(c.number);
        c.merged = true;
        c.at = phase::transferring;
        events_.set(c.number, arrival);
    }
    q.tail[socket] = last;
}

void coherence::enqueue(cpu& c, line& l) {
    if (l.queue == 0) {
        if (free_queue_ == 0) {
            free_queue_ = static_cast<std::uint32_t>(queues_.size());
            queues_.emplace_back();
            queues_.back().next_free = 0;
        }
        l.queue = free_queue_;
        wait_queue& fresh = queues_[l.queue];
        free_queue_ = fresh.next_free;
        fresh.head.fill(no_cpu);
        fresh.tail.fill(no_cpu);
        fresh.size = 0;
    }
    wait_queue& q = queues_[l.queue];
    c.next_queued = no_cpu;
    c.arrival = ++arrivals_;
    const auto number = static_cast<std::uint16_t>(c.number);
    if (q.tail[c.socket] == no_cpu)
        q.head[c.socket] = number;
    else
        cpus_[q.tail[c.socket]].next_queued = number;
    q.tail[c.socket] = number;
    ++q.size;
}

cpu* coherence::pop(line& l, std::uint32_t socket) {
    wait_queue& q = queues_[l.queue];
    cpu* const c = &cpus_[q.head[socket]];
    q.head[socket] = c->next_queued;
    if (q.head[socket] == no_cpu)
        q.tail[socket] = no_cpu;
    --q.size;
    release_queue_if_empty(l);
    return c;
}

void coherence::release_queue_if_empty(line& l) {
    wait_queue& q = queues_[l.queue];
    if (q.size == 0) {
        q.next_free = free_queue_;
        free_queue_ = l.queue;
        l.queue = 0;
    }
}

cpu* coherence::pick(line& l, const cpu& holder) {
    const wait_queue& q = queues_[l.queue];
    if (machine_.favours != favour::none) {
        const std::uint32_t near = machine_.favours == favour::home ? l.home - 1u : holder.socket;
        if (q.head[near] != no_cpu &&
            static_cast<std::int64_t>(random_.below(1'000'000)) < machine_.favour_ppm)
            return pop(l, near);
    }
    std::uint32_t oldest = 0;
    std::uint64_t arrival = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t socket = 0; socket < static_cast<std::uint32_t>(machine_.sockets); ++socket) {
        if (q.head[socket] != no_cpu && cpus_[q.head[socket]].arrival < arrival) {
            arrival = cpus_[q.head[socket]].arrival;
            oldest = socket;
        }
    }
    return pop(l, oldest);
}

void coherence::watch_line(cpu& c, line& l) {
    const std::uint32_t index = c.watching++;
    const std::uint32_t number = c.number * watches_per_cpu + index + 1;
    watch& w = c.watches[index];
    w.on = &l;
    w.previous = 0;
    w.next = l.watchers;
    if (w.next != 0)
        cpus_[(w.next - 1) / watches_per_cpu].watches[(w.next - 1) % watches_per_cpu].previous = number;
    l.watchers = number;
}

void coherence::unwatch(cpu& c) {
    const auto at = [this](std::uint32_t number) -> watch& {
        return cpus_[(number - 1) / watches_per_cpu].watches[(number - 1) % watches_per_cpu];
    };
    for (std::uint32_t i = 0; i < c.watching; ++i) {
        const watch& w = c.watches[i];
        if (w.previous != 0)
            at(w.previous).next = w.next;
        else
            w.on->watchers = w.next;
        if (w.next != 0)
            at(w.next).previous = w.previous;
    }
    c.watching = 0;
}

void coherence::wake_watchers(line& l, picoseconds now) {
    while (l.watchers != 0) {
        cpu& c = cpus_[(l.watchers - 1) / watches_per_cpu];
        unwatch(c);
        // It notices when it looks next.
        picoseconds look = std::max(now, c.watch_start);
        if (c.watch_period > 0)
            look =
                c.watch_start + (look - c.watch_start + c.watch_period - 1) / c.watch_period * c.watch_period;
        c.op_line = &l;
        c.op_kind = access::load;
        c.at = phase::issuing;
        events_.set(c.number, look);
    }
}

picoseconds coherence::transfer_time(const line& l, const cpu& c, access kind) const {
    if (!l.cached) {
        return l.home - 1u == c.socket ? machine_.memory_local : machine_.memory_remote;
    }
    if (l.exclusive)
        return distance(c, cpus_[l.owner]);
    const picoseconds fetch = l.sharers.has(c.number) ? 0 : nearest(l.sharers, c);
    if (kind == access::load)
        return fetch;
    picoseconds time = std::max(fetch, farthest(l.sharers, c));
    if (machine_.invalidate_sharer > 0)
        time += (l.sharers.count() - (l.sharers.has(c.number) ? 1u : 0u)) * machine_.invalidate_sharer;
    return time;
}

picoseconds coherence::nearest(const cpu_set& set, const cpu& c) const {
    if (set.meets(c.siblings))
        return machine_.transfer_sibling;
    if (set.meets(c.in_complex))
        return machine_.transfer_complex;
    if (set.meets(c.in_socket))
        return machine_.transfer_socket;
    picoseconds best = std::numeric_limits<picoseconds>::max();
    for (std::uint32_t socket = 0; socket < socket_sets_.size(); ++socket) {
        if (socket != c.socket && set.meets(socket_sets_[socket]))
            best = std::min(best, between_sockets(c.socket, socket));
    }
    return best;
}

picoseconds coherence::farthest(const cpu_set& set, const cpu& c) const {
    picoseconds worst = 0;
    for (std::uint32_t socket = 0; socket < socket_sets_.size(); ++socket) {
        if (socket != c.socket && set.meets(socket_sets_[socket]))
            worst = std::max(worst, between_sockets(c.socket, socket));
    }
    if (worst > 0)
        return worst;
    if (set.meets(c.in_socket))
        return machine_.transfer_socket;
    if (set.meets(c.in_complex))
        return machine_.transfer_complex;
    return set.meets(c.siblings) ? machine_.transfer_sibling : 0;
}

picoseconds coherence::between_sockets(std::uint32_t to, std::uint32_t from) const {
    if (machine_.socket_matrix.empty())
        return machine_.transfer_remote;
    return machine_.socket_matrix[from * static_cast<std::size_t>(machine_.sockets) + to];
}

picoseconds coherence::distance(const cpu& a, const cpu& b) const {
    if (a.socket != b.socket)
        return between_sockets(a.socket, b.socket);
    if (a.siblings.has(b.number))
        return machine_.transfer_sibling;
    if (a.in_complex.has(b.number))
        return machine_.transfer_complex;
    return a.number == b.number ? 0 : machine_.transfer_socket;
}

} // namespace holdfast::sim
