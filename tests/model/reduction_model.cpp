// Whether the explorer's reduction loses anything: small programs drawn from seeds, each explored in three ways.
//
// Every order of operations for itself; reduced; and within bounds so wide that they bound nothing. All three must show the same
// results, or all find a failure. Where there are too many orders, those that were run say what must not be missing.
//
// usage: reduction_model [PROGRAMS [FIRST_SEED]]
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "drawn_program.hpp"

namespace {

using namespace holdfast::model;

struct way {
    const char* name;
    limits bounds;
    unsigned long long executions = 0;
};

struct explored {
    std::set<small_program::result> results;
    bool complete;
    std::string failure;
};

explored explore_by(way& by, small_program& p) {
    by.bounds.allowed = p.allowed();
    p.clear();
    const outcome o = explore(p, by.bounds);
    by.executions += o.executions;
    return {p.results(), o.complete, o.failure};
}

// Prints what is shown by the one and not by the other.
void print_missing(const small_program& p, const explored& shown, const explored& by, const char* name) {
    std::vector<small_program::result> missing;
    std::set_difference(shown.results.begin(), shown.results.end(), by.results.begin(), by.results.end(),
                        std::back_inserter(missing));
    for (const small_program::result& r : missing)
        std::printf("    not shown %s: %s\n", name, p.text(r).c_str());
}

// Whether the way shows all that the orders that were run have shown, and nothing else if those were all.
bool agree(const explored& all, const explored& other) {
    if (!all.failure.empty())
        return !other.failure.empty();
    if (all.complete)
        return other.failure.empty() && all.results == other.results;
    return !other.failure.empty() ||
           std::includes(other.results.begin(), other.results.end(), all.results.begin(), all.results.end());
}

} // namespace

int main(int argc, char** argv) {
    const unsigned long long programs = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 500;
    const unsigned long long first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;

    way orders{"in every order", {.executions = 20'000, .reduce = false}};
    way others[] = {{"reduced", {.executions = 1'000'000}},
                    {"within wide bounds", {.preemptions = 50, .old_values = 50, .executions = 1'000'000}}};
    unsigned long long failing = 0, partly = 0, different = 0;
    for (unsigned long long seed = first; seed != first + programs; ++seed) {
        const drawn_program drawn(seed);
        small_program p(drawn.threads(), drawn.allowed());
        const explored all = explore_by(orders, p);
        failing += all.failure.empty() ? 0 : 1;
        partly += all.complete || !all.failure.empty() ? 0 : 1;
        bool same = true;
        for (way& w : others) {
            const explored other = explore_by(w, p);
            if ((other.complete || !other.failure.empty()) && agree(all, other))
                continue;
            if (std::exchange(same, false))
                std::printf("seed %llu\n%s", seed, p.text().c_str());
            std::printf("    in every order: %s; %s: %s\n", all.failure.c_str(), w.name,
                        other.failure.empty() && !other.complete ? "too many executions"
                                                                 : other.failure.c_str());
            print_missing(p, all, other, w.name);
            print_missing(p, other, all, orders.name);
        }
        different += same ? 0 : 1;
    }

    std::printf("%llu programs from seed %llu on: %llu fail, %llu in a part of their orders\n", programs,
                first, failing, partly);
    std::printf("%12llu executions %s\n", orders.executions, orders.name);
    for (const way& w : others)
        std::printf("%12llu executions %s\n", w.executions, w.name);
    std::printf("%llu differ\n", different);
    return different == 0 ? 0 : 1;
}
