// What the explorer shows of the C++ memory model, beside what C++20 allows.
//
// Each classic litmus test has one outcome that is in question. The test explores it and says whether any
// execution showed it; it must be exactly those that C++20 allows, but for load buffering.
#include <cstdio>
#include <string>

#include "model/checking.hpp"

namespace {

using namespace holdfast::model;
using std::memory_order;

constexpr memory_order relaxed = std::memory_order_relaxed;
constexpr memory_order acquire = std::memory_order_acquire;
constexpr memory_order release = std::memory_order_release;
constexpr memory_order acq_rel = std::memory_order_acq_rel;
constexpr memory_order seq_cst = std::memory_order_seq_cst;

// The orders of a test's loads and stores: relaxed, acquire and release, or sequentially consistent.
struct orders {
    memory_order load;
    memory_order store;
};
constexpr orders rlx{relaxed, relaxed};
constexpr orders ar{acquire, release};
constexpr orders sc{seq_cst, seq_cst};

// Words and results of a test. `seen` is asked at the end of each execution.
struct test {
    platform::atomic<int> x{0}, y{0};
    platform::var<int> r[4]; // thread after thread; a test writes each at most once

    void load(unsigned to, const platform::atomic<int>& from, memory_order order) {
        r[to].set(from.load(order));
    }
    bool read(int r0, int r1) { return r[0].get() == r0 && r[1].get() == r1; }
};

// Store buffering: may both miss the other's store?
template <orders O>
struct sb : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        (me == 0 ? x : y).store(1, O.store);
        load(me, me == 0 ? y : x, O.load);
    }
    bool seen() { return read(0, 0); }
};

struct sb_fences : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        (me == 0 ? x : y).store(1, relaxed);
        platform::fence(seq_cst);
        load(me, me == 0 ? y : x, relaxed);
    }
    bool seen() { return read(0, 0); }
};

// One side with seq_cst operations, the other with relaxed ones around a seq_cst fence.
struct sb_mixed : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        (me == 0 ? x : y).store(1, me == 0 ? seq_cst : relaxed);
        if (me == 1)
            platform::fence(seq_cst);
        load(me, me == 0 ? y : x, me == 0 ? seq_cst : relaxed);
    }
    bool seen() { return read(0, 0); }
};

struct sb_exchanges : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        (me == 0 ? x : y).exchange(1, seq_cst);
        load(me, me == 0 ? y : x, relaxed);
    }
    bool seen() { return read(0, 0); }
};

// Message passing: may the flag be seen before the message?
template <orders O>
struct mp : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, relaxed);
            y.store(1, O.store);
        } else {
            load(0, y, O.load);
            load(1, x, relaxed);
        }
    }
    bool seen() { return read(1, 0); }
};

struct mp_fences : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, relaxed);
            platform::fence(release);
            y.store(1, relaxed);
        } else {
            load(0, y, relaxed);
            platform::fence(acquire);
            load(1, x, relaxed);
        }
    }
    bool seen() { return read(1, 0); }
};

// Message passing where a store by the same thread follows the release store: no release sequence since
// C++20.
struct mp_same_thread_store : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, relaxed);
            y.store(1, release);
            y.store(2, relaxed);
        } else {
            load(0, y, acquire);
            load(1, x, relaxed);
        }
    }
    bool seen() { return read(2, 0); }
};

// The same with a read-modify-write, which continues the release sequence.
struct mp_other_thread_rmw : test {
    static constexpr unsigned threads = 3;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, relaxed);
            y.store(1, release);
        } else if (me == 1) {
            y.fetch_add(1, relaxed);
        } else {
            load(0, y, acquire);
            load(1, x, relaxed);
        }
    }
    bool seen() { return read(2, 0); }
};

// Load buffering: may both read what the other stores later?
template <orders O>
struct lb : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        load(me, me == 0 ? x : y, O.load);
        (me == 0 ? y : x).store(1, O.store);
    }
    bool seen() { return read(1, 1); }
};

// Independent reads of independent writes: may two readers see two stores in different orders?
template <orders O>
struct iriw : test {
    static constexpr unsigned threads = 4;
    void thread(unsigned me) {
        if (me < 2) {
            (me == 0 ? x : y).store(1, O.store);
        } else {
            load(2 * (me - 2), me == 2 ? x : y, O.load);
            load(2 * (me - 2) + 1, me == 2 ? y : x, O.load);
        }
    }
    bool seen() { return read(1, 0) && r[2].get() == 1 && r[3].get() == 0; }
};

// Two pairs of stores, crossed: may the first store of each thread win?
template <orders O>
struct two_plus_two_w : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        (me == 0 ? x : y).store(1, O.store);
        (me == 0 ? y : x).store(2, O.store);
    }
    bool seen() { return x.load(relaxed) == 1 && y.load(relaxed) == 1; }
};

// A store caused by another: may it nevertheless be the earlier one?
template <orders O>
struct s : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(2, relaxed);
            y.store(1, O.store);
        } else {
            load(0, y, O.load);
            x.store(1, relaxed);
        }
    }
    bool seen() { return r[0].get() == 1 && x.load(relaxed) == 2; }
};

