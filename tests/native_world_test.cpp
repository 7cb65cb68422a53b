// The native world beyond the contract: seeds, lifetimes, cache lines.
#include "workload/native_world.hpp"

#include <vector>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using W = native_world;

std::vector<std::uint64_t> drawn_with(std::uint64_t seed) {
    std::vector<std::uint64_t> numbers;
    W::run(seed, [&numbers] {
        numbers.push_back(W::random().below(1'000'000));
        for (int i = 0; i < 2; ++i) {
            W::thread thread = W::spawn([&numbers] { numbers.push_back(W::random().below(1'000'000)); });
            W::join(thread);
        }
    });
    return numbers;
}

TEST(native_world, draws_the_same_from_the_same_seed) {
    EXPECT_EQ(drawn_with(1), drawn_with(1));
    EXPECT_NE(drawn_with(1), drawn_with(2));
}

TEST(native_world, destroys_what_it_made_when_the_program_ends_last_first) {
    static std::vector<int> ended;
    struct object {
        explicit object(int n) : number(n) {}
        ~object() { ended.push_back(number); }
        int number;
    };
    W::run(1, [] {
        W::make<object>(1);
        W::make_near<object>(2);
        W::make<object>(3);
        EXPECT_TRUE(ended.empty());
    });
    EXPECT_EQ(ended, (std::vector<int>{3, 2, 1}));
}

TEST(native_world, made_objects_have_whole_lines) {
    W::run(1, [] {
        for (int i = 0; i < 10; ++i)
            EXPECT_EQ(reinterpret_cast<std::uintptr_t>(&W::make<char>('x')) % native::line_size, 0u);
    });
}

TEST(native_world, leaves_the_callers_affinity_alone) {
    cpu_set_t before;
    cpu_set_t after;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    W::run(1, [] { W::pin(0); });
    ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
    EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

} // namespace
} // namespace holdfast
