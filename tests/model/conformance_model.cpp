// The model keeps the contract for locks: the suite that native and sim run, in every order.
#include "../conformance.hpp"

#include <cstdio>

#include "model/checking.hpp"

namespace holdfast::model {
namespace {

// A scenario of the conformance suite as one of ours.
template <class Scenario>
struct conforming : Scenario {
    void end() { check(this->ok(), "not as the contract says"); }
};

// The list of scenarios, as a list can be: a template over them.
template <class... Scenario>
struct all {
    static bool hold() {
        bool good = true;
        ((good = holds<Scenario>() && good), ...);
        return good;
    }
    template <class One>
    static bool holds() {
        program_of<conforming<One>> p;
        const outcome result = explore(
            p,
            {.allowed = {.resched = 1, .off_cpu = 1, .time_out = 1, .spurious_wake = 1, .weak_failure = 1}});
        std::printf("%6llu executions  %s %s\n", static_cast<unsigned long long>(result.executions),
                    One::name, result.failure.c_str());
        return result.complete;
    }
};

} // namespace
} // namespace holdfast::model

int main() {
    using namespace holdfast;
    return conformance::lock_scenarios<model::platform, model::all>::hold() ? 0 : 1;
}
