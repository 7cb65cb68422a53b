// The tree of intervals against a list of them.
#include <algorithm>
#include <cstdint>
#include <list>
#include <vector>

#include <gtest/gtest.h>

#include "sim/data_files.hpp"
#include "sim/machine_file.hpp"
#include "sim/random.hpp"
#include "sim/world.hpp"
#include "workload/interval_tree.hpp"
#include "workload/native_world.hpp"

namespace holdfast {
namespace {

struct interval {
    std::uint64_t begin;
    std::uint64_t last;
};

// Inserts, erases and asks at random, and compares each answer with a list's. Gives the largest size there was.
template <class W>
std::uint64_t compare_with_a_list(std::uint64_t range, int operations) {
    using tree = interval_tree<W>;
    using node = typename tree::node;
    struct entry {
        node* at;
        interval what;
    };
    tree& t = W::template make<tree>();
    std::vector<entry> inside;
    std::vector<node*> spare;
    std::uint64_t most = 0;
    for (int i = 0; i < operations; ++i) {
        const std::uint64_t begin = W::random().below(range);
        const std::uint64_t last = begin + W::random().below(range / 8 + 1);
        const std::uint64_t what = W::random().below(10);
        if (what < 5) {
            if (spare.empty())
                spare.push_back(&W::template make<node>(W::random().below(std::uint64_t{1} << 32)));
            inside.push_back({spare.back(), {begin, last}});
            spare.pop_back();
            t.insert(*inside.back().at, begin, last);
        } else if (what < 9 && !inside.empty()) {
            std::swap(inside[W::random().below(inside.size())], inside.back());
            t.erase(*inside.back().at);
            spare.push_back(inside.back().at);
            inside.pop_back();
        }
        const bool expected = std::any_of(inside.begin(), inside.end(), [&](const entry& e) {
            return e.what.begin <= last && e.what.last >= begin;
        });
        if (t.contains_overlap(begin, last) != expected)
            ADD_FAILURE() << "[" << begin << ", " << last << "] after " << i << " operations";
        EXPECT_EQ(t.size(), inside.size());
        most = std::max(most, t.size());
    }
    for (const entry& e : inside)
        t.erase(*e.at);
    EXPECT_EQ(t.size(), 0u);
    EXPECT_FALSE(t.contains_overlap(0, ~std::uint64_t{0}));
    return most;
}

TEST(interval_tree, answers_as_a_list_does) {
    for (const std::uint64_t range : {1u, 8u, 100u, 100'000u}) {
        for (const std::uint64_t seed : {1u, 2u, 3u})
            native_world::run(seed, [&] { EXPECT_GT(compare_with_a_list<native_world>(range, 3'000), 50u); });
    }
}

TEST(interval_tree, is_the_same_on_a_simulated_machine) {
    const sim::machine m = sim::read_machine(data_file("machines", "tiny"));
    sim::run({&m, 1, 0}, [] { compare_with_a_list<sim::world>(50, 2'000); });
}

// How many memory operations an insertion and an erasure take, in a tree of so many equal intervals.
double operations_at(std::uint64_t size) {
    const sim::machine m = sim::read_machine(data_file("machines", "tiny"));
    constexpr std::uint64_t rounds = 100;
    const auto operations = [&](std::uint64_t repeated) {
        return sim::run({&m, 1, 0},
                        [&] {
                            using tree = interval_tree<sim::world>;
                            const auto new_node = [] {
                                return &sim::world::make<tree::node>(
                                    sim::world::random().below(std::uint64_t{1} << 32));
                            };
                            tree& t = sim::world::make<tree>();
                            std::list<tree::node*> nodes;
                            for (std::uint64_t i = 0; i < size; ++i) {
                                nodes.push_back(new_node());
                                t.insert(*nodes.back(), 0, 9);
                            }
                            for (std::uint64_t i = 0; i < repeated; ++i) {
                                t.erase(*nodes.front());
                                t.insert(*nodes.front(), 0, 9);
                                nodes.splice(nodes.end(), nodes, nodes.begin());
                            }
                        })
            .memory_operations;
    };
    return static_cast<double>(operations(rounds) - operations(0)) / rounds;
}

TEST(interval_tree, is_as_deep_as_a_tree) {
    const double small = operations_at(100);
    EXPECT_LT(operations_at(10'000), 3 * small);
}

} // namespace
} // namespace holdfast
