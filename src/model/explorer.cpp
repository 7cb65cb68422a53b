// The explorer's machine: runs a program's threads as fibers, from operation to operation, as a search decides.
//
// A thread runs until its next operation on shared memory, says what it is (request) and leaves. The machine works out in what
// ways each operation could go (variants), has the search choose, does that on the memory, and lets the
// thread go on. Plain accesses and chances need no such step: they are checked, or asked of the search, where they stand.
#include "model/explorer.hpp"

#include <csignal>
#include <ctime>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdio>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include <boost/context/protected_fixedsize_stack.hpp>

#include "fiber/fiber.hpp"
#include "model/memory.hpp"
#include "model/search.hpp"

namespace holdfast::model {

namespace {

using explorer::change_of_bits;

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

// Seconds of processor time that the calling thread has used.
double processor_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The count of a luck among the chances of an execution.
constexpr unsigned chances::*count_of(luck which) {
    switch (which) {
    case luck::resched:
        return &chances::resched;
    case luck::off_cpu:
        return &chances::off_cpu;
    case luck::time_out:
        return &chances::time_out;
    case luck::spurious_wake:
        return &chances::spurious_wake;
    default:
        return &chances::weak_failure;
    }
}

luck luck_of(unsigned chances::*which) {
    return which == &chances::resched         ? luck::resched
           : which == &chances::off_cpu       ? luck::off_cpu
           : which == &chances::time_out      ? luck::time_out
           : which == &chances::spurious_wake ? luck::spurious_wake
                                              : luck::weak_failure;
}

// The sites met so far, each once. Asked at every operation, so what was met lately is found without a search.
class site_list {
public:
    void add(const site& s) {
        const std::size_t key = (reinterpret_cast<std::uintptr_t>(s.at.file) >> 3) + s.at.line * 31u +
                                static_cast<std::size_t>(s.what) * 7u + static_cast<std::size_t>(s.order);
        known& k = lately_[key % lately_.size()];
        if (k.file == s.at.file && k.line == s.at.line && k.what == s.what && k.order == s.order &&
            k.failure == s.failure)
            return;
        k = {s.at.file, s.at.line, s.what, s.order, s.failure};
        if (std::find(list_.begin(), list_.end(), s) == list_.end())
            list_.push_back(s);
    }
    std::vector<site> take() { return std::move(list_); }

private:
    struct known {
        const char* file;
        unsigned line;
        operation what;
        std::memory_order order, failure;
    };
    std::array<known, 256> lately_{};
    std::vector<site> list_;
};

// What a thread is about to do.
enum class kind : std::uint8_t { start, load, store, modify, compare_exchange, await, park, fence };

struct request {
    kind what = kind::start;
    operation named = operation::load;
    place at = {};
    std::memory_order order = std::memory_order_relaxed;
    std::memory_order failure = std::memory_order_relaxed;
    std::array<word*, variant::max_words> words{};
    std::size_t count = 0; // of words
    bits operand = 0;      // or the value expected
    bits desired = 0;
    change_of_bits change = nullptr;
    const explorer::wait* wait = nullptr;
    bool* deadline = nullptr; // park's
    bool drops_write = false; // the mutation's
    bool skips_wait = false;
    // Its result.
    bits value = 0;
    bool done = false;
    wake why = wake::satisfied;

