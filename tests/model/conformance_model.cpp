// The model keeps the contract for locks: the suite that native and sim run, in every order.
#include "../conformance.hpp"

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
    static void add_to(suite& test) {
        const limits bounds{
            .preemptions = 3,
            .allowed = {.resched = 1, .off_cpu = 1, .time_out = 1, .spurious_wake = 1, .weak_failure = 1}};
        (test.scenario<conforming<Scenario>>(Scenario::name, bounds), ...);
    }
};

} // namespace
} // namespace holdfast::model

int main(int argc, char** argv) {
    using namespace holdfast::model;
    suite test("platform.hpp");
    holdfast::conformance::lock_scenarios<platform, all>::add_to(test);
    return test.run(argc, argv);
}
