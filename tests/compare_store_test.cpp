// What compare keeps: read back as it was, refused if it isn't ours or not whole; where a course changed; which commit a folder is of.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compare/git_commit.hpp"
#include "compare/history.hpp"
#include "compare/store.hpp"

namespace {

using namespace holdfast::compare;
namespace fs = std::filesystem;

class store : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "holdfast-test-XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        file_ = (folder_ / "a.db").string();
    }
    void TearDown() override { fs::remove_all(folder_); }

    // What reading it says.
    std::string complaint() {
        try {
            read_store(file_, "");
            return "";
        } catch (const std::runtime_error& error) {
            return error.what();
        }
    }
    void write(const fs::path& file, const std::string& text) {
        fs::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    fs::path folder_;
    std::string file_;
};

experiment of(const std::string& command, double wall) {
    experiment e{
        .command = command,
        .runs = 6,
        .metrics = {{.name = "wall", .unit = "s"},
                    {.name = "rate ([0-9]+)", .unit = "", .higher_is_better = true, .printed = true}},
        .variants = {{.lock = "glibc", .values = {{}, {}}}, {.lock = "mcs", .values = {{}, {}}}},
        .cpus = 2,
        .foreign_cpus = 0.1};
    for (int i = 0; i < 6; ++i) {
        e.variants[0].values[0].push_back(wall + 0.01 * i);
        e.variants[0].values[1].push_back(7 + i);
        e.variants[1].values[0].push_back(0.1 + 0.01 * i);
        e.variants[1].values[1].push_back(1e300 / (i + 3));
    }
    return e;
}

circumstances at(std::int64_t time) {
    return {.time = time, .commit = std::string(40, 'a'), .label = "x'); --", .host = "h", .kernel = "6.1"};
}

#ifdef HOLDFAST_HAVE_SQLITE

TEST_F(store, gives_back_what_was_put_in) {
    append(file_, of("./a 'b'", 1), at(5));
    append(file_, of("./c", 2), at(6));
    const std::vector<stored_series> all = read_store(file_, "");
    ASSERT_EQ(all.size(), 8u);
    const stored_series& s = all[3];
    const experiment e = of("./a 'b'", 1);
    EXPECT_EQ(s.command, e.command);
    EXPECT_EQ(s.lock, "mcs");
    EXPECT_EQ(s.what, e.metrics[1]);
    EXPECT_EQ(s.values, e.variants[1].values[1]);
    EXPECT_EQ(s.cpus, 2u);
    EXPECT_EQ(s.when.time, 5);
    EXPECT_EQ(s.when.commit, std::string(40, 'a'));
    EXPECT_EQ(s.when.label, "x'); --");
    EXPECT_EQ(s.when.host, "h");
    EXPECT_EQ(s.when.kernel, "6.1");
    EXPECT_EQ(read_store(file_, "'b'").size(), 4u);
    EXPECT_TRUE(read_store(file_, "%").empty());
}

TEST_F(store, another_file_is_refused) {
    EXPECT_NE(complaint().find("no such file"), std::string::npos);
    write(file_, "");
    EXPECT_NE(complaint().find("empty"), std::string::npos);
    write(file_, std::string(5000, 'x'));
    EXPECT_NE(complaint().find("a.db: not a file of holdfast compare"), std::string::npos) << complaint();
    EXPECT_THROW(check_store(file_), std::runtime_error);
    EXPECT_THROW(append(file_, of("./a", 1), at(5)), std::runtime_error);
    EXPECT_EQ(fs::file_size(file_), 5000u);
}

TEST_F(store, a_file_that_was_cut_off_is_refused_wherever_it_ends) {
    append(file_, of("./a", 1), at(5));
    const std::uintmax_t size = fs::file_size(file_);
    for (std::uintmax_t left = size - 1; left > 0; left = left > 512 ? left - 509 : left / 2) {
        fs::resize_file(file_, left);
        EXPECT_NE(complaint(), "") << left << " of " << size;
        EXPECT_THROW(append(file_, of("./a", 1), at(5)), std::runtime_error) << left;
        EXPECT_EQ(complaint().find('\n'), std::string::npos);
    }
}

