// The memory that the threads of an explored program share: atomics as C++20 defines them, and who may see what.
//
// For each atomic it keeps all stores in modification order. Operations come one after another, and each reads only
// stores that are there: no execution has load buffering. Otherwise it is the C++20 memory model: a load may
// read any store that nothing it knows of has overwritten; a store may come anywhere in modification order behind
// those that it knows; a read-modify-write comes right behind the store that it reads. Sequentially
// consistent operations and fences are ordered as they are executed, which is an order S that C++20 allows.
//
// What a thread knows are two vector clocks: what happened before, and what else is ordered before it, by way of seq_cst fences
// (which forbids values, but doesn't make plain accesses safe).
//
// The search (search.hpp) decides which of the possible things happens; this file says which are possible, and does them.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "model/explorer.hpp"

namespace holdfast::model {

using explorer::bits;

// Operations of each thread, counted from 1. `never` is later than all.
class clock {
public:
    using index = std::int16_t; // signed, as the machine's oldest vector instructions want it
    static constexpr index never = 0x7fff;

    static clock filled(index with) {
        clock c;
        c.of_.fill(with);
        return c;
    }
    index operator[](unsigned thread) const { return of_[thread]; }
    index& operator[](unsigned thread) { return of_[thread]; }
    void join(const clock& other) {
        for (unsigned i = 0; i < max_threads; ++i)
            of_[i] = std::max(of_[i], other.of_[i]);
    }
    // Whether all of the other's operations are among these.
    bool covers(const clock& other) const {
        bool all = true;
        for (unsigned i = 0; i < max_threads; ++i)
            all &= other.of_[i] <= of_[i];
        return all;
    }
    // Whether one of the other's operations is among these.
    bool meets(const clock& other) const {
        bool any = false;
        for (unsigned i = 0; i < max_threads; ++i)
            any |= other.of_[i] <= of_[i];
        return any;
    }

private:
    std::array<index, max_threads> of_{};
};

// What a thread knows, or learns from a store that it acquires.
struct knowledge {
    clock happened;
    clock ordered;           // at least what happened
    std::uint32_t fence = 0; // place in S of the latest seq_cst fence that happened before; 0: none

    void join(const knowledge& other) {
        happened.join(other.happened);
        ordered.join(other.ordered);
        fence = std::max(fence, other.fence);
    }
};

// Stores are numbered from 1 in the order in which they are made.
using store_id = std::uint32_t;
constexpr store_id no_store = 0;

struct store {
    static constexpr std::uint32_t not_in_s = ~0u;

    bits value;
    store_id older, newer;    // neighbours in modification order
    bool taken;               // a read-modify-write has read it, and comes right behind
    clock first_met;          // each thread's first operation that made or read it
    std::uint32_t first_in_s; // place in S of the first seq_cst operation that made or read it
    knowledge released;       // what who acquires it learns
};

// Plain data, and the life of an atomic: who has accessed it.
struct accesses {
    bool alive;
    std::uint8_t writer; // thread of the last write
    clock::index written;
    clock read; // each thread's last read
};

} // namespace holdfast::model

// The types behind the seam's handles.
namespace holdfast::model::explorer {

struct word {
    std::uint32_t number; // in the order of making
    store_id newest;      // in modification order
    store_id latest;      // made last
    accesses life;        // being made is a write, each operation a read
};

struct plain {
    accesses all;
};

} // namespace holdfast::model::explorer

namespace holdfast::model {

using explorer::plain;
using explorer::word;

constexpr bool acquires(std::memory_order o) {
    return o == std::memory_order_acquire || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}
constexpr bool releases(std::memory_order o) {
    return o == std::memory_order_release || o == std::memory_order_acq_rel || o == std::memory_order_seq_cst;
}

class memory {
public:
    // Empty, for an execution with so many threads. `thread` everywhere below is less than this.
    void begin(unsigned threads);

    // All that has been done is ordered before all that will be.
    void order_all();

    // Made by the thread, or, if `by_nobody`, as if before all threads.
    word* make_word(unsigned thread, bool by_nobody, bits value);
    plain* make_plain(unsigned thread, bool by_nobody);

    // Accesses to plain data and to an atomic's life. false: a data race (or a use that its making doesn't happen before).
    bool read(unsigned thread, accesses&) const;
    bool write(unsigned thread, accesses&) const;

    // Adds to the list the stores, newest first, that the thread may read with a seq_cst operation (or another), and behind which
    // it may store with one. `acquired`: as if it had acquired these first.
    void visible(unsigned thread, const word&, bool seq_cst, std::vector<store_id>& list,
                 std::span<const store_id> acquired = {}) const;

    // The next operation of the thread begins: what follows belongs to it.
    void begin_operation(unsigned thread, bool seq_cst);
    // Parts of the operation. `from` and `behind` are visible to it; the store behind which a read-modify-write comes is
    // the one that it has read.
    bits load(unsigned thread, store_id from, std::memory_order);
    store_id store_behind(unsigned thread, word&, store_id behind, bool read_modify_write, bits value,
                          std::memory_order);
    void fence(unsigned thread, std::memory_order);

    const store& operator[](store_id s) const { return stores_[s]; }
    // Whether a store is another, or comes after it in modification order. Of one atomic.
    bool at_or_after(store_id s, store_id other) const {
        while (s != other && s != no_store)
            s = stores_[s].older;
        return s == other;
    }
    store_id made() const { return static_cast<store_id>(stores_.size()); } // the number of the next store

private:
    struct thread_state {
        knowledge knows;
        knowledge fenced;  // at its last release fence
        knowledge to_come; // what an acquire fence would add
        clock::index operations = 0;
    };

    bool forbids_older(const thread_state&, const store&, bool seq_cst) const;
    void meet(unsigned thread, store&);

    unsigned count_ = 0;
    std::array<thread_state, max_threads> threads_;
    std::vector<store> stores_;
    std::deque<word> words_;
    std::deque<plain> plains_;
    std::size_t words_used_ = 0;
    std::size_t plains_used_ = 0;
    clock fenced_;        // what happened before any seq_cst fence so far
    std::uint32_t s_ = 0; // how far S has come
    bool in_s_ = false;   // the operation under way is seq_cst
};

} // namespace holdfast::model
