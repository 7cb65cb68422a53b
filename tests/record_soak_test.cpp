// More random programs than record_stress_test has time for.
#include "random_programs.hpp"

namespace {

using holdfast::test::random_programs;

TEST_F(random_programs, five_hundred_behave_the_same_under_the_recorder) {
    behave_the_same(51, 500, recorded_to("a"), "a");
}

} // namespace
