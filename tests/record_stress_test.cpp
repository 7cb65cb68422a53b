// `holdfast record` on programs drawn from seeds: they behave as without, and leave a recording whenever they are killed.
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <random>
#include <thread>

#include "random_programs.hpp"
#include "trace/reader.hpp"

namespace {

using holdfast::test::random_programs;

TEST_F(random_programs, behave_the_same_under_the_recorder) {
    behave_the_same(1, 50, recorded_to("a"), "a"); // record_soak_test goes on
}

TEST_F(random_programs, leave_a_recording_whenever_they_are_killed) {
    std::mt19937 random(1);
    const std::string file = (folder_ / "a").string();
    for (int round = 0; round < 100; ++round) {
        const std::string seed = std::to_string(round + 1);
        const std::string library = "LD_PRELOAD=" + (build_ / "libholdfast_record.so").string();
        const std::string variable = "HOLDFAST_RECORD_FILE=" + file;
        const std::string path = program("random_program");
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            const char* const arguments[] = {path.c_str(), seed.c_str(), "100000000", nullptr};
            const std::string root = "HOLDFAST_RECORD_ROOT=" + std::to_string(getpid());
            const char* const environment[] = {library.c_str(), variable.c_str(), root.c_str(),
                                               "HOLDFAST_RECORD_FOLLOW=0", nullptr};
            execve(path.c_str(), const_cast<char* const*>(arguments), const_cast<char* const*>(environment));
            _exit(127);
        }
        while (!std::filesystem::exists(file))
            std::this_thread::sleep_for(std::chrono::microseconds(50));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 10'000));
        kill(child, SIGKILL);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        ASSERT_TRUE(WIFSIGNALED(status)) << "seed " << seed << " ended by itself, " << status;
        const holdfast::trace::recording left = holdfast::trace::read(file);
        EXPECT_EQ(left.program, path);
        EXPECT_FALSE(left.ended);
        std::filesystem::remove(file);
    }
}

} // namespace
