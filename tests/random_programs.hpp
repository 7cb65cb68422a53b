// Programs drawn from seeds (tests/preload/random_program.c): each behaves the same with and without a library of ours.
#pragma once

#include <map>

#include "run_program.hpp"

namespace holdfast::test {

class random_programs : public in_a_folder {
protected:
    // In an environment as a shell's export takes it. `leaves`: a file that the library is to leave in the folder; empty: none.
    void behave_the_same(int first_seed, int last_seed, const std::string& environment,
                         const std::string& leaves = "") {
        for (int seed = first_seed; seed <= last_seed; ++seed) {
            const std::string command = fmt::format("{} {}; echo status $?", program("random_program"), seed);
            const outcome& without = without_library(seed, command);
            ASSERT_NE(without.out.find("complaints 0"), std::string::npos) << seed << without.out;
            const outcome with = run(fmt::format("export {}; {}", environment, command));
            // A seed says all: an example to run by hand.
            ASSERT_EQ(with.out, without.out) << command;
            ASSERT_EQ(with.error, without.error) << command;
            ASSERT_TRUE(leaves.empty() || std::filesystem::exists(folder_ / leaves)) << "was not recorded";
            for (const auto& entry : std::filesystem::directory_iterator(folder_)) {
                if (entry.path().filename() != "stderr")
                    std::filesystem::remove(entry.path());
            }
        }
    }

private:
    // Runs each program once, however often it is compared.
    const outcome& without_library(int seed, const std::string& command) {
        const auto [entry, fresh] = without_.try_emplace(seed);
        if (fresh)
            entry->second = run(command);
        return entry->second;
    }

    std::map<int, outcome> without_;
};

} // namespace holdfast::test
