// `holdfast record` and `holdfast report` on programs that know nothing of them: these behave as without, and the
// report finds the problem that was planted in them.
#include <elf.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "profile/symbols.hpp"
#include "sim/data_files.hpp"
#include "trace/format.hpp"
#include "trace/reader.hpp"

#include "run_program.hpp"

namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using holdfast::test::outcome;

class record : public holdfast::test::in_a_folder {
protected:
    [[nodiscard]] std::size_t files_like(const std::string& prefix) const {
        std::size_t n = 0;
        for (const fs::directory_entry& entry : fs::directory_iterator(folder_))
            n += entry.path().filename().string().starts_with(prefix) ? 1 : 0;
        return n;
    }
    json report(const std::string& file) {
        const outcome result = holdfast_run("report " + file + " --json -");
        EXPECT_EQ(result.status, 0) << result.error;
        return json::parse(result.out);
    }
};

TEST_F(record, a_program_behaves_as_without) {
    for (const char* scene : {"kinds", "bad_times", "rwlocks", "c11", "spinlocks", "conditions", "counting",
                              "forks", "signals", "ends", "cancels", "fork_in_wait", "memory"}) {
        SCOPED_TRACE(scene);
        const outcome without = run(fmt::format("{} {}", program("behaviour"), scene));
        ASSERT_FALSE(without.out.empty());
        // The environment alone, as `record` would set it.
        const outcome with = run(fmt::format("{} {} {}", recorded_to(scene), program("behaviour"), scene));
        EXPECT_EQ(with.status, without.status);
        EXPECT_EQ(with.out, without.out);
        EXPECT_EQ(with.error, without.error);
        EXPECT_GE(files_like(scene), 1u);
    }
}

TEST_F(record, allocators_that_lock_go_along) {
    const outcome without = run(program("behaviour") + " memory");
    std::size_t found = 0;
    for (const char* allocator : {"libjemalloc.so.2", "libtcmalloc_minimal.so.4"}) {
        const outcome there = run(fmt::format("env LD_PRELOAD={} true", allocator));
        if (!there.error.empty()) // the loader says that it has no such library
            continue;
        SCOPED_TRACE(allocator);
        ++found;
        for (const char* order : {"{0}:{1}", "{1}:{0}"}) {
            const std::string libraries =
                fmt::format(fmt::runtime(order), (build_ / "libholdfast_record.so").string(), allocator);
            const outcome with = run(fmt::format("LD_PRELOAD={} HOLDFAST_RECORD_FILE={} {} memory", libraries,
                                                 (folder_ / allocator).string(), program("behaviour")));
            EXPECT_EQ(with.status, without.status);
            EXPECT_EQ(with.out, without.out);
            EXPECT_EQ(with.error, without.error);
            EXPECT_GE(files_like(allocator), 1u);
        }
    }
    if (found == 0)
        GTEST_SKIP() << "neither jemalloc nor tcmalloc is installed";
}

// What the recording has of the lock that was waited for longest.
class hottest {
public:
    explicit hottest(const fs::path& file)
        : recording(holdfast::trace::read(file)), names_(recording.modules) {
        for (std::size_t i = 0; i < recording.locks.size(); ++i) {
            if (recording.locks[i].alone.ns > recording.locks[number].alone.ns)
                number = i;
        }
        for (const holdfast::trace::site_read& s : recording.sites) {
            if (s.lock == number && s.role == holdfast::trace::site_role::wait)
                waits.push_back(s);
        }
    }
    [[nodiscard]] const holdfast::trace::lock_read& lock() const { return recording.locks.at(number); }
    std::string leaf(std::uint32_t stack) {
        const holdfast::trace::stack_read& s = recording.stacks.at(stack);
        return s.frames.empty() ? "" : names_.callers(s.frames[0], s.generation).back().function;
    }
    [[nodiscard]] double spun_share() const {
        double spun = 0;
        double all = 0;
        for (const holdfast::trace::site_read& s : waits) {
            spun += static_cast<double>(s.spun_ns);
            all += static_cast<double>(s.ns);
        }
        return spun / all;
    }

    holdfast::trace::recording recording;
    std::size_t number = 0;
    std::vector<holdfast::trace::site_read> waits;

private:
    holdfast::profile::symbols names_;
};

