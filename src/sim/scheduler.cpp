// The engine's scheduler: which thread is on which CPU.
//
// A run queue for each CPU, served in order. A thread keeps the CPU until it blocks, or until its slice is
// over while others wait; a woken thread takes it at once if the running one has had at least the wake-up
// granularity. A woken thread goes to the CPU where it ran last if that is idle, else to an idle one of the
// same socket, else into that CPU's queue. A CPU with nothing to do takes a thread from the longest queue, of
// its socket first, unless it is seldom idle for long (then, by the kernel's reckoning, the search is not
// worth it). A balancer evens out queues now and then, and exchanges threads between sockets as the machine
// file says. With preemption disabled nothing of this takes a thread off; it is only told (need_resched).
#include <algorithm>
#include <stdexcept>

#include "sim/engine.hpp"

namespace holdfast::sim {

namespace {

// How many threads the CPU has: the one on it, and those that wait for it.
std::size_t load(const cpu& c) {
    return c.run_queue.size() + (c.current != nullptr ? 1 : 0);
}

} // namespace

void engine::take_off(cpu& c, picoseconds now) {
    thread& t = *c.current;
    c.clock = std::max(c.clock, now);
    charge(c, false);
    ++context_switches_;
    ++profile_[t.frame].switches_out;
    t.off_since = c.clock;
    if (switch_on_event_)
        release_core(c, c.clock);
    c.current = nullptr;
    c.need_resched = false;
    c.attention = false;
    c.slice = 0;
    c.at = phase::idle;
    c.idle_since = c.clock;
    events_queue_.clear(c.number);
    if (t.state == thread_state::running)
        t.state = thread_state::runnable;
    for (thread* const watcher : t.off_watchers) {
        if (watcher->on->current == watcher && watcher->on->at == phase::watching)
            end_watch(*watcher->on, now);
    }
    bool exchanged = false; // another thread comes in its place, and none else shall
    if (t.state == thread_state::finished) {
        end_ = std::max(end_, c.clock);
        --alive_;
        memory_.return_stack(t.stack);
        for (thread* const joiner : t.joiners)
            wake(*joiner, c.clock);
    } else if (t.state == thread_state::runnable) {
        const std::uint32_t target = t.move_to != no_cpu ? t.move_to : c.number;
        t.move_to = no_cpu;
        if (target == c.number) {
            c.run_queue.push_back(&t);
        } else {
            exchanged = t.pinned == no_cpu;
            enqueue(cpus_[target], t, c.clock);
        }
    }
    if (c.current != nullptr)
        return; // one of those woken is on its way here
    if (!c.run_queue.empty()) {
        thread& next = *c.run_queue.front();
        c.run_queue.pop_front();
        put_on(c, next, c.clock);
        return;
    }
    if (exchanged || c.average_idle < machine_.steal_after)
        return;
    if (thread* const stolen = steal_for(c))
        put_on(c, *stolen, c.clock);
}

void engine::put_on(cpu& c, thread& t, picoseconds at) {
    if (t.on != &c)
        ++migrations_;
    if (at > c.idle_since) {
        // As the kernel's: an eighth of the difference, and no one long time counts for more than two short
        // ones.
        c.average_idle += (std::min(at - c.idle_since, 2 * machine_.steal_after) - c.average_idle) / 8;
    }
    profile_[t.frame].off_cpu += at - t.off_since;
    t.on = &c;
    c.current = &t;
    c.clock = at;
    c.charged = at;
    c.at = phase::switching;
    events_queue_.set(c.number, at + machine_.context_switch);
}

void engine::dispatch(cpu& c, picoseconds now) {
    thread& t = *c.current;
    t.state = thread_state::running;
    t.parked = false;
    c.running_since = now;
    c.clock = now;
    charge(c, false); // the switch
    c.attention = switch_on_event_ || c.stolen > 0 || t.move_to != no_cpu;
    arm_slice(c);
    if (t.compute_left > 0)
        resume_compute(c, now);
    else
        enter(c, now);
}

void engine::arm_slice(cpu& c) {
    if (c.slice == 0 && !c.run_queue.empty() && c.current != nullptr)
        c.slice =
            start_timer(timer::kind::slice, std::max(c.clock, c.running_since + machine_.slice), c.number);
}

void engine::steal_time(cpu& c, picoseconds duration) {
    if (c.at == phase::computing) {
        events_queue_.set(c.number, events_queue_.time_of(c.number) + duration);
        profile_[c.current->frame].system += duration;
        c.charged += duration;
    } else {
        c.stolen = std::min(c.stolen + duration, event_key::end);
        c.attention = true;
    }
}

void engine::enqueue(cpu& c, thread& t, picoseconds now) {
    if (c.current == nullptr && c.run_queue.empty()) {
        put_on(c, t, std::max(now, c.clock));
    } else {
        c.run_queue.push_back(&t);
        arm_slice(c);
    }
}

void engine::wake(thread& t, picoseconds now) {
    t.state = thread_state::runnable;
    t.timer = 0;
    cpu& c = place_woken(t);
    if (c.current == nullptr && c.run_queue.empty()) {
        put_on(c, t, std::max(now + machine_.wakeup_latency, c.clock));
    } else if (c.current != nullptr && c.at != phase::switching &&
               now - c.running_since >= machine_.wakeup_granularity) {
        c.run_queue.push_front(&t);
        c.need_resched = true;
        interrupt(c, now);
    } else {
        c.run_queue.push_back(&t);
        arm_slice(c);
    }
}

void engine::interrupt(cpu& c, picoseconds now) {
    c.attention = true;
    if (c.current == nullptr)
        return;
    thread& t = *c.current;
    if (c.at == phase::computing && t.preempt_depth == 0) {
        t.compute_left = events_queue_.time_of(c.number) - now;
        c.clock = now;
        charge(c, t.compute_user);
        take_off(c, now);
    } else if (c.at == phase::watching) {
        if (t.preempt_depth == 0) {
            coherence_.unwatch(c);
            take_off(c, now);
        } else if (c.watch_resched) {
            end_watch(c, now);
        }
    }
}

void engine::check_online(std::uint32_t cpu_number) const {
    if (cpu_number >= cpus_.size())
        throw std::logic_error("sim: a thread can't be pinned to CPU " + std::to_string(cpu_number) +
                               ": there are " + std::to_string(cpus_.size()) + ", numbered from 0");
}

cpu& engine::place_new(const thread& t) {
    if (t.pinned != no_cpu)
        return cpus_[t.pinned];
    // Load, from the widest to the narrowest place; of equals the seed chooses.
    const auto socket_load = [&](std::uint32_t socket) {
        std::size_t sum = 0;
        for (const cpu& c : cpus_)
            sum += c.socket == socket ? load(c) : 0;
        return sum;
    };
    std::vector<std::size_t> by_socket(static_cast<std::size_t>(machine_.sockets));
    if (machine_.placing != placement::random) {
        for (std::uint32_t s = 0; s < by_socket.size(); ++s)
            by_socket[s] = socket_load(s);
    }
    std::vector<cpu*> best;
    std::array<std::size_t, 3> best_load{};
    for (cpu& c : cpus_) {
        std::array<std::size_t, 3> l{0, by_socket[c.socket], load(c)};
        if (machine_.placing == placement::spread) {
            const cpu* const sibling = sibling_of(c);
            l[0] = load(c) + (sibling != nullptr ? load(*sibling) : 0);
        } else {
            l[0] = load(c) == 0 ? 0 : 1; // idle ones first
        }
        if (best.empty() || l < best_load) {
            best.assign(1, &c);
            best_load = l;
        } else if (l == best_load) {
            best.push_back(&c);
        }
    }
    return *best[random_.below(best.size())];
}

cpu& engine::place_woken(const thread& t) {
    const auto idle = [](const cpu& c) { return c.current == nullptr && c.run_queue.empty(); };
    if (t.pinned != no_cpu)
        return cpus_[t.pinned];
    if (idle(*t.on))
        return *t.on;
    // From there to the socket's last CPU, then from its first.
    const auto in_socket = [&](std::size_t n) { return n < cpus_.size() && cpus_[n].socket == t.on->socket; };
    for (std::size_t n = t.on->number + 1; in_socket(n); ++n) {
        if (idle(cpus_[n]))
            return cpus_[n];
    }
    std::size_t first = t.on->number;
    while (first > 0 && in_socket(first - 1))
        --first;
    for (std::size_t n = first; n < t.on->number; ++n) {
        if (idle(cpus_[n]))
            return cpus_[n];
    }
    return *t.on;
}

thread* engine::steal_for(cpu& c) {
    cpu* victim = nullptr;
    for (cpu& other : cpus_) {
        const bool better = victim == nullptr || (other.socket == c.socket && victim->socket != c.socket) ||
                            (other.run_queue.size() > victim->run_queue.size() &&
                             (other.socket == c.socket || victim->socket != c.socket));
        if (!other.run_queue.empty() && better)
            victim = &other;
    }
    if (victim == nullptr)
        return nullptr;
    std::deque<thread*>& queue = victim->run_queue;
    const auto found =
        std::find_if(queue.begin(), queue.end(), [](const thread* t) { return t->pinned == no_cpu; });
    if (found == queue.end())
        return nullptr;
    thread* const t = *found;
    queue.erase(found);
    return t;
}

void engine::balance(picoseconds now) {
    // From the longest queue to an idle CPU, or to a queue shorter by two, until neither is there.
    for (std::size_t moved = 0; moved < cpus_.size(); ++moved) {
        const auto [least, most] = std::minmax_element(
            cpus_.begin(), cpus_.end(), [&](const cpu& a, const cpu& b) { return load(a) < load(b); });
        if (load(*most) < load(*least) + 2 || most->run_queue.empty())
            return;
        const auto found = std::find_if(most->run_queue.begin(), most->run_queue.end(),
                                        [](const thread* t) { return t->pinned == no_cpu; });
        if (found == most->run_queue.end())
            return;
        thread& t = **found;
        most->run_queue.erase(found);
        enqueue(*least, t, now);
    }
}

void engine::start_swap_timer(picoseconds now) {
    if (machine_.swaps_per_1000s == 0 || machine_.sockets < 2)
        return;
    // Uniform between 0 and twice the mean.
    constexpr picoseconds thousand_seconds = 1'000'000'000'000'000;
    const picoseconds mean = thousand_seconds / machine_.swaps_per_1000s;
    const auto wait = static_cast<picoseconds>(random_.below(static_cast<std::uint64_t>(2 * mean)));
    start_timer(timer::kind::swap, now + 1 + wait, 0);
}

void engine::swap_two(picoseconds now) {
    cpu& a = cpus_[random_.below(cpus_.size())];
    cpu& b = cpus_[random_.below(cpus_.size())];
    if (a.socket == b.socket)
        return;
    // Checked before either is moved, as moving one changes the other's state.
    thread* const from_a = a.current;
    thread* const from_b = b.current;
    const auto movable = [](const cpu& c) {
        return c.current == nullptr || (c.at != phase::switching && c.current->pinned == no_cpu);
    };
    if (!movable(a) || !movable(b))
        return;
    if (from_a != nullptr)
        from_a->move_to = b.number;
    if (from_b != nullptr)
        from_b->move_to = a.number;
    if (from_a != nullptr)
        interrupt(a, now);
    if (from_b != nullptr && b.current == from_b)
        interrupt(b, now);
}

} // namespace holdfast::sim
