// The programs by which ours and relacy's explorer are held against each other, explored by whichever is linked.
//
// Litmus tests and drawn programs are compared by their results; scenarios of locks, which have none, by how many
// executions they take.
#pragma once

#include <set>
#include <string>

#include "../model/drawn_program.hpp"
#include "litmus_tests.hpp"
#include "lock_scenarios.hpp"

namespace holdfast::model {

struct explored {
    std::uint64_t executions;
    bool fails;
    bool complete;
    std::set<small_program::result> results; // of a small program
};

// Calls each(name, explored, program, beyond) for each: the program is null if it is not a small one; `beyond` as of a litmus test.
template <class Each>
void for_each_program(unsigned long long drawn, unsigned long long first_seed, Each each) {
    constexpr std::uint64_t at_most = 300'000;
    const auto explore_small = [&each](const std::string& name, small_program& p, bool beyond) {
        const outcome o = explore(p, {.allowed = p.allowed(), .executions = at_most});
        each(name, explored{o.executions, !o.failure.empty(), o.complete, p.results()}, &p, beyond);
    };
    for (const litmus_test& test : litmus_tests()) {
        small_program p(test.threads);
        explore_small(test.name, p, test.beyond);
    }
    for (unsigned long long seed = first_seed; seed != first_seed + drawn; ++seed) {
        const drawn_program d(seed, {.mixed_seq_cst = false}); // see held_against_relacy.cpp
        small_program p(d.threads(), d.allowed());
        explore_small("seed " + std::to_string(seed), p, false);
    }
    for_each_lock_scenario([&each](const std::string& name, program& p) {
        const outcome o = explore(p, {.executions = at_most});
        each(name, explored{o.executions, !o.failure.empty(), o.complete, {}},
             static_cast<const small_program*>(nullptr), false);
    });
}

} // namespace holdfast::model
