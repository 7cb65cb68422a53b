// Hardware threads that share a core.
//
// On a `shared` core both run, each slower while the other computes. On a `switch_on_event` core one runs at a time: the
// foreground thread gives the core away when it misses, pauses (if the machine's pause says so) or goes idle, or when
// its quantum is over while the sibling wants the core. So a thread that spins without pausing keeps its sibling
// from running until the quantum ends.
#include "sim/engine.hpp"

namespace holdfast::sim {

cpu* engine::sibling_of(const cpu& c) {
    return c.number < 2 * machine_.paired_cores() ? &cpus_[c.number ^ 1u] : nullptr;
}

picoseconds engine::stretched(const cpu& c, picoseconds duration) {
    const cpu* const sibling = sibling_of(c);
    if (sibling == nullptr || switch_on_event_ || sibling->current == nullptr ||
        sibling->at == phase::queued || sibling->at == phase::transferring ||
        sibling->at == phase::watching || sibling->at == phase::halted)
        return duration;
    constexpr picoseconds million = 1'000'000; // the product may be too large
    return duration / million * machine_.smt_slowdown_ppm +
           duration % million * machine_.smt_slowdown_ppm / million;
}

bool engine::take_core(cpu& c, picoseconds now) {
    core& k = core_of(c);
    if (k.foreground == no_cpu) {
        k.foreground = static_cast<std::uint16_t>(c.number);
        k.since = now;
    }
    return k.foreground == c.number;
}

void engine::want_core(cpu& c, phase then, picoseconds now) {
    c.after_core = then;
    c.at = phase::core_waiting;
    events_queue_.set(c.number, std::max(now, core_of(c).since + machine_.smt_quantum));
}

void engine::release_core(cpu& c, picoseconds now) {
    core& k = core_of(c);
    c.attention = true;
    if (k.foreground != c.number)
        return;
    const cpu* const sibling = sibling_of(c);
    k.foreground = no_cpu;
    if (sibling != nullptr && sibling->at == phase::core_waiting) {
        k.foreground = static_cast<std::uint16_t>(sibling->number);
        k.since = now + machine_.smt_switch;
        events_queue_.set(sibling->number, k.since);
    }
}

void engine::force_core(cpu& c, picoseconds now) {
    core& k = core_of(c);
    cpu& other = *sibling_of(c);
    k.foreground = static_cast<std::uint16_t>(c.number);
    k.since = now + machine_.smt_switch;
    if (other.at == phase::computing) {
        other.current->compute_left = events_queue_.time_of(other.number) - now;
        other.clock = now;
        charge(other, other.current->compute_user);
        want_core(other, phase::computing, now);
    } else {
        other.attention = true; // it notices when it asks for something next
    }
    events_queue_.set(c.number, k.since);
}

void engine::go_on(cpu& c, picoseconds now) {
    switch (c.after_core) {
    case phase::issuing:
        c.at = phase::issuing;
        handle(c, now);
        break;
    case phase::computing:
        resume_compute(c, now);
        break;
    default:
        enter(c, now);
    }
}

} // namespace holdfast::sim
