// The real machine keeps both contracts.
#include "conformance.hpp"

#include <thread>
#include <vector>

#include <holdfast/native/native.hpp>

#include "workload/native_world.hpp"

#include <gtest/gtest.h>

namespace holdfast {
namespace {

struct names {
    template <class Scenario>
    static std::string GetName(int) {
        return Scenario::name;
    }
};

// Many times over: on a real machine each run is one order of all possible ones.
template <class Scenario>
void run_on_threads(int times) {
    for (int i = 0; i < times; ++i) {
        Scenario scenario;
        std::vector<std::thread> threads;
        for (unsigned index = 0; index < Scenario::threads; ++index)
            threads.emplace_back([&scenario, index] { scenario.thread(index); });
        for (std::thread& thread : threads)
            thread.join();
        ASSERT_TRUE(scenario.ok()) << Scenario::name;
    }
}

template <class Scenario>
class conformance_native : public testing::Test {};
using lock_scenarios = conformance::lock_scenarios<native, testing::Types>;
TYPED_TEST_SUITE(conformance_native, lock_scenarios, names);
TYPED_TEST(conformance_native, holds) {
    run_on_threads<TypeParam>(100);
}

template <class Scenario>
class conformance_native_timed : public testing::Test {};
using timed_scenarios = conformance::timed_scenarios<native, testing::Types>;
TYPED_TEST_SUITE(conformance_native_timed, timed_scenarios, names);
TYPED_TEST(conformance_native_timed, holds) {
    run_on_threads<TypeParam>(20);
}

template <class Scenario>
class conformance_native_world : public testing::Test {};
using program_scenarios = conformance::program_scenarios<native_world, testing::Types>;
TYPED_TEST_SUITE(conformance_native_world, program_scenarios, names);
TYPED_TEST(conformance_native_world, holds) {
    bool ok = false;
    native_world::run(1, [&ok] { ok = TypeParam::run(); });
    EXPECT_TRUE(ok) << TypeParam::name;
}

} // namespace
} // namespace holdfast
