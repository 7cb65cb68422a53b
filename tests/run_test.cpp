// `holdfast run` as its users meet it: a program behaves as with its own locks, whichever it is given instead.
#include <algorithm>
#include <fstream>
#include <regex>

#include "run_program.hpp"
#include "substitute/locks.hpp"

namespace {

namespace fs = std::filesystem;
using holdfast::substitute::lock_choice;
using holdfast::substitute::lock_choices;
using holdfast::test::outcome;

class run : public holdfast::test::in_a_folder {
protected:
    // A program of tests/preload, scene by scene, with every lock for which `of_interest` is true.
    template <class Filter>
    void same_as_without(const char* name, std::initializer_list<const char*> scenes, Filter of_interest) {
        for (const char* scene : scenes) {
            const outcome without = in_a_folder::run(fmt::format("{} {}", program(name), scene));
            ASSERT_EQ(without.error, "") << scene;
            for (const lock_choice& choice : lock_choices()) {
                if (!of_interest(choice))
                    continue;
                SCOPED_TRACE(fmt::format("{} {} {}", choice.name, name, scene));
                const outcome with = in_a_folder::run(
                    fmt::format("export {}; {} {}", with_lock(choice.name), program(name), scene));
                ASSERT_EQ(with.out, without.out);
                ASSERT_EQ(with.error, without.error);
                ASSERT_EQ(with.status, without.status);
            }
        }
    }
};

constexpr auto any = [](const lock_choice&) { return true; };

TEST_F(run, answers_are_those_of_glibc) {
    same_as_without("behaviour", {"kinds", "bad_times", "rwlocks", "c11"}, any);
    same_as_without("in_place", {"initialisers", "thousand", "others", "lives"}, any);
}

TEST_F(run, conditions_go_along) {
    same_as_without("behaviour", {"conditions"}, any);
    same_as_without("in_place", {"conditions", "cancels", "pending"}, any);
}

TEST_F(run, a_program_goes_through_the_same_events) {
    same_as_without("behaviour", {"counting", "forks", "signals", "ends", "fork_in_wait"}, any);
}

// A thread that is cancelled at any instruction of a lock, which POSIX leaves undefined, must leave a line of waiters that can be
// left.
TEST_F(run, a_sleeper_may_be_cancelled_at_once) {
    same_as_without("behaviour", {"cancels"},
                    [](const lock_choice& c) { return c.name == "mutex" || c.mutex == nullptr; });
}

// glibc's read-write locks, and conditions with their waiters, can't do that, so that there is nothing to compare with.
TEST_F(run, a_child_may_use_what_its_forking_thread_held_though_others_wait) {
    for (const lock_choice& choice : lock_choices()) {
        if (choice.mutex == nullptr || choice.rwlock == nullptr)
            continue;
        const outcome result =
            in_a_folder::run(fmt::format("{} {} forks", with_lock(choice.name), program("in_place")));
        const std::string all = "pthread_mutex_trylock(&held) = 16, errno 77\nsum 3000\n"
                                "pthread_cond_timedwait(&waited_for, &of_another, &soon) = 110, errno 77\n";
        EXPECT_EQ(result.out, fmt::format("{}child: 3\n{}", all, all)) << choice.name;
    }
}

TEST_F(run, allocators_that_lock_go_along) {
    const outcome without = in_a_folder::run(program("behaviour") + " memory");
    for (const char* allocator : {"libjemalloc.so.2", "libtcmalloc_minimal.so.4"}) {
        const fs::path library = fs::path("/usr/lib/x86_64-linux-gnu") / allocator;
        if (!fs::exists(library))
            continue;
        for (const char* lock : {"mutex", "shared_mutex", "mcs"}) {
            const outcome with = in_a_folder::run(fmt::format(
                "LD_PRELOAD={}:{} HOLDFAST_RUN_LOCK={} {} memory", (build_ / "libholdfast_run.so").string(),
                library.string(), lock, program("behaviour")));
            EXPECT_EQ(with, without) << allocator << ' ' << lock;
        }
    }
}

// ---- Which locks ----

TEST_F(run, replaces_what_the_lock_is_for) {
    const auto whose = [this](const char* lock) {
        return holdfast_run(fmt::format("run --lock {} -- {} whose", lock, program("in_place"))).out;
    };
    const std::string mutexes = "normal ours\npool[1] ours\nmade ours\n";
    const std::string none = "normal glibc's\npool[1] glibc's\nmade glibc's\n";
    EXPECT_EQ(whose("glibc"), none + "readers glibc's\nkind 0, flags 0\n");
    EXPECT_EQ(whose("adaptive"), none + "readers glibc's\nkind 3, flags 0\n");
    EXPECT_EQ(whose("prefer-writer"), none + "readers glibc's\nkind 0, flags 2\n");
    EXPECT_EQ(whose("holdfast::mutex"), mutexes + "readers glibc's\nkind 0, flags 0\n");
    EXPECT_EQ(whose("shared_mutex"), mutexes + "readers ours\nkind 0, flags 0\n");
    EXPECT_EQ(whose("rwsem.linux_5_3"), none + "readers ours\nkind 0, flags 0\n");
}

TEST_F(run, only_and_not_pick_locks_by_their_names_in_a_report) {
    const auto ours = [this](const std::string& picked) {
        const outcome result =
            holdfast_run(fmt::format("run --lock shared_mutex {} -- {} whose", picked, program("in_place")));
        EXPECT_EQ(result.status, 0) << result.error;
        std::string names;
        const std::regex line("(\\S+) ours");
        for (std::sregex_iterator i(result.out.begin(), result.out.end(), line), end; i != end; ++i)
            names += (*i)[1].str() + ' ';
        return names;
    };
    EXPECT_EQ(ours("--only 'in_place`normal'"), "normal ");
    EXPECT_EQ(ours("--only in_place:normal --only readers"), "normal readers ");
    EXPECT_EQ(ours("--not normal"), "pool[1] made readers ");
    EXPECT_EQ(ours("--only 'in_place`pool[1]'"), "pool[1] ");
    EXPECT_EQ(ours("--only 'in_place`pool[0]'"), "");
    EXPECT_EQ(ours("--only pool --not 'pool[1]'"), "");
    EXPECT_EQ(ours("--only make_one"), "made ");      // initialises it
    EXPECT_EQ(ours("--not in_place:whose"), "made "); // uses the others first
    EXPECT_EQ(ours("--only elsewhere.so+0x10"), "");
    const auto kind = [this](const char* picked) {
        return holdfast_run(
                   fmt::format("run --lock adaptive --only {} -- {} whose", picked, program("in_place")))
            .out;
    };
    EXPECT_NE(kind("normal").find("kind 3"), std::string::npos);
    EXPECT_NE(kind("pool").find("kind 0"), std::string::npos);
}

TEST_F(run, an_environment_that_names_no_lock_is_complained_of) {
    const outcome result = in_a_folder::run(with_lock("mutx") + " " + program("in_place") + " whose");
    EXPECT_EQ(result.error, "holdfast: HOLDFAST_RUN_LOCK: there is no lock 'mutx'; nothing is replaced\n");
    EXPECT_NE(result.out.find("normal glibc's"), std::string::npos) << result.out;
}

TEST_F(run, lists_the_locks) {
    const outcome result = holdfast_run("run --list");
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(static_cast<std::size_t>(std::count(result.out.begin(), result.out.end(), '\n')),
              lock_choices().size() + 1);
    for (const lock_choice& choice : lock_choices())
        EXPECT_NE(result.out.find(choice.what), std::string::npos) << choice.name;
}

// ---- The program and its end ----

TEST_F(run, a_program_that_fails_is_status_3_and_its_own_on_stderr) {
    EXPECT_EQ(holdfast_run("run --lock mutex -- /bin/true").status, 0);
    const outcome failed = holdfast_run("run --lock mutex -- " + program("planted") + " exit");
    EXPECT_EQ(failed.status, 3);
    EXPECT_NE(failed.error.find("exited with status 7"), std::string::npos) << failed.error;
    const outcome killed = holdfast_run("run --lock glibc -- " + program("planted") + " kill");
    EXPECT_EQ(killed.status, 3);
    EXPECT_NE(killed.error.find("killed by signal 9"), std::string::npos) << killed.error;
}

TEST_F(run, what_can_not_be_done_is_said_in_one_line) {
    std::ofstream(folder_ / "text") << "no program\n";
    const std::string in_place = program("in_place");
    const struct {
        std::string arguments;
        const char* error;
    } mistakes[] = {{"--lock mutex -- ./none", "./none: No such file or directory"},
                    {"--lock mutex -- ./text", "not executable"},
                    {"--lock mutex", "CMD is required"},
                    {"-- /bin/true", "--lock is required"},
                    {"--lock mutx -- /bin/true", "there is no lock 'mutx'; did you mean 'mutex'?"},
                    {"--lock holdfast::adaptive -- /bin/true", "there is no lock 'holdfast::adaptive'"},
                    {"--lock mutex --only nothing -- " + in_place, "nothing: "},
                    {"--lock mutex --only 'pool[7]' -- " + in_place, "no variable or function of that name"},
                    {"--lock mutex --only libc.so.6:x -- " + in_place, "name the library with its folders"}};
    for (const auto& [arguments, error] : mistakes) {
        SCOPED_TRACE(arguments);
        const outcome result = holdfast_run("run " + arguments);
        EXPECT_EQ(result.status, 2);
        EXPECT_NE(result.error.find(error), std::string::npos) << result.error;
        EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    }
}

} // namespace
