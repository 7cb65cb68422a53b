// Another explorer behind the same seam (model/explorer.hpp), to hold ours against: threads as coroutines, relacy's search
// over their choices, relacy's memory model under their operations.
//
// It shares no code with ours, and knows nothing of the reduction. It shows less: relacy takes the order in which stores
// are executed for their modification order, and remembers three values of each atomic. It goes through all that
// can happen: of the limits it knows how many executions, how many steps, and which chances. It has neither mutants nor traces.
//
// What is added to relacy's memory model:
// - A plain store by the thread that made the last release store does not continue its release sequence
//   (C++20 took that out; relacy still has it).
// - A failing compare-exchange may read an old value, with its own failure order.
// - Lifetime: making and ending an atomic are writes to a plain variable that each operation reads.
#include "model/explorer.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include "relacy_parts.hpp"

namespace holdfast::model {

namespace {

// A coroutine that is never unwound: an execution that failed is left where it stands.
class coroutine {
public:
    explicit coroutine(std::function<void()> body)
        : stack_(boost::context::protected_fixedsize_stack(64 * 1024).allocate()), body_(std::move(body)) {
        new (&inside_) boost::context::fiber(std::allocator_arg,
                                             boost::context::preallocated(stack_.sp, stack_.size, stack_),
                                             left_alone{}, [this](boost::context::fiber&& outside) {
                                                 outside_ = std::move(outside);
                                                 body_();
                                                 return std::move(outside_);
                                             });
    }
    ~coroutine() { boost::context::protected_fixedsize_stack(64 * 1024).deallocate(stack_); }
    coroutine(const coroutine&) = delete;
    coroutine& operator=(const coroutine&) = delete;

    void enter() { inside_ = std::move(inside_).resume(); }
    void leave() { outside_ = std::move(outside_).resume(); }

private:
    struct left_alone {
        boost::context::stack_context allocate() { return {}; }
        void deallocate(boost::context::stack_context&) {}
    };

    boost::context::stack_context stack_;
    std::function<void()> body_;
    boost::context::fiber outside_; // empty unless the body runs
    union {
        boost::context::fiber inside_; // never destroyed, which would unwind
    };
};

using namespace explorer;

constexpr std::size_t history = rl::atomic_history_size;

// What explorer.hpp's functions talk to; the number of threads is known one level down only.
class machine {
public:
    virtual ~machine() = default;
    virtual void fail(const std::string& why, place) = 0;

    virtual word* begin_word(bits) = 0;
    virtual void end_word(word*, place) = 0;
    virtual bits load(word*, ordered) = 0;
    virtual void store(word*, bits, ordered) = 0;
    virtual bits modify(word*, change_of_bits, bits operand, ordered) = 0;
    virtual wake await(const explorer::wait&, ordered) = 0;
    virtual bool park(word*, bool* deadline, place) = 0;
    virtual bool compare_exchange(word*, bits& expected, bits desired, ordered, std::memory_order,
                                  operation) = 0;
    virtual void fence(ordered) = 0;
    virtual plain* begin_plain() = 0;
    virtual void end_plain(plain*, place) = 0;
    virtual void read(plain*, place) = 0;
    virtual void write(plain*, place) = 0;
    virtual void before_threads(const std::function<void()>&) = 0;
    virtual unsigned self() const = 0;
    virtual bool chance(unsigned chances::*) = 0;
    virtual void pause() = 0;
};

machine* current = nullptr;
std::uint64_t executions_so_far = 0;

// Objects of one execution: handed out one after another, all taken back at its end, so that a dead one is
// known as such.
template <class T>
class pool {
public:
    T* take() {
        if (used_ == objects_.size())
            objects_.push_back(std::make_unique<T>());
        return objects_[used_++].get();
    }
    void take_back_all() { used_ = 0; }

private:
    std::vector<std::unique_ptr<T>> objects_;
    std::size_t used_ = 0;
};

template <int N>
class machine_of final : public machine, private idle_context {
    using clock = std::array<rl::timestamp_t, N>;

    struct plain_data {
        rl::var_data_impl<N> accesses;
        bool alive;
    };
    struct word_data {
        rl::atomic_data_impl<N> memory;
        bits values[history];
        plain_data life;

        auto& record(unsigned index) { return memory.history_[index % history]; }
        bits newest() const { return values[memory.current_index_ % history]; }
    };
    struct thread_data {
        explicit thread_data(int index) : memory(index) {}
        rl::thread_info<N> memory;
        const std::function<bool()>* waits_for;
    };

