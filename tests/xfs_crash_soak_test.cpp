// The metadata engine stopped at 10,000 random moments, in all its settings.
#include <cstdint>
#include <vector>

#include "sim/random.hpp"
#include "xfs_support.hpp"

namespace holdfast::xfs {
namespace {

TEST(xfs_crash_soak, ten_thousand_points) {
    const std::vector<settings> all = all_settings();
    random_source source(20210802);
    std::uint64_t left_to_recovery = 0;
    for (std::uint64_t run = 0; run < 10'000 && !testing::Test::HasFailure(); ++run) {
        const std::uint64_t point = 1 + source.below(208);
        left_to_recovery += crash_and_recover(all[run % all.size()], point, run);
    }
    EXPECT_GT(left_to_recovery, 10'000u);
}

} // namespace
} // namespace holdfast::xfs
