// The native world beyond the contract: seeds, lifetimes, cache lines.
#include "workload/native_world.hpp"

#include <stdexcept>
#include <system_error>
#include <vector>

#include <pthread.h>

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

TEST(native_world, what_a_thread_throws_comes_out_of_the_run_once_all_have_ended) {
    int ended = 0;
    static bool destroyed;
    destroyed = false;
    struct object {
        ~object() { destroyed = true; }
    };
    const auto program = [&ended] {
        W::make<object>();
        W::thread first = W::spawn([] { throw std::runtime_error("the first"); });
        W::join(first);
        W::thread second = W::spawn([&ended] {
            W::sleep(std::chrono::milliseconds(1));
            ++ended;
            throw std::runtime_error("the second");
        });
        throw std::runtime_error("the third"); // its handle waits for the second
    };
    try {
        W::run(1, program);
        FAIL();
    } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "the first");
    }
    EXPECT_EQ(ended, 1);
    EXPECT_TRUE(destroyed);
    W::run(1, [&ended] { ++ended; }); // and the next program runs
    EXPECT_EQ(ended, 2);
}

// While it lives threads get stacks for which there are not addresses enough.
class no_more_threads {
public:
    no_more_threads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t huge;
        pthread_attr_init(&huge);
        pthread_attr_setstacksize(&huge, std::size_t{1} << 60);
        pthread_setattr_default_np(&huge);
        pthread_attr_destroy(&huge);
    }
    ~no_more_threads() {
        pthread_setattr_default_np(&before_);
        pthread_attr_destroy(&before_);
    }
    no_more_threads(const no_more_threads&) = delete;
    no_more_threads& operator=(const no_more_threads&) = delete;

private:
    pthread_attr_t before_;
};

TEST(native_world, a_thread_that_can_t_be_started_is_such_a_failure) {
    {
        const no_more_threads none;
        EXPECT_THROW(W::run(1, [] {}), std::system_error);
    }
    int ended = 0;
    EXPECT_THROW(W::run(1,
                        [&ended] {
                            std::vector<W::thread> threads;
                            threads.push_back(W::spawn([&ended] { ++ended; }));
                            const no_more_threads none;
                            threads.push_back(W::spawn([&ended] { ++ended; }));
                        }),
                 std::system_error);
    EXPECT_EQ(ended, 1);
}

} // namespace
} // namespace holdfast