    static word_data& of(word* w) { return *reinterpret_cast<word_data*>(w); }
    static plain_data& of(plain* p) { return *reinterpret_cast<plain_data*>(p); }

public:
    machine_of(const limits& bounds, rl::test_params& params)
        : idle_context(N, params), limits_(bounds), search_(params, shared_, 0) {
        rl::context::seq_cst_fence_order_ = fences_;
        for (int i = 0; i < N; ++i) {
            threads_[i] = std::make_unique<thread_data>(i);
            threads_[i]->memory.ctx_ = this;
            coroutines_[i] = std::make_unique<coroutine>([this, i] {
                for (;;) {
                    if (i < static_cast<int>(program_->threads()))
                        program_->thread(static_cast<unsigned>(i));
                    finish_thread();
                }
            });
        }
    }

    outcome run(program& what) {
        program_ = &what;
        for (;;) {
            ++result_.executions;
            run_once();
            if (!result_.failure.empty())
                return std::move(result_);
            if (search_.iteration_end()) {
                result_.complete = true;
                return std::move(result_);
            }
            if (result_.executions == limits_.executions)
                return std::move(result_);
        }
    }

    void fail(const std::string& why, place at) override {
        result_.failure = why;
        result_.failed_at = at;
        if (alone_)
            throw failed_alone{};
        running_ = nobody_;
        coroutines_[index()]->leave(); // for good
    }

    word* begin_word(bits value) override {
        word_data& w = *words_.take();
        new (&w.memory) rl::atomic_data_impl<N>;
        begin_life(w.life);
        auto& record = w.record(0);
        record.busy_ = true;
        record.thread_id_ = index();
        std::fill_n(record.acq_rel_order_, N, 0);
        std::fill_n(record.first_seen_order_, N, never);
        for (unsigned i = 1; i < history; ++i)
            w.record(i).busy_ = false;
        record.acq_rel_timestamp_ = 0;
        if (!before_threads_)
            record.acq_rel_timestamp_ = record.first_seen_order_[index()] = ++me().memory.own_acq_rel_order_;
        w.values[0] = value;
        return reinterpret_cast<word*>(&w);
    }

    void end_word(word* w, place at) override { end_life(of(w).life, at); }

    bits load(word* handle, ordered o) override {
        word_data& w = begin_operation(handle, o.at);
        return w.values[look(w, o.order, o.at)];
    }

    void store(word* handle, bits value, ordered o) override {
        word_data& w = begin_operation(handle, o.at);
        // C++20: a release sequence continues through read-modify-writes only.
        auto& last = w.record(w.memory.current_index_);
        const rl::thread_id_t thread = std::exchange(last.thread_id_, nobody_);
        rl::thread_info_base& memory = me().memory;
        const unsigned slot = o.order == std::memory_order_seq_cst   ? memory.atomic_store_seq_cst(&w.memory)
                              : o.order == std::memory_order_release ? memory.atomic_store_release(&w.memory)
                                                                     : memory.atomic_store_relaxed(&w.memory);
        last.thread_id_ = thread;
        w.values[slot] = value;
        wake_waiters();
    }

    bits modify(word* handle, change_of_bits change, bits operand, ordered o) override {
        word_data& w = begin_operation(handle, o.at);
        const bits value = w.newest();
        modify_memory(w, change(value, operand), o.order);
        return value;
    }

    bool compare_exchange(word* handle, bits& expected, bits desired, ordered success,
                          std::memory_order failure, operation what) override {
        word_data& w = begin_operation(handle, success.at);
        if (what == operation::compare_exchange_weak && w.newest() == expected &&
            chance(&chances::weak_failure)) {
            read_newest(w, failure);
            return false;
        }
        // A failure is a load, and may see an old value. A success can't: so that look is taken back.
        thread_data& t = me();
        clock before, before_fence;
        std::copy_n(t.memory.acq_rel_order_, N, before.begin());
        std::copy_n(t.memory.acquire_fence_order_, N, before_fence.begin());
        const unsigned seen = look(w, failure, success.at);
        if (w.values[seen] != expected) {
            if (seen != w.memory.current_index_ % history)
                forget_stale(); // a loop that tries again reads on
            expected = w.values[seen];
            return false;
        }
        const rl::timestamp_t now = t.memory.own_acq_rel_order_;
        std::copy_n(before.begin(), N, t.memory.acq_rel_order_);
        std::copy_n(before_fence.begin(), N, t.memory.acquire_fence_order_);
        t.memory.own_acq_rel_order_ = now;
        if (w.newest() != expected) {
            read_newest(w, failure);
            expected = w.newest();
            return false;
        }
        modify_memory(w, desired, success.order);
        return true;
    }