// A store that loses to another, and a load behind it: may the load miss the store before the other?
template <orders O>
struct r : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, O.store);
            y.store(1, O.store);
        } else {
            y.store(2, O.store);
            load(0, x, O.load);
        }
    }
    bool seen() { return y.load(relaxed) == 2 && test::r[0].get() == 0; }
};

// Two loads of one word: may the second be older?
struct corr : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, relaxed);
        } else {
            load(0, x, relaxed);
            load(1, x, relaxed);
        }
    }
    bool seen() { return read(1, 0); }
};

// Write to read causality: message passing through a third thread.
template <orders O>
struct wrc : test {
    static constexpr unsigned threads = 3;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, O.store);
        } else if (me == 1) {
            load(0, x, O.load);
            y.store(1, O.store);
        } else {
            load(1, y, O.load);
            load(2, x, relaxed);
        }
    }
    bool seen() { return read(1, 1) && test::r[2].get() == 0; }
};

// A load of a word that was stored to five times: may it still read the first value?
struct stale : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            for (int i = 1; i <= 5; ++i)
                x.store(i, relaxed);
            y.store(1, relaxed);
        } else {
            load(0, y, relaxed);
            load(1, x, relaxed);
        }
    }
    bool seen() { return read(1, 0); }
};

// A compare-exchange that would succeed on the newest value: may it fail for having read an older one?
struct cas_fails_on_old : test {
    static constexpr unsigned threads = 2;
    void thread(unsigned me) {
        if (me == 0) {
            x.store(1, relaxed);
            y.store(1, relaxed);
        } else {
            load(0, y, relaxed);
            int expected = 1;
            r[1].set(x.compare_exchange_strong(expected, 2, acq_rel, relaxed));
        }
    }
    bool seen() { return read(1, 0); }
};

// One row of the table: explored, printed and compared. Exact is: seen if and only if C++20 allows it.
template <class Test>
bool row(const char* name, const char* orders_of_it, bool allowed, bool load_buffering = false) {
    static bool seen; // of the run under way
    struct asked : Test {
        void end() { seen = seen || Test::seen(); }
    };
    seen = false;
    program_of<asked> what;
    const outcome result = explore(what, limits{});
    const bool right = seen == (allowed && !load_buffering) && result.complete && result.failure.empty();
    std::printf("%-28s %-16s %-9s  %-5s %8llu%s\n", name, orders_of_it, allowed ? "allowed" : "forbidden",
                seen ? "seen" : "never", static_cast<unsigned long long>(result.executions),
                right ? "" : "   NOT AS KNOWN");
    return right;
}

} // namespace

int main() {
    std::printf("%-28s %-16s %-9s  %-5s %s\n", "test", "orders", "C++20", "explorer", "executions");
    bool good = true;
    good &= row<sb<rlx>>("SB", "relaxed", true);
    good &= row<sb<ar>>("SB", "acquire/release", true);
    good &= row<sb<sc>>("SB", "seq_cst", false);
    good &= row<sb_fences>("SB", "seq_cst fences", false);
    good &= row<sb_exchanges>("SB, exchanges and loads", "seq_cst, relaxed", true);
    good &= row<sb_mixed>("SB, operations and fence", "seq_cst", false);
    good &= row<mp<rlx>>("MP", "relaxed", true);
    good &= row<mp<ar>>("MP", "acquire/release", false);
    good &= row<mp<sc>>("MP", "seq_cst", false);
    good &= row<mp_fences>("MP", "fences", false);
    good &= row<mp_same_thread_store>("MP, store after release", "acquire/release", true);
    good &= row<mp_other_thread_rmw>("MP, rmw after release", "acquire/release", false);
    good &= row<lb<rlx>>("LB", "relaxed", true, true);
    good &= row<lb<ar>>("LB", "acquire/release", false);
    good &= row<lb<sc>>("LB", "seq_cst", false);
    good &= row<iriw<rlx>>("IRIW", "relaxed", true);
    good &= row<iriw<ar>>("IRIW", "acquire/release", true);
    good &= row<iriw<sc>>("IRIW", "seq_cst", false);
    good &= row<two_plus_two_w<rlx>>("2+2W", "relaxed", true);
    good &= row<two_plus_two_w<ar>>("2+2W", "acquire/release", true);
    good &= row<two_plus_two_w<sc>>("2+2W", "seq_cst", false);
    good &= row<s<rlx>>("S", "relaxed", true);
    good &= row<s<ar>>("S", "acquire/release", false);
    good &= row<s<sc>>("S", "seq_cst", false);
    good &= row<r<rlx>>("R", "relaxed", true);
    good &= row<r<ar>>("R", "acquire/release", true);
    good &= row<r<sc>>("R", "seq_cst", false);
    good &= row<corr>("CoRR", "relaxed", false);
    good &= row<wrc<rlx>>("WRC", "relaxed", true);
    good &= row<wrc<ar>>("WRC", "acquire/release", false);
    good &= row<wrc<sc>>("WRC", "seq_cst", false);
    good &= row<stale>("six values deep", "relaxed", true);
    good &= row<cas_fails_on_old>("CAS fails on an old value", "relaxed", true);
    return good ? 0 : 1;
}
