// The explorer's machinery: threads as coroutines, relacy's search over their choices, relacy's memory model
// under their operations. See explorer.hpp for what it promises and docs/model.md for what it can't see.
//
// What is added to relacy's memory model:
// - A plain store by the thread that made the last release store does not continue its release sequence
//   (C++20 took that out; relacy still has it).
// - A failing compare-exchange may read an old value, with its own failure order.
// - Stores that race (limits::report_unordered_stores). For that each thread and value has a second vector
// clock: what
//   was *caused* by what, as if every operation were acquire and release.
// - Lifetime: making and ending an atomic are writes to a plain variable that each operation reads.
#include "model/explorer.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <memory>
#include <new>
#include <sstream>
#include <utility>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include "model/relacy_parts.hpp"

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

constexpr bool acquires(std::memory_order o) {
    return o == std::memory_order_acquire || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}

constexpr std::memory_order without_acquire(std::memory_order o) {
    return o == std::memory_order_acquire   ? std::memory_order_relaxed
           : o == std::memory_order_acq_rel ? std::memory_order_release
                                            : o;
}

constexpr std::memory_order without_release(std::memory_order o) {
    return o == std::memory_order_release   ? std::memory_order_relaxed
           : o == std::memory_order_acq_rel ? std::memory_order_acquire
                                            : o;
}

constexpr std::memory_order without_seq_cst(operation what) {
    switch (what) {
    case operation::load:
    case operation::await:
        return std::memory_order_acquire;
    case operation::store:
        return std::memory_order_release;
    default:
        return std::memory_order_acq_rel;
    }
}

const char* file_name(const char* path) {
    const char* slash = std::strrchr(path, '/');
    return slash != nullptr ? slash + 1 : path;
}

// Whether a file is one of those whose operations are recorded and mutated. Asked again and again about the
// same few.
bool is_lock_source(const char* path) {
    static std::vector<std::pair<const char*, bool>> known;
    for (const auto& [file, answer] : known) {
        if (file == path)
            return answer;
    }
    known.emplace_back(path, std::strstr(path, "include/holdfast/") != nullptr);
    return known.back().second;
}

// What explorer.hpp's functions talk to; the number of threads is known one level down only.
class machine {
public:
    virtual ~machine() = default;
    virtual outcome run(program&) = 0;
    virtual void fail(const std::string& why, place) = 0;

    virtual word* begin_word(bits) = 0;
    virtual void end_word(word*, place) = 0;
    virtual bits load(word*, ordered, operation) = 0;
    virtual void store(word*, bits, ordered) = 0;
    virtual bits modify(word*, change_of_bits, bits operand, ordered, operation) = 0;
    virtual bool compare_exchange(word*, bits& expected, bits desired, ordered, std::memory_order,
                                  operation) = 0;
    virtual bits newest(const word*) const = 0;
    virtual void fence(ordered) = 0;
    virtual plain* begin_plain() = 0;
    virtual void end_plain(plain*, place) = 0;
    virtual void read(plain*, place) = 0;
    virtual void write(plain*, place) = 0;
    virtual void before_threads(const std::function<void()>&) = 0;
    virtual unsigned self() const = 0;
    virtual bool chance(unsigned chances::*) = 0;
    virtual void step(place) = 0;
    virtual void forget_stale() = 0;
    virtual void block_until(const std::function<bool()>&, place) = 0;
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
        clock causes[history];
        plain_data life;

        auto& record(unsigned index) { return memory.history_[index % history]; }
        bits newest() const { return values[memory.current_index_ % history]; }
    };
    // A read-modify-write that is still to be done.
    struct modification {
        word* where = nullptr;
        change_of_bits change = nullptr;
        bits operand = 0;
        ordered order = std::memory_order_relaxed;
        operation what = {};
    };
    struct thread_data {
        explicit thread_data(int index) : memory(index) {}
        rl::thread_info<N> memory;
        clock causes;
        const std::function<bool()>* waits_for;
        modification postponed;
        bool due; // what is postponed: with the next operation
    };

    static word_data& of(word* w) { return *reinterpret_cast<word_data*>(w); }
    static const word_data& of(const word* w) { return *reinterpret_cast<const word_data*>(w); }
    static plain_data& of(plain* p) { return *reinterpret_cast<plain_data*>(p); }

