// The explorer leaves nothing out: random small programs end with the same results whether every order of their operations is
// run, or only those that somebody could tell apart, or, by way of states met before, all within a bound that bounds nothing.
//
//     reduction_model [PROGRAMS [FIRST_SEED]]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "small_programs.hpp"

namespace {

using namespace holdfast::model;

struct explored {
    bool stuck = false; // ends in a deadlock
    bool whole = true;
    std::set<std::string> results;
};

explored explore_with(const small_program& p, limits bounds, std::uint64_t& executions) {
    bounds.allowed = p.allowed;
    bounds.executions = 60'000; // some have millions of orders
    running_program running(p);
    const outcome o = explore(running, bounds);
    executions += o.executions;
    return {!o.failure.empty(), o.complete || !o.failure.empty(), std::move(running.results)};
}

// Whether one has what the other has. An exploration ends at its first deadlock, so then that is all that can be compared.
bool alike(const explored& a, const explored& b) {
    return a.stuck == b.stuck && (a.stuck || a.results == b.results);
}

void print_missing(const char* from, const explored& all, const explored& some) {
    std::printf("    %s: %zu results of %zu%s\n", from, some.results.size(), all.results.size(),
                all.stuck != some.stuck ? all.stuck ? ", no deadlock" : ", and a deadlock" : "");
    for (const std::string& r : all.results) {
        if (!some.results.contains(r)) {
            std::printf("    missing: %s\n", r.c_str());
            return;
        }
    }
}

} // namespace

int main(int argc, char** argv) {
    const std::uint64_t count = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 500;
    const std::uint64_t first = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
    std::uint64_t orders = 0, reduced_executions = 0, bounded_executions = 0, compared = 0, stuck = 0;
    for (std::uint64_t seed = first; seed < first + count; ++seed) {
        const small_program p = small_program::drawn(seed);
        const explored all = explore_with(p, {.reduce = false}, orders);
        if (!all.whole)
            continue;
        const explored reduced = explore_with(p, {}, reduced_executions);
        const explored bounded = explore_with(p, {.preemptions = 100, .old_values = 100}, bounded_executions);
        ++compared;
        stuck += all.stuck;
        if (!alike(all, reduced) || !alike(all, bounded)) {
            std::printf("program %llu differs:\n%s", static_cast<unsigned long long>(seed), p.text().c_str());
            print_missing("reduced", all, reduced);
            print_missing("bounded", all, bounded);
            return 1;
        }
    }
    const auto number = [](std::uint64_t n) { return static_cast<unsigned long long>(n); };
    std::printf("%llu programs alike (%llu of them deadlock; %llu more had too many orders): %llu executions "
                "in every order, "
                "%llu reduced, %llu by states\n",
                number(compared), number(stuck), number(count - compared), number(orders),
                number(reduced_executions), number(bounded_executions));
    return compared == 0;
}
