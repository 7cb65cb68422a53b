// The recording: what is written is read; a file that was cut or damaged does no harm; a killed writer leaves one that
// can be read.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "trace/command.hpp"
#include "trace/reader.hpp"
#include "trace/writer.hpp"

namespace {

namespace fs = std::filesystem;
using namespace holdfast::trace;

class trace : public testing::Test {
protected:
    void SetUp() override {
        std::string pattern = (fs::temp_directory_path() / "holdfast-trace-XXXXXX").string();
        ASSERT_NE(mkdtemp(pattern.data()), nullptr);
        folder_ = pattern;
        file_ = folder_ / "a.holdfast";
    }
    void TearDown() override { fs::remove_all(folder_); }

    writer open(std::uint64_t bytes = smallest_file) {
        writer w{};
        EXPECT_EQ(w.open(file_.c_str(), bytes, "/bin/program", 1'000), 0);
        return w;
    }

    // A bit of everything.
    void fill(writer& w) {
        const unsigned char id[] = {1, 2, 3};
        w.add_module(0x1000, 0x9000, id, 3, "/lib/a.so");
        const std::uint64_t frames[] = {0x1100, 0x1200, 0x1300};
        bool fresh = false;
        const std::uint32_t stack = w.stack(frames, 3, fresh);
        const std::uint32_t lock = w.add_lock(0x5000, lock_kind::rwlock, stack, true);
        w.lock(lock).acquisitions.store(7);
        w.lock(lock).longest_monopoly.store(3);
        add_wait(w.detail(w.lock(lock)).shared, 1'500);
        add_hold(w.detail(w.lock(lock)).alone_holds, 70);
        const std::uint32_t thread = w.add_thread(42, "worker", 2'000);
        w.thread(thread).end_ns.store(9'000);
        w.thread(thread).acquisitions.store(8);
        site_sample sample{site_role::wait, lock, stack, stack, 0x1400, 4, 100, 10, 2};
        w.sample(sample);
        sample.period = 1;
        sample.ns = 300;
        w.sample(sample);
        sample.holder = 0;
        w.sample(sample);
        w.head().begin_ns.store(1'500);
        w.head().end_ns.store(10'000);
    }

    std::vector<unsigned char> bytes() {
        std::ifstream stream(file_, std::ios::binary);
        return {std::istreambuf_iterator<char>(stream), {}};
    }

    fs::path folder_;
    fs::path file_;
};

TEST_F(trace, reads_what_was_written) {
    writer w = open();
    fill(w);
    const recording r = read(file_);
    EXPECT_EQ(r.program, "/bin/program");
    EXPECT_TRUE(r.begun);
    EXPECT_EQ(r.start_ns, 1'500u);
    EXPECT_TRUE(r.ended);
    EXPECT_FALSE(r.cut);
    ASSERT_EQ(r.modules.size(), 1u);
    EXPECT_EQ(r.modules[0].path, "/lib/a.so");
    EXPECT_EQ(r.modules[0].build_id, (std::vector<unsigned char>{1, 2, 3}));
    ASSERT_EQ(r.locks.size(), 2u);
    EXPECT_EQ(r.locks[1].kind, lock_kind::rwlock);
    EXPECT_EQ(r.locks[1].acquisitions, 7u);
    EXPECT_EQ(r.locks[1].shared.waits, 1u);
    EXPECT_EQ(r.locks[1].shared.histogram[10], 1u);
    EXPECT_EQ(r.locks[1].longest_monopoly, 3u);
    EXPECT_EQ(r.locks[1].alone_holds.longest_ns, 70u);
    EXPECT_EQ(r.stacks.at(r.locks[1].stack).frames, (std::vector<std::uint64_t>{0x1100, 0x1200, 0x1300}));
    ASSERT_EQ(r.threads.size(), 1u);
    EXPECT_EQ(r.threads[0].name, "worker");
    EXPECT_EQ(r.threads[0].acquisitions, 8u);
    ASSERT_EQ(r.sites.size(), 2u); // by holder
    EXPECT_EQ(r.sites[0].holder, r.sites[0].stack);
    EXPECT_EQ(r.sites[1].holder, 0u);
    EXPECT_EQ(r.sites[1].samples, 1u);
    EXPECT_EQ(r.sites[0].spun_ns, 50u);
    EXPECT_EQ(r.sites[0].waiters, 10u);
    EXPECT_EQ(r.sites[0].samples, 2u);
    EXPECT_EQ(r.sites[0].count, 5u);
    EXPECT_EQ(r.sites[0].ns, 700u);
    EXPECT_EQ(r.sites[0].longest_ns, 300u);
}

TEST_F(trace, a_stack_is_of_the_generation_in_which_it_was_taken) {
    writer w = open();
    w.add_module(0x1000, 0x9000, nullptr, 0, "/lib/a.so");
    const std::uint64_t frames[] = {0x1100};
    bool fresh = false;
    const std::uint32_t before = w.stack(frames, 1, fresh);
    w.module(1).end_generation.store(2);
    w.head().generation.store(2);
    w.add_module(0x1000, 0x5000, nullptr, 0, "/lib/b.so");
    const std::uint32_t after = w.stack(frames, 1, fresh);
    EXPECT_NE(before, after);
    const recording r = read(file_);
    const auto file_of = [&r](std::uint32_t stack) {
        std::string files;
        for (const module_read& m : r.modules)
            files += m.has(0x1100, r.stacks.at(stack).generation) ? m.path : "";
        return files;
    };
    EXPECT_EQ(file_of(before), "/lib/a.so");
    EXPECT_EQ(file_of(after), "/lib/b.so");
}

TEST_F(trace, equal_stacks_are_one_in_all_threads) {
    writer w = open();
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([&w] {
            for (std::uint64_t i = 0; i < 2'000; ++i) {
                const std::uint64_t frames[] = {i % 100, 7};
                bool fresh = false;
                const std::uint32_t stack = w.stack(frames, 2, fresh);
                site_sample sample;
                sample.role = site_role::release;
                sample.stack = stack;
                w.sample(sample);
            }
        });
    }
    for (std::thread& t : threads)
        t.join();
    const recording r = read(file_);
    ASSERT_EQ(r.sites.size(), 100u);
    std::uint64_t count = 0;
    for (const site_read& site : r.sites)
        count += site.count;
    EXPECT_EQ(count, 8'000u);
}

TEST_F(trace, what_does_not_fit_is_counted) {
    writer w = open();
    std::uint64_t added = 0;
    while (w.add_lock(added + 1, lock_kind::mutex, 0, false) != 0)
        ++added;
    EXPECT_EQ(w.add_lock(1, lock_kind::mutex, 0, false), 0u);
    const recording r = read(file_);
    EXPECT_EQ(r.locks.size(), added + 1);
    EXPECT_EQ(r.lost[static_cast<std::uint32_t>(section::locks)], 2u);
}

TEST_F(trace, a_command_is_a_word_in_the_recording) {
    writer w = open();
    command told = command::stop;
    EXPECT_EQ(read_command(file_.c_str(), told), 0);
    EXPECT_EQ(told, command::run);
    EXPECT_EQ(give_command(file_.c_str(), command::wait, 2'000), 0);
    EXPECT_EQ(w.head().command.load(), static_cast<std::uint32_t>(command::wait));
    EXPECT_FALSE(read(file_).ended);
    EXPECT_EQ(give_command(file_.c_str(), command::stop, 3'000), 0);
    EXPECT_EQ(w.head().end_ns.load(), 3'000u);
    EXPECT_EQ(give_command(file_.c_str(), command::run, 4'000), ESRCH); // it has ended
    EXPECT_EQ(give_command((folder_ / "none").c_str(), command::run, 4'000), ENOENT);
    std::ofstream(folder_ / "text") << std::string(10'000, 'x');
    EXPECT_EQ(give_command((folder_ / "text").c_str(), command::run, 4'000), EBADMSG);
}

TEST_F(trace, a_file_that_is_there_is_not_overwritten) {
    open();
    writer second{};
    EXPECT_EQ(second.open(file_.c_str(), smallest_file, "", 0), EEXIST);
    EXPECT_FALSE(second.is_open());
}

TEST_F(trace, what_is_no_recording_is_said_to_be_none) {
    EXPECT_THROW(read(file_), std::runtime_error);
    EXPECT_THROW(read("/dev/zero"), std::runtime_error);
    std::ofstream(file_) << std::string(10'000, 'x');
    EXPECT_THROW(read(file_), std::runtime_error);
}

// Every reference of a recording is in range, or this crashes under the sanitizers.
std::uint64_t walk(const recording& r) {
    std::uint64_t sum = 0;
    for (const site_read& site : r.sites)
        sum += r.locks.at(site.lock).address + r.stacks.at(site.stack).frames.size() +
               r.stacks.at(site.holder).frames.size();
    for (const lock_read& lock : r.locks)
        sum += r.stacks.at(lock.stack).frames.size();
    return sum;
}

TEST_F(trace, survives_any_truncation_and_flipped_bits) {
    writer w = open();
    fill(w);
    const std::vector<unsigned char> whole = bytes();
    std::mt19937_64 random(1);
    std::uint64_t read_through = 0;
    const auto attempt = [&](std::span<const unsigned char> damaged) {
        try {
            walk(parse(damaged));
            ++read_through;
        } catch (const std::runtime_error&) {
        }
    };
    for (std::size_t size = 0; size < whole.size(); size += size < 8'192 ? 61 : 40'961)
        attempt(std::span(whole).first(size));
    // Where entries are, and anywhere.
    std::vector<std::size_t> dense;
    for (std::size_t i = 0; i < whole.size(); ++i) {
        if (whole[i] != 0)
            dense.push_back(i);
    }
    std::vector<unsigned char> damaged = whole;
    for (int round = 0; round < 400; ++round) {
        std::size_t at[3];
        for (std::size_t& byte : at) {
            byte = round % 2 == 0 ? dense[random() % dense.size()] : random() % sizeof(header);
            damaged[byte] = static_cast<unsigned char>(damaged[byte] ^ (1u << (random() % 8)));
        }
        attempt(damaged);
        for (const std::size_t byte : at)
            damaged[byte] = whole[byte];
    }
    EXPECT_GT(read_through, 100u);
}

TEST_F(trace, a_killed_writer_leaves_a_recording) {
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        writer w{};
        if (w.open(file_.c_str(), smallest_file, "/bin/killed", 1'000) != 0)
            _exit(1);
        const std::uint32_t lock = w.add_lock(0x5000, lock_kind::mutex, 0, false);
        w.lock(lock).acquisitions.store(3);
        if (write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            w.lock(lock).shared_acquisitions.fetch_add(1);
    }
    char byte = 0;
    ASSERT_EQ(::read(ready[0], &byte, 1), 1);
    const recording running = holdfast::trace::read(file_);
    EXPECT_EQ(running.locks.at(1).acquisitions, 3u);
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    const recording left = holdfast::trace::read(file_);
    EXPECT_EQ(left.program, "/bin/killed");
    EXPECT_FALSE(left.ended);
    EXPECT_EQ(left.locks.at(1).acquisitions, 3u);
    close(ready[0]);
    close(ready[1]);
}

} // namespace
