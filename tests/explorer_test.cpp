// The explorer's seam: what an outcome says, what a bound, a mutation and a replay do. What it sees of the memory model is for
// litmus_model, and whether it leaves something out for reduction_model.
#include "model/explorer.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <new>
#include <set>
#include <stdexcept>
#include <vector>

#include "model/platform.hpp"

namespace holdfast::model {
namespace {

// Two words and a variable, made anew for each execution, and what each thread does with them.
struct shared {
    platform::atomic<unsigned> x{0}, y{0};
    platform::var<unsigned> data{0};
};
using body = std::function<void(shared&)>;

class small final : public program {
public:
    explicit small(std::vector<body> threads, body end = {})
        : threads_(std::move(threads)), end_(std::move(end)) {}

    unsigned threads() const override { return static_cast<unsigned>(threads_.size()); }
    void begin() override { shared_ = new (room_) shared; }
    void thread(unsigned index) override { threads_[index](*shared_); }
    void end() override {
        if (end_)
            end_(*shared_);
        shared_->~shared();
    }

private:
    std::vector<body> threads_;
    body end_;
    alignas(shared) std::byte room_[sizeof(shared)];
    shared* shared_ = nullptr;
};

constexpr auto relaxed = std::memory_order_relaxed;
constexpr auto acquire = std::memory_order_acquire;
constexpr auto release = std::memory_order_release;

TEST(explorer, counts_executions_that_differ) {
    small one({[](shared& s) { s.x.store(1, relaxed); }});
    EXPECT_EQ(explore(one, {}).executions, 1U);
    // Both may read 0, either may read the other's, and both may.
    small store_buffering({[](shared& s) {
                               s.x.store(1, relaxed);
                               s.y.load(relaxed);
                           },
                           [](shared& s) {
                               s.y.store(1, relaxed);
                               s.x.load(relaxed);
                           }});
    const outcome o = explore(store_buffering, {});
    EXPECT_EQ(o.executions, 4U);
    EXPECT_TRUE(o.complete);
    EXPECT_TRUE(o.failure.empty());
    EXPECT_TRUE(o.trace.empty());
}

TEST(explorer, inserts_a_store_before_one_that_was_made_earlier) {
    std::set<unsigned> last;
    small p({[](shared& s) { s.x.store(1, relaxed); }, [](shared& s) { s.x.store(2, relaxed); }},
            [&last](shared& s) { last.insert(s.x.load(relaxed)); });
    EXPECT_EQ(explore(p, {}).executions, 2U);
    EXPECT_EQ(last, (std::set<unsigned>{1, 2}));
}

TEST(explorer, shows_a_data_race_step_by_step_and_again) {
    small p({[](shared& s) {
                 s.data.set(1);
                 s.x.store(1, relaxed);
             },
             [](shared& s) {
                 if (s.x.load(acquire) == 1)
                     s.data.get();
             }});
    const outcome o = explore(p, {});
    EXPECT_EQ(o.failure, "data race");
    EXPECT_NE(o.failed_at.line, 0U);
    ASSERT_FALSE(o.trace.empty());
    EXPECT_EQ(o.trace.back().what, "fails: data race");
    EXPECT_EQ(o.trace.back().thread, 1U);

    const outcome again = replay(p, {}, o.choices);
    EXPECT_EQ(again.failure, o.failure);
    ASSERT_EQ(again.trace.size(), o.trace.size());
    for (std::size_t i = 0; i < o.trace.size(); ++i)
        EXPECT_EQ(again.trace[i].what, o.trace[i].what);
}

TEST(explorer, says_where_choices_do_not_fit) {
    small p({[](shared& s) { s.x.store(1, relaxed); }, [](shared& s) { s.x.load(relaxed); }});
    for (const char* wrong : {"7", "00x", "0011z", "0011"}) {
        try {
            static_cast<void>(replay(p, {}, wrong));
            ADD_FAILURE() << wrong;
        } catch (const std::invalid_argument& e) {
            EXPECT_NE(std::string(e.what()).find("at character"), std::string::npos) << e.what();
        }
    }
    EXPECT_TRUE(replay(p, {}, "0011a").failure.empty());
}

TEST(explorer, takes_a_wait_that_never_ends_for_a_deadlock) {
    const auto waits = [](shared& s) {
        platform::await(
            acquire, [](unsigned v) { return v == 1; }, s.x);
    };
    small p({waits, [](shared& s) { s.x.store(2, release); }});
    EXPECT_EQ(explore(p, {}).failure, "deadlock");
    // A state that doesn't stay may be missed.
    small passing({waits, [](shared& s) {
                       s.x.store(1, release);
                       s.x.store(2, release);
                   }});
    EXPECT_EQ(explore(passing, {}).failure, "deadlock");
    small staying({waits, [](shared& s) { s.x.store(1, release); }});
    EXPECT_TRUE(explore(staying, {}).complete);
}

TEST(explorer, does_not_count_on_luck) {
    small p({[](shared&) {
                 const auto limit = platform::deadline::after(std::chrono::nanoseconds(1));
                 static_cast<void>(platform::park(limit));
             },
             [](shared& s) { s.x.store(1, relaxed); }});
    EXPECT_EQ(explore(p, {.allowed = {.time_out = 1}}).failure, "deadlock");
    EXPECT_TRUE(explore(p, {.allowed = {.time_out = chances::always}}).complete);
}

TEST(explorer, uses_up_chances) {
    std::set<std::pair<bool, bool>> seen;
    bool first = false, second = false;
    small p({[&first](shared&) { first = platform::need_resched(); },
             [&second](shared&) { second = platform::need_resched(); }},
            [&](shared&) { seen.emplace(first, second); });
    EXPECT_TRUE(explore(p, {.allowed = {.resched = 1}}).complete);
    EXPECT_EQ(seen, (std::set<std::pair<bool, bool>>{{false, false}, {false, true}, {true, false}}));
}

TEST(explorer, changes_an_operation_by_its_place) {
    constexpr place here = place::here();
    const site store{operation::store, here, release, relaxed};
    small p({[&](shared& s) {
                 s.data.set(1);
                 s.x.store(1, ordered(release, here));
             },
             [](shared& s) {
                 if (s.x.load(acquire) == 1)
                     s.data.get();
             }});
    EXPECT_TRUE(explore(p, {}).failure.empty());
    EXPECT_EQ(explore(p, {}, {.how = change::drop_release, .where = store}).failure, "data race");
    EXPECT_EQ(explore(p, {}, {.how = change::drop_write, .where = store}).executions, 1U);
}

TEST(explorer, gives_up_where_it_is_told_to) {
    const auto many = [](shared& s) {
        for (int i = 0; i < 6; ++i)
            s.x.fetch_add(1, relaxed);
    };
    small p({many, many, many});
    const outcome few = explore(p, {.executions = 100});
    EXPECT_EQ(few.executions, 100U);
    EXPECT_FALSE(few.complete);
    EXPECT_FALSE(explore(p, {.executions = 1'000'000'000, .seconds = 0.05}).complete);
    EXPECT_TRUE(explore(p, {.preemptions = 1}).complete);
    EXPECT_EQ(explore(p, {.steps = 10}).failure, "livelock: an execution of too many steps");
}

TEST(explorer, runs_by_chance_the_same_for_the_same_seed) {
    const auto twice = [](shared& s) {
        const unsigned before = s.x.load(relaxed);
        s.x.store(before + 1, relaxed);
    };
    small p({twice, twice, twice}, [](shared& s) { check(s.x.load(relaxed) == 3, "an update was lost"); });
    const outcome o = explore(p, {.random = 1000, .seed = 7});
    EXPECT_EQ(o.failure, "an update was lost");
    EXPECT_EQ(explore(p, {.random = 1000, .seed = 7}).choices, o.choices);
    EXPECT_EQ(replay(p, {}, o.choices).failure, o.failure);
}

TEST(explorer, reports_a_crash_as_a_failure) {
    small p({[](shared& s) {
        unsigned* volatile nowhere = reinterpret_cast<unsigned*>(std::uintptr_t{64});
        if (s.x.load(relaxed) == 0)
            *nowhere = 1;
    }});
    EXPECT_EQ(explore(p, {}).failure, "crash: an address that isn't there");
}

TEST(explorer, wants_threads_that_it_can_run) {
    small none({});
    EXPECT_THROW(explore(none, {}), std::invalid_argument);
    small many(std::vector<body>(max_threads + 1, [](shared&) {}));
    EXPECT_THROW(explore(many, {}), std::invalid_argument);
    small most(std::vector<body>(max_threads, [](shared& s) { s.data.get(); }));
    EXPECT_EQ(explore(most, {}).executions, 1U);
}

} // namespace
} // namespace holdfast::model