    // Blocks while the newest values are not waited for; and looks, as a spinner does, at values that may be old,
    // but at none twice. To stop later is to stop now and be scheduled later, so it is decided here.
    wake await(const explorer::wait& until, ordered o) override {
        const std::function<bool()> holds = [&until] {
            for (std::size_t i = 0; i < until.words.size(); ++i)
                until.seen[i] = of(until.words[i]).newest();
            return until.holds();
        };
        for (;;) {
            wake why = holds() ? wake::satisfied : stopped(until);
            if (why == wake::satisfied)
                block_until(holds, o.at);
            for (std::size_t i = 0; i < until.words.size(); ++i)
                until.seen[i] = load(until.words[i], o);
            if (until.holds())
                return wake::satisfied;
            if (why == wake::satisfied)
                why = stopped(until);
            if (why != wake::satisfied)
                return why;
            forget_stale();
        }
    }

    bool park(word* token, bool* deadline, place at) override {
        const auto to_none = [](bits, bits none) { return none; };
        if (modify(token, to_none, 0, {std::memory_order_acquire, at}) != 0 ||
            chance(&chances::spurious_wake))
            return true;
        if (passes(deadline))
            return false;
        block_until([token] { return of(token).newest() != 0; }, at);
        modify(token, to_none, 0, {std::memory_order_acquire, at});
        return true;
    }

    void fence(ordered o) override {
        step(o.at);
        switch (o.order) {
        case std::memory_order_acquire:
            me().memory.atomic_thread_fence_acquire();
            break;
        case std::memory_order_release:
            me().memory.atomic_thread_fence_release();
            break;
        case std::memory_order_acq_rel:
            me().memory.atomic_thread_fence_acq_rel();
            break;
        case std::memory_order_seq_cst:
            me().memory.atomic_thread_fence_seq_cst(fences_);
            break;
        default:
            break;
        }
    }

    plain* begin_plain() override {
        plain_data& p = *plains_.take();
        begin_life(p);
        return reinterpret_cast<plain*>(&p);
    }
    void end_plain(plain* p, place at) override { end_life(of(p), at); }
    void read(plain* p, place at) override { use(of(p), at); }
    void write(plain* p, place at) override {
        if (!of(p).alive)
            fail("use of a dead variable", at);
        if (!of(p).accesses.store(me().memory))
            fail("data race", at);
    }

    void before_threads(const std::function<void()>& make) override {
        before_threads_ = true;
        make();
        before_threads_ = false;
    }

    unsigned self() const override { return static_cast<unsigned>(index()); }

    bool chance(unsigned chances::*which) override {
        if (left_.*which == chances::always)
            return true;
        if (alone_ || left_.*which == 0 || rand(2, rl::sched_type_user) == 0)
            return false;
        --(left_.*which);
        return true;
    }

    void pause() override {
        if (++steps_ > limits_.steps)
            fail("livelock", {});
    }

private:
    static constexpr rl::timestamp_t never = static_cast<rl::timestamp_t>(-1);
    static constexpr rl::thread_id_t nobody_ = -1;

    rl::thread_id_t index() const { return rl::context::threadx_->index_; }
    thread_data& me() { return *threads_[index()]; }

    void set_running(rl::thread_id_t thread) {
        rl::context::threadx_ = &threads_[thread]->memory;
        running_ = thread;
    }

    void run_once() {
        ++executions_so_far;
        words_.take_back_all();
        plains_.take_back_all();
        left_ = limits_.allowed;
        steps_ = 0;
        std::fill_n(fences_, N, 0);
        for (auto& t : threads_) {
            t->memory.iteration_begin();
            std::fill_n(t->memory.acquire_fence_order_, N, 0);
            std::fill_n(t->memory.release_fence_order_, N, 0);
            t->waits_for = nullptr;
        }

        const rl::thread_id_t first = search_.iteration_begin(result_.executions);
        alone([this] { program_->begin(); });
        running_ = result_.failure.empty() ? first : nobody_;
        while (running_ != nobody_) {
            set_running(running_);
            coroutines_[running_]->enter();
        }
        if (result_.failure.empty())
            alone([this] { program_->end(); });
    }

    struct failed_alone {};

