// The searches: see search.hpp.
//
// The tree. Its nodes are the steps and chances of the execution under way. An execution repeats the choices of the one before it
// up to the deepest node at which something else is left to choose.
//
// The reduction, for unbounded searches, is source-DPOR (Abdulla, Aronis, Jonsson, Sagonas, "Optimal dynamic partial order
// reduction", POPL 2014) with one change for weak memory: a load that reads an old value commutes with the stores
// that it doesn't read. So:
// - A node first explores one thread. Another is opened when a later operation turns out to race with the node's: when the
//   node's operation might have read what the later one stores, had that come first. (Two plain stores don't race, as either can
//   come before the other in modification order whoever is executed first; nor does a load with a store before it.)
//   Sequentially consistent operations on one atomic race with each other, and fences with all of them. So do those
//   who wanted a chance when there was none left with those who had it.
// - Sleep sets: a thread that a node has explored is not explored again below the node's other threads, but for what
//   is new. It is asleep as of the stores that there were: only variants that depend on a later store are awake.
#include "model/search.hpp"

#include <algorithm>
#include <bit>
#include <random>
#include <stdexcept>
#include <unordered_map>

namespace holdfast::model {

namespace {

constexpr unsigned bit(unsigned thread) {
    return 1u << thread;
}

// Who caused what: which operations, and through which of them, each thread's state comes from. Unlike happens-before it holds
// all reads, whatever their memory order.
class causality {
public:
    struct cause {
        unsigned thread;
        clock::index index; // of the operation among its thread's
        std::size_t node;
        clock causes;  // the operation's own and all that it comes from
        store_id made; // its store, if it has one
    };

    // Forgets what this node and those after it have chosen.
    void forget_from(std::size_t node) {
        while (!events_.empty() && events_.back().node >= node)
            events_.pop_back();
        const auto gone = [this](std::uint32_t number) { return number >= events_.size(); };
        const auto shorten = [](auto& row, auto number_gone) {
            while (!row.empty() && number_gone(row.back()))
                row.pop_back();
        };
        shorten(in_s_, [&gone](const auto& in_s) { return gone(in_s.first); });
        shorten(lucky_, [&gone](const auto& lucky) { return gone(lucky.second); });
        fences_ = all_in_s_ = {};
        for (word_causes& w : words_) {
            shorten(w.reads, [&gone](const reading& r) { return gone(r.event); });
            w.in_s = {};
        }
        for (const auto& [number, w] : in_s_) {
            all_in_s_.join(events_[number].causes);
            (w != nullptr ? of(w).in_s : fences_).join(events_[number].causes);
        }
        threads_.fill({});
        store_id made = no_store;
        for (const cause& c : events_) {
            threads_[c.thread] = c.causes;
            made = std::max(made, c.made);
        }
        if (of_stores_.size() > made + 1)
            of_stores_.resize(made + 1);
    }

    // Takes note of an event, which the node has chosen. Calls race(earlier) for each event that this one races with.
    template <class Race>
    void add(const event& e, const memory& m, std::size_t node, bool with_races, Race race) {
        const unsigned t = e.thread;
        clock& now = threads_[t];
        before_ = now;
        latest_ = e;
        if (with_races)
            races_of(e, m, race);

        ++now[t];
        for (const store_id from : e.from) {
            if (from < of_stores_.size())
                now.join(of_stores_[from]);
        }
        if (e.seq_cst) {
            now.join(fences_);
            for (word* w : e.words)
                now.join(of(w).in_s);
            if (e.words.empty())
                now.join(all_in_s_);
        }
        const auto number = static_cast<std::uint32_t>(events_.size());
        if (e.seq_cst) {
            for (word* w : e.words)
                of(w).in_s.join(now);
            all_in_s_.join(now);
            if (e.words.empty())
                fences_ = now;
            for (word* w : e.words)
                in_s_.push_back({number, w});
            if (e.words.empty())
                in_s_.push_back({number, nullptr});
        }
        if (e.made != no_store) {
            if (of_stores_.size() <= e.made)
                of_stores_.resize(e.made + 1);
            of_stores_[e.made] = now;
        }
        for (std::size_t i = 0; i < e.words.size(); ++i) {
            if (e.reads)
                of(e.words[i])
                    .reads.push_back({number, t, e.oldest[i],
                                      e.read_modify_write && e.made != no_store ? e.from[i] : no_store});
        }
        events_.push_back({t, now[t], node, now, e.made});
        if (e.by != luck::none)
            lucky_.emplace_back(e.by, number);
    }
    void take(luck which) { lucky_.emplace_back(which, static_cast<std::uint32_t>(events_.size() - 1)); }