TEST_F(record, knows_who_held_the_lock_and_what_spun) {
    ASSERT_EQ(holdfast_run("record -o hot -- " + program("planted") + " hot").status, 0);
    hottest hot(folder_ / "hot");
    ASSERT_FALSE(hot.waits.empty());
    for (const holdfast::trace::site_read& site : hot.waits) {
        EXPECT_EQ(hot.leaf(site.stack), "wait_for_it");
        EXPECT_EQ(hot.leaf(site.holder), "hold_it_long");
        EXPECT_EQ(site.waiters, 0u); // nobody behind
    }
    EXPECT_EQ(hot.lock().longest_monopoly, 1u); // they take turns
    EXPECT_GE(hot.lock().alone_holds.longest_ns, 20'000'000u);
    std::uint64_t acquisitions = 0;
    for (const holdfast::trace::thread_read& t : hot.recording.threads)
        acquisitions += t.acquisitions;
    EXPECT_EQ(acquisitions, 20u);

    ASSERT_EQ(holdfast_run("record -o spin -- " + program("planted") + " spin").status, 0);
    EXPECT_GT(hottest(folder_ / "spin").spun_share(), hot.spun_share());
}

TEST_F(record, knows_a_thread_that_leaves_nothing_to_others) {
    ASSERT_EQ(holdfast_run("record -o greedy -- " + program("planted") + " greedy").status, 0);
    EXPECT_GT(hottest(folder_ / "greedy").lock().longest_monopoly, 1u);
}

TEST_F(record, tells_what_of_a_condition_wait_came_after_the_signal) {
    ASSERT_EQ(holdfast_run("record -o signal -- " + program("planted") + " signal").status, 0);
    const holdfast::trace::recording r = holdfast::trace::read(folder_ / "signal");
    std::uint64_t conditions = 0;
    for (const holdfast::trace::lock_read& lock : r.locks) {
        if (lock.kind != holdfast::trace::lock_kind::condition)
            continue;
        ++conditions;
        EXPECT_EQ(lock.acquisitions, 10u); // signals
        EXPECT_GE(lock.woken.waits, 1u);
        EXPECT_LE(lock.woken.waits, lock.alone.waits);
        EXPECT_LT(lock.woken.ns, lock.alone.ns);
        EXPECT_EQ(lock.shared.waits, 0u);
    }
    EXPECT_EQ(conditions, 1u);
}

TEST_F(record, finds_the_lock_that_holds_a_program_back) {
    ASSERT_EQ(holdfast_run("record -o hot.holdfast -- " + program("planted") + " hot").status, 0);
    const json r = report("hot.holdfast");
    EXPECT_TRUE(r["verdict"]["locks_hold_it_back"]);
    EXPECT_EQ(r["verdict"]["first"], "planted`hot_lock");
    EXPECT_TRUE(r["ended"]);
    const json& lock = r["locks"][0];
    EXPECT_EQ(lock["kind"], "mutex");
    EXPECT_EQ(lock["acquisitions"], 20);
    EXPECT_GE(lock["alone"]["waits"], 1);
    bool found = false;
    for (const json& site : lock["sites"]) {
        if (site["role"] == "wait" && site["stack"][0]["function"] == "wait_for_it") {
            found = true;
            EXPECT_EQ(site["let_go"]["function"], "hold_it_long");
            EXPECT_EQ(site["stack"][1]["function"], "waiter");
        }
    }
    EXPECT_TRUE(found);
    const outcome text = holdfast_run("report hot.holdfast");
    EXPECT_TRUE(text.out.starts_with("Locks hold this program back")) << text.out;
    const outcome folded = holdfast_run("report hot.holdfast --folded");
    EXPECT_NE(folded.out.find("waiter;wait_for_it;[lock planted`hot_lock] "), std::string::npos)
        << folded.out;
}

