// Every mutant of every lock is caught by a scenario, or argued to be as good as the lock: `holdfast check --mutants`, lock by
// lock.
#include <cstdio>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "check/output.hpp"
#include "check/suites.hpp"
#include "model/jobs.hpp"

namespace holdfast::check {
namespace {

class mutants : public testing::TestWithParam<const model::suite*> {};

TEST_P(mutants, are_caught_or_argued) {
    const model::suite* const suites[] = {GetParam()};
    const std::vector<model::judgement> judged = model::judge_all(suites);
    EXPECT_TRUE(judged[0].good());
    EXPECT_FALSE(judged[0].list.mutants.empty());
    std::fputs(as_text(judged, false, {}).c_str(), stdout);
}

std::vector<const model::suite*> suites() {
    std::vector<const model::suite*> list;
    for (const model::suite& s : all_suites())
        list.push_back(&s);
    return list;
}

INSTANTIATE_TEST_SUITE_P(check, mutants, testing::ValuesIn(suites()),
                         [](const auto& one) { return short_name(*one.param); });

} // namespace
} // namespace holdfast::check