    // The last event was of a thread that met a chance when none was left.
    template <class Race>
    void races_for(luck which, Race race) {
        races_for(static_cast<luck_mask>(bit(static_cast<unsigned>(which))), events_.back().thread, race);
    }

    // The thread waits, in an execution that goes no further. Whether it has to is a race with those who had the luck that it
    // has not, and with those in S after whom it can't see any more what it waits for.
    template <class Race>
    void races_of_waiting(unsigned thread, situation& now, Race race) {
        before_ = threads_[thread];
        latest_ = {.thread = thread, .words = {}, .from = {}, .oldest = {}};
        races_for(now.of(thread).no_luck, thread, race);
        for (const auto& [number, w] : in_s_) {
            if (now.meets_in_s({&w, w != nullptr ? 1u : 0u}, thread))
                race_with(number, thread, true, race);
        }
    }

    // The threads that could have begun what came after `earlier` without coming from it, with the next operation of
    // `last` at the end: mask. `pending`: that operation is not among the events yet.
    unsigned beginners(const cause& earlier, unsigned last, bool pending) {
        unsigned found = 0, seen = 0;
        row_.clear();
        const auto begins = [this](const clock& causes) {
            for (const cause* r : row_) {
                if (causes[r->thread] >= r->index)
                    return false;
            }
            return true;
        };
        const std::size_t from = static_cast<std::size_t>(&earlier - events_.data()) + 1;
        const std::size_t end = pending ? events_.size() : events_.size() - 1;
        for (std::size_t i = from; i < end; ++i) {
            const cause& c = events_[i];
            if (c.causes[earlier.thread] >= earlier.index)
                continue;
            if ((seen & bit(c.thread)) == 0 && begins(c.causes))
                found |= bit(c.thread);
            seen |= bit(c.thread);
            row_.push_back(&c);
        }
        if ((seen & bit(last)) == 0 && begins(before_) && latest_begins(earlier, begins))
            found |= bit(last);
        return found;
    }

private:
    struct reading {
        std::uint32_t event;
        unsigned thread;
        store_id oldest; // that it could have read
        store_id taken;  // by a read-modify-write: no other can read that
    };
    struct word_causes {
        std::vector<reading> reads;
        clock in_s;
    };

    word_causes& of(const word* w) {
        if (words_.size() <= w->number)
            words_.resize(w->number + 1);
        return words_[w->number];
    }

    // Whether the latest event could come before those of row_: it reads nothing from them and follows none of them in S. What it
    // reads only because of `earlier` it would not read then.
    template <class Begins>
    bool latest_begins(const cause& earlier, Begins begins) const {
        for (const store_id from : latest_.from) {
            if (from < of_stores_.size() && of_stores_[from][earlier.thread] < earlier.index &&
                !begins(of_stores_[from]))
                return false;
        }
        if (!latest_.seq_cst)
            return true;
        return std::ranges::none_of(in_s_, [this](const auto& in_s) {
            return follows(latest_, in_s.second) &&
                   std::ranges::find(row_, &events_[in_s.first]) != row_.end();
        });
    }

    // Whether a seq_cst event depends on another, on this word or, without, a fence.
    static bool follows(const event& e, word* w) {
        return w == nullptr || e.words.empty() || std::ranges::find(e.words, w) != e.words.end();
    }