TEST_F(record, a_library_that_takes_the_place_of_another_has_its_own_names) {
    const outcome run =
        holdfast_run(fmt::format("record -o r -- {} {} work_in_one {} work_in_two", program("reload"),
                                 program("plugin_one.so"), program("plugin_two.so")));
    ASSERT_EQ(run.status, 0) << run.error;
    ASSERT_EQ(run.out, "same\n") << "the second library was loaded elsewhere: this test shows nothing";
    const json r = report("r");
    for (const std::string name : {"one", "two"}) {
        SCOPED_TRACE(name);
        bool found = false;
        for (const json& lock : r["locks"]) {
            if (lock["lock"] != fmt::format("plugin_{0}.so`lock_of_{0}", name))
                continue;
            found = true;
            EXPECT_EQ(lock["acquisitions"], 2);
            for (const json& site : lock["sites"])
                EXPECT_EQ(site["stack"][0]["function"], "work_in_" + name);
        }
        EXPECT_TRUE(found) << r["locks"].dump(1);
    }
}

TEST_F(record, says_so_if_locks_are_not_the_problem) {
    ASSERT_EQ(holdfast_run("record -o quiet.holdfast -- " + program("planted") + " quiet").status, 0);
    const json r = report("quiet.holdfast");
    EXPECT_FALSE(r["verdict"]["locks_hold_it_back"]);
    std::uint64_t acquisitions = 0;
    for (const json& lock : r["locks"])
        acquisitions += lock["acquisitions"].get<std::uint64_t>();
    EXPECT_EQ(acquisitions, 20'000u);
    EXPECT_TRUE(
        holdfast_run("report quiet.holdfast --by thread").out.starts_with("Locks are not what holds"));
}

// ---- Holdfast's own locks ----

const json* lock_named(const json& locks, std::string_view name) {
    const auto found = std::find_if(locks.begin(), locks.end(), [name](const json& lock) {
        return lock["lock"].get<std::string>().find(name) != std::string::npos;
    });
    return found == locks.end() ? nullptr : &*found;
}

bool waits_in(const json& lock, std::string_view function) {
    return std::any_of(lock["sites"].begin(), lock["sites"].end(), [function](const json& site) {
        return std::any_of(site["stack"].begin(), site["stack"].end(), [function](const json& place) {
            return place["function"].get<std::string>().find(function) != std::string::npos;
        });
    });
}

// However the program was linked.
class own_locks : public record, public testing::WithParamInterface<const char*> {};

TEST_P(own_locks, tell_of_their_waits) {
    const outcome without = run(program(GetParam()));
    ASSERT_EQ(without.status, 0) << without.error;
    const outcome with = holdfast_run("record -o r -- " + program(GetParam()));
    EXPECT_EQ(with.status, without.status);
    EXPECT_EQ(with.out, without.out);
    const json r = report("r");
    const auto find = [&](const char* list, const char* name) {
        const json* const lock = lock_named(r[list], name);
        EXPECT_NE(lock, nullptr) << name << " is not in " << r[list].dump(2);
        return lock == nullptr ? json() : *lock;
    };
    const json queue = find("locks", "queue_lock");
    const json table = find("locks", "table.lock");
    const json heap = find("locks", "first used in");
    const json filled = find("conditions", "box.filled");
    ASSERT_TRUE(!queue.is_null() && !table.is_null() && !heap.is_null() && !filled.is_null());
    EXPECT_EQ(queue["kind"], "holdfast::mutex");
    EXPECT_EQ(queue["acquisitions_known"], false);
    EXPECT_EQ(queue["alone"]["waits"], 11);
    EXPECT_EQ(queue["alone"]["failed"], 1);
    EXPECT_GT(queue["wait_ns"]["p99"], 0);
    EXPECT_TRUE(waits_in(queue, "wait_in_queue"));
    EXPECT_EQ(table["kind"], "holdfast::shared_mutex");
    EXPECT_EQ(table["alone"]["waits"], 10);
    EXPECT_EQ(table["shared"]["waits"], 10);
    EXPECT_TRUE(waits_in(table, "wait_to_write") && waits_in(table, "wait_to_read"));
    EXPECT_EQ(heap["alone"]["waits"], 10);
    EXPECT_EQ(filled["alone"]["waits"], 11);
    EXPECT_EQ(filled["alone"]["failed"], 1);
    // Others count as ever.
    const json* const free = lock_named(r["locks"], "free_lock");
    EXPECT_TRUE(free != nullptr && (*free)["acquisitions"] == 1 && (*free)["acquisitions_known"] == true);
    // They are part of the verdict's shares.
    std::uint64_t waited = 0;
    for (const json& lock : r["locks"])
        waited += lock["wait_ns"]["sum"].get<std::uint64_t>();
    EXPECT_EQ(r["lock_wait_ns"], waited);
    EXPECT_EQ(r["condition_ns"], filled["wait_ns"]["sum"]);
    const std::string page = holdfast_run("report r").out;
    EXPECT_NE(page.find("11 acquisitions waited; the others, holds and owners are not known of this kind"),
              std::string::npos)
        << page;
}

INSTANTIATE_TEST_SUITE_P(record, own_locks, testing::Values("own_locks", "own_locks_fixed"));

TEST_F(record, a_lock_on_the_heap_is_likely_the_member_that_its_function_has) {
    ASSERT_EQ(holdfast_run("record -o r -- " + program("heap_locks")).status, 0);
    const json locks = report("r")["locks"];
    const auto origin = [&](std::string_view function) {
        const json* const lock = lock_named(locks, function);
        const std::string name = lock == nullptr ? "not there" : (*lock)["lock"].get<std::string>();
        return name.substr(std::min(name.find(", likely"), name.size()));
    };
    EXPECT_EQ(origin("account::pay()"), ", likely account::guarded_.lock") << locks.dump(2);
    EXPECT_EQ(origin("account::read()"), ", likely account::history_");
    EXPECT_EQ(origin("ledger::close()"), ", likely in a ledger");
    EXPECT_EQ(origin("made::made()"), ", likely made::lock");
    // Where nothing says so, nothing is said.
    for (const std::string function : {"lock_one(", "stranger::borrow("}) {
        const json* const lock = lock_named(locks, function);
        ASSERT_NE(lock, nullptr) << function;
        EXPECT_EQ((*lock)["lock"].get<std::string>().find("likely"), std::string::npos) << *lock;
    }
}

// ---- One planted problem each ----

struct planted_trouble {
    const char* command;
    const char* first; // empty: locks are not the problem
    const char* trouble;
    const char* says;

    friend std::ostream& operator<<(std::ostream& to, const planted_trouble& t) { return to << t.command; }
};

class planted : public record, public testing::WithParamInterface<planted_trouble> {};

TEST_P(planted, trouble_is_found_and_said_first) {
    const planted_trouble& t = GetParam();
    ASSERT_EQ(
        holdfast_run(fmt::format("record -o r -- {}/{}", (build_ / "tests/preload").string(), t.command))
            .status,
        0);
    const json r = report("r");
    const bool bad = *t.first != '\0';
    EXPECT_EQ(r["verdict"]["locks_hold_it_back"], bad);
    EXPECT_EQ(r["verdict"]["first"], t.first);
    EXPECT_EQ(r["verdict"]["trouble"], t.trouble);
    const std::string text = holdfast_run("report r").out;
    EXPECT_TRUE(text.starts_with(bad ? "Locks hold this program back: "
                                     : "Locks are not what holds this program back: "))
        << text;
    EXPECT_TRUE(!bad ||
                text.substr(text.find('\n') + 1).starts_with(fmt::format("Look first at {}", t.first)))
        << text;
    std::string unwrapped = text;
    std::replace(unwrapped.begin(), unwrapped.end(), '\n', ' ');
    EXPECT_NE(unwrapped.find(t.says), std::string::npos) << text;
    std::istringstream pages(text + holdfast_run("report r --by thread").out +
                             holdfast_run("report r --by site").out);
    for (std::string line; std::getline(pages, line);)
        EXPECT_LE(line.size(), 100u) << line;
}

INSTANTIATE_TEST_SUITE_P(
    record, planted,
    testing::Values(planted_trouble{"contended held", "contended`held_lock", "held_long",
                                    "when hold_it_long (contended.c:"},
                    planted_trouble{"contended convoy", "contended`journal.lock", "convoy",
                                    "contended`journal.lock (struct journal). "},
                    planted_trouble{"contended readers", "contended`table_lock", "writers_starve",
                                    "Readers keep writers out"},
                    planted_trouble{"contended nested", "contended`inner_lock", "held_long",
                                    "contended`pool.shards[2].lock <- contended`inner_lock"},
                    planted_trouble{"contended chain", "contended`third_lock", "held_long",
                                    "contended`first_lock <- contended`second_lock <- contended`third_lock"},
                    planted_trouble{"arena", "arena`arena_lock", "allocator", "It is the memory allocator's"},
                    planted_trouble{
                        "contended never", "", "none",
                        "Taken most often: contended`busy_lock, 1.00 M times; nobody ever waited for it."},
                    planted_trouble{"planted quiet", "", "none", "10,000 times; nobody ever waited for it."}),
    [](const testing::TestParamInfo<planted_trouble>& tested) {
        std::string name = tested.param.command;
        std::replace(name.begin(), name.end(), ' ', '_');
        return name;
    });

TEST_F(record, shows_inlined_functions_members_and_how_the_holder_took_the_lock) {
    ASSERT_EQ(holdfast_run("record -o r -- " + program("contended") + " convoy").status, 0);
    const json lock = report("r")["locks"][0];
    EXPECT_EQ(lock["lock"], "contended`journal.lock");
    EXPECT_EQ(lock["type"], "struct journal");
    EXPECT_EQ(lock["longest_queue"], 3);
    EXPECT_EQ(lock["acquisitions"], 20);
    EXPECT_EQ(lock["alone"]["waits"], 15);
    EXPECT_GE(lock["owner_changes"], 15);
    EXPECT_GE(lock["longest_monopoly"], 1);
    std::size_t with_holder = 0;
    for (const json& site : lock["sites"]) {
        const json& stack = site["stack"];
        if (site["role"] != "wait")
            continue;
        EXPECT_EQ(stack[0]["function"], "wait_for");
        EXPECT_TRUE(stack[0]["inlined"]);
        EXPECT_EQ(stack[1]["function"], "write_entry");
        EXPECT_FALSE(stack[1]["inlined"]);
        EXPECT_EQ(site["let_go"]["function"], "write_entry");
        const json& holder = site["holder"];
        if (holder.empty())
            continue;
        ++with_holder;
        EXPECT_EQ(holder[1]["function"], "write_entry");
    }
    EXPECT_GE(with_holder, 1u);
}

TEST_F(record, rows_can_be_locks_threads_or_places_in_any_order_that_they_have) {
    ASSERT_EQ(holdfast_run("record -o r -- " + program("contended") + " chain").status, 0);
    const auto first_row = [this](const std::string& arguments) {
        const std::string text = holdfast_run("report r " + arguments).out;
        const std::size_t header = text.find("waited ", text.find("(process"));
        const std::size_t row = text.find('\n', header) + 1;
        return text.substr(row, text.find('\n', row) - row);
    };
    EXPECT_NE(first_row("--sort contended").find("first_lock"), std::string::npos);
    EXPECT_NE(first_row("--by site --sort contended").find("first_lock"), std::string::npos);
    EXPECT_NE(first_row("--by thread --sort acquisitions").find(" 10 "), std::string::npos)
        << first_row("--by thread --sort acquisitions");
    for (const char* none : {"--by site --sort acquisitions", "--by thread --sort hold"}) {
        const outcome result = holdfast_run(std::string("report r ") + none);
        EXPECT_EQ(result.status, 2);
        EXPECT_NE(result.error.find("whose rows have none of that"), std::string::npos) << result.error;
    }
}

TEST_F(record, pprof_reads_who_waited_and_who_held) {
    if (std::system("command -v go >/dev/null") != 0)
        GTEST_SKIP() << "no go";
    ASSERT_EQ(holdfast_run("record -o r -- " + program("contended") + " convoy").status, 0);
    ASSERT_EQ(holdfast_run("report r --pprof p").status, 0);
    const auto top = [this](const char* file, const char* more) {
        const outcome result = run(fmt::format("HOME={0} PPROF_TMPDIR={0} go tool pprof -top {1} {2}",
                                               folder_.string(), more, file));
        EXPECT_EQ(result.status, 0) << result.error;
        return result.out;
    };
    for (const char* file : {"p.waiters.pb.gz", "p.holders.pb.gz"}) {
        SCOPED_TRACE(file);
        const std::string text = top(file, "");
        EXPECT_NE(text.find("Type: delay"), std::string::npos) << text;
        EXPECT_NE(text.find("write_entry"), std::string::npos) << text;
        EXPECT_NE(top(file, "-sample_index=contentions -tagfocus=journal.lock").find("Total samples = 15"),
                  std::string::npos);
    }
    EXPECT_NE(top("p.waiters.pb.gz", "").find("wait_for (inline)"), std::string::npos);
}

TEST_F(record, names_of_a_program_do_no_harm) {
    const std::string hostile = "./\x1b[2J;<b>%s";
    fs::copy_file(program("contended"), folder_ / hostile);
    ASSERT_EQ(holdfast_run(fmt::format("record -o r -- '{}' names", hostile)).status, 0);
    const auto is_harmless = [](const std::string& text) {
        return std::all_of(text.begin(), text.end(), [](unsigned char c) { return c == '\n' || c >= 0x20; });
    };
    for (const char* how : {"", "--by thread", "--by site", "--folded", "--json -"})
        EXPECT_TRUE(is_harmless(holdfast_run(fmt::format("report r {}", how)).out)) << how;
    const json r = report("r");
    EXPECT_NE(r["verdict"]["first"].get<std::string>().find("`<b>\\"), std::string::npos) << r["verdict"];
    bool found = false;
    for (const json& thread : r["threads"])
        found = found || thread["name"].get<std::string>().starts_with("<i>\\x1b[7m;\\x0a");
    EXPECT_TRUE(found) << r["threads"].dump(1);
}

TEST_F(record, a_program_that_fails_is_status_3_and_its_own_on_stderr) {
    const outcome failed = holdfast_run("record -o a -- " + program("planted") + " exit");
    EXPECT_EQ(failed.status, 3);
    EXPECT_NE(failed.error.find("exited with status 7"), std::string::npos) << failed.error;
    const outcome killed = holdfast_run("record -o b -- " + program("planted") + " kill");
    EXPECT_EQ(killed.status, 3);
    EXPECT_NE(killed.error.find("killed by signal 9"), std::string::npos) << killed.error;
    EXPECT_FALSE(report("b")["ended"]);
}

// The head of an ELF program that needs no loader.
std::string elf_head(unsigned char elf_class) {
    Elf64_Ehdr head{};
    std::memcpy(head.e_ident, ELFMAG, SELFMAG);
    head.e_ident[EI_CLASS] = elf_class;
    head.e_ident[EI_DATA] = ELFDATA2LSB;
    head.e_ident[EI_VERSION] = EV_CURRENT;
    head.e_type = ET_EXEC;
    head.e_machine = elf_class == ELFCLASS32 ? EM_386 : EM_X86_64;
    std::string bytes(sizeof head, '\0');
    std::memcpy(bytes.data(), &head, sizeof head);
    return bytes;
}

TEST_F(record, a_setuid_program_needs_root) {
    fs::permissions(folder_, fs::perms::all);
    fs::copy_file(program("planted"), folder_ / "raised");
    fs::permissions(folder_ / "raised", fs::perms::set_uid | fs::perms::all);
    const std::string others = geteuid() == 0 ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    if (run(fmt::format("{}{} --version", others, (build_ / "holdfast").string())).status != 0)
        GTEST_SKIP() << "can't become another user who may run holdfast";
    const outcome result =
        run(fmt::format("{}{} record -- ./raised quiet", others, (build_ / "holdfast").string()));
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.error.find("./raised: runs with its owner's rights"), std::string::npos) << result.error;
}

