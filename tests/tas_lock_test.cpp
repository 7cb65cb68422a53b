// tas_lock on the real machine: what one or two threads see of it.
#include "lockable.hpp"

#include <holdfast/native/native.hpp>
#include <holdfast/tas_lock.hpp>

namespace holdfast {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(tas, lockable, tas_lock<native>);

TEST(tas_word, is_one_bit_and_leaves_the_others_alone) {
    using algorithm = tas_word<native, std::uint64_t, 32>;
    native::atomic<std::uint64_t> word{0x1234'5678'dead'beee};
    EXPECT_FALSE(algorithm::locked(word.load(std::memory_order_relaxed)));
    algorithm::lock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x1234'5679'dead'beeeu);
    EXPECT_FALSE(algorithm::try_lock(word));
    algorithm::unlock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x1234'5678'dead'beeeu);
    EXPECT_TRUE(algorithm::try_lock(word));
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x1234'5679'dead'beeeu);
}

} // namespace
} // namespace holdfast