    template <class Race>
    void race_with(std::uint32_t number, unsigned thread, bool differs, Race race) {
        const cause& c = events_[number];
        if (c.thread != thread && before_[c.thread] < c.index)
            race(c, differs);
    }

    template <class Race>
    void races_of(const event& e, const memory& m, Race race) {
        for (std::size_t i = 0; i < e.words.size(); ++i) {
            unsigned passed =
                bit(e.thread); // threads whose last race is found: the ones before it follow from it
            const std::vector<reading>& reads = of(e.words[i]).reads;
            for (auto r = reads.rbegin(); r != reads.rend(); ++r) {
                if ((passed & bit(r->thread)) != 0)
                    continue;
                const bool reads_it = e.made != no_store && m.at_or_after(e.made, r->oldest);
                const bool takes_it =
                    e.read_modify_write && r->taken != no_store && m.at_or_after(r->taken, e.oldest[i]);
                if (reads_it || takes_it) {
                    passed |= bit(r->thread);
                    race_with(r->event, e.thread, false, race);
                }
            }
        }
        if (e.seq_cst) {
            for (const auto& [number, w] : in_s_) {
                if (follows(e, w))
                    race_with(number, e.thread, !e.words.empty(), race);
            }
        }
        races_for(e.no_luck, e.thread, race);
    }

    // With those who had the luck that the thread wanted.
    template <class Race>
    void races_for(luck_mask wanted, unsigned thread, Race race) {
        for (const auto& [what, number] : lucky_) {
            if ((wanted & bit(static_cast<unsigned>(what))) != 0)
                race_with(number, thread, false, race);
        }
    }

    std::array<clock, max_threads> threads_;
    std::vector<clock> of_stores_;
    std::vector<cause> events_;
    std::vector<word_causes> words_;
    std::vector<std::pair<std::uint32_t, word*>> in_s_; // seq_cst events; without a word: fences
    std::vector<std::pair<luck, std::uint32_t>> lucky_; // events that took a chance
    clock fences_, all_in_s_;
    event latest_{};
    clock before_; // the latest event's thread, before that event
    std::vector<const cause*> row_;
};

// What has happened so far, as a number: the same for all orders of execution that nobody can tell apart.
class fingerprint {
public:
    void begin() {
        value_ = 0;
        operations_.fill(0);
        chances_ = 0;
        of_stores_.clear();
        in_s_.clear();
        fences_ = 0;
    }

    void add(const event& e, const memory& m) {
        chances_ = 0;
        const std::uint64_t self = mixed(e.thread + 1, ++operations_[e.thread]);
        std::uint64_t read = mixed(self, e.how);
        for (const store_id from : e.from)
            read = mixed(read, of(from));
        value_ += read;
        if (e.made != no_store) {
            const store& s = m[e.made];
            if (of_stores_.size() <= e.made)
                of_stores_.resize(e.made + 1);
            of_stores_[e.made] = self;
            value_ += mixed(of(s.older) + 1, self);
            if (s.newer != no_store)
                value_ += mixed(self + 1, of(s.newer)) - mixed(of(s.older) + 1, of(s.newer));
        }
        if (e.seq_cst)
            add_to_s(e, self);
    }
    void add(luck which, bool happens) {
        value_ += mixed(mixed(operations_[last_] * 64 + last_, ++chances_),
                        static_cast<std::uint64_t>(which) * 2 + happens);
    }
    void set_last(unsigned thread) { last_ = thread; }

    std::uint64_t value() const { return value_; }
    static std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
        std::uint64_t z = a * 0x9e3779b97f4a7c15 + b + 0x7f4a7c15;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

private:
    // First stores of all atomics are alike: which atomic it is follows from what the thread has done before.
    std::uint64_t of(store_id s) const { return s < of_stores_.size() ? of_stores_[s] : 0; }

