// The explorer: runs a small concurrent program in every order that a bound allows, on a weak memory.
//
// This header is the seam. Above it stand the platform (platform.hpp) and the checks of locks; below it the
// machinery: the threads of a program (explorer.cpp), the memory that they share (memory.hpp) and the search
// through what can happen (search.hpp). Nothing of the machinery is visible here, so that it can be replaced.
//
// A program is run again and again. Each time, at each operation on an atomic, the search chooses which thread
// goes on, and what of all that the memory model allows the operation does: which value it reads, before which
// stores of others its own comes. It stops at the first execution with a data race, a failed check, a
// deadlock (so a lost wake-up) or a thread that does not come to an end.
//
// Every operation carries its place in the source, so that one of them can be changed from outside: see
// mutation.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include <holdfast/platform.hpp>

namespace holdfast::model {

// Where in the source something is. As a default argument it is the caller's place: std::source_location,
// which clang 14 lacks.
struct place {
    const char* function = "";
    const char* file = "";
    unsigned line = 0;

    static constexpr place here(const char* function = __builtin_FUNCTION(),
                                const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
        return {function, file, line};
    }
};

// A memory order and the place where it was written. Converts from an order alone, so a call that
// spells `std::memory_order_acquire` passes its own place along.
struct ordered {
    std::memory_order order;
    place at;

    constexpr ordered(std::memory_order o, place p = place::here()) : order(o), at(p) {}
};

enum class operation : std::uint8_t {
    load,
    store,
    exchange,
    fetch_add,
    fetch_sub,
    fetch_and,
    fetch_or,
    fetch_xor,
    compare_exchange_weak,
    compare_exchange_strong,
    await,
    fence,
    unpark,
};
const char* name_of(operation);
const char* name_of(std::memory_order);

// An operation in the source of a lock, with the orders that it was given. Line numbers differ a little
// between compilers, and from version to version of a lock.
struct site {
    operation what;
    place at;
    std::memory_order order;
    std::memory_order failure; // of a compare-exchange; else relaxed

    bool operator==(const site& other) const;
};

// What a mutation does to its site.
enum class change : std::uint8_t {
    nothing,
    drop_acquire,         // acquire becomes relaxed, acq_rel becomes release
    drop_release,         // release becomes relaxed, acq_rel becomes acquire
    drop_seq_cst,         // seq_cst becomes acq_rel, or what of it the operation can have
    drop_failure_acquire, // acquire becomes relaxed in the failure order
    drop_write,           // the operation reads as before, reports success, and writes nothing
    modify_otherwise,     // a read-modify-write that makes something else of the value
    postpone,  // a read-modify-write that takes effect only after another operation of the same thread
    skip_wait, // an await that looks once, and goes on whatever it saw
};

namespace explorer {
using bits = std::uint64_t; // the value of any atomic
// What a read-modify-write makes of the value before it and its operand.
using change_of_bits = bits (*)(bits value, bits operand);
} // namespace explorer

struct mutation {
    change how = change::nothing;
    site where = {};
    explorer::change_of_bits otherwise = nullptr; // modify_otherwise: this
    site until = {};                              // postpone: until after this
};

// What may happen in an execution besides the interleaving, and how often at most.
struct chances {
    static constexpr unsigned always = ~0u; // it happens whenever it can

    unsigned resched = 0;       // somebody else wants the CPU: need_resched(), an await that is stopped by it
    unsigned off_cpu = 0;       // on_cpu() is false
    unsigned time_out = 0;      // a deadline passes
    unsigned spurious_wake = 0; // park() returns without an unpark
    unsigned weak_failure = 0;  // compare_exchange_weak fails although the value is as expected
};

// How much of what can happen is explored. Without a bound on preemptions and old values it is all, each
// execution but once: orders of operations that nobody can tell apart count as one.
struct limits {
    static constexpr unsigned unlimited = ~0u;

