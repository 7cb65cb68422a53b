// The simulated machine at work: CPUs that execute threads in the order of simulated time.
//
// Each simulated thread is a fiber. Its code runs on the host in no simulated time; what costs time is what it asks the
// engine for: memory operations, computation, sleeping. A CPU's clock says how far its thread has come. As long as
// that is before the next event of any other CPU, and the operation needs nobody else, the fiber just goes on; otherwise it
// leaves, and the engine's loop handles events in the order of their times and enters the fiber again when its
// turn has come. So every memory operation takes effect in time order, and the run depends on nothing but its inputs.
//
// The parts: coherence.hpp (cache lines), this class (time, fibers, computing, spinning), scheduler.cpp (run queues,
// waking, preemption, balancing), core.cpp (hardware threads that share a core), profile.hpp (accounting).
//
// Functions under "for fibers" are called by simulated threads, through sim::platform and sim::world; all others by
// the loop. The running simulation is the host thread's: engine::now_running().
#pragma once

#include <chrono>
#include <exception>
#include <memory>
#include <queue>

#include "sim/coherence.hpp"
#include "sim/cpu.hpp"
#include "sim/event_queue.hpp"
#include "sim/memory.hpp"
#include "sim/profile.hpp"
#include "sim/sim.hpp"

namespace holdfast::sim {

class engine {
public:
    explicit engine(const run_options& options);
    ~engine();
    engine(const engine&) = delete;
    engine& operator=(const engine&) = delete;

    // Runs the program; see sim::run.
    report run(const std::function<void()>& main);

    // The simulation whose fiber the host thread is executing, or is setting up.
    static engine& now_running() { return *running_; }

    // For fibers -------------------------------------------------------------------------------------------------

    // A memory operation at `address`; returns when it may take effect, which the caller then does. `extra` is time
    // on top of the operation's cost.
    void operate(const void* address, access kind, picoseconds extra = 0) {
        ++memory_operations_;
        if (here_->attention) [[unlikely]]
            attend();
        cpu& c = *here_;
        line& l = memory_.line_at(address);
        if (coherence::hits(l, c, kind, c.clock) && ahead(c, c.clock)) {
            c.clock += cost_[static_cast<std::size_t>(kind)] + extra;
            return;
        }
        c.op_line = &l;
        c.op_kind = kind;
        leave(phase::issuing, c.clock);
        here_->clock += cost_[static_cast<std::size_t>(kind)] + extra;
    }

    // Keeps the CPU busy for `duration`, as the given thread's user or system time.
    void compute(picoseconds duration, bool as_user);

    // Pauses `times` times.
    void pause(std::uint32_t times);

    // Spins on words until one of their lines is written by another CPU, or something else of interest happens: a condition
    // of the arguments, a preemption, an interrupt. May return at once. The thread looks every `period`.
    struct watch_request {
        const void* const* words;
        std::uint32_t count;
        picoseconds period;
        bool pauses;  // gives the core to a switch-on-event sibling
        bool resched; // ends when the CPU is wanted by somebody else
        thread_id owner_off_cpu;
        picoseconds deadline; // 0: none
    };
    void watch(const watch_request& request);

    // Waits until all other CPUs have come as far as this one, so that their state can be looked at or changed.
    void order();

    picoseconds clock() const { return here_->clock; }
    thread& self() const { return *here_->current; }
    thread& known(thread_id id) { return *threads_[id - 1]; }
    cpu& here() const { return *here_; }
    bool on_cpu(thread_id id);
    bool need_resched();
    void preempt_disable() { ++here_->current->preempt_depth; }
    void preempt_enable() {
        if (--here_->current->preempt_depth == 0 &&
            (here_->need_resched || here_->current->move_to != no_cpu))
            attend();
    }

    // The token of clause G. False: the deadline (0: none) passed first.
    bool park(picoseconds deadline);
    void unpark(thread_id id);

    // Both throw std::logic_error unless a CPU of that number (for spawn: or no_cpu) is online.
    thread& spawn(std::function<void()> body, std::uint32_t pinned);
    void pin(std::uint32_t cpu_number);
    void join(thread& other);
    void sleep_until(picoseconds time);
    void shootdown();

    std::uint32_t enter_frame(const char* name) {
        cpu& c = *here_;
        charge(c, false);
        const std::uint32_t caller = c.current->frame;
        c.current->frame = profile_.enter(caller, name);
        return caller;
    }
    void leave_frame(std::uint32_t caller) {
        charge(*here_, false);
        here_->current->frame = caller;
    }
    void count(event e) { ++events_[static_cast<std::size_t>(e)]; }

    // Memory for a shared object, homed on a socket.
    void* allocate(std::size_t bytes, std::size_t alignment, bool own_lines, std::uint32_t socket);
    // An atomic or var begins its life at this address.
    void born(const void* address) {
        line& l = memory_.line_at(address);
        if (memory_.on_a_stack(address))
            coherence::claim(l, *here_);
    }
    // The object will be destroyed when the run ends, in the reverse order of the calls.
    void destroy_later(void* object, void (*destroy)(void*)) { owned_.push_back({object, destroy}); }