public:
    machine_of(const limits& bounds, const mutation& mutant, rl::test_params& params, std::string choices)
        : idle_context(N, params), limits_(bounds), mutant_(mutant), tracing_(!choices.empty()),
          search_(params, shared_, 0) {
        rl::context::seq_cst_fence_order_ = fences_;
        for (int i = 0; i < N; ++i) {
            threads_[i] = std::make_unique<thread_data>(i);
            threads_[i]->memory.ctx_ = this;
            coroutines_[i] = std::make_unique<coroutine>([this, i] {
                for (;;) {
                    if (i < static_cast<int>(program_->threads()))
                        program_->thread(static_cast<unsigned>(i));
                    do_postponed();
                    finish_thread();
                }
            });
        }
        if (tracing_) {
            std::istringstream stream(choices);
            search_.set_state(stream);
        }
    }

    outcome run(program& what) override {
        program_ = &what;
        for (;;) {
            ++result_.executions;
            run_once();
            if (!result_.failure.empty() || tracing_)
                return std::move(result_);
            if (search_.iteration_end()) {
                result_.complete = true;
                return std::move(result_);
            }
            if (result_.executions == limits_.executions)
                return std::move(result_);
        }
    }

    // The choices that led to where the execution stands now.
    std::string choices() {
        std::ostringstream stream;
        search_.get_state(stream);
        return stream.str();
    }

    void fail(const std::string& why, place at) override {
        result_.failure =
            why + " at " + file_name(at.file) + ":" + std::to_string(at.line) + ", " + at.function;
        note("fails: " + why, at);
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
        w.causes[0] = causes_of_me();
        return reinterpret_cast<word*>(&w);
    }

    void end_word(word* w, place at) override { end_life(of(w).life, at); }

    bits load(word* handle, ordered o, operation what) override {
        o = prepare({what, o.at, o.order, std::memory_order_relaxed});
        word_data& w = of(handle);
        use(w.life, o.at);
        const unsigned index = look(w, o.order, o.at);
        note(what, w.values[index], o);
        return w.values[index];
    }

    void store(word* handle, bits value, ordered o) override {
        o = prepare({operation::store, o.at, o.order, std::memory_order_relaxed});
        word_data& w = of(handle);
        use(w.life, o.at);
        if (drops_write_) {
            note(operation::store, value, o, " (dropped)");
            return;
        }
        check_order_of_stores(w, o.at);
        // C++20: a release sequence continues through read-modify-writes only.
        auto& last = w.record(w.memory.current_index_);
        const rl::thread_id_t thread = std::exchange(last.thread_id_, nobody_);
        rl::thread_info_base& memory = me().memory;
        const unsigned slot = o.order == std::memory_order_seq_cst   ? memory.atomic_store_seq_cst(&w.memory)
                              : o.order == std::memory_order_release ? memory.atomic_store_release(&w.memory)
                                                                     : memory.atomic_store_relaxed(&w.memory);
        last.thread_id_ = thread;
        write_value(w, slot, value);
        note(operation::store, value, o);
        wake();
    }

    bits modify(word* handle, change_of_bits change, bits operand, ordered o, operation what) override {
        o = prepare({what, o.at, o.order, std::memory_order_relaxed});
        if (mutant_here_ && mutant_.how == change::modify_otherwise)
            change = mutant_.otherwise;
        if (mutant_here_ && mutant_.how == change::postpone) {
            me().postponed = {handle, change, operand, o, what};
            note(what, newest(handle), o, " (postponed)");
            return newest(handle);
        }
        return modify_now(handle, change, operand, o, what);
    }

    bool compare_exchange(word* handle, bits& expected, bits desired, ordered success,
                          std::memory_order failure, operation what) override {
        const ordered o = prepare({what, success.at, success.order, failure});
        if (mutant_here_ && mutant_.how == change::drop_failure_acquire)
            failure = without_acquire(failure);
        word_data& w = of(handle);
        use(w.life, o.at);

        if (what == operation::compare_exchange_weak && w.newest() == expected &&
            chance(&chances::weak_failure)) {
            read_newest(w, failure);
            note(what, expected, o, " fails by chance");
            return false;
        }
        // A failure is a load, and may see an old value. A success can't: so that look is taken back.
        thread_data& t = me();
        clock before, before_fence;
        std::copy_n(t.memory.acq_rel_order_, N, before.begin());
        std::copy_n(t.memory.acquire_fence_order_, N, before_fence.begin());
        const clock causes = t.causes;
        const unsigned seen = look(w, failure, o.at);
        if (w.values[seen] != expected) {
            if (seen != w.memory.current_index_ % history)
                forget_stale(); // a loop that tries again reads on
            expected = w.values[seen];
            note(what, expected, o, " fails");
            return false;
        }
        const rl::timestamp_t now = t.memory.own_acq_rel_order_;
        std::copy_n(before.begin(), N, t.memory.acq_rel_order_);
        std::copy_n(before_fence.begin(), N, t.memory.acquire_fence_order_);
        t.memory.own_acq_rel_order_ = now;
        t.causes = causes;
        if (w.newest() != expected) {
            read_newest(w, failure);
            expected = w.newest();
            note(what, expected, o, " fails");
            return false;
        }
        modify_memory(w, desired, o.order);
        note(what, desired, o, " succeeds");
        wake();
        return true;
    }

    bits newest(const word* w) const override { return of(w).newest(); }

    void fence(ordered o) override {
        o = prepare({operation::fence, o.at, o.order, std::memory_order_relaxed});
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
        note(operation::fence, 0, o);
    }

    plain* begin_plain() override {
        plain_data& p = *plains_.take();
        begin_life(p);
        return reinterpret_cast<plain*>(&p);
    }
    void end_plain(plain* p, place at) override { end_life(of(p), at); }
    void read(plain* p, place at) override {
        use(of(p), at);
        note("reads plain data", at);
    }
    void write(plain* p, place at) override {
        if (!of(p).alive)
            fail("use of a dead variable", at);
        if (!of(p).accesses.store(me().memory))
            fail("data race", at);
        note("writes plain data", at);
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

    void step(place at) override {
        if (alone_)
            return;
        if (++steps_ > limits_.steps)
            fail("livelock", at);
        switch_thread();
    }

    void forget_stale() override { me().memory.last_yield_ = me().memory.own_acq_rel_order_; }

    void block_until(const std::function<bool()>& holds, place at) override {
        if (holds())
            return;
        note("blocks", at);
        me().waits_for = &holds;
        if (alone_ || !search_.park_current_thread(false, false))
            fail("deadlock", at);
        switch_thread();
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
        old_values_left_ = limits_.old_values;
        steps_ = 0;
        result_.trace.clear();
        std::fill_n(fences_, N, 0);
        for (auto& t : threads_) {
            t->memory.iteration_begin();
            std::fill_n(t->memory.acquire_fence_order_, N, 0);
            std::fill_n(t->memory.release_fence_order_, N, 0);
            t->causes.fill(0);
            t->waits_for = nullptr;
            t->postponed = {};
            t->due = false;
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
        for (auto& t : threads_) {
            std::fill_n(t->memory.acq_rel_order_, N, latest);
            t->causes.fill(latest);
        }
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
        note("ends", {});
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

    // Before each operation: records its site, changes it if it is the mutant's, and lets others go on.
    ordered prepare(const site& s) {
        if (me().due)
            do_postponed();
        mutant_here_ = drops_write_ = false;
        std::memory_order order = s.order;
        if (is_lock_source(s.at.file)) {
            record(s);
            me().due = mutant_.how == change::postpone && s == mutant_.until;
            if (mutant_.how != change::nothing && s == mutant_.where) {
                mutant_here_ = true;
                order = mutated(s);
            }
        }
        const bool here = mutant_here_;
        step(s.at);
        mutant_here_ = here; // others have gone on meanwhile
        drops_write_ = here && mutant_.how == change::drop_write;
        return {order, s.at};
    }

    // A step of its own: others may go on in between.
    void do_postponed() {
        me().due = false;
        const modification m = std::exchange(me().postponed, {});
        if (m.where == nullptr)
            return;
        step(m.order.at);
        modify_now(m.where, m.change, m.operand, m.order, m.what);
    }

    std::memory_order mutated(const site& s) const {
        switch (mutant_.how) {
        case change::drop_acquire:
            return without_acquire(s.order);
        case change::drop_release:
            return without_release(s.order);
        case change::drop_seq_cst:
            return s.order == std::memory_order_seq_cst ? without_seq_cst(s.what) : s.order;
        default:
            return s.order;
        }
    }

    void record(const site& s) {
        if (std::find(result_.sites.begin(), result_.sites.end(), s) == result_.sites.end())
            result_.sites.push_back(s);
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
        merge(me().causes, w.causes[slot]);
        return slot;
    }

    void read_newest(word_data& w, std::memory_order o) {
        rl::thread_info_base& memory = me().memory;
        const unsigned slot = o == std::memory_order_seq_cst   ? memory.atomic_load_seq_cst_rmw(&w.memory)
                              : o == std::memory_order_acquire ? memory.atomic_load_acquire_rmw(&w.memory)
                                                               : memory.atomic_load_relaxed_rmw(&w.memory);
        merge(me().causes, w.causes[slot]);
    }

    bits modify_now(word* handle, change_of_bits change, bits operand, ordered o, operation what) {
        word_data& w = of(handle);
        use(w.life, o.at);
        const bits value = w.newest();
        modify_memory(w, change(value, operand), o.order);
        note(what, value, o);
        wake();
        return value;
    }

    // The memory side of a read-modify-write, always on the newest value.
    void modify_memory(word_data& w, bits value, std::memory_order o) {
        if (drops_write_)
            return read_newest(w, acquires(o) ? std::memory_order_acquire : std::memory_order_relaxed);
        merge(me().causes, w.causes[w.memory.current_index_ % history]);
        rl::thread_info_base& memory = me().memory;
        bool aba;
        const unsigned slot = o == std::memory_order_seq_cst   ? memory.atomic_rmw_seq_cst(&w.memory, aba)
                              : o == std::memory_order_acq_rel ? memory.atomic_rmw_acq_rel(&w.memory, aba)
                              : o == std::memory_order_acquire ? memory.atomic_rmw_acquire(&w.memory, aba)
                              : o == std::memory_order_release ? memory.atomic_rmw_release(&w.memory, aba)
                                                               : memory.atomic_rmw_relaxed(&w.memory, aba);
        write_value(w, slot, value);
    }

    void write_value(word_data& w, unsigned slot, bits value) {
        w.values[slot] = value;
        w.causes[slot] = causes_of_me();
    }

    const clock& causes_of_me() {
        me().causes[static_cast<std::size_t>(index())] = me().memory.own_acq_rel_order_;
        return me().causes;
    }

    static void merge(clock& into, const clock& from) {
        for (std::size_t i = 0; i < into.size(); ++i)
            into[i] = std::max(into[i], from[i]);
    }

    // See limits::report_unordered_stores. Ordered is: by happens-before; or because this thread, or one that
    // happens before, has read that value already.
    void check_order_of_stores(word_data& w, place at) {
        if (!limits_.report_unordered_stores || alone_)
            return;
        const thread_data& t = me();
        for (unsigned age = 0; age < history; ++age) {
            const auto& old = w.record(w.memory.current_index_ - age);
            if (!old.busy_)
                return;
            const rl::timestamp_t stamp = old.acq_rel_timestamp_;
            const bool caused = t.causes[static_cast<std::size_t>(old.thread_id_)] >= stamp;
            const bool ordered = t.memory.acq_rel_order_[old.thread_id_] >= stamp;
            bool read = false;
            for (int i = 0; i < N; ++i)
                read = read || t.memory.acq_rel_order_[i] >= old.first_seen_order_[i];
            if (ordered || read)
                return; // and so are those before it
            if (caused)
                fail("unordered stores", at);
        }
    }

    void wake() {
        for (int i = 0; i < N; ++i) {
            thread_data& t = *threads_[i];
            if (t.waits_for != nullptr && (*t.waits_for)()) {
                t.waits_for = nullptr;
                search_.unpark_thread(i);
            }
        }
    }

    // A choice. relacy asks here, too: for each load and each value that it could read, whether to go on to
    // an older.
    unsigned rand(unsigned limit, rl::sched_type type) override {
        if (type != rl::sched_type_atomic_load || limits_.old_values == limits::unlimited)
            return search_.rand(limit, type);
        if (old_values_left_ == 0)
            return 0;
        const unsigned older = search_.rand(limit, type);
        old_values_left_ -= older;
        return older;
    }
    rl::thread_id_t get_thread_count() const override { return N; }

    void note(const std::string& what, place at) {
        if (!tracing_)
            return;
        char text[200];
        std::snprintf(text, sizeof text, "thread %d %s", static_cast<int>(index()), what.c_str());
        result_.trace.push_back(at.line == 0 ? std::string(text)
                                             : std::string(text) + ", " + file_name(at.file) + ":" +
                                                   std::to_string(at.line) + " " + at.function);
    }
    void note(operation what, bits value, ordered o, const char* how = "") {
        if (!tracing_)
            return;
        char text[200];
        std::snprintf(text, sizeof text, "%s(%s)%s: %#llx", name_of(what), name_of(o.order), how,
                      static_cast<unsigned long long>(value));
        note(text, o.at);
    }

    const limits& limits_;
    const mutation& mutant_;
    const bool tracing_;
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
    unsigned old_values_left_ = 0;
    unsigned steps_ = 0;
    rl::thread_id_t running_ = nobody_; // who is to go on
    bool alone_ = false;                // within begin() or end()
    bool before_threads_ = false;
    bool mutant_here_ = false; // of the operation under way
    bool drops_write_ = false;
};

template <int N>
outcome explore_with(program& what, const limits& bounds, const mutation& mutant, bool with_trace) {
    rl::test_params params;
    // Loads reach as far back as the history does. The search is a tree all the same.
    params.search_type = rl::sched_random;
    params.context_bound = bounds.preemptions;
    outcome result;
    std::string choices;
    {
        machine_of<N> machine(bounds, mutant, params, "");
        current = &machine;
        result = machine.run(what);
        choices = machine.choices();
    }
    if (with_trace && !result.failure.empty()) {
        machine_of<N> machine(bounds, mutant, params, choices);
        current = &machine;
        result.trace = machine.run(what).trace;
    }
    current = nullptr;
    return result;
}

} // namespace

bool site::operator==(const site& other) const {
    return what == other.what && at.line == other.at.line && order == other.order &&
           failure == other.failure && (at.file == other.at.file || std::strcmp(at.file, other.at.file) == 0);
}

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

outcome explore(program& what, const limits& bounds, const mutation& mutant, bool with_trace) {
    switch (what.threads()) {
    case 1: // relacy's tables want two
    case 2:
        return explore_with<2>(what, bounds, mutant, with_trace);
    case 3:
        return explore_with<3>(what, bounds, mutant, with_trace);
    default:
        return explore_with<4>(what, bounds, mutant, with_trace);
    }
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
bits load(word* w, ordered o, operation what) {
    return current->load(w, o, what);
}
void store(word* w, bits value, ordered o) {
    current->store(w, value, o);
}
bits modify(word* w, change_of_bits change, bits operand, ordered o, operation what) {
    return current->modify(w, change, operand, o, what);
}
bool compare_exchange(word* w, bits& expected, bits desired, ordered success, std::memory_order failure,
                      operation weak_or_strong) {
    return current->compare_exchange(w, expected, desired, success, failure, weak_or_strong);
}
bits newest(const word* w) {
    return current->newest(w);
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
void step(place at) {
    current->step(at);
}
void forget_stale() {
    current->forget_stale();
}
void block_until(const std::function<bool()>& holds, place at) {
    current->block_until(holds, at);
}

} // namespace explorer

} // namespace holdfast::model