    // The order of seq_cst operations on each atomic, and of fences with all of them.
    void add_to_s(const event& e, std::uint64_t self) {
        if (e.words.empty()) {
            for (const std::uint64_t chain : in_s_)
                self += chain != 0 ? mixed(chain, 1) : 0;
            fences_ = mixed(fences_, self);
            value_ += fences_;
            return;
        }
        for (word* w : e.words) {
            if (in_s_.size() <= w->number)
                in_s_.resize(w->number + 1);
            std::uint64_t& chain = in_s_[w->number];
            chain = mixed(chain + fences_, self);
            value_ += chain;
        }
    }

    std::uint64_t value_ = 0;
    std::uint64_t chances_ = 0; // since the last operation
    unsigned last_ = 0;
    std::array<std::uint64_t, max_threads> operations_{};
    std::vector<std::uint64_t> of_stores_;
    std::vector<std::uint64_t> in_s_; // for each atomic
    std::uint64_t fences_ = 0;
};

class tree_search final : public search {
public:
    tree_search(unsigned threads, const limits& bounds)
        : threads_(threads), bounds_(bounds),
          bounded_(bounds.preemptions != limits::unlimited || bounds.old_values != limits::unlimited),
          reduced_(bounds.reduce && !bounded_) {}

    void begin() override {
        depth_ = 0;
        last_ = none;
        preemptions_ = old_values_ = 0;
        asleep_.fill(awake);
        if (!reduced_)
            state_.begin();
    }

    const decision& choose(situation& now) override {
        if (depth_ == nodes_.size()) {
            if (!push(now))
                return nothing_;
        } else if (depth_ + 1 == nodes_.size() && !settle(nodes_[depth_], now)) {
            return nothing_;
        }
        const node& n = nodes_[depth_++];
        const unsigned thread = n.chosen.thread;
        preemptions_ = n.preemptions + preempts(n, thread);
        old_values_ = n.old_values + n.chosen.what.old;
        asleep_ = n.asleep;
        asleep_[thread] = awake;
        last_ = thread;
        state_.set_last(last_);
        return n.chosen;
    }

    bool chance(luck which) override {
        if (depth_ == nodes_.size()) {
            node& n = nodes_.emplace_back();
            n.is_chance = true;
        }
        const bool happens = nodes_[depth_++].happens;
        if (reduced_) {
            if (happens && depth_ > known_)
                causes_.take(which);
        } else {
            state_.add(which, happens);
        }
        return happens;
    }

    void no_luck(luck which) override {
        if (reduced_ && depth_ >= nodes_.size())
            causes_.races_for(
                which, [this](const auto& earlier, bool differs) { open(earlier, last_, false, differs); });
    }

    void executed(const event& e, const memory& m, const situation& now) override {
        if (!reduced_) {
            state_.add(e, m);
            return;
        }
        if (depth_ <= known_) // as in the execution before
            return;
        causes_.add(e, m, depth_ - 1, depth_ >= nodes_.size(), [this, &e](const auto& earlier, bool differs) {
            open(earlier, e.thread, true, differs);
        });
        if (e.seq_cst)
            wake(e, now);
    }

    bool end() override {
        const bool another = advance();
        if (reduced_ && another) {
            // The step that leads to a chance is done anew with it.
            known_ = nodes_.size() - 1;
            while (known_ != 0 && nodes_[known_].is_chance)
                --known_;
            causes_.forget_from(known_);
        }
        return another;
    }

private:
    static constexpr unsigned none = decision::abandon;
    static constexpr store_id awake = 0;

    struct node {
        bool is_chance = false;
        bool happens = false; // the chance
        bool settled = false; // the choice is one that may be made, and `next` is known
        decision chosen;
        unsigned next = none; // the number of the variant after it; none: there is none
        unsigned last = none; // who went on before, and could go on: anybody else is a preemption
        unsigned enabled = 0; // threads that can go on
        unsigned open = 0;    // of them, those to explore after this one
        unsigned done = 0;    // threads explored
        unsigned nothing = 0; // threads that sleep altogether
        unsigned preemptions = 0, old_values = 0; // so far
        store_id made = 0;
        std::array<store_id, max_threads> asleep{}; // as of which store each thread sleeps
    };

