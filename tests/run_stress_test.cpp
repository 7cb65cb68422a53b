// `holdfast run` on programs drawn from seeds: they behave the same with other locks.
#include "random_programs.hpp"

namespace {

using holdfast::test::random_programs;

TEST_F(random_programs, behave_the_same_with_other_locks) {
    // One that sleeps, one whose waiters can't leave, one for both sides. run_soak_test has the others.
    for (const char* lock : {"mutex", "ticket", "qrwlock"})
        behave_the_same(1, 50, with_lock(lock));
}

} // namespace