TEST_F(record, what_can_not_be_recorded_is_said_in_one_line) {
    std::ofstream(folder_ / "text") << "no program\n";
    std::ofstream(folder_ / "script") << "#!/nowhere/shell\n";
    std::ofstream(folder_ / "mine") << "not a recording";
    std::ofstream(folder_ / "elf32", std::ios::binary) << elf_head(ELFCLASS32);
    std::ofstream(folder_ / "static", std::ios::binary) << elf_head(ELFCLASS64);
    std::ofstream(folder_ / "to_elf32") << "#! " << (folder_ / "elf32").string() << " -x\n";
    for (const char* name : {"script", "elf32", "static", "to_elf32"})
        fs::permissions(folder_ / name, fs::perms::owner_all);
    const struct {
        const char* arguments;
        const char* error;
    } mistakes[] = {{"record -- ./none", "./none: No such file or directory"},
                    {"record -- no-such-program-anywhere", "no such program in PATH"},
                    {"record -- ./text", "not executable"},
                    {"record -- ./script", "/nowhere/shell: No such file or directory"},
                    {"record -- ./elf32", "./elf32: a 32-bit program"},
                    {"record -- ./to_elf32", "/elf32: a 32-bit program"},
                    {"record -- ./static", "./static: linked statically"},
                    {"record -- /", "/: not a file that can be run"},
                    {"record --start-on-signal NONE -- /bin/true", "NONE is no signal"},
                    {"record --stop mine", "mine: not a recording"},
                    {"record --start ./none", "./none: No such file or directory"},
                    {"record -o mine -- /bin/true", "mine: is there, and not a recording"},
                    {"record -o /nowhere/x -- /bin/true", "/nowhere/x"},
                    {"record", "CMD is required"},
                    {"report ./none", "./none: No such file or directory"},
                    {"report mine", "mine: too short for a recording"}};
    for (const auto& [arguments, error] : mistakes) {
        SCOPED_TRACE(arguments);
        const outcome result = holdfast_run(arguments);
        EXPECT_EQ(result.status, 2);
        EXPECT_NE(result.error.find(error), std::string::npos) << result.error;
        EXPECT_EQ(std::count(result.error.begin(), result.error.end(), '\n'), 1) << result.error;
    }
}