    // To the next choice that has not been made.
    bool advance() {
        while (!nodes_.empty()) {
            node& n = nodes_.back();
            if (n.is_chance) {
                if (!n.happens) {
                    n.happens = true;
                    return true;
                }
            } else if (n.next != none) {
                n.chosen.number = n.next;
                n.settled = false;
                return true;
            } else {
                finish(n);
                if (n.open != 0)
                    return true;
            }
            nodes_.pop_back();
        }
        return false;
    }

    static unsigned preempts(const node& n, unsigned thread) { return n.last != none && n.last != thread; }

    bool may(const node& n, unsigned thread, const variant& v) const {
        if (reduced_)
            return v.latest >= n.asleep[thread];
        return !v.old || bounds_.old_values == limits::unlimited || n.old_values < bounds_.old_values;
    }
    // The first variant from `from` on that may be chosen.
    unsigned variant_from(const node& n, unsigned thread, unsigned from,
                          const std::vector<variant>& all) const {
        for (unsigned i = from; i < all.size(); ++i) {
            if (may(n, thread, all[i]))
                return i;
        }
        return none;
    }

    // A new node. false: nothing is left to explore from here.
    bool push(situation& now) {
        node n;
        n.made = now.made();
        n.asleep = asleep_;
        n.preemptions = preemptions_;
        n.old_values = old_values_;
        n.open = n.enabled = now.enabled();
        const unsigned certain = now.certain();
        if (certain == 0)
            return false; // stuck
        // To leave somebody who waits for luck is no preemption.
        if (last_ != none && (certain & bit(last_)) != 0)
            n.last = last_;
        if (reduced_) {
            n.nothing = sleepers(n, now);
            n.open &= ~n.nothing;
        }
        if (bounded_) {
            if (n.last != none && preemptions_ >= bounds_.preemptions)
                n.open = bit(n.last);
            if (been_here(n))
                return false;
        }
        // Who went on before goes on. When reducing, that one alone, until a race says otherwise. Luck comes last, so that it is
        // seen where somebody would wait for ever without.
        if (n.last != none && (n.open & bit(n.last)) != 0) {
            n.chosen.thread = n.last;
            n.open &= ~bit(n.last);
            if (settle_thread(n, now)) {
                n.open = reduced_ ? 0 : n.open;
                nodes_.push_back(n);
                return true;
            }
        }
        const unsigned lucky = reduced_ ? n.open & ~certain : 0;
        n.open &= ~lucky;
        if (!next_thread(n, now)) {
            n.open = lucky;
            if (!next_thread(n, now)) {
                find_races_of_waiting(now);
                return false;
            }
        }
        if (reduced_)
            n.open = 0;
        nodes_.push_back(n);
        return true;
    }

    void find_races_of_waiting(situation& now) {
        for (unsigned i = 0; reduced_ && i < threads_; ++i) {
            if ((now.waiting() & bit(i)) != 0)
                causes_.races_of_waiting(i, now, [this, i](const auto& earlier, bool differs) {
                    open(earlier, i, true, differs);
                });
        }
    }

    // Threads that have nothing to do here that has not been explored elsewhere.
    unsigned sleepers(const node& n, const situation& now) const {
        unsigned mask = 0;
        for (unsigned i = 0; i < threads_; ++i) {
            if (n.asleep[i] != awake && now.nothing_since(n.asleep[i], i))
                mask |= bit(i);
        }
        return mask;
    }