    // Ordered after everything before it and before everything after it.
    template <class Body>
    void alone(Body body) {
        order_all();
        set_running(0);
        alone_ = true;
        try {
            body();
        } catch (const failed_alone&) {
        }
        alone_ = false;
        order_all();
    }

    void order_all() {
        rl::timestamp_t latest = 0;
        for (auto& t : threads_)
            latest = std::max(latest, t->memory.own_acq_rel_order_);
        for (auto& t : threads_)
            std::fill_n(t->memory.acq_rel_order_, N, latest);
    }

    void switch_thread() {
        rl::unpark_reason reason;
        const rl::thread_id_t next = search_.schedule(reason, 0);
        if (next == index())
            return;
        running_ = next;
        coroutines_[index()]->leave();
    }

    void finish_thread() {
        switch (search_.thread_finished()) {
        case rl::thread_finish_result_normal:
            switch_thread();
            break;
        case rl::thread_finish_result_last:
            running_ = nobody_;
            coroutines_[index()]->leave();
            break;
        case rl::thread_finish_result_deadlock:
            fail("deadlock", {});
            break;
        }
    }

    // Others may go on.
    void step(place at) {
        if (alone_)
            return;
        if (++steps_ > limits_.steps)
            fail("livelock", at);
        switch_thread();
    }

    word_data& begin_operation(word* handle, place at) {
        step(at);
        word_data& w = of(handle);
        use(w.life, at);
        return w;
    }

    // What this thread has seen overwritten it won't read again.
    void forget_stale() { me().memory.last_yield_ = me().memory.own_acq_rel_order_; }

    // Looks at the condition, on newest values, after each write.
    void block_until(const std::function<bool()>& holds, place at) {
        if (holds())
            return;
        me().waits_for = &holds;
        if (alone_ || !search_.park_current_thread(false, false))
            fail("deadlock", at);
        switch_thread();
    }

    wake stopped(const explorer::wait& until) {
        if (until.resched && chance(&chances::resched))
            return wake::resched;
        if (until.off_cpu && chance(&chances::off_cpu))
            return wake::owner_off_cpu;
        return passes(until.deadline) ? wake::expired : wake::satisfied;
    }

    bool passes(bool* deadline) {
        if (deadline != nullptr && !*deadline)
            *deadline = chance(&chances::time_out);
        return deadline != nullptr && *deadline;
    }

    void begin_life(plain_data& p) {
        new (&p.accesses) rl::var_data_impl<N>;
        if (!before_threads_)
            p.accesses.init(me().memory);
        p.alive = true;
    }
    void end_life(plain_data& p, place at) {
        if (!p.alive)
            fail("end of a dead variable", at);
        if (!p.accesses.store(me().memory))
            fail("end of a variable races with its use", at);
        p.alive = false;
    }
    void use(plain_data& p, place at) {
        if (!p.alive)
            fail("use of a dead variable", at);
        if (!p.accesses.load(me().memory))
            fail("data race", at);
    }

    // A load: the slot of the value read.
    unsigned look(word_data& w, std::memory_order o, place at) {
        rl::thread_info_base& memory = me().memory;
        const unsigned slot = o == std::memory_order_seq_cst   ? memory.atomic_load_seq_cst(&w.memory)
                              : o == std::memory_order_acquire ? memory.atomic_load_acquire(&w.memory)
                                                               : memory.atomic_load_relaxed(&w.memory);
        if (slot >= history)
            fail("use of an atomic that was not published", at);
        return slot;
    }

    void read_newest(word_data& w, std::memory_order o) {
        rl::thread_info_base& memory = me().memory;
        if (o == std::memory_order_seq_cst)
            memory.atomic_load_seq_cst_rmw(&w.memory);
        else if (o == std::memory_order_acquire)
            memory.atomic_load_acquire_rmw(&w.memory);
        else
            memory.atomic_load_relaxed_rmw(&w.memory);
    }

    // The memory side of a read-modify-write, always on the newest value.
    void modify_memory(word_data& w, bits value, std::memory_order o) {
        rl::thread_info_base& memory = me().memory;
        bool aba;
        const unsigned slot = o == std::memory_order_seq_cst   ? memory.atomic_rmw_seq_cst(&w.memory, aba)
                              : o == std::memory_order_acq_rel ? memory.atomic_rmw_acq_rel(&w.memory, aba)
                              : o == std::memory_order_acquire ? memory.atomic_rmw_acquire(&w.memory, aba)
                              : o == std::memory_order_release ? memory.atomic_rmw_release(&w.memory, aba)
                                                               : memory.atomic_rmw_relaxed(&w.memory, aba);
        w.values[slot] = value;
        wake_waiters();
    }

