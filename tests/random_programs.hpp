// Programs drawn from seeds (tests/preload/random_program.c): each behaves the same with and without the recording
// library.
#pragma once

#include "run_program.hpp"

namespace holdfast::test {

class random_programs : public in_a_folder {
protected:
    void behave_the_same(int first_seed, int last_seed) {
        for (int seed = first_seed; seed <= last_seed; ++seed) {
            const std::string command = fmt::format("{} {}; echo status $?", program("random_program"), seed);
            const outcome without = run(command);
            ASSERT_NE(without.out.find("complaints 0"), std::string::npos) << seed << without.out;
            const outcome with = run(fmt::format("export {}; {}", recorded_to("a"), command));
            // A seed says all: an example to run by hand.
            ASSERT_EQ(with.out, without.out) << command;
            ASSERT_EQ(with.error, without.error) << command;
            ASSERT_TRUE(std::filesystem::exists(folder_ / "a")) << "was not recorded";
            for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
                if (entry.path().filename() != "stderr")
                    std::filesystem::remove(entry.path());
            }
        }
    }
};

} // namespace holdfast::test
