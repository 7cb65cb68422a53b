#include "sim/engine.hpp"

#include <algorithm>
#include <limits>

namespace holdfast::sim {

engine::engine(const run_options& options)
    : machine_(*options.on),
      limit_(options.limit == 0 ? event_key::last : std::min(options.limit, event_key::last)),
      seed_(options.seed), cost_{machine_.hit, machine_.hit, machine_.rmw},
      switch_on_event_(machine_.sharing == smt::switch_on_event && machine_.threads_per_core > 1),
      random_(options.seed), memory_(machine_.line_bytes), cpus_(static_cast<std::size_t>(machine_.cpus())),
      cores_(static_cast<std::size_t>(machine_.cores())),
      events_queue_(static_cast<std::uint32_t>(machine_.cpus())), coherence_([this]() -> coherence {
          for (std::size_t i = 0; i < cpus_.size(); ++i) {
              cpus_[i].number = static_cast<std::uint32_t>(i);
              cpus_[i].average_idle = 2 * machine_.steal_after;
              cpus_[i].socket = static_cast<std::uint32_t>(machine_.socket_of(static_cast<std::int64_t>(i)));
          }
          return coherence(machine_, cpus_, events_queue_, random_);
      }()) {
    running_ = this;
    update_timer_key();
}

engine::~engine() {
    for (auto it = owned_.rbegin(); it != owned_.rend(); ++it)
        it->destroy(it->object);
    running_ = nullptr;
}

report engine::run(const std::function<void()>& main) {
    if (machine_.balance_interval > 0)
        start_timer(timer::kind::balance, machine_.balance_interval, 0);
    start_swap_timer(0);
    if (machine_.tick > 0) {
        for (const cpu& c : cpus_) // each at a moment of its own
            start_timer(timer::kind::tick,
                        static_cast<picoseconds>(random_.below(static_cast<std::uint64_t>(machine_.tick))),
                        c.number);
    }
    spawn(main, no_cpu);
    loop();
    if (failure_)
        std::rethrow_exception(failure_);
    return make_report();
}

// Fibers -----------------------------------------------------------------------------------------------------------

void engine::start_thread(void* self) {
    auto& t = *static_cast<thread*>(self);
    engine& e = now_running();
    try {
        t.body();
    } catch (...) {
        if (!e.failure_)
            e.failure_ = std::current_exception();
    }
    t.state = thread_state::finished;
    e.here_->at = phase::leaving;
    e.events_queue_.set(e.here_->number, e.here_->clock);
    t.context.leave_for_ever();
}

void engine::attend() {
    do {
        cpu& c = *here_;
        c.attention = false;
        c.clock += c.stolen;
        c.stolen = 0;
        const thread& t = *c.current;
        if (t.preempt_depth == 0 && (c.need_resched || t.move_to != no_cpu)) {
            block(thread_state::runnable);
        } else if (switch_on_event_ && core_of(c).foreground != c.number) {
            order();
            if (!take_core(*here_, here_->clock)) {
                want_core(*here_, phase::ordering, here_->clock);
                leave(phase::core_waiting);
            }
        }
    } while (here_->attention);
}

void engine::order() {
    if (!ahead(*here_, here_->clock))
        leave(phase::ordering, here_->clock);
}

void engine::compute(picoseconds duration, bool as_user) {
    if (here_->attention)
        attend();
    cpu& c = *here_;
    charge(c, false);
    const picoseconds end = c.clock + stretched(c, std::min(duration, event_key::end));
    if (ahead(c, end)) {
        c.clock = end;
    } else {
        c.current->compute_user = as_user;
        leave(phase::computing, end);
    }
    charge(*here_, as_user);
}

void engine::pause(std::uint32_t times) {
    if (times == 0)
        return;
    if (here_->attention)
        attend();
    if (switch_on_event_ && machine_.pausing == pause_kind::switch_thread) {
        order();
        release_core(*here_, here_->clock);
    }
    compute(times * machine_.pause, false);
}

void engine::watch(const watch_request& request) {
    if (here_->attention)
        attend();
    cpu& c = *here_;
    thread& self = *c.current;
    for (std::uint32_t i = 0; i < request.count; ++i) {
        if (!coherence::hits(memory_.line_at(request.words[i]), c, access::load, c.clock))
            return; // it has changed since it was loaded
    }
    thread* const owner =
        request.owner_off_cpu == nobody ? nullptr : threads_[request.owner_off_cpu - 1].get();
    if (owner != nullptr) {
        if (owner->state != thread_state::running)
            return;
        owner->off_watchers.push_back(&self);
    }
    if (request.deadline != 0)
        self.timer = start_timer(timer::kind::thread, std::max(request.deadline, c.clock), self.id);
    c.watch_start = c.clock;
    c.watch_period = request.period;
    c.watch_resched = request.resched;
    for (std::uint32_t i = 0; i < request.count; ++i)
        coherence_.watch_line(c, memory_.line_at(request.words[i]));
    if (request.pauses && switch_on_event_ && machine_.pausing == pause_kind::switch_thread)
        release_core(c, c.clock);
    leave(phase::watching);
    self.timer = 0;
    if (owner != nullptr)
        std::erase(owner->off_watchers, &self);
}

bool engine::on_cpu(thread_id id) {
    order();
    return id != nobody && id <= threads_.size() && threads_[id - 1]->state == thread_state::running;
}

bool engine::need_resched() {
    order();
    return here_->need_resched || here_->current->move_to != no_cpu;
}

bool engine::park(picoseconds deadline) {
    order();
    thread& t = self();
    if (t.token) {
        t.token = false;
        return true;
    }
    if (deadline != 0) {
        if (deadline <= here_->clock)
            return false;
        t.timer = start_timer(timer::kind::thread, deadline, t.id);
    }
    t.timed_out = false;
    if (t.preempt_depth > 0) {
        halt();
    } else {
        t.parked = true;
        block(thread_state::blocked);
    }
    return !t.timed_out;
}

void engine::halt() {
    cpu& c = *here_;
    const picoseconds since = c.clock;
    charge(c, false);
    if (switch_on_event_)
        release_core(c, c.clock);
    leave(phase::halted);
    profile_[c.current->frame].off_cpu += c.clock - since;
    c.charged = c.clock;
    c.current->timer = 0;
}

void engine::end_halt(cpu& c, picoseconds now) {
    c.at = phase::ordering;
    events_queue_.set(c.number, std::max(now, c.clock) + machine_.wakeup_latency);
}

void engine::unpark(thread_id id) {
    order();
    thread& t = *threads_[id - 1];
    if (t.state == thread_state::blocked && t.parked) {
        wake(t, here_->clock);
        compute(machine_.wake_cost, false);
    } else if (t.state == thread_state::running && t.on->at == phase::halted) {
        end_halt(*t.on, here_->clock);
        compute(machine_.wake_cost, false);
    } else {
        t.token = true;
    }
}

thread& engine::spawn(std::function<void()> body, std::uint32_t pinned) {
    if (pinned != no_cpu)
        check_online(pinned);
    const picoseconds now = here_ == nullptr ? 0 : here_->clock;
    if (here_ != nullptr)
        order();
    threads_.push_back(std::make_unique<thread>());
    thread& t = *threads_.back();
    t.id = static_cast<thread_id>(threads_.size());
    t.body = std::move(body);
    t.pinned = pinned;
    t.random = random_source(random_source(seed_ + t.id * 0x9e3779b97f4a7c15).next());
    t.stack = memory_.take_stack();
    t.context.make(t.stack.bottom, t.stack.size, &engine::start_thread, &t);
    t.off_since = now;
    t.frame = 0;
    ++alive_;
    cpu& c = place_new(t);
    t.on = &c;
    enqueue(c, t, now);
    if (here_ != nullptr)
        compute(machine_.wake_cost, false);
    return t;
}

void engine::join(thread& other) {
    order();
    if (other.state == thread_state::finished)
        return;
    other.joiners.push_back(&self());
    block(thread_state::blocked);
}

void engine::pin(std::uint32_t cpu_number) {
    check_online(cpu_number);
    thread& t = self();
    t.pinned = cpu_number;
    if (here_->number != cpu_number) {
        t.move_to = cpu_number;
        attend();
    }
}

void engine::sleep_until(picoseconds time) {
    order();
    thread& t = self();
    if (time <= here_->clock)
        return;
    t.timer = start_timer(timer::kind::thread, time, t.id);
    block(thread_state::blocked);
}

void engine::shootdown() {
    order();
    const cpu& mine = *here_;
    std::int64_t targets = 0;
    for (cpu& c : cpus_) {
        if (c.number == mine.number || c.current == nullptr)
            continue;
        ++targets;
        steal_time(c, machine_.ipi_handler);
    }
    if (targets > 0)
        compute(targets * machine_.ipi_send + machine_.ipi, false);
}

void* engine::allocate(std::size_t bytes, std::size_t alignment, bool own_lines, std::uint32_t socket) {
    void* const object = memory_.allocate(bytes, alignment, own_lines);
    for (std::size_t at = 0; at < bytes; at += static_cast<std::size_t>(machine_.line_bytes)) {
        line& l = memory_.line_at(static_cast<std::byte*>(object) + at);
        if (l.home == 0)
            l.home = static_cast<std::uint8_t>(socket + 1);
    }
    return object;
}

// The loop ---------------------------------------------------------------------------------------------------------

void engine::loop() {
    while (alive_ > 0 && !failure_) {
        const std::uint64_t key = std::min(events_queue_.first(), timer_key_);
        if (key == event_key::never)
            give_up("deadlock");
        const picoseconds now = event_key::time(key);
        if (now > limit_)
            give_up(limit_ == event_key::last ? "it takes longer than 5 simulated hours"
                                              : "the time limit is over");
        if (key == timer_key_) {
            const timer t = timers_.top();
            timers_.pop();
            update_timer_key();
            fire(t);
        } else {
            handle(cpus_[event_key::slot(key)], now);
        }
    }
}

void engine::handle(cpu& c, picoseconds now) {
    switch (c.at) {
    case phase::issuing:
        c.clock = now;
        if (switch_on_event_ && !take_core(c, now)) {
            want_core(c, phase::issuing, now);
        } else if (coherence::hits(*c.op_line, c, c.op_kind, now)) {
            enter(c, now);
        } else {
            events_queue_.clear(c.number);
            if (switch_on_event_)
                release_core(c, now);
            coherence_.request(c, now);
        }
        break;
    case phase::transferring:
        coherence_.arrive(c, now);
        enter(c, now);
        break;
    case phase::ordering:
    case phase::computing:
        enter(c, now);
        break;
    case phase::core_waiting:
        if (core_of(c).foreground == c.number)
            go_on(c, now);
        else
            force_core(c, now);
        break;
    case phase::leaving:
        take_off(c, now);
        break;
    case phase::switching:
        dispatch(c, now);
        break;
    case phase::idle:
    case phase::running:
    case phase::queued:
    case phase::watching:
    case phase::halted:
        break; // these have no events
    }
}

void engine::enter(cpu& c, picoseconds now) {
    c.clock = now;
    c.at = phase::running;
    events_queue_.clear(c.number);
    here_ = &c;
    c.current->context.enter();
    here_ = nullptr;
}

std::uint64_t engine::start_timer(timer::kind what, picoseconds time, std::uint32_t index) {
    timers_.push({time, ++timers_started_, what, index});
    if (what == timer::kind::thread || what == timer::kind::slice)
        ++pending_changes_;
    update_timer_key();
    return timers_started_;
}

void engine::update_timer_key() {
    timer_key_ = event_key::never;
    horizon_ = limit_ + 1;
    if (timers_.empty())
        return;
    const picoseconds next = std::min(timers_.top().time, event_key::end);
    timer_key_ = event_key::make(next, timer_slot);
    horizon_ = std::min(horizon_, next + 1);
}

void engine::fire(const timer& t) {
    switch (t.what) {
    case timer::kind::thread: {
        --pending_changes_;
        thread& who = *threads_[t.index - 1];
        if (who.timer != t.order)
            break; // it has gone on without
        who.timer = 0;
        if (who.state == thread_state::blocked) {
            who.timed_out = true;
            wake(who, t.time);
        } else if (who.on->current == &who && who.on->at == phase::watching) {
            end_watch(*who.on, t.time);
        } else if (who.on->current == &who && who.on->at == phase::halted) {
            who.timed_out = true;
            end_halt(*who.on, t.time);
        }
        break;
    }
    case timer::kind::slice: {
        cpu& c = cpus_[t.index];
        --pending_changes_;
        if (c.slice != t.order)
            break;
        c.slice = 0;
        if (!c.run_queue.empty()) {
            c.need_resched = true;
            interrupt(c, t.time);
        }
        break;
    }
    case timer::kind::tick:
    case timer::kind::balance:
    case timer::kind::swap:
        if (events_queue_.first() == event_key::never && pending_changes_ == 0)
            give_up("deadlock");
        if (t.what == timer::kind::tick) {
            cpu& c = cpus_[t.index];
            if (c.current != nullptr)
                steal_time(c, machine_.tick_cost);
            start_timer(timer::kind::tick, t.time + machine_.tick, t.index);
        } else if (t.what == timer::kind::balance) {
            balance(t.time);
            start_timer(timer::kind::balance, t.time + machine_.balance_interval, 0);
        } else {
            swap_two(t.time);
            start_swap_timer(t.time);
        }
        break;
    }
}

void engine::end_watch(cpu& c, picoseconds now) {
    coherence_.unwatch(c);
    c.at = phase::ordering;
    events_queue_.set(c.number, std::max(now, c.clock));
}

void engine::resume_compute(cpu& c, picoseconds now) {
    if (switch_on_event_ && !take_core(c, now)) {
        want_core(c, phase::computing, now);
        return;
    }
    c.at = phase::computing;
    events_queue_.set(c.number, now + c.current->compute_left);
    c.current->compute_left = 0;
}

void engine::give_up(const std::string& why) {
    std::string text = "sim: " + why + "; unfinished threads:";
    int named = 0;
    for (const auto& t : threads_) {
        if (t->state == thread_state::finished)
            continue;
        if (++named > 8) {
            text += " ...";
            break;
        }
        const char* const state = t->state == thread_state::blocked    ? " blocked"
                                  : t->state == thread_state::runnable ? " runnable"
                                                                       : " running";
        text += " " + std::to_string(t->id) + state + " in " + profile_.name(t->frame) + ";";
    }
    throw stuck(text);
}

report engine::make_report() {
    report r;
    r.elapsed = end_;
    r.context_switches = context_switches_;
    r.migrations = migrations_;
    r.memory_operations = memory_operations_;
    r.line_transfers = coherence_.transfers();
    std::copy(std::begin(events_), std::end(events_), std::begin(r.events));
    r.profile = std::move(profile_).take();
    for (const profile_node& node : r.profile) {
        r.user += node.user;
        r.system += node.system;
    }
    r.idle = machine_.cpus() * end_ - r.user - r.system;
    return r;
}

} // namespace holdfast::sim
