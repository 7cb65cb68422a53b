// Running programs in a test as a user does: in a folder of the test's own, with what they print and how they end.
#pragma once

#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "sim/data_files.hpp"

namespace holdfast::test {

struct outcome {
    int status = -1; // -1: it was killed
    std::string out;
    std::string error;
    bool operator==(const outcome&) const = default;
};

class in_a_folder : public testing::Test {
protected:
    void SetUp() override {
        build_ = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
        ASSERT_TRUE(std::filesystem::exists(build_ / "holdfast")) << "build the target `program`";
        std::string pattern = (std::filesystem::temp_directory_path() / "holdfast-test-XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
    }
    void TearDown() override { std::filesystem::remove_all(folder_); }

    // A shell's command, in the folder.
    outcome run(const std::string& command) {
        const std::string errors = (folder_ / "stderr").string();
        std::FILE* const pipe =
            popen(fmt::format("cd {} && ({}) 2>{}", folder_.string(), command, errors).c_str(), "r");
        outcome result;
        std::array<char, 4096> buffer{};
        while (const std::size_t n = std::fread(buffer.data(), 1, buffer.size(), pipe))
            result.out.append(buffer.data(), n);
        const int status = pclose(pipe);
        result.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        result.error = read_text(errors);
        return result;
    }
    outcome holdfast_run(const std::string& arguments) {
        return run(fmt::format("{} {}", (build_ / "holdfast").string(), arguments));
    }

    // One of tests/preload.
    [[nodiscard]] std::string program(const char* name) const {
        return (build_ / "tests/preload" / name).string();
    }
    // The environment that records a process to this file of the folder, as `holdfast record` would set it.
    [[nodiscard]] std::string recorded_to(const std::string& file) const {
        return fmt::format("LD_PRELOAD={} HOLDFAST_RECORD_FILE={}",
                           (build_ / "libholdfast_record.so").string(), (folder_ / file).string());
    }

    // The environment that replaces a process's locks, as `holdfast run` would set it.
    [[nodiscard]] std::string with_lock(std::string_view lock) const {
        return fmt::format("LD_PRELOAD={} HOLDFAST_RUN_LOCK={}", (build_ / "libholdfast_run.so").string(),
                           lock);
    }

    std::filesystem::path build_;
    std::filesystem::path folder_;
};

} // namespace holdfast::test
