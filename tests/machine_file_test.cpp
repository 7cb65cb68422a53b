// Machine files: what is read, and that each mistake gets one line that names its place and its mend.
#include "sim/machine_file.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "sim/random.hpp"

namespace {

using namespace holdfast;
using namespace holdfast::sim;

std::string tiny() {
    return read_text(data_file("machines", "tiny"));
}

// `text` with the first `from` replaced.
std::string with(std::string text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
}

// The error of a text, or "" if it is a machine.
std::string error_of(const std::string& text) {
    try {
        parse_machine(text, "m.toml");
        return {};
    } catch (const file_error& error) {
        return error.what();
    }
}

TEST(machine_file, every_machine_of_the_project_is_read_and_has_its_file_s_name) {
    const std::vector<std::string> names = data_names("machines");
    EXPECT_GE(names.size(), 4u);
    for (const std::string& name : names) {
        const machine m = read_machine(data_file("machines", name));
        EXPECT_EQ(m.name, name);
        EXPECT_FALSE(m.sources.empty());
        for (const auto& [key, from] : m.sources)
            EXPECT_FALSE(from.words.empty()) << name << ' ' << key;
    }
}

TEST(machine_file, numbers_are_kept_exactly) {
    const machine m =
        parse_machine(with(with(tiny(), "hit_ns = { value = 1,", "hit_ns = { value = 1.25,"), "[core]",
                           "[arbitration]\nfavours = { value = 'home', assumed = 'x' }\n"
                           "probability = { value = 0.95, fitted = 'x' }\n[core]"),
                      "m.toml");
    EXPECT_EQ(m.name, "tiny");
    EXPECT_EQ(m.cpus(), 2);
    EXPECT_EQ(m.hit, 1'250);
    EXPECT_EQ(m.slice, 1'000'000'000);
    EXPECT_EQ(m.favours, favour::home);
    EXPECT_EQ(m.favour_ppm, 950'000);
    EXPECT_EQ(m.sources.at("arbitration.probability").how, provenance::kind::fitted);
    EXPECT_EQ(m.sources.at("coherence.hit_ns").words, "round");
    EXPECT_EQ(shown_value(*find_parameter("arbitration.probability"), m), "0.95");
    EXPECT_EQ(shown_value(*find_parameter("arbitration.favours"), m), "home");
    EXPECT_EQ(shown_value(*find_parameter("coherence.hit_ns"), m), "1.25");
}

TEST(machine_file, the_matrix_between_sockets) {
    const std::string two = with(tiny(), "sockets = { value = 1,", "sockets = { value = 2,");
    const auto add = [&](std::string_view matrix) {
        return with(two, "[core]",
                    "socket_matrix_ns = { value = " + std::string(matrix) + ", source = 's' }\n[core]");
    };
    const machine m = parse_machine(add("[[7, 100], [120.5, 0]]"), "m.toml");
    EXPECT_EQ(m.socket_matrix, (std::vector<picoseconds>{0, 100'000, 120'500, 0}));
    EXPECT_EQ(m.sources.find(socket_matrix_key)->second.words, "s");
    for (const char* bad : {"[[0, 1]]", "[[0, 1], [1]]", "[[0, -1], [1, 0]]", "[[0, nan], [1, 0]]", "[1, 2]",
                            "3", "[[0, 'x'], [1, 0]]", "[]"})
        EXPECT_NE(error_of(add(bad)).find("coherence.socket_matrix_ns"), std::string::npos) << bad;
}

struct mistake {
    const char* from;
    const char* to;
    const char* error;
};

TEST(machine_file, a_mistake_gets_its_line_its_key_and_its_mend) {
    const std::string text = tiny();
    const std::string rmw = "rmw_ns = { value = 10, assumed = \"round\" }";
    const mistake mistakes[] = {
        {rmw.c_str(), "rmw_ns = { value = , }", "m.toml:13: is not TOML here"},
        {rmw.c_str(), "", "m.toml:11: coherence.rmw_ns: is missing; add it"},
        {rmw.c_str(), "rmv_ns = { value = 10, assumed = 'x' }",
         "m.toml:13: coherence.rmv_ns: is not known here; did you mean 'rmw_ns'?"},
        {rmw.c_str(), "zzzzzzzzzz = 1", "m.toml:13: coherence.zzzzzzzzzz: is not known here; remove it"},
        {"[scheduler]", "[schedular]", "schedular: is not known here; did you mean 'scheduler'?"},
        {rmw.c_str(), "rmw_ns = 10", "m.toml:13: coherence.rmw_ns: is a whole number; give a table"},
        {"rmw_ns = { value = 10,", "rmw_ns = { value = '10',",
         "m.toml:13: coherence.rmw_ns.value: is a text; give a number"},
        {"rmw_ns = { value = 10,", "rmw_ns = { value = nan,", "coherence.rmw_ns.value: is not finite"},
        {"rmw_ns = { value = 10,", "rmw_ns = { value = -inf,", "coherence.rmw_ns.value: is not finite"},
        {"rmw_ns = { value = 10,", "rmw_ns = { value = -1,",
         "coherence.rmw_ns.value: is -1, negative; give 0.1 to 3600000000000 ns"},
        {"rmw_ns = { value = 10,", "rmw_ns = { value = 1e300,", "give 0.1 to 3600000000000 ns"},
        {"rmw_ns = { value = 10,", "rmw_ns = { value = 9223372036854775807,", "give 0.1 to 3600000000000 ns"},
        {"rmw_ns = { value = 10,", "rmw_ns = { worth = 10,", "coherence.rmw_ns.worth: is not known here"},
        {"sockets = { value = 1,", "sockets = { value = 1.5,", "topology.sockets.value: is 1.5, not whole"},
        {"sockets = { value = 1,", "sockets = { value = 0,", "topology.sockets.value: is 0; give 1 to 16"},
        {"cores_per_socket = { value = 2,", "cores_per_socket = { value = 300,", "is 300; give 1 to 256"},
        {"sockets = { value = 1,", "sockets = { value = 16,", ""},
        {"line_bytes = { value = 64,", "line_bytes = { value = 96,",
         "m.toml:9: topology.line_bytes: is 96; give a power of two"},
        {"threads_per_core = { value = 1,", "threads_per_core = { value = 2,",
         "coherence.transfer_sibling_ns: is missing; it is needed where topology.threads_per_core is 2"},
        {"[coherence]", "complexes_per_socket = { value = 3, assumed = 'x' }\n[coherence]",
         "topology.complexes_per_socket: 3 complexes can't share 2 cores evenly"},
        {"[core]", "[arbitration]\nprobability = { value = 0.5, assumed = 'x' }\n[core]",
         "arbitration.probability: has no effect but where arbitration.favours is not none; remove it"},
        {"[core]", "[arbitration]\nfavours = { value = 'home', assumed = 'x' }\n[core]",
         "arbitration.probability: is missing; it is needed where arbitration.favours is not none"},
        {"[core]", "[arbitration]\nfavours = { value = 'homer', assumed = 'x' }\n[core]",
         "arbitration.favours.value: is 'homer'; give one of: none, holder, home"},
        {"[scheduler]", "pause = { value = 'switch_thread', assumed = 'x' }\n[scheduler]",
         "core.pause: is switch_thread, which needs core.smt to be switch_on_event"},
        {rmw.c_str(), "rmw_ns = { value = 10 }",
         "m.toml:13: coherence.rmw_ns: does not say where the number comes from; add source, assumed"},
        {rmw.c_str(), "rmw_ns = { value = 10, assumed = 'x', source = 'y' }",
         "coherence.rmw_ns: says twice where the number comes from"},
        {rmw.c_str(), "rmw_ns = { value = 10, assumed = '' }", "coherence.rmw_ns.assumed: is empty"},
        {rmw.c_str(), "rmw_ns = { value = 10, assumed = \"a\\nb\" }",
         "coherence.rmw_ns.assumed: has a line break"},
        {rmw.c_str(), "rmw_ns = { value = 10, assumed = \"a\\u009bb\" }",
         "coherence.rmw_ns.assumed: has a line break or another control character"},
        {"name = \"tiny\"", "name = \"t\xc3\xadny\"",
         "m.toml:2: is not ASCII here; data files are plain ASCII"},
        {"name = \"tiny\"", "", "m.toml:1: name: is missing"},
        {"name = \"tiny\"", "name = 3", "m.toml:2: name: is a whole number; give a text"},
        {"name = \"tiny\"", "\"na\\nme\" = 3", "na\\x0ame: is not known here"},
    };
    for (const mistake& m : mistakes) {
        const std::string error = error_of(with(text, m.from, m.to));
        EXPECT_NE(error.find(m.error), std::string::npos) << m.to << " gives: " << error;
        EXPECT_EQ(error.empty(), *m.error == '\0') << m.to << " gives: " << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
    }
}

// A simulated machine on which repeating something takes no time can stand still.
TEST(machine_file, a_machine_has_time_going_on) {
    const std::string text = tiny();
    const auto added = [](const char* line) { return "[scheduler]\n" + std::string(line); };
    const std::string fast_tick = added("tick_ns = { value = 0.001, assumed = 'x' }");
    const std::string endless_tick = added("tick_ns = { value = 10_000, assumed = 'x' }\n"
                                           "tick_cost_ns = { value = 10_000, assumed = 'x' }");
    const std::string sensible = added("tick_ns = { value = 10_000, assumed = 'x' }\n"
                                       "tick_cost_ns = { value = 9_999, assumed = 'x' }\n"
                                       "balance_interval_ns = { value = 10_000, assumed = 'x' }");
    const std::string none = added("tick_ns = { value = 0, assumed = 'x' }\n"
                                   "balance_interval_ns = { value = 0, assumed = 'x' }");
    const std::string fast_balancer = added("balance_interval_ns = { value = 9_999, assumed = 'x' }");
    const mistake mistakes[] = {
        {"hit_ns = { value = 1,", "hit_ns = { value = 0,", "coherence.hit_ns.value: is 0; give 0.1 to"},
        {"rmw_ns = { value = 10,", "rmw_ns = { value = 0,", "coherence.rmw_ns.value: is 0; give 0.1 to"},
        {"slice_ns = { value = 1_000_000,", "slice_ns = { value = 0,",
         "scheduler.slice_ns.value: is 0; give 1000 to"},
        {"[scheduler]", fast_tick.c_str(),
         "scheduler.tick_ns: is 0.001; give 10000 ns or more, or 0 for none"},
        {"[scheduler]", endless_tick.c_str(), "scheduler.tick_cost_ns: is not less than scheduler.tick_ns"},
        {"[scheduler]", fast_balancer.c_str(),
         "scheduler.balance_interval_ns: is 9999; give 10000 ns or more, or 0 for none"},
        {"[scheduler]", sensible.c_str(), ""},
        {"[scheduler]", none.c_str(), ""},
    };
    for (const mistake& m : mistakes) {
        const std::string error = error_of(with(text, m.from, m.to));
        EXPECT_NE(error.find(m.error), std::string::npos) << m.to << " gives: " << error;
        EXPECT_EQ(error.empty(), *m.error == '\0') << m.to << " gives: " << error;
    }
    EXPECT_EQ(find_parameter("core.smt_quantum_ns")->minimum, 1'000'000); // two threads that take turns
}

TEST(machine_file, one_number_may_be_fitted) {
    const std::string one = with(tiny(), "rmw_ns = { value = 10, assumed", "rmw_ns = { value = 10, fitted");
    EXPECT_EQ(error_of(one), "");
    EXPECT_EQ(error_of(with(one, "stay_ns = { value = 20, assumed", "stay_ns = { value = 20, fitted")),
              "m.toml:20: coherence.stay_ns: is fitted, and so is coherence.rmw_ns; a machine may have one "
              "fitted number");
}

TEST(machine_file, too_many_cpus) {
    const std::string text = with(with(tiny(), "sockets = { value = 1,", "sockets = { value = 16,"),
                                  "cores_per_socket = { value = 2,", "cores_per_socket = { value = 17,");
    EXPECT_NE(error_of(text).find("m.toml:6: topology.sockets: the machine has 272 CPUs"), std::string::npos)
        << error_of(text);
}

TEST(machine_file, what_can_t_be_read_is_named) {
    const auto read_error = [](const char* path) {
        try {
            read_machine(path);
            return std::string();
        } catch (const file_error& error) {
            return std::string(error.what());
        }
    };
    EXPECT_EQ(read_error("/nowhere/x.toml"),
              "/nowhere/x.toml: No such file or directory; give a readable file");
    EXPECT_NE(read_error("/").find("/: "), std::string::npos);
    EXPECT_EQ(read_error("/dev/zero"), "/dev/zero: is not a file; give one that is no pipe and no device");
    const std::string pipe = testing::TempDir() + "machine_file_test." + std::to_string(getpid());
    ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
    EXPECT_EQ(read_error(pipe.c_str()), pipe + ": is not a file; give one that is no pipe and no device");
    EXPECT_EQ(remove(pipe.c_str()), 0);
    const std::string large = testing::TempDir() + "machine_file_test." + std::to_string(getpid());
    std::ofstream(large) << std::string((1 << 20) + 1, '#');
    EXPECT_NE(read_error(large.c_str()).find("is larger than"), std::string::npos);
    EXPECT_EQ(remove(large.c_str()), 0);
    try {
        data_file("machines", "tinny");
        FAIL();
    } catch (const file_error& error) {
        EXPECT_STREQ(error.what(), "machines/tinny.toml: no such file; did you mean 'tiny'?");
    }
    EXPECT_EQ(data_file("machines", "./x"), "./x");
}

// Whatever bytes come, there is a machine or a file_error of one line.
TEST(machine_file, mutated_files_do_no_harm) {
    for (const std::string& name : data_names("machines")) {
        const std::string text = read_text(data_file("machines", name));
        random_source random(7);
        for (int round = 0; round < 600; ++round) {
            std::string mutant = text;
            if (round % 3 == 0)
                mutant.resize(random.below(mutant.size()));
            for (std::uint64_t flips = random.below(4); flips > 0 && !mutant.empty(); --flips)
                mutant[random.below(mutant.size())] = static_cast<char>(random.below(256));
            if (round % 5 == 0 && !mutant.empty()) {
                const std::size_t at = random.below(mutant.size());
                mutant.insert(random.below(mutant.size()), mutant.substr(at, random.below(80)));
            }
            ASSERT_EQ(error_of(mutant).find('\n'), std::string::npos) << error_of(mutant);
        }
    }
    for (const std::string& nested :
         {std::string(100'000, '['), "a=" + std::string(100'000, '['), "a=" + std::string(50'000, '{'),
          std::string("\xff\xfe\x00", 3), std::string("[=]"), std::string("[a.=]")})
        EXPECT_NE(error_of(nested), "");
}

TEST(names, the_nearest_is_what_was_meant) {
    const std::vector<std::string> known = {"lockref", "mmap_sem", "inodegc"};
    EXPECT_EQ(nearest("lokcref", known), "lockref");
    EXPECT_EQ(nearest("lock", known), "lockref");
    EXPECT_EQ(nearest("mmapsem", known), "mmap_sem");
    EXPECT_EQ(nearest("zebra", known), "");
    EXPECT_EQ(nearest("", known), "");
    EXPECT_EQ(printable("a\tb\x7f"), "a\\x09b\\x7f");
    EXPECT_EQ(printable("\xc2\x9b"
                        "31m\xc2\x80"),
              "\\xc2\\x9b31m\\xc2\\x80");
    const std::string letters = "\xc2\xa0\xc3\x9b\xe2\x82\xac\xf0\x9f\x94\x92"; // beyond them
    EXPECT_EQ(printable(letters), letters);
    EXPECT_EQ(printable("\x9b\xff\xc3"), "\\x9b\\xff\\xc3"); // no UTF-8
    EXPECT_EQ(printable("\xe0\x82\x9b"), "\\xe0\\x82\\x9b");
    EXPECT_EQ(printable(std::string(199, 'x') + "\xc3\x9bx"), std::string(199, 'x') + "\xc3\x9b...");
    EXPECT_EQ(printable(std::string(300, 'x')).size(), 203u);
}

} // namespace