    void wake_waiters() {
        for (int i = 0; i < N; ++i) {
            thread_data& t = *threads_[i];
            if (t.waits_for != nullptr && (*t.waits_for)()) {
                t.waits_for = nullptr;
                search_.unpark_thread(i);
            }
        }
    }

    // A choice. relacy asks here, too.
    unsigned rand(unsigned limit, rl::sched_type type) override { return search_.rand(limit, type); }
    rl::thread_id_t get_thread_count() const override { return N; }

    const limits& limits_;
    typename rl::context_bound_scheduler<N>::shared_context_t shared_;
    rl::context_bound_scheduler<N> search_;
    std::unique_ptr<thread_data> threads_[N];
    std::unique_ptr<coroutine> coroutines_[N];
    pool<word_data> words_;
    pool<plain_data> plains_;
    rl::timestamp_t fences_[N];
    program* program_ = nullptr;
    outcome result_;
    chances left_;
    unsigned steps_ = 0;
    rl::thread_id_t running_ = nobody_; // who is to go on
    bool alone_ = false;                // within begin() or end()
    bool before_threads_ = false;
};

template <int N>
outcome explore_with(program& what, const limits& bounds) {
    rl::test_params params;
    // Loads reach as far back as the history does. The search is a tree all the same.
    params.search_type = rl::sched_random;
    params.context_bound = limits::unlimited;
    machine_of<N> machine(bounds, params);
    current = &machine;
    outcome result = machine.run(what);
    current = nullptr;
    return result;
}

} // namespace

const char* name_of(operation o) {
    constexpr const char* names[] = {"load",
                                     "store",
                                     "exchange",
                                     "fetch_add",
                                     "fetch_sub",
                                     "fetch_and",
                                     "fetch_or",
                                     "fetch_xor",
                                     "compare_exchange_weak",
                                     "compare_exchange_strong",
                                     "await",
                                     "fence",
                                     "unpark"};
    return names[static_cast<std::size_t>(o)];
}

const char* name_of(std::memory_order o) {
    constexpr const char* names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};
    return names[static_cast<std::size_t>(o)];
}

outcome explore(program& what, const limits& bounds, const mutation& mutant) {
    if (mutant.how != change::nothing)
        throw std::invalid_argument("explore: relacy's explorer has no mutants");
    switch (what.threads()) {
    case 1: // relacy's tables want two
    case 2:
        return explore_with<2>(what, bounds);
    case 3:
        return explore_with<3>(what, bounds);
    case 4:
        return explore_with<4>(what, bounds);
    default:
        throw std::invalid_argument("explore: relacy's explorer has at most 4 threads");
    }
}

outcome replay(program&, const limits&, const std::string&, const mutation&) {
    throw std::logic_error("replay: relacy's explorer does not write down its choices");
}

void check(bool condition, const char* text, place at) {
    if (!condition)
        current->fail(text, at);
}

namespace explorer {

word* begin_word(bits value) {
    return current->begin_word(value);
}
void end_word(word* w, place at) {
    current->end_word(w, at);
}
bits load(word* w, ordered o, operation) {
    return current->load(w, o);
}
void store(word* w, bits value, ordered o) {
    current->store(w, value, o);
}
bits modify(word* w, change_of_bits change, bits operand, ordered o, operation) {
    return current->modify(w, change, operand, o);
}
bool compare_exchange(word* w, bits& expected, bits desired, ordered success, std::memory_order failure,
                      operation weak_or_strong) {
    return current->compare_exchange(w, expected, desired, success, failure, weak_or_strong);
}
wake await(const wait& until, ordered o) {
    return current->await(until, o);
}
bool park(word* token, bool* deadline, place at) {
    return current->park(token, deadline, at);
}
void fence(ordered o) {
    current->fence(o);
}
plain* begin_plain() {
    return current->begin_plain();
}
void end_plain(plain* p, place at) {
    current->end_plain(p, at);
}
void read(plain* p, place at) {
    current->read(p, at);
}
void write(plain* p, place at) {
    current->write(p, at);
}
void before_threads(const std::function<void()>& make) {
    current->before_threads(make);
}
unsigned self() {
    return current->self();
}
std::uint64_t execution() {
    return executions_so_far;
}
bool chance(unsigned chances::*which) {
    return current->chance(which);
}
void pause() {
    current->pause();
}

} // namespace explorer

} // namespace holdfast::model