    unsigned preemptions = unlimited; // at most so many switches away from a thread that could have gone on
    unsigned old_values = unlimited;  // at most so many operations that do not go by the newest value
    chances allowed = {};
    std::uint64_t executions = 3'000'000; // give up after so many
    double seconds = 1e9;                 // or after so many of the processor's, by the calling thread
    unsigned steps = 1000;                // operations in one execution; more is a livelock
    std::uint64_t random = 0;             // not 0: so many executions by chance instead
    std::uint64_t seed = 1;               // of that chance
    bool reduce = true; // false: every order of operations for itself, to judge the reduction by
};

// A program to explore. begin() runs alone before the threads, end() alone after them.
class program {
public:
    virtual ~program() = default;
    virtual unsigned threads() const = 0;
    virtual void begin() = 0;
    virtual void thread(unsigned index) = 0;
    virtual void end() = 0;
};

// What a thread did in an execution. `thread` is `alone` in begin() and end().
struct step {
    static constexpr unsigned alone = ~0u;

    unsigned thread;
    std::string what; // as "exchange(acquire): 0 -> 1"
    place at;         // line 0: nowhere in the source
};

struct outcome {
    std::uint64_t executions = 0;
    double seconds = 0;      // of the processor's
    bool complete = false;   // all executions within the bound were run, and none failed
    std::string failure;     // empty: none failed
    place failed_at = {};    // line 0: nowhere, as of a deadlock
    std::vector<step> trace; // of the failing execution
    std::string choices;     // of the failing execution, for replay()
    std::vector<site> sites; // operations that were executed, of locks and of the program itself
};

// Explores. `mutant` is in force meanwhile. At most `max_threads` threads.
inline constexpr unsigned max_threads = 8;
outcome explore(program&, const limits&, const mutation& mutant = {});

// Runs one execution again, by the `choices` of an outcome under the same limits and mutant; `trace` is filled whether it
// fails or not. Choices that do not fit the program throw std::invalid_argument, which says where.
outcome replay(program&, const limits&, const std::string& choices, const mutation& mutant = {});

// Fails the execution unless the condition holds. For the threads of a program, and its end().
void check(bool condition, const char* text, place at = place::here());

// What the platform is made of: to be called from within a program only.
namespace explorer {

struct word;  // an atomic: its values of late, and who may see which
struct plain; // plain data: who has accessed it

// Other threads may not see it until it is published.
word* begin_word(bits value);
void end_word(word*, place);
bits load(word*, ordered, operation = operation::load);
void store(word*, bits, ordered);
bits modify(word*, change_of_bits, bits operand, ordered, operation);
bool compare_exchange(word*, bits& expected, bits desired, ordered success, std::memory_order failure,
                      operation weak_or_strong);

// A wait for values of words: see clause C. `seen` has room for the value of each word.
struct wait {
    std::span<word* const> words;
    std::span<bits> seen;
    std::function<bool()> holds; // whether the values in `seen` are waited for
    bool resched = false;        // may end by chances::resched
    bool off_cpu = false;        // by chances::off_cpu
    bool* deadline = nullptr;    // by chances::time_out, which it remembers; not null and true: it has passed
};
wake await(const wait&, ordered);

// Waits until the word is not 0, and makes it 0 (acquire). May end by chances::spurious_wake, or by chances::time_out, which
// `deadline` remembers: false. Null: no deadline.
bool park(word*, bool* deadline, place);
void fence(ordered);

plain* begin_plain();
void end_plain(plain*, place);
void read(plain*, place);
void write(plain*, place);

// Words and plain data made meanwhile are as if they had been made before all threads.
void before_threads(const std::function<void()>& make);

unsigned self();                       // index of the calling thread
std::uint64_t execution();             // number of the execution, never the same twice in a process
bool chance(unsigned chances::*which); // whether it happens now
void pause(); // of a thread that has nothing to do: one of the steps that an execution may have

} // namespace explorer

} // namespace holdfast::model