TEST_F(record, a_recording_of_another_version_makes_room) {
    std::ofstream former(folder_ / "former", std::ios::binary);
    former.write(reinterpret_cast<const char*>(&holdfast::trace::magic), sizeof holdfast::trace::magic);
    former.close();
    ASSERT_EQ(holdfast_run("record -o former -- /bin/true").status, 0);
    EXPECT_EQ(holdfast_run("report former").status, 0);
}

TEST_F(record, other_processes_have_recordings_of_their_own_unless_told_not_to) {
    std::ofstream(folder_ / "script") << fmt::format("#!/bin/sh\n{} quiet\nexit 0\n", program("planted"));
    fs::permissions(folder_ / "script", fs::perms::owner_all);
    ASSERT_EQ(holdfast_run("record -o one -- ./script").status, 0);
    EXPECT_EQ(files_like("one"), 2u);
    ASSERT_EQ(holdfast_run("record -o two --no-follow -- ./script").status, 0);
    EXPECT_EQ(files_like("two"), 1u);
}

// How often the lock of this phase was taken while it was recorded.
std::uint64_t taken_in(const json& report, int phase) {
    for (const json& lock : report["locks"]) {
        if (lock["lock"] == fmt::format("phases`phase_{}", phase))
            return lock["acquisitions"];
    }
    return 0;
}

