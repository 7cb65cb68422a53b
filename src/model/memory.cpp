// The memory model: see memory.hpp. Paragraph numbers are those of [atomics.order] in C++20.
#include "model/memory.hpp"

namespace holdfast::model {

void memory::begin(unsigned threads) {
    count_ = threads;
    threads_.fill({});
    stores_.clear();
    stores_.emplace_back(); // no_store
    words_used_ = plains_used_ = 0;
    fenced_ = {};
    s_ = 0;
}

void memory::order_all() {
    knowledge all;
    for (unsigned i = 0; i < count_; ++i) {
        all.join(threads_[i].knows);
        all.happened[i] = all.ordered[i] = ++threads_[i].operations;
    }
    for (unsigned i = 0; i < count_; ++i)
        threads_[i].knows = all;
}

word* memory::make_word(unsigned by, bool by_nobody, bits value) {
    if (words_used_ == words_.size())
        words_.emplace_back();
    word& w = words_[words_used_];
    const clock::index at =
        by_nobody ? clock::index{0} : static_cast<clock::index>(threads_[by].operations + 1);
    w = {static_cast<std::uint32_t>(words_used_++),
         made(),
         made(),
         {true, static_cast<std::uint8_t>(by), at, {}}};
    store& first = stores_.emplace_back();
    first = {value, no_store, no_store, false, clock::filled(clock::never), store::not_in_s, {}};
    first.first_met[by] = at;
    return &w;
}

plain* memory::make_plain(unsigned by, bool by_nobody) {
    if (plains_used_ == plains_.size())
        plains_.emplace_back();
    plain& p = plains_[plains_used_++];
    const clock::index at =
        by_nobody ? clock::index{0} : static_cast<clock::index>(threads_[by].operations + 1);
    p = {{true, static_cast<std::uint8_t>(by), at, {}}};
    return &p;
}

// An access outside an operation is after the thread's last operation and before its next: a clock that holds the last
// does not hold the access.
bool memory::read(unsigned by, accesses& a) const {
    const thread_state& t = threads_[by];
    a.read[by] = static_cast<clock::index>(t.operations + 1);
    return a.writer == by || a.written <= t.knows.happened[a.writer];
}

bool memory::write(unsigned by, accesses& a) const {
    const thread_state& t = threads_[by];
    bool ordered = a.writer == by || a.written <= t.knows.happened[a.writer];
    a.read[by] = 0;
    ordered = ordered && t.knows.happened.covers(a.read);
    a.writer = static_cast<std::uint8_t>(by);
    a.written = static_cast<clock::index>(t.operations + 1);
    return ordered;
}

// Whether the thread, in the operation that it is about to do, may not read what is older than this store, nor store before it.
bool memory::forbids_older(const thread_state& t, const store& s, bool seq_cst) const {
    return t.knows.ordered.meets(s.first_met)               // coherence; and 4.4: both sides have a fence
           || s.first_in_s < t.knows.fence                  // 4.3: a fence on this side
           || (seq_cst && (s.first_in_s != store::not_in_s  // 4.1: no fence
                           || fenced_.meets(s.first_met))); // 4.2: a fence on the other side
}

void memory::visible(unsigned by, const word& w, bool seq_cst, std::vector<store_id>& list,
                     std::span<const store_id> acquired) const {
    thread_state t = threads_[by];
    t.knows.ordered[by] = static_cast<clock::index>(t.operations + 1); // what it has just made itself
    for (const store_id a : acquired)
        t.knows.join(stores_[a].released);
    for (store_id s = w.newest; s != no_store; s = stores_[s].older) {
        list.push_back(s);
        if (forbids_older(t, stores_[s], seq_cst))
            return;
    }
}

void memory::begin_operation(unsigned by, bool seq_cst) {
    thread_state& t = threads_[by];
    t.knows.happened[by] = t.knows.ordered[by] = ++t.operations;
    in_s_ = seq_cst;
    if (seq_cst)
        ++s_;
}

void memory::meet(unsigned by, store& s) {
    s.first_met[by] = std::min(s.first_met[by], threads_[by].operations);
    if (in_s_)
        s.first_in_s = std::min(s.first_in_s, s_);
}

bits memory::load(unsigned by, store_id from, std::memory_order order) {
    thread_state& t = threads_[by];
    store& s = stores_[from];
    meet(by, s);
    (acquires(order) ? t.knows : t.to_come).join(s.released);
    return s.value;
}

store_id memory::store_behind(unsigned by, word& w, store_id behind, bool read_modify_write, bits value,
                              std::memory_order order) {
    const thread_state& t = threads_[by];
    const store_id made_now = made();
    store& s = stores_.emplace_back();
    store& older = stores_[behind];
    s = {value,
         behind,
         older.newer,
         false,
         clock::filled(clock::never),
         store::not_in_s,
         releases(order) ? t.knows : t.fenced};
    if (read_modify_write) {
        s.released.join(older.released); // a release sequence goes on
        older.taken = true;
    }
    meet(by, s);
    if (s.newer != no_store)
        stores_[s.newer].older = made_now;
    else
        w.newest = made_now;
    older.newer = made_now;
    w.latest = made_now;
    return made_now;
}

void memory::fence(unsigned by, std::memory_order order) {
    thread_state& t = threads_[by];
    if (acquires(order))
        t.knows.join(t.to_come);
    if (order == std::memory_order_seq_cst) {
        t.knows.ordered.join(fenced_);
        t.knows.fence = s_;
        fenced_.join(t.knows.happened);
    }
    if (releases(order))
        t.fenced = t.knows;
}

} // namespace holdfast::model