TEST_F(store, another_version_is_refused) {
    append(file_, of("./a", 1), at(5));
    // Bytes 60 to 63 are user_version, 68 to 71 application_id (sqlite.org/fileformat).
    const auto put = [this](int offset, char byte) {
        std::fstream stream(file_, std::ios::in | std::ios::out | std::ios::binary);
        stream.seekp(offset);
        stream.put(byte);
    };
    put(63, 2);
    EXPECT_NE(complaint().find("of version 2, this holdfast has version 1"), std::string::npos)
        << complaint();
    put(63, 1);
    EXPECT_EQ(complaint(), "");
    put(71, 0);
    EXPECT_NE(complaint().find("not a file of holdfast compare"), std::string::npos) << complaint();
}

#endif

TEST(history, tells_where_a_course_changed) {
    std::vector<stored_series> all;
    const auto add = [&all](std::int64_t time, double wall, const std::string& kernel) {
        const experiment e = of("./a", wall);
        circumstances when = at(time);
        when.kernel = kernel;
        all.push_back({.when = when,
                       .cpus = 2,
                       .command = "./a",
                       .lock = "glibc",
                       .what = e.metrics[0],
                       .values = e.variants[0].values[0]});
    };
    add(0, 1, "6.1");
    add(60, 1.001, "6.1");
    add(120, 1.5, "6.1");
    add(180, 1.5, "6.5"); // elsewhere
    add(240, 1.501, "6.1");
    const std::vector<course> courses = courses_of(all);
    ASSERT_EQ(courses.size(), 2u);
    ASSERT_EQ(courses[0].moments.size(), 4u);
    EXPECT_FALSE(courses[0].moments[1].changed);
    EXPECT_TRUE(courses[0].moments[2].changed);
    EXPECT_NEAR(courses[0].moments[2].p, 3 * 2.0 / 924, 1e-12); // the smallest of three
    EXPECT_FALSE(courses[0].moments[3].changed);
    EXPECT_EQ(as_text(courses, false, false), R"(./a
wall, s with glibc, on h, 2 CPUs, Linux 6.1
  UTC               commit        label    runs  median    min    max   change      p
  1970-01-01 00:00  aaaaaaaaaaaa  x'); --     6   1.025      1   1.05
  1970-01-01 00:01  aaaaaaaaaaaa  x'); --     6   1.026  1.001  1.051        ~  1.000
  1970-01-01 00:02  aaaaaaaaaaaa  x'); --     6   1.525    1.5   1.55  +48.6 %  0.006
  1970-01-01 00:04  aaaaaaaaaaaa  x'); --     6   1.526  1.501  1.551        ~  1.000

./a
wall, s with glibc, on h, 2 CPUs, Linux 6.5
  UTC               commit        label    runs  median  min   max
  1970-01-01 00:03  aaaaaaaaaaaa  x'); --     6   1.525  1.5  1.55

change: against the comparison above. ~: not told apart (p >= 0.05).
p: Mann-Whitney, with Holm's correction over the table.
)");
}

TEST_F(store, a_commit_is_read_from_gits_files) {
    const std::string one(40, '1');
    const std::string two(40, '2');
    EXPECT_EQ(git_commit(folder_ / "nowhere"), "");
    write(folder_ / "a/.git/HEAD", one + "\n");
    EXPECT_EQ(git_commit(folder_ / "a"), one);
    write(folder_ / "a/.git/HEAD", "ref: refs/heads/main\n");
    EXPECT_EQ(git_commit(folder_ / "a"), "");
    write(folder_ / "a/.git/packed-refs",
          "# pack-refs\n" + one + " refs/heads/xmain\n" + two + " refs/heads/main\n");
    EXPECT_EQ(git_commit(folder_ / "a"), two);
    write(folder_ / "a/.git/refs/heads/main", one + "\n");
    EXPECT_EQ(git_commit(folder_ / "a/src/deep"), one);
    // Another work tree of it.
    write(folder_ / "b/.git", fmt::format("gitdir: {}/a/.git/worktrees/b\n", folder_.string()));
    write(folder_ / "a/.git/worktrees/b/HEAD", "ref: refs/heads/side\n");
    write(folder_ / "a/.git/worktrees/b/commondir", "../..\n");
    write(folder_ / "a/.git/refs/heads/side", two + "\n");
    EXPECT_EQ(git_commit(folder_ / "b"), two);
}

} // namespace