constexpr std::uint64_t taken_in_a_phase = 200'000;

TEST_F(record, begins_and_stops_when_told_from_elsewhere) {
    const std::string self = (build_ / "holdfast").string();
    const outcome run = holdfast_run(fmt::format(
        "record -o a --no-follow --delay 100000 -- {} '{} record --start a' '{} record --stop a' true true",
        program("phases"), self, self));
    ASSERT_EQ(run.status, 0) << run.error;
    const json r = report("a");
    EXPECT_TRUE(r["ended"]);
    EXPECT_EQ(taken_in(r, 0), 0u);
    EXPECT_EQ(taken_in(r, 1), taken_in_a_phase);
    EXPECT_LT(taken_in(r, 2), taken_in_a_phase); // it looks now and then
    EXPECT_EQ(taken_in(r, 3), 0u);
    const outcome late = holdfast_run("record --stop a");
    EXPECT_EQ(late.status, 2);
    EXPECT_NE(late.error.find("a: this recording has ended"), std::string::npos) << late.error;
}

TEST_F(record, a_recording_that_waits_to_begin_says_so) {
    const std::string self = (build_ / "holdfast").string();
    const outcome during = holdfast_run(fmt::format(
        "record -o a --no-follow --delay 100000 -- {} '{} report a >page' '{} report a --json -' true true",
        program("phases"), self, self));
    ASSERT_EQ(during.status, 0) << during.error;
    const std::string page = holdfast::read_text((folder_ / "page").string());
    EXPECT_TRUE(page.starts_with("Nothing is recorded yet: /")) << page;
    EXPECT_EQ(std::count(page.begin(), page.end(), '\n'), 1) << page;
    EXPECT_NE(during.out.find("\"begun\": false"), std::string::npos) << during.out;
    const outcome after = holdfast_run("report a");
    EXPECT_EQ(after.status, 0);
    EXPECT_TRUE(after.out.starts_with("Nothing is recorded here: /")) << after.out;
    for (const char* more : {"--by thread", "--by site", "--folded", "--pprof p"})
        EXPECT_EQ(holdfast_run(fmt::format("report a {}", more)).status, 0) << more;
}

