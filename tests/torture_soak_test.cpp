// Every lock, tortured for long, with two threads, a few, and far more than there are CPUs.
#include <cstdlib>
#include <string>

#include <gtest/gtest.h>

#include <holdfast/tsan_annotations.hpp>

#include "torture/locks.hpp"
#include "torture/output.hpp"
#include "torture/torture.hpp"

namespace holdfast::torture {
namespace {

// TORTURE_SECONDS, if it is set; a minute where each step is watched.
std::chrono::duration<double> each() {
    const char* const asked = std::getenv("TORTURE_SECONDS");
    return std::chrono::duration<double>(asked != nullptr ? std::atof(asked) : under_tsan ? 60 : 10);
}

class torture_soak : public testing::TestWithParam<const torture_lock*> {};

TEST_P(torture_soak, stands_it) {
    std::vector<result> results;
    for (const std::uint32_t threads : {2u, 8u, 140u}) {
        settings s{.threads = threads};
        s.duration = std::chrono::duration_cast<std::chrono::nanoseconds>(each());
        results.push_back(torture(*GetParam(), s, [] { return true; }));
        EXPECT_EQ(results.back().failure, "") << again(results.back());
    }
    std::fputs(as_text(results, false).c_str(), stdout);
}

std::vector<const torture_lock*> sound_locks() {
    std::vector<const torture_lock*> sound;
    for (const torture_lock& lock : all_locks()) {
        if (lock.broken == nullptr)
            sound.push_back(&lock);
    }
    return sound;
}

std::string name_of(const testing::TestParamInfo<const torture_lock*>& info) {
    std::string name = info.param->name;
    for (char& c : name) {
        if (std::isalnum(static_cast<unsigned char>(c)) == 0)
            c = '_';
    }
    return name;
}

INSTANTIATE_TEST_SUITE_P(locks, torture_soak, testing::ValuesIn(sound_locks()), name_of);

} // namespace
} // namespace holdfast::torture