    bool settle(node& n, situation& now) {
        if (n.is_chance || n.settled)
            return true;
        if (n.chosen.thread != none)
            return settle_thread(n, now) || next_thread(n, now);
        return next_thread(n, now);
    }
    // The next thread of those open that has something to explore.
    bool next_thread(node& n, situation& now) {
        while (n.open != 0) {
            n.chosen.thread = static_cast<unsigned>(std::countr_zero(n.open));
            n.chosen.number = 0;
            n.open &= n.open - 1;
            if (settle_thread(n, now))
                return true;
            n.done |= bit(n.chosen.thread);
        }
        return false;
    }
    // The first variant from the chosen one on that may be chosen.
    bool settle_thread(node& n, situation& now) {
        const unsigned thread = n.chosen.thread;
        const possibilities& all = now.of(thread);
        const unsigned number = variant_from(n, thread, n.chosen.number, all.variants);
        if (number == none)
            return false;
        n.next = variant_from(n, thread, number + 1, all.variants);
        n.chosen = decision(thread, number, all);
        n.settled = true;
        return true;
    }

    // All that the node's thread can do here has been explored.
    void finish(node& n) {
        const unsigned thread = n.chosen.thread;
        if (thread == none)
            return;
        n.done |= bit(thread);
        if (reduced_)
            n.asleep[thread] = n.made;
        n.chosen = {};
        n.settled = false;
    }

    // `earlier` races with the next operation of `thread`: what begins with somebody else at its node is to be explored.
    // `differs`: the operation may do something there that it can't do where it is now, so who begins is not known.
    void open(const causality::cause& earlier, unsigned thread, bool pending, bool differs) {
        node& n = nodes_[earlier.node];
        const unsigned beginners = differs ? 0 : n.enabled & causes_.beginners(earlier, thread, pending);
        const unsigned current = n.chosen.thread == none ? 0 : bit(n.chosen.thread);
        if ((beginners & (n.open | n.done | n.nothing | current)) != 0)
            return;
        if (beginners == 0) // nor is it if it waits there, for any of the others
            n.open |= n.enabled & ~(n.done | n.nothing | current);
        else
            n.open |= (beginners & bit(thread)) != 0 ? bit(thread) : beginners & (~beginners + 1);
    }

    // Who sleeps wakes when something happens that its sequentially consistent operation depends on.
    void wake(const event& e, const situation& now) {
        for (unsigned i = 0; i < threads_; ++i) {
            if (i != e.thread && asleep_[i] != awake && now.meets_in_s(e.words, i))
                asleep_[i] = awake;
        }
    }

    bool been_here(const node& n) {
        const std::uint64_t old_values = bounds_.old_values == limits::unlimited ? 0 : n.old_values;
        const std::uint64_t state = fingerprint::mixed(state_.value(), last_);
        for (std::uint64_t fewer = 0; fewer <= old_values; ++fewer) {
            const auto met = met_.find(state + fewer);
            if (met != met_.end() && met->second <= n.preemptions)
                return true;
        }
        met_[state + old_values] = n.preemptions;
        return false;
    }

    const unsigned threads_;
    const limits bounds_;
    const bool bounded_;
    const bool reduced_;
    std::vector<node> nodes_;
    const decision nothing_;
    // Of the execution under way:
    std::size_t depth_ = 0;
    std::size_t known_ = 0; // nodes whose events causes_ has from the execution before
    unsigned last_ = none;
    unsigned preemptions_ = 0, old_values_ = 0;
    std::array<store_id, max_threads> asleep_{};
    causality causes_;                                // reduced
    fingerprint state_;                               // not reduced
    std::unordered_map<std::uint64_t, unsigned> met_; // states, with the preemptions so far
};

class random_search final : public search {
public:
    random_search(unsigned threads, const limits& bounds)
        : threads_(threads), left_(bounds.random), random_(bounds.seed) {}

