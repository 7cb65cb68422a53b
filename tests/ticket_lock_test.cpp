// ticket_lock on the real machine: what one or two threads see of it.
#include "lockable.hpp"

#include <atomic>
#include <vector>

#include <holdfast/native/native.hpp>
#include <holdfast/ticket_lock.hpp>

namespace holdfast {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(ticket, lockable, ticket_lock<native>);

// The algorithm on a bare word, to see the two counters.
using halves = ticket_word<native, std::uint32_t, 0>;
using upper = ticket_word<native, std::uint64_t, 32>;

TEST(ticket_word, draws_in_the_upper_half_and_serves_in_the_lower) {
    native::atomic<std::uint32_t> word{0};
    halves::lock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0001'0000u);
    EXPECT_FALSE(halves::try_lock(word));
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0001'0000u);
    halves::unlock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0001'0001u);
    EXPECT_TRUE(halves::try_lock(word));
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0002'0001u);
}

TEST(ticket_word, wraps_each_half_by_itself) {
    native::atomic<std::uint32_t> word{0xffff'ffff};
    EXPECT_FALSE(halves::locked(0xffff'ffff));
    halves::lock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0000'ffffu);
    EXPECT_TRUE(halves::locked(0x0000'ffff));
    halves::unlock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0u);
    word.store(0xffff'ffff, std::memory_order_relaxed);
    EXPECT_TRUE(halves::try_lock(word));
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0000'ffffu);
}

TEST(ticket_word, leaves_the_rest_of_a_wider_word_alone) {
    native::atomic<std::uint64_t> word{0xffff'ffff'dead'beef};
    upper::lock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0000'ffff'dead'beefu);
    upper::unlock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x0000'0000'dead'beefu);
}

// Tickets drawn one after the other are served in that order: each waiter is seen to have drawn before the
// next begins.
TEST(ticket_word, serves_in_the_order_of_drawing) {
    native::atomic<std::uint32_t> word{0xfffd'fffd}; // across the wrap
    std::vector<int> order;
    std::vector<std::thread> threads;
    halves::lock(word);
    for (int i = 0; i < 4; ++i) {
        const std::uint16_t before = halves::next(word.load(std::memory_order_relaxed));
        threads.emplace_back([&, i] {
            halves::lock(word);
            order.push_back(i);
            halves::unlock(word);
        });
        while (halves::next(word.load(std::memory_order_relaxed)) == before)
            std::this_thread::yield();
    }
    halves::unlock(word);
    for (std::thread& thread : threads)
        thread.join();
    EXPECT_EQ(order, (std::vector<int>{0, 1, 2, 3}));
}

} // namespace
} // namespace holdfast