TEST_F(record, begins_and_stops_at_signals_to_itself) {
    // The shell's parent is the program, and that one's `record`.
    const auto signal_until = [](holdfast::trace::command what) {
        return fmt::format("kill -USR1 $(cut -d\" \" -f4 /proc/$PPID/stat); while [ $(od -An -tu4 -j{} -N4 "
                           "a) != {} ]; do :; done",
                           offsetof(holdfast::trace::header, command), static_cast<std::uint32_t>(what));
    };
    const outcome run = holdfast_run(fmt::format(
        "record -o a --no-follow --start-on-signal USR1 -- {} '{}' '{}' true true", program("phases"),
        signal_until(holdfast::trace::command::run), signal_until(holdfast::trace::command::stop)));
    ASSERT_EQ(run.status, 0) << run.error;
    const json r = report("a");
    EXPECT_EQ(taken_in(r, 0), 0u);
    EXPECT_EQ(taken_in(r, 1), taken_in_a_phase);
    EXPECT_LT(taken_in(r, 2), taken_in_a_phase);
    EXPECT_EQ(taken_in(r, 3), 0u);
}

TEST_F(record, begins_after_a_delay) {
    ASSERT_EQ(
        holdfast_run("record -o a --no-follow --delay 0.05 -- " + program("phases") + " 'sleep 0.2' true")
            .status,
        0);
    EXPECT_EQ(taken_in(report("a"), 1), taken_in_a_phase);
    ASSERT_EQ(holdfast_run("record -o b --no-follow --delay 100000 -- " + program("phases") + " true").status,
              0);
    EXPECT_EQ(taken_in(report("b"), 0), 0u);
}

