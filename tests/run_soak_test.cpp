// More random programs than run_stress_test has time for, with every lock.
#include "random_programs.hpp"
#include "substitute/locks.hpp"

namespace {

using holdfast::test::random_programs;

TEST_F(random_programs, five_hundred_behave_the_same_with_every_lock) {
    for (const auto& choice : holdfast::substitute::lock_choices()) {
        SCOPED_TRACE(choice.name);
        behave_the_same(1, 500, with_lock(choice.name));
        if (HasFatalFailure())
            return;
    }
}

} // namespace
