// Whether compare's p keeps its promise on this machine: of a hundred comparisons of a program with itself how many it tells apart, and how
// many of a hundred with a tenth more work on one side. What the machine does meanwhile decides too, so the counts are printed, and only
// nonsense is a failure.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "run_program.hpp"

namespace {

constexpr int comparisons = 100;

class compare_soak : public holdfast::test::in_a_folder {
protected:
    // In how many comparisons the wall times with the second lock are told apart from those with the first.
    int told_apart(const std::string& second, const std::string& environment) {
        int told = 0;
        for (int i = 0; i < comparisons; ++i) {
            const holdfast::test::outcome o =
                run(fmt::format("{} {} compare --lock mutex --lock {} --runs 20 --json - -- {}", environment,
                                (build_ / "holdfast").string(), second, program("tenth_more")));
            EXPECT_EQ(o.status, 0) << o.error;
            const nlohmann::json all = nlohmann::json::parse(o.out);
            for (const nlohmann::json& v : all["variants"])
                told += v["metric"] == "wall" && !v["p"].is_null() && v["p"] < 0.05 ? 1 : 0;
        }
        return told;
    }
};

TEST_F(compare_soak, tells_a_tenth_more_work_apart_and_seldom_nothing) {
    const int same = told_apart("holdfast::mutex", "");
    const int slower = told_apart("ticket", "SLOWER=ticket");
    fmt::print("told apart, of {} at 20 runs each: {} with nothing between them, {} with a tenth more work\n",
               comparisons, same, slower);
    EXPECT_GT(slower, same);
}

} // namespace
