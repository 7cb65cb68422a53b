// The search: which of the things that can happen do happen, in one execution after another.
//
// An execution is a row of steps. In each, one of the threads that can go on does its next operation, in one of the ways
// (variants) that the memory model leaves open; between operations it may meet chances (an await stopped by
// the clock, say). The machine (explorer.cpp) asks a search for each of these choices and tells it what came of them.
//
// - every_execution() goes through all of them depth first. Unbounded, it runs each execution once that
//   somebody could tell from the others: operations that do not touch each other are not run in both orders (partial-order
//   reduction, see search.cpp). Bounded in preemptions or old values it runs all orders within the bound, but
//   leaves a state at which it has been before with as much of the bounds left.
// - random_executions() draws them: threads by priorities that change now and then (Burckhardt et al., "A randomized
//   scheduler with probabilistic guarantees of finding bugs", ASPLOS 2010), values mostly new.
// - replayed() follows a written row of choices.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/explorer.hpp"
#include "model/memory.hpp"

namespace holdfast::model {

// What a chance is about; `none` is none. Each has its count in `chances`.
enum class luck : std::uint8_t { none, resched, off_cpu, time_out, spurious_wake, weak_failure };
constexpr std::size_t kinds_of_luck = 6;
using luck_mask = std::uint8_t; // of bits 1 << luck

// One way in which an operation can go.
struct variant {
    static constexpr std::size_t max_words = 4;

    enum class way : std::uint8_t {
        done,
        fails,       // a compare-exchange
        looks_again, // a wait that has seen what it doesn't wait for, and so won't see what is older
        stops,       // a wait that is over without what it waited for
    };

    way how = way::done;
    luck by = luck::none;                   // the chance that it takes
    bool old = false;                       // doesn't go by the newest values, or stores before others
    std::array<store_id, max_words> from{}; // read, one for each word
    store_id behind = no_store;             // stored behind this one
    store_id latest = no_store; // of the stores without which it would not be there, the one made last
};

// The ways in which an operation can go.
struct possibilities {
    std::vector<variant> variants;                     // none: it can't go on
    std::array<store_id, variant::max_words> oldest{}; // that it could read, or store behind: of each word
    luck_mask no_luck = 0;                             // chances that it might take, were there any left
};

// What the machine knows of the step that is to be chosen.
class situation {
public:
    virtual unsigned enabled() = 0; // mask of the threads that can go on
    // Of those, mask of the threads that need no luck for it. If there is none, the execution is stuck: luck need not come.
    virtual unsigned certain() = 0;
    virtual unsigned waiting() = 0; // mask of the threads that can't go on and have not ended
    // Of the thread's next operation. Valid until the next step.
    virtual const possibilities& of(unsigned thread) = 0;
    // Whether no variant of it depends on a store made after this one. May say no where it is so.
    virtual bool nothing_since(store_id, unsigned thread) const = 0;
    // Whether the thread is about to do a seq_cst operation on one of these words, or a seq_cst fence; without words: on any.
    virtual bool meets_in_s(std::span<word* const>, unsigned thread) const = 0;
    virtual store_id made() const = 0; // stores so far

protected:
    ~situation() = default;
};

struct decision {
    static constexpr unsigned abandon = ~0u; // nothing new comes of this execution

    unsigned thread = abandon;
    unsigned number = 0; // of the variant
    std::size_t of = 0;  // so many
    variant what = {};
    std::array<store_id, variant::max_words> oldest{};
    luck_mask no_luck = 0;

    decision() = default;
    decision(unsigned who, unsigned which, const possibilities& all)
        : thread(who), number(which), of(all.variants.size()), what(all.variants[which]), oldest(all.oldest),
          no_luck(all.no_luck) {}
};

// An operation's part in who depends on whom. Fences have no words.
struct event {
    unsigned thread;
    std::span<word* const> words;
    bool reads = false;               // or would have, had there been what it waits for
    std::span<const store_id> from;   // read, one for each word; empty: nothing
    std::span<const store_id> oldest; // that it could have read, or stored behind, one for each word
    store_id made = no_store;         // its own store
    bool read_modify_write = false;   // or would have been one: it may take a store away from others
    bool seq_cst = false;
    unsigned how = 0; // tells variants apart that read the same
    luck by = luck::none;
    luck_mask no_luck = 0; // chances that it might have taken, had there been any left
};

class search {
public:
    virtual ~search() = default;
    virtual void begin() = 0; // an execution
    // Valid until the next call.
    virtual const decision& choose(situation&) = 0;
    // Whether it happens. Asked of the thread that went on last, and while there is some left. `none` left: told, not asked.
    virtual bool chance(luck) = 0;
    virtual void no_luck(luck) = 0;
    // What the chosen variant did.
    virtual void executed(const event&, const memory&, const situation&) = 0;
    virtual bool end() = 0; // the execution; whether there is another
};

std::unique_ptr<search> every_execution(unsigned threads, const limits&);
std::unique_ptr<search> random_executions(unsigned threads, const limits&);

// The choices of one execution. As text: for each step a digit, the thread, and, if the operation could go several ways, a
// letter for which; for each chance + or -.
class choices {
public:
    void clear() { text_.clear(); }
    void add_step(unsigned thread, unsigned variant, std::size_t variants);
    void add_chance(bool happens) { text_ += happens ? '+' : '-'; }
    const std::string& text() const { return text_; }

private:
    std::string text_;
};
// Throws std::invalid_argument where the text doesn't fit what happens.
std::unique_ptr<search> replayed(const std::string& choices);

} // namespace holdfast::model