    std::span<word* const> all_words() const { return {words.data(), count}; }
    // Without its write it is a load.
    bool is_read_modify_write() const {
        return (what == kind::modify || what == kind::compare_exchange || what == kind::park) && !drops_write;
    }
    bool seq_cst() const {
        return order == std::memory_order_seq_cst || failure == std::memory_order_seq_cst;
    }
};

class machine final : private situation {
public:
    machine(program& what, const limits& bounds, const mutation& mutant, search& by, bool tracing)
        : program_(what), limits_(bounds), mutant_(mutant), search_(by), tracing_(tracing),
          count_(what.threads()) {
        // An operation is counted in 15 bits; begin() and end() have some, too.
        if (count_ == 0 || count_ > max_threads || bounds.steps > 20'000)
            throw std::invalid_argument("explore: a program has 1 to 8 threads, and at most 20,000 steps");
        for (unsigned i = 0; i <= count_; ++i)
            tracks_.push_back(std::make_unique<track>(*this, i));
    }

    outcome run();
    const std::string& choices_made() const { return choices_.text(); }

    // For the threads, which call them by way of the functions in namespace explorer.
    // What is on the fiber's stack is not destroyed: nothing there may own memory.
    [[noreturn]] void fail(const char* why, place);
    word* begin_word(bits value) { return memory_.make_word(self(), by_nobody_, value); }
    void end_word(word* w, place at) { end_life(w->life, at); }
    bits load(word*, ordered, operation);
    void store_to(word*, bits, ordered);
    bits modify(word*, change_of_bits, bits operand, ordered, operation);
    bool compare_exchange(word*, bits& expected, bits desired, ordered, std::memory_order, operation);
    wake await(const explorer::wait&, ordered);
    bool park(word*, bool* deadline, place);
    void fence(ordered);
    plain* begin_plain() { return memory_.make_plain(self(), by_nobody_); }
    void end_plain(plain* p, place at) { end_life(p->all, at); }
    void read(plain* p, place at) {
        if (!p->all.alive)
            fail("use of a dead variable", at);
        if (!memory_.read(self(), p->all))
            fail("data race", at);
    }
    void write(plain* p, place at) {
        if (!p->all.alive)
            fail("use of a dead variable", at);
        if (!memory_.write(self(), p->all))
            fail("data race", at);
    }
    void before_threads(const std::function<void()>& make) {
        const bool before = std::exchange(by_nobody_, true);
        make();
        by_nobody_ = before;
    }
    unsigned self() const { return tracks_[running_]->self(); }
    bool chance(luck);
    void pause(place);
    bool is_entered() const { return entered_; }

private:
    // A read-modify-write that is still to be done.
    struct modification {
        word* where = nullptr;
        change_of_bits change = nullptr;
        bits operand = 0;
        ordered order = std::memory_order_relaxed;
        operation what = {};
    };

    // A thread of the program; the last one is begin() and end().
    struct track {
        machine& of;
        unsigned index;
        boost::context::stack_context stack;
        fiber context;
        bool ready = false; // the fiber waits for its next execution
        bool finished = false;
        request asks;
        modification postponed;
        bool due = false;  // what is postponed: with the next operation
        possibilities can; // do next

        // With the sanitizers, frames are several times as large.
        static constexpr std::size_t stack_size = 256 * 1024;

        track(machine& m, unsigned i)
            : of(m), index(i), stack(boost::context::protected_fixedsize_stack(stack_size).allocate()) {}
        ~track() {
            forget_frames(bottom(), stack.size);
            boost::context::protected_fixedsize_stack(stack_size).deallocate(stack);
        }
        track(const track&) = delete;
        track& operator=(const track&) = delete;

        // As the memory knows it: begin() and end() are ordered with all, and are the first thread's there.
        unsigned self() const { return index < of.count_ ? index : 0; }
        void* bottom() const { return static_cast<char*>(stack.sp) - stack.size; }
        void enter() {
            if (!std::exchange(ready, true)) {
                forget_frames(bottom(), stack.size);
                context.make(
                    bottom(), stack.size, [](void* t) { static_cast<track*>(t)->run(); }, this);
            }
            context.enter();
        }
        [[noreturn]] void run() {
            for (;;) {
                of.body(*this);
                finished = true;
                context.leave();
            }
        }
    };

    void body(track&);
    bool run_once();
    void run_alone(bool at_end);
    void step(const decision&);
    void go_on(unsigned thread);
    void fail_stuck();
    void set_failure(const char* why, place);

    // Asks for an operation, and is back when it has been done.
    request& ask(const request&);
    // Before each operation: what the mutation makes of it.
    request prepare(kind, site);
    void do_postponed();

    unsigned enabled() override;
    unsigned certain() override;
    unsigned waiting() override;
    const possibilities& of(unsigned thread) override;
    bool nothing_since(store_id, unsigned thread) const override;
    bool meets_in_s(std::span<word* const>, unsigned thread) const override;
    store_id made() const override { return memory_.made(); }
    void find_variants(track&);
    void find_stores(track&);
    void find_modifications(track&);
    void find_exchanges(track&);
    template <class Found>
    void combine(track&, variant&, std::size_t word_number, Found);
    void find_waits(track&);
    void find_parks(track&);
    bool may(track&, luck); // whether there is any left for it
    bool needs_luck(const variant&);
    void use_up(luck which) {
        unsigned& left = left_.*count_of(which);
        left -= left != chances::always ? 1 : 0;
    }

    void use(word&, place);
    void end_life(accesses&, place);
    // The places of what fails in a step of a thread are its request's.
    void perform(track&, const variant&);
    void note(const std::string& what, place);
    void note_performed(const track&, const variant&, bits before);

    program& program_;
    const limits limits_;
    const mutation mutant_;
    search& search_;
    const bool tracing_;
    const unsigned count_;
    std::vector<std::unique_ptr<track>> tracks_;
    memory memory_;
    choices choices_;
    site_list sites_;
    outcome result_;
    chances left_;
    unsigned running_ = 0; // index of the track that runs
    unsigned steps_ = 0;
    unsigned known_variants_ = 0; // mask of the threads whose variants are known in this step
    bool entered_ = false;        // a thread of the program runs
    bool by_nobody_ = false;
    bool at_end_ = false;
    std::vector<store_id> visible_;
};

thread_local machine* current = nullptr;
thread_local std::uint64_t executions_so_far = 0;

// A thread of the program has touched memory that isn't there: a null pointer, most likely. That is a failure of the program like
// any other. The fiber is left within the handler, and never entered again.
void report_crash(int signal) {
    if (current == nullptr || !current->is_entered()) {
        std::signal(signal, SIG_DFL); // ours, or somebody else's: dies of it when it returns
        return;
    }
    current->fail("crash: an address that isn't there", {});
}

void catch_crashes() {
    static const bool done = [] {
        struct sigaction action = {};
        action.sa_handler = report_crash;
        action.sa_flags = SA_NODEFER; // as the handler doesn't return
        sigaction(SIGSEGV, &action, nullptr);
        sigaction(SIGBUS, &action, nullptr);
        return true;
    }();
    static_cast<void>(done);
}

outcome machine::run() {
    catch_crashes();
    machine* const outer = std::exchange(current, this);
    const double begun = processor_seconds();
    for (unsigned runs = 0;; ++runs) {
        search_.begin();
        const bool whole = run_once();
        result_.executions += whole ? 1 : 0;
        if (!result_.failure.empty())
            break;
        if (!search_.end()) {
            result_.complete = limits_.random == 0;
            break;
        }
        if (result_.executions >= limits_.executions ||
            (runs % 64 == 63 && processor_seconds() - begun >= limits_.seconds))
            break;
    }
    current = outer;
    result_.seconds = processor_seconds() - begun;
    result_.choices = choices_.text();
    result_.sites = sites_.take();
    return std::move(result_);
}

void machine::body(track& t) {
    if (t.index < count_) {
        program_.thread(t.index);
        do_postponed();
    } else if (at_end_) {
        program_.end();
    } else {
        program_.begin();
    }
}

// One execution. false: abandoned, as nothing new came of it.
bool machine::run_once() {
    ++executions_so_far;
    steps_ = 0;
    left_ = limits_.allowed;
    choices_.clear();
    memory_.begin(count_);
    for (const auto& t : tracks_) {
        t->ready = t->ready && t->finished; // those that were left where they stood begin anew
        t->finished = false;
        t->asks = {};
        t->postponed = {};
        t->due = false;
    }
    run_alone(false);
    while (result_.failure.empty()) {
        known_variants_ = 0;
        const bool all_finished =
            std::all_of(tracks_.begin(), tracks_.end() - 1, [](const auto& t) { return t->finished; });
        if (all_finished)
            break;
        const decision& d = search_.choose(*this);
        if (d.thread == decision::abandon) {
            if (certain() != 0)
                return false;
            fail_stuck();
            break;
        }
        step(d);
    }
    if (result_.failure.empty())
        run_alone(true);
    return true;
}

void machine::run_alone(bool at_end) {
    at_end_ = at_end;
    memory_.order_all();
    tracks_[count_]->finished = false;
    go_on(count_);
    memory_.order_all();
}

void machine::go_on(unsigned thread) {
    running_ = thread;
    entered_ = true;
    tracks_[thread]->enter();
    entered_ = false;
}

void machine::step(const decision& d) {
    const unsigned thread = d.thread;
    const variant::way how = d.what.how;
    track& t = *tracks_[thread];
    running_ = thread;
    choices_.add_step(thread, d.number, d.of);
    if (++steps_ > limits_.steps)
        return set_failure("livelock: an execution of too many steps", t.asks.at);
    const store_id before = memory_.made();
    perform(t, d.what);
    if (!result_.failure.empty())
        return;
    search_.executed({.thread = thread,
                      .words = t.asks.all_words(),
                      .reads = t.asks.what != kind::store,
                      .from = {d.what.from.data(), d.what.from[0] != no_store ? t.asks.count : 0},
                      .oldest = {d.oldest.data(), t.asks.count},
                      .made = memory_.made() != before ? before : no_store,
                      .read_modify_write = t.asks.is_read_modify_write(),
                      .seq_cst = t.asks.seq_cst(),
                      .how = static_cast<unsigned>(how) * static_cast<unsigned>(kinds_of_luck) +
                             static_cast<unsigned>(d.what.by),
                      .by = d.what.by,
                      .no_luck = d.no_luck},
                     memory_, *this);
    if (how != variant::way::looks_again)
        go_on(thread);
}

void machine::fail_stuck() {
    for (unsigned i = 0; i < count_; ++i) {
        if (!tracks_[i]->finished) {
            running_ = i;
            note("waits for ever", tracks_[i]->asks.at);
        }
    }
    result_.failure = "deadlock";
}

void machine::set_failure(const char* why, place at) {
    result_.failure = why;
    result_.failed_at = at;
    note(std::string("fails: ") + why, at);
}

void machine::fail(const char* why, place at) {
    set_failure(why, at);
    tracks_[running_]->context.leave(); // for good
    std::abort();
}

// --- What the threads call.

request& machine::ask(const request& r) {
    track& t = *tracks_[running_];
    t.asks = r;
    if (t.index < count_) {
        t.context.leave();
    } else {
        t.can.no_luck = 0;
        find_variants(t);
        const auto certain = std::find_if(t.can.variants.begin(), t.can.variants.end(), [](const variant& v) {
            return v.by == luck::none && v.how != variant::way::looks_again;
        });
        if (certain == t.can.variants.end())
            fail("deadlock: nobody is there to end this wait", r.at);
        perform(t, *certain);
        if (!result_.failure.empty())
            t.context.leave(); // for good
    }
    return t.asks;
}

request machine::prepare(kind what, site s) {
    track& t = *tracks_[running_];
    if (t.due)
        do_postponed();
    request r{.what = what, .named = s.what, .at = s.at, .order = s.order, .failure = s.failure};
    if (mutant_.how == change::nothing) {
        sites_.add(s);
        return r;
    }
    t.due = mutant_.how == change::postpone && s == mutant_.until;
    if (!(s == mutant_.where))
        return r;
    switch (mutant_.how) {
    case change::drop_acquire:
        r.order = without_acquire(r.order);
        break;
    case change::drop_release:
        r.order = without_release(r.order);
        break;
    case change::drop_seq_cst:
        r.order = r.order == std::memory_order_seq_cst ? without_seq_cst(s.what) : r.order;
        break;
    case change::drop_failure_acquire:
        r.failure = without_acquire(r.failure);
        break;
    case change::drop_write:
        r.drops_write = true;
        break;
    case change::skip_wait:
        r.skips_wait = true;
        break;
    default: // of read-modify-writes alone: see modify()
        break;
    }
    return r;
}

void machine::do_postponed() {
    track& t = *tracks_[running_];
    t.due = false;
    const modification m = std::exchange(t.postponed, {});
    if (m.where == nullptr)
        return;
    request r{.what = kind::modify, .named = m.what, .at = m.order.at, .order = m.order.order};
    r.words[0] = m.where;
    r.count = 1;
    r.change = m.change;
    r.operand = m.operand;
    ask(r);
}

bits machine::load(word* w, ordered o, operation what) {
    request r = prepare(kind::load, {what, o.at, o.order, std::memory_order_relaxed});
    r.words[0] = w;
    r.count = 1;
    return ask(r).value;
}

void machine::store_to(word* w, bits value, ordered o) {
    request r = prepare(kind::store, {operation::store, o.at, o.order, std::memory_order_relaxed});
    r.words[0] = w;
    r.count = 1;
    r.operand = value;
    ask(r);
}

bits machine::modify(word* w, change_of_bits change, bits operand, ordered o, operation what) {
    const site s{what, o.at, o.order, std::memory_order_relaxed};
    request r = prepare(kind::modify, s);
    r.words[0] = w;
    r.count = 1;
    r.change = change;
    r.operand = operand;
    const bool here = mutant_.how != change::nothing && s == mutant_.where;
    if (here && mutant_.how == change::modify_otherwise)
        r.change = mutant_.otherwise;
    if (here && mutant_.how == change::postpone) {
        tracks_[running_]->postponed = {w, change, operand, o, what};
        r.drops_write = true;
    }
    return ask(r).value;
}

bool machine::compare_exchange(word* w, bits& expected, bits desired, ordered o, std::memory_order failure,
                               operation what) {
    request r = prepare(kind::compare_exchange, {what, o.at, o.order, failure});
    r.words[0] = w;
    r.count = 1;
    r.operand = expected;
    r.desired = desired;
    const request& answer = ask(r);
    expected = answer.value;
    return answer.done;
}

wake machine::await(const explorer::wait& until, ordered o) {
    request r = prepare(kind::await, {operation::await, o.at, o.order, std::memory_order_relaxed});
    if (until.words.size() > r.words.size())
        fail("await: too many words for the explorer", o.at);
    std::copy(until.words.begin(), until.words.end(), r.words.begin());
    r.count = until.words.size();
    r.wait = &until;
    return ask(r).why;
}

bool machine::park(word* token, bool* deadline, place at) {
    // Not a site: what is a lock's is that it parks.
    request r{.what = kind::park, .named = operation::exchange, .at = at, .order = std::memory_order_acquire};
    if (tracks_[running_]->due)
        do_postponed();
    r.words[0] = token;
    r.count = 1;
    r.deadline = deadline;
    return ask(r).done;
}

void machine::fence(ordered o) {
    ask(prepare(kind::fence, {operation::fence, o.at, o.order, std::memory_order_relaxed}));
}

bool machine::chance(luck which) {
    unsigned& left = left_.*count_of(which);
    if (running_ == count_ || limits_.allowed.*count_of(which) == 0)
        return false;
    if (left == 0) {
        search_.no_luck(which);
        return false;
    }
    if (left == chances::always)
        return true;
    const bool happens = search_.chance(which);
    choices_.add_chance(happens);
    if (happens) {
        use_up(which);
        constexpr const char* names[] = {"",
                                         "is wanted off its CPU",
                                         "sees an owner off its CPU",
                                         "sees its deadline pass",
                                         "wakes for nothing",
                                         "fails by chance"};
        note(names[static_cast<std::size_t>(which)], {});
    }
    return happens;
}

void machine::pause(place at) {
    if (++steps_ > limits_.steps)
        fail("livelock: an execution of too many steps", at);
}

// --- In what ways an operation can go.

unsigned machine::enabled() {
    unsigned mask = 0;
    for (unsigned i = 0; i < count_; ++i) {
        const track& t = *tracks_[i];
        const bool waits = t.asks.what == kind::await || t.asks.what == kind::park;
        if (!t.finished && (!waits || !of(i).variants.empty()))
            mask |= 1u << i;
    }
    return mask;
}

unsigned machine::certain() {
    unsigned mask = enabled();
    for (unsigned i = 0; i < count_; ++i) {
        const bool waits = tracks_[i]->asks.what == kind::await || tracks_[i]->asks.what == kind::park;
        if ((mask & 1u << i) != 0 && waits &&
            std::ranges::all_of(of(i).variants, [this](const variant& v) { return needs_luck(v); }))
            mask &= ~(1u << i);
    }
    return mask;
}

unsigned machine::waiting() {
    unsigned mask = 0;
    for (unsigned i = 0; i < count_; ++i)
        mask |= tracks_[i]->finished ? 0u : 1u << i;
    return mask & ~enabled();
}

bool machine::needs_luck(const variant& v) {
    return v.by != luck::none && left_.*count_of(v.by) != chances::always;
}

const possibilities& machine::of(unsigned thread) {
    track& t = *tracks_[thread];
    if ((known_variants_ & 1u << thread) == 0) {
        known_variants_ |= 1u << thread;
        find_variants(t);
    }
    return t.can;
}

// Whoever is to store, reading nothing, or to do nothing on memory, depends on no store.
bool machine::nothing_since(store_id since, unsigned thread) const {
    const track& t = *tracks_[thread];
    const auto none_since = [since](const word* w) { return w->latest < since; };
    return t.asks.what == kind::store || std::ranges::all_of(t.asks.all_words(), none_since);
}

bool machine::meets_in_s(std::span<word* const> words, unsigned thread) const {
    const request& r = tracks_[thread]->asks;
    const auto asked_for = [&r](word* w) {
        return std::ranges::find(r.all_words(), w) != r.all_words().end();
    };
    return r.seq_cst() && (words.empty() || r.count == 0 || std::ranges::any_of(words, asked_for));
}

bool machine::may(track& t, luck which) {
    if (t.index == count_ || limits_.allowed.*count_of(which) == 0)
        return false;
    const bool left = left_.*count_of(which) != 0;
    if (!left)
        t.can.no_luck = static_cast<luck_mask>(t.can.no_luck | 1u << static_cast<unsigned>(which));
    return left;
}

void machine::find_variants(track& t) {
    t.can.variants.clear();
    t.can.no_luck = 0;
    visible_.clear();
    switch (t.asks.what) {
    case kind::load:
        memory_.visible(t.self(), *t.asks.words[0], t.asks.order == std::memory_order_seq_cst, visible_);
        for (const store_id s : visible_)
            t.can.variants.push_back({.old = s != visible_[0], .from = {s}, .latest = s});
        t.can.oldest[0] = visible_.back();
        break;
    case kind::store:
        find_stores(t);
        break;
    case kind::modify:
        find_modifications(t);
        break;
    case kind::compare_exchange:
        find_exchanges(t);
        break;
    case kind::await:
        find_waits(t);
        break;
    case kind::park:
        find_parks(t);
        break;
    default:
        t.can.variants.emplace_back();
        break;
    }
}

void machine::find_stores(track& t) {
    if (t.asks.drops_write) {
        t.can.variants.emplace_back();
        return;
    }
    memory_.visible(t.self(), *t.asks.words[0], t.asks.order == std::memory_order_seq_cst, visible_);
    for (const store_id s : visible_) {
        if (!memory_[s].taken)
            t.can.variants.push_back({.old = s != visible_[0], .behind = s});
    }
}

void machine::find_modifications(track& t) {
    word& w = *t.asks.words[0];
    memory_.visible(t.self(), w, t.asks.order == std::memory_order_seq_cst, visible_);
    t.can.oldest[0] = visible_.back();
    for (const store_id s : visible_) {
        if (!memory_[s].taken || t.asks.drops_write)
            t.can.variants.push_back({.old = s != w.newest, .from = {s}, .behind = s, .latest = s});
    }
}

// It succeeds on what its order on success allows, and fails on what its other one allows.
void machine::find_exchanges(track& t) {
    const request& r = t.asks;
    word& w = *r.words[0];
    memory_.visible(t.self(), w, r.order == std::memory_order_seq_cst, visible_);
    const std::size_t succeeding = visible_.size();
    if (r.order != std::memory_order_seq_cst || r.failure != std::memory_order_seq_cst) {
        visible_.clear(); // of the two lists, the one is the beginning of the other
        memory_.visible(t.self(), w, r.failure == std::memory_order_seq_cst, visible_);
    }
    const std::size_t failing = visible_.size();
    if (succeeding > failing) {
        visible_.clear();
        memory_.visible(t.self(), w, r.order == std::memory_order_seq_cst, visible_);
    }
    t.can.oldest[0] = visible_.back();
    for (std::size_t i = 0; i < visible_.size(); ++i) {
        const store_id s = visible_[i];
        variant v{.old = i != 0, .from = {s}, .behind = s, .latest = s};
        const bool equal = memory_[s].value == r.operand;
        if (equal && i < succeeding && (!memory_[s].taken || r.drops_write))
            t.can.variants.push_back(v);
        if (i >= failing)
            continue;
        v.how = variant::way::fails;
        if (!equal) {
            t.can.variants.push_back(v);
        } else if (r.named == operation::compare_exchange_weak && may(t, luck::weak_failure)) {
            v.by = luck::weak_failure;
            t.can.variants.push_back(v);
        }
    }
}

// All combinations of values that the words can have together, one word after another, as they are read in that order.
template <class Found>
void machine::combine(track& t, variant& v, std::size_t word_number, Found found) {
    const request& r = t.asks;
    if (word_number == r.count)
        return found();
    word& w = *r.words[word_number];
    std::vector<store_id> list;
    memory_.visible(t.self(), w, r.order == std::memory_order_seq_cst, list,
                    {v.from.data(), acquires(r.order) ? word_number : 0});
    if (word_number == 0)
        t.can.oldest[0] = list.back();
    const variant before = v;
    for (const store_id s : list) {
        v = before;
        v.from[word_number] = s;
        v.latest = std::max(v.latest, s);
        v.old = v.old || s != w.newest;
        r.wait->seen[word_number] = memory_[s].value;
        combine(t, v, word_number + 1, found);
        // The same word again shows nothing older.
        const auto same =
            std::find(r.words.begin(), r.words.begin() + static_cast<std::ptrdiff_t>(word_number), &w);
        if (same != r.words.begin() + static_cast<std::ptrdiff_t>(word_number) &&
            before.from[static_cast<std::size_t>(same - r.words.begin())] == s)
            break;
    }
    v = before;
}

// Values for which it waits, or values for which it does not and a reason to stop. And where there are both, it may have missed
// the former: then it has seen the newest, and waits for what comes after.
void machine::find_waits(track& t) {
    const request& r = t.asks;
    const bool passed = r.wait->deadline != nullptr && *r.wait->deadline;
    std::array<luck, 3> stops{};
    std::size_t count = 0;
    if (r.wait->resched && may(t, luck::resched))
        stops[count++] = luck::resched;
    if (r.wait->off_cpu && may(t, luck::off_cpu))
        stops[count++] = luck::off_cpu;
    if (passed)
        stops[count++] = luck::none;
    else if (r.wait->deadline != nullptr && may(t, luck::time_out))
        stops[count++] = luck::time_out;

    // Without what the words before it may bring along: the most that it could see.
    for (std::size_t i = 1; i < r.count; ++i) {
        visible_.clear();
        memory_.visible(t.self(), *r.words[i], r.order == std::memory_order_seq_cst, visible_);
        t.can.oldest[i] = visible_.back();
    }
    bool satisfied = false, newest_is_not = false;
    variant newest, v;
    store_id latest = no_store;
    combine(t, v, 0, [&] {
        latest = std::max(latest, v.latest);
        variant found = v;
        if (r.skips_wait || r.wait->holds()) {
            satisfied = true;
            t.can.variants.push_back(found);
            return;
        }
        if (!v.old) {
            newest_is_not = true;
            newest = v;
        }
        found.how = variant::way::stops;
        for (std::size_t i = 0; i < count; ++i) {
            found.by = stops[i];
            t.can.variants.push_back(found);
        }
    });
    if (satisfied && newest_is_not) {
        newest.how = variant::way::looks_again;
        newest.latest = latest;
        t.can.variants.push_back(newest);
    }
}

void machine::find_parks(track& t) {
    word& token = *t.asks.words[0];
    memory_.visible(t.self(), token, false, visible_);
    t.can.oldest[0] = visible_.back();
    for (const store_id s : visible_) {
        if (memory_[s].value != 0 && !memory_[s].taken)
            t.can.variants.push_back({.old = s != token.newest, .from = {s}, .behind = s, .latest = s});
    }
    const auto stop = [&t](luck by) { t.can.variants.push_back({.how = variant::way::stops, .by = by}); };
    if (may(t, luck::spurious_wake))
        stop(luck::spurious_wake);
    if (t.asks.deadline != nullptr && *t.asks.deadline)
        stop(luck::none);
    else if (t.asks.deadline != nullptr && may(t, luck::time_out))
        stop(luck::time_out);
}

// --- What an operation does.

void machine::use(word& w, place at) {
    if (!w.life.alive)
        set_failure("use of a dead variable", at);
    else if (!memory_.read(self(), w.life))
        set_failure("use of an atomic that was not published", at);
}

void machine::end_life(accesses& life, place at) {
    if (!life.alive)
        fail("end of a dead variable", at);
    if (!memory_.write(self(), life))
        fail("end of a variable races with its use", at);
    life.alive = false;
}

void machine::perform(track& t, const variant& v) {
    request& r = t.asks;
    const unsigned self = t.self();
    for (word* w : r.all_words()) {
        use(*w, r.at);
        if (!result_.failure.empty())
            return;
    }
    const std::memory_order order = v.how == variant::way::fails ? r.failure : r.order;
    memory_.begin_operation(self, order == std::memory_order_seq_cst);
    if (v.by != luck::none)
        use_up(v.by);
    r.done = v.how == variant::way::done;
    bits made = 0;
    switch (r.what) {
    case kind::load:
        r.value = memory_.load(self, v.from[0], order);
        break;
    case kind::store:
        made = r.operand;
        if (!r.drops_write)
            memory_.store_behind(self, *r.words[0], v.behind, false, made, order);
        break;
    case kind::modify:
    case kind::compare_exchange:
        r.value = memory_.load(self, v.from[0], order);
        made = r.what == kind::modify ? r.change(r.value, r.operand) : r.desired;
        if (r.done && !r.drops_write)
            memory_.store_behind(self, *r.words[0], v.behind, true, made, order);
        break;
    case kind::await:
        for (std::size_t i = 0; i < r.count; ++i)
            r.wait->seen[i] = memory_.load(self, v.from[i], order);
        r.why = r.done                  ? wake::satisfied
                : v.by == luck::resched ? wake::resched
                : v.by == luck::off_cpu ? wake::owner_off_cpu
                                        : wake::expired;
        if (v.by == luck::time_out)
            *r.wait->deadline = true;
        break;
    case kind::park:
        if (r.done) {
            memory_.load(self, v.from[0], order);
            memory_.store_behind(self, *r.words[0], v.behind, true, 0, order);
        }
        if (v.by == luck::time_out)
            *r.deadline = true;
        r.done = r.done || v.by == luck::spurious_wake;
        break;
    case kind::fence:
        memory_.fence(self, order);
        break;
    default:
        break;
    }
    if (tracing_)
        note_performed(t, v, made);
}

// --- What is told of it.

// Small numbers as such, addresses as such.
std::string text_of(bits value) {
    char text[24];
    std::snprintf(text, sizeof text, value < 10'000 ? "%llu" : "%#llx",
                  static_cast<unsigned long long>(value));
    return text;
}

void machine::note(const std::string& what, place at) {
    if (tracing_)
        result_.trace.push_back({running_ < count_ ? running_ : model::step::alone, what, at});
}

void machine::note_performed(const track& t, const variant& v, bits made) {
    const request& r = t.asks;
    const std::string name = std::string(name_of(r.named)) + "(" + name_of(r.order) + ")";
    const std::string age = v.old ? ", an old value" : "";
    const std::string dropped = r.drops_write ? ", not written" : "";
    switch (r.what) {
    case kind::load:
        return note(name + ": " + text_of(r.value) + age, r.at);
    case kind::store:
        return note(name + ": " + text_of(made) + (v.old ? ", before newer ones" : "") + dropped, r.at);
    case kind::modify:
        return note(name + ": " + text_of(r.value) + " -> " + text_of(made) + age + dropped, r.at);
    case kind::compare_exchange:
        if (r.done)
            return note(name + ": " + text_of(r.value) + " -> " + text_of(made) + age + dropped, r.at);
        return note(name + " fails: " + text_of(r.value) + age +
                        (v.by == luck::weak_failure ? ", by chance" : ", expected " + text_of(r.operand)),
                    r.at);
    case kind::await: {
        std::string values;
        for (std::size_t i = 0; i < r.count; ++i)
            values += (i == 0 ? "" : ", ") + text_of(r.wait->seen[i]);
        const char* how = v.how == variant::way::looks_again ? " waits on"
                          : r.done                           ? ""
                          : r.why == wake::resched           ? " stops for others"
                          : r.why == wake::owner_off_cpu     ? " stops, the owner off its CPU"
                                                             : " stops, out of time";
        return note(name + how + ": " + values + age, r.at);
    }
    case kind::park:
        return note(v.how == variant::way::done   ? "park: woken"
                    : v.by == luck::spurious_wake ? "park: wakes for nothing"
                                                  : "park: out of time",
                    r.at);
    case kind::fence:
        return note(name, r.at);
    case kind::start:
        return;
    }
}

outcome run_with(program& what, const limits& bounds, const mutation& mutant, search& by, bool tracing) {
    return machine(what, bounds, mutant, by, tracing).run();
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

outcome explore(program& what, const limits& bounds, const mutation& mutant) {
    const std::unique_ptr<search> by = bounds.random != 0 ? random_executions(what.threads(), bounds)
                                                          : every_execution(what.threads(), bounds);
    outcome result = run_with(what, bounds, mutant, *by, false);
    if (!result.failure.empty()) {
        outcome again = replay(what, bounds, result.choices, mutant);
        result.trace = std::move(again.trace);
    }
    return result;
}

outcome replay(program& what, const limits& bounds, const std::string& choices, const mutation& mutant) {
    return run_with(what, bounds, mutant, *replayed(choices), true);
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
    current->store_to(w, value, o);
}
bits modify(word* w, change_of_bits change, bits operand, ordered o, operation what) {
    return current->modify(w, change, operand, o, what);
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
    return current->chance(luck_of(which));
}
void pause() {
    current->pause({});
}

} // namespace explorer

} // namespace holdfast::model