    void begin() override {
        steps_ = 0;
        for (unsigned i = 0; i < threads_; ++i)
            priorities_[i] = random_() | std::uint64_t{1} << 63;
        for (std::uint64_t& change : changes_)
            change = random_() % longest_;
    }
    const decision& choose(situation& now) override {
        const unsigned enabled = now.enabled();
        if (now.certain() == 0)
            return nothing_;
        unsigned best = static_cast<unsigned>(std::countr_zero(enabled));
        for (unsigned i = best; i < threads_; ++i) {
            if ((enabled & bit(i)) != 0 && priorities_[i] > priorities_[best])
                best = i;
        }
        for (std::size_t i = 0; i < changes_.size(); ++i) {
            if (changes_[i] == steps_)
                priorities_[best] = i; // below all that have not been changed
        }
        longest_ = std::max(longest_, ++steps_);
        const possibilities& all = now.of(best);
        const std::uint64_t drawn = random_();
        chosen_ = {best, drawn % 2 == 0 ? 0 : static_cast<unsigned>(drawn / 2 % all.variants.size()), all};
        return chosen_;
    }
    bool chance(luck) override { return random_() % 4 == 0; }
    void no_luck(luck) override {}
    void executed(const event&, const memory&, const situation&) override {}
    bool end() override { return --left_ != 0; }

private:
    const unsigned threads_;
    std::uint64_t left_;
    std::mt19937_64 random_;
    std::array<std::uint64_t, max_threads> priorities_{};
    std::array<std::uint64_t, 3> changes_{}; // steps after which a priority falls
    std::uint64_t steps_ = 0, longest_ = 1;
    const decision nothing_;
    decision chosen_;
};

constexpr char first_letter = 'a', last_letter = 'z'; // the last says that more follows

class replay_search final : public search {
public:
    explicit replay_search(const std::string& text) : text_(text) {}

    void begin() override { at_ = 0; }
    const decision& choose(situation& now) override {
        chosen_ = {};
        if (at_ == text_.size())
            return chosen_;
        const unsigned thread = static_cast<unsigned>(text_[at_] - '0');
        if (thread >= max_threads || (now.enabled() & bit(thread)) == 0)
            complain("no thread that can go on");
        ++at_;
        const possibilities& all = now.of(thread);
        const std::size_t variants = all.variants.size();
        unsigned chosen = 0;
        if (variants > 1) {
            while (at_ < text_.size() && text_[at_] == last_letter) {
                chosen += static_cast<unsigned>(last_letter - first_letter);
                ++at_;
            }
            if (at_ == text_.size() || text_[at_] < first_letter || text_[at_] >= last_letter)
                complain("no letter for what the operation does");
            chosen += static_cast<unsigned>(text_[at_++] - first_letter);
            if (chosen >= variants)
                complain("the operation has fewer ways to go");
        }
        chosen_ = {thread, chosen, all};
        return chosen_;
    }
    bool chance(luck) override {
        if (at_ == text_.size() || (text_[at_] != '+' && text_[at_] != '-'))
            complain("neither + nor - for a chance");
        return text_[at_++] == '+';
    }
    void no_luck(luck) override {}
    void executed(const event&, const memory&, const situation&) override {}
    bool end() override {
        if (at_ != text_.size())
            complain("the execution ends here");
        return false;
    }

private:
    [[noreturn]] void complain(const char* what) const {
        throw std::invalid_argument("choices: at character " + std::to_string(at_ + 1) + ": " + what);
    }

    std::string text_;
    std::size_t at_ = 0;
    decision chosen_;
};

} // namespace

void choices::add_step(unsigned thread, unsigned variant, std::size_t variants) {
    text_ += static_cast<char>('0' + thread);
    if (variants <= 1)
        return;
    constexpr unsigned step = last_letter - first_letter;
    for (; variant >= step; variant -= step)
        text_ += last_letter;
    text_ += static_cast<char>(first_letter + static_cast<char>(variant));
}

std::unique_ptr<search> every_execution(unsigned threads, const limits& bounds) {
    return std::make_unique<tree_search>(threads, bounds);
}
std::unique_ptr<search> random_executions(unsigned threads, const limits& bounds) {
    return std::make_unique<random_search>(threads, bounds);
}
std::unique_ptr<search> replayed(const std::string& choices) {
    return std::make_unique<replay_search>(choices);
}

} // namespace holdfast::model