    // The platform's queue nodes (clause H), which it makes before the program starts.
    void*& queue_nodes() { return queue_nodes_; }

    // The platform's wait records (clause K), by thread identity; null: not made yet.
    std::vector<void*>& wait_records() { return wait_records_; }

    const machine& on() const { return machine_; }

private:
    struct timer {
        enum class kind : std::uint8_t { thread, slice, tick, balance, swap };
        picoseconds time;
        std::uint64_t order; // of two at one time the older is first; identifies the timer
        kind what;
        std::uint32_t index; // of the thread or CPU
        bool operator>(const timer& other) const {
            return time != other.time ? time > other.time : order > other.order;
        }
    };
    struct owned {
        void* object;
        void (*destroy)(void*);
    };

    // Whether the CPU, at time `now`, is before everybody else's next event, and before the end of the run.
    bool ahead(const cpu& c, picoseconds now) const {
        return now < horizon_ && event_key::make(now, c.number) < events_queue_.first();
    }

    // The fiber leaves its CPU in a phase, with an event at a time; returns when the loop enters it again.
    void leave(phase at, picoseconds event) {
        events_queue_.set(here_->number, event);
        leave(at);
    }
    void leave(phase at) {
        here_->at = at;
        here_->current->context.leave();
    }
    void attend();
    static void start_thread(void* self);

    // The loop.
    void loop();
    void handle(cpu& c, picoseconds now);
    void enter(cpu& c, picoseconds now);
    void fire(const timer& t);
    std::uint64_t start_timer(timer::kind what, picoseconds time, std::uint32_t index);
    void update_timer_key();
    void end_watch(cpu& c, picoseconds now);
    void halt();
    void end_halt(cpu& c, picoseconds now);
    void resume_compute(cpu& c, picoseconds now);
    void charge(cpu& c, bool as_user) {
        profile_node& node = profile_[c.current->frame];
        (as_user ? node.user : node.system) += c.clock - c.charged;
        c.charged = c.clock;
    }
    [[noreturn]] void give_up(const std::string& why);
    report make_report();

    // Scheduler (scheduler.cpp).
    void block(thread_state state) {
        here_->current->state = state;
        leave(phase::leaving, here_->clock);
    }
    void take_off(cpu& c, picoseconds now);
    void put_on(cpu& c, thread& t, picoseconds at);
    void dispatch(cpu& c, picoseconds now);
    void wake(thread& t, picoseconds now);
    void enqueue(cpu& c, thread& t, picoseconds now);
    void interrupt(cpu& c, picoseconds now);
    void arm_slice(cpu& c);
    void steal_time(cpu& c, picoseconds duration);
    void balance(picoseconds now);
    void swap_two(picoseconds now);
    void start_swap_timer(picoseconds now);
    thread* steal_for(cpu& c);
    cpu& place_new(const thread& t);
    cpu& place_woken(const thread& t);

    // Throws std::logic_error unless a CPU of that number is online.
    void check_online(std::uint32_t cpu_number) const;

    // Cores shared by hardware threads (core.cpp).
    struct core {
        std::uint16_t foreground = no_cpu; // who executes, on a switch-on-event core
        picoseconds since = 0;
    };
    core& core_of(const cpu& c) { return cores_[static_cast<std::size_t>(machine_.core_of(c.number))]; }
    cpu* sibling_of(const cpu& c); // nullptr: none is online
    bool take_core(cpu& c, picoseconds now);
    void want_core(cpu& c, phase then, picoseconds now);
    void go_on(cpu& c, picoseconds now);
    void release_core(cpu& c, picoseconds now);
    void force_core(cpu& c, picoseconds now);
    picoseconds stretched(const cpu& c, picoseconds duration);

    static inline thread_local constinit engine* running_ = nullptr;
    static constexpr std::uint32_t timer_slot = (1u << event_key::slot_bits) - 1;

    const machine& machine_;
    picoseconds limit_;
    std::uint64_t seed_;
    std::array<picoseconds, 3> cost_; // of a hit, by access
    bool switch_on_event_;
    random_source random_;
    memory memory_;
    std::vector<cpu> cpus_;
    std::vector<core> cores_;
    event_queue events_queue_;
    coherence coherence_;
    profile profile_;
    std::vector<std::unique_ptr<thread>> threads_; // by id - 1
    std::uint32_t alive_ = 0;
    cpu* here_ = nullptr;
    std::priority_queue<timer, std::vector<timer>, std::greater<>> timers_;
    std::uint64_t timer_key_ = event_key::never;
    picoseconds horizon_ = 0; // just behind the next timer or the run's limit
    std::uint64_t timers_started_ = 0;
    std::uint64_t pending_changes_ = 0; // timers waiting that are not periodic
    std::exception_ptr failure_;
    std::vector<owned> owned_;
    void* queue_nodes_ = nullptr;
    std::vector<void*> wait_records_;
    picoseconds end_ = 0;
    std::uint64_t memory_operations_ = 0;
    std::uint64_t context_switches_ = 0;
    std::uint64_t migrations_ = 0;
    std::uint64_t events_[event_count] = {};
};

} // namespace holdfast::sim
