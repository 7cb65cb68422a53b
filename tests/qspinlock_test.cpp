// qspinlock on the real machine: what a few threads see of it, and the states of its word one by one.
#include "lockable.hpp"

#include <atomic>
#include <optional>
#include <vector>

#include <holdfast/native/native.hpp>
#include <holdfast/qspinlock.hpp>

namespace holdfast {
namespace {

INSTANTIATE_TYPED_TEST_SUITE_P(queued, lockable, qspinlock<native>);

// The algorithm on a bare word, to see its bits.
using algorithm = qspin_word<native, std::uint32_t, 0>;
constexpr std::uint32_t held = 1;
constexpr std::uint32_t pending = 0x100;
constexpr std::uint32_t tail = 0xffff'fe00;

std::uint32_t value_of(const native::atomic<std::uint32_t>& word) {
    return word.load(std::memory_order_relaxed);
}

// Waits until the word has all of `bits`, or some of them.
void until_all(const native::atomic<std::uint32_t>& word, std::uint32_t bits) {
    while ((value_of(word) & bits) != bits)
        std::this_thread::yield();
}
void until_some(const native::atomic<std::uint32_t>& word, std::uint32_t bits) {
    while ((value_of(word) & bits) == 0)
        std::this_thread::yield();
}

TEST(qspin_word, first_waiter_pends_and_the_next_ones_queue) {
    native::atomic<std::uint32_t> word{0};
    std::vector<int> order;
    const auto take = [&](int name) {
        algorithm::lock(word);
        order.push_back(name);
        algorithm::unlock(word);
    };
    algorithm::lock(word);
    EXPECT_EQ(value_of(word), held);
    std::thread first(take, 1);
    until_all(word, held | pending);
    EXPECT_EQ(value_of(word) & tail, 0u);
    std::thread second(take, 2);
    until_some(word, tail);
    const std::uint32_t seconds_tail = value_of(word) & tail;
    std::thread third(take, 3);
    while ((value_of(word) & tail) == seconds_tail)
        std::this_thread::yield();
    EXPECT_FALSE(algorithm::try_lock(word));
    algorithm::unlock(word);
    first.join();
    second.join();
    third.join();
    EXPECT_EQ(order, (std::vector<int>{1, 2, 3}));
    EXPECT_EQ(value_of(word), 0u);
}

// A waiter without a node left spins on the word; it isn't in the queue, but it gets the lock.
TEST(qspin_word, does_without_a_node) {
    native::atomic<std::uint32_t> word{0};
    std::atomic<int> got{0};
    algorithm::lock(word);
    std::thread pends([&] {
        algorithm::lock(word);
        ++got;
        algorithm::unlock(word);
    });
    until_all(word, pending);
    std::atomic<bool> about_to{false};
    std::thread without([&] {
        std::optional<native::node_slot> slots[native::node_depth];
        for (auto& slot : slots)
            slot.emplace();
        about_to = true;
        algorithm::lock(word);
        ++got;
        algorithm::unlock(word);
        for (std::uint32_t depth = native::node_depth; depth-- > 0;)
            slots[depth].reset();
    });
    while (!about_to)
        std::this_thread::yield();
    EXPECT_EQ(value_of(word) & tail, 0u);
    algorithm::unlock(word);
    pends.join();
    without.join();
    EXPECT_EQ(got, 2);
    EXPECT_EQ(value_of(word), 0u);
}

TEST(qspin_word, leaves_the_rest_of_a_wider_word_alone) {
    using upper = qspin_word<native, std::uint64_t, 32>;
    native::atomic<std::uint64_t> word{0xdead'beef};
    upper::lock(word);
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0x1'dead'beefu);
    std::thread waiter([&] {
        upper::lock(word);
        upper::unlock(word);
    });
    while ((word.load(std::memory_order_relaxed) >> 40) == 0)
        std::this_thread::yield();
    upper::unlock(word);
    waiter.join();
    EXPECT_EQ(word.load(std::memory_order_relaxed), 0xdead'beefu);
}

} // namespace
} // namespace holdfast