TEST_F(record, the_environment_alone_has_the_same_triggers) {
    const std::string library =
        fmt::format("LD_PRELOAD={} HOLDFAST_RECORD_FILE={}", (build_ / "libholdfast_record.so").string(),
                    (folder_ / "a").string());
    const std::string trigger = "'LD_PRELOAD= kill -USR1 $PPID'";
    ASSERT_EQ(run(fmt::format("{} HOLDFAST_RECORD_SIGNAL=USR1 {} {} {} true true", library, program("phases"),
                              trigger, trigger))
                  .status,
              0);
    const json by_signal = report("a");
    EXPECT_EQ(taken_in(by_signal, 0), 0u);
    EXPECT_EQ(taken_in(by_signal, 1), taken_in_a_phase);
    EXPECT_LT(taken_in(by_signal, 2), taken_in_a_phase);
    EXPECT_EQ(taken_in(by_signal, 3), 0u);
    fs::remove(folder_ / "a");
    ASSERT_EQ(run(fmt::format("{} HOLDFAST_RECORD_DELAY=0.05 {} 'LD_PRELOAD= sleep 0.2' true", library,
                              program("phases")))
                  .status,
              0);
    EXPECT_EQ(taken_in(report("a"), 1), taken_in_a_phase);
}

TEST_F(record, processes_that_come_later_obey_what_the_first_was_told) {
    const std::string self = (build_ / "holdfast").string();
    const std::string others = program("phases") + " true";
    const outcome run = holdfast_run(fmt::format(
        "record -o a --delay 100000 -- {} \"{}\" '{} record --start a' \"{}\" '{} record --stop a; {}'",
        program("phases"), others, self, others, self, others));
    ASSERT_EQ(run.status, 0) << run.error;
    std::vector<std::uint64_t> taken;
    for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
        const std::string name = entry.path().filename().string();
        if (name.starts_with("a."))
            taken.push_back(taken_in(report(name), 0));
    }
    std::sort(taken.begin(), taken.end());
    ASSERT_GE(taken.size(), 2u);
    EXPECT_EQ(taken.back(), taken_in_a_phase); // the one between
    EXPECT_EQ(taken[taken.size() - 2], 0u);    // the one before
}

} // namespace
