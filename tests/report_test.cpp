// The report on recordings that are written here by hand: names of this test's own functions, wait-for chains, names that
// terminals and parsers could take for their own, and profiles for pprof, read back field by field.
#include <link.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <protozero/pbf_reader.hpp>

#include "profile/diagnosis.hpp"
#include "profile/lock_classes.hpp"
#include "profile/profile.hpp"
#include "report/report.hpp"
#include "text/text_table.hpp"

// Code to have addresses in; never run. Of different sizes, or the compiler would make them one.
extern "C" {
[[gnu::noinline]] void outer_function() {
    asm volatile(".skip 64");
}
[[gnu::noinline]] void inner_function() {
    asm volatile(".skip 65");
}
[[gnu::noinline]] void helper_function() {
    asm volatile(".skip 66");
}
[[gnu::noinline]] void root_function() {
    asm volatile(".skip 67");
}
// As if the program had that library in it.
[[gnu::noinline, gnu::used]] void nsync_mu_lock(void*) {}
}

namespace {

namespace fs = std::filesystem;
using namespace holdfast;
using trace::lock_kind;
using trace::site_role;

std::uint64_t base_address() {
    std::uint64_t base = 0;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* to) {
            *static_cast<std::uint64_t*>(to) = info->dlpi_addr;
            return 1; // the program comes first
        },
        &base);
    return base;
}

using code = void (*)();

// The return address of a call so many bytes into a function.
std::uint64_t in(code f, std::uint64_t offset) {
    return reinterpret_cast<std::uint64_t>(f) + offset + 1;
}

// A recording of this test as a program.
class written {
public:
    written() {
        r.program = "/bin/program";
        r.process = 42;
        r.end_ns = 1'000'000'000;
        r.ended = true;
        r.modules.push_back(
            {base_address(), base_address() + (1 << 28), 0, 0, {}, fs::read_symlink("/proc/self/exe")});
        r.stacks.resize(1);
        r.locks.resize(1);
        trace::thread_read t;
        t.id = 42;
        t.name = "worker";
        t.end_ns = r.end_ns;
        r.threads.push_back(t);
    }

    std::uint32_t stack(std::vector<std::uint64_t> frames) {
        r.stacks.push_back({0, std::move(frames)});
        return static_cast<std::uint32_t>(r.stacks.size() - 1);
    }
    std::uint32_t lock(std::uint32_t initialised_in, lock_kind kind = lock_kind::mutex) {
        trace::lock_read l;
        l.address = 0x10 * (r.locks.size() + 1);
        l.kind = kind;
        l.stack = initialised_in;
        l.initialised = true;
        r.locks.push_back(l);
        return static_cast<std::uint32_t>(r.locks.size() - 1);
    }
    // A site of waits, and those waits in the lock's and the thread's figures.
    void wait(std::uint32_t lock, std::uint32_t stack, std::uint32_t holder, std::uint64_t let_go,
              std::uint64_t ns, std::uint64_t count = 1) {
        r.sites.push_back(
            {site_role::wait, lock, stack, holder, let_go, count, count, ns, ns, ns / 4, 3 * count});
        trace::waits_read& waits = r.locks[lock].alone;
        r.locks[lock].acquisitions += 2 * count;
        waits.waits += count;
        waits.ns += ns;
        waits.longest_ns = std::max(waits.longest_ns, ns);
        waits.histogram[20] += count;
        r.threads[0].waits += count;
        r.threads[0].wait_ns += ns;
    }
    void release(std::uint32_t lock, std::uint32_t stack, std::uint64_t count) {
        r.sites.push_back(
            {site_role::release, lock, stack, 0, r.stacks[stack].frames[0], count, count, 0, 0, 0, 1});
    }

    trace::recording r;
};

// ---- Classes ----

TEST(lock_classes, many_locks_of_one_origin_are_one) {
    written w;
    const std::uint32_t here = w.stack({in(helper_function, 4), in(root_function, 10)});
    const std::uint32_t there = w.stack({in(outer_function, 4), in(root_function, 10)});
    const std::uint32_t waits = w.stack({in(inner_function, 4), in(root_function, 10)});
    for (std::uint64_t i = 0; i < 10; ++i)
        w.wait(w.lock(here), waits, 0, 0, 100 + i);
    for (std::uint64_t i = 0; i < profile::smallest_class - 1; ++i)
        w.wait(w.lock(there), waits, 0, 0, 150);
    const profile::profile joined = profile::make_profile(w.r);
    ASSERT_EQ(joined.locks.size(), profile::smallest_class);
    const profile::lock& all = joined.locks.front(); // none of them was waited for longest by itself
    EXPECT_EQ(all.members, 10u);
    EXPECT_TRUE(all.name.starts_with("10 locks initialised in helper_function")) << all.name;
    EXPECT_EQ(all.figures.address, 0x10u * 11) << "not that of the one that was waited for longest";
    EXPECT_EQ(all.waits.ns, 10 * 100 + 45u);
    EXPECT_EQ(all.waits.count, 10u);
    EXPECT_EQ(all.acquisitions(), 20u);
    EXPECT_EQ(all.sites.size(), 10u);
    EXPECT_EQ(joined.locks[1].members, 1u);
    EXPECT_EQ(profile::make_profile(w.r, false).locks.size(), 10 + profile::smallest_class - 1);
}

// ---- Chains ----

// A lock A, held from `taken` to `let_go`, that is waited for; and waits for B with the stack `inside`.
std::size_t links(const std::vector<std::uint64_t>& taken, const std::vector<std::uint64_t>& let_go,
                  const std::vector<std::uint64_t>& inside) {
    written w;
    const std::uint32_t a = w.lock(0);
    const std::uint32_t b = w.lock(0);
    const std::uint32_t elsewhere = w.stack({in(root_function, 2)});
    w.wait(a, elsewhere, w.stack(taken), let_go[0], 100);
    w.release(a, w.stack(let_go), 1);
    w.wait(b, w.stack(inside), 0, 0, 90);
    const profile::profile p = profile::make_profile(w.r);
    const std::vector<profile::chain> chains = profile::chains_of(p);
    return chains.empty() ? 0 : chains[0].size();
}

TEST(chains, a_wait_between_taking_and_letting_go_is_inside) {
    const std::uint64_t root = in(root_function, 10);
    const auto outer = [](std::uint64_t offset) { return in(outer_function, offset); };
    const auto inner = [](std::uint64_t offset) { return in(inner_function, offset); };
    const auto helper = [](std::uint64_t offset) { return in(helper_function, offset); };
    ASSERT_EQ(links({outer(4), root}, {outer(20), root}, {inner(3), outer(12), root}), 2u);
    // Before, and behind.
    EXPECT_EQ(links({outer(4), root}, {outer(20), root}, {inner(3), outer(2), root}), 0u);
    EXPECT_EQ(links({outer(4), root}, {outer(20), root}, {inner(3), outer(22), root}), 0u);
    // The same function, but called by somebody else.
    EXPECT_EQ(links({outer(4), root}, {outer(20), root}, {inner(3), outer(12), in(root_function, 14)}), 0u);
    // Taken and let go by functions that return.
    EXPECT_EQ(links({helper(5), outer(4), root}, {inner(5), outer(20), root}, {inner(3), outer(12), root}),
              2u);
    // Taken and let go in one call: what its caller does later is not inside.
    EXPECT_EQ(links({helper(5), outer(4), root}, {helper(9), outer(4), root}, {inner(3), outer(12), root}),
              0u);
    // The call that lets go may wait before it does.
    EXPECT_EQ(links({outer(4), root}, {helper(9), outer(20), root}, {helper(5), outer(20), root}), 2u);
}

TEST(chains, lead_from_the_lock_that_is_waited_for_longest_to_the_one_to_look_at) {
    written w;
    const std::uint64_t root = in(root_function, 10);
    const std::uint32_t locks[] = {w.lock(0), w.lock(0), w.lock(0)};
    const std::vector<std::uint64_t> a_taken{in(outer_function, 4), root};
    const std::vector<std::uint64_t> b_taken{in(inner_function, 4), in(outer_function, 8), root};
    const std::vector<std::uint64_t> c_waits{in(helper_function, 4), in(inner_function, 8),
                                             in(outer_function, 8), root};
    w.wait(locks[0], w.stack({in(root_function, 2)}), w.stack(a_taken), in(outer_function, 20), 900'000'000);
    w.release(locks[0], w.stack({in(outer_function, 20), root}), 1);
    w.wait(locks[1], w.stack(b_taken), w.stack(b_taken), in(inner_function, 20), 800'000'000);
    w.release(locks[1], w.stack({in(inner_function, 20), in(outer_function, 8), root}), 1);
    w.wait(locks[2], w.stack(c_waits), 0, 0, 700'000'000);
    const profile::profile p = profile::make_profile(w.r);
    const profile::diagnosis d = profile::diagnose(p);
    ASSERT_EQ(d.chains.size(), 1u);
    ASSERT_EQ(d.chains[0].size(), 3u);
    EXPECT_EQ(d.chains[0][0].ns, 900'000'000u);
    EXPECT_EQ(d.chains[0][2].ns, 700'000'000u);
    ASSERT_NE(d.through, nullptr);
    EXPECT_EQ(d.depth, 2u);
    EXPECT_EQ(d.first->waits.ns, 700'000'000u);
    EXPECT_TRUE(d.locks_hold_it_back);
    // Held for most of the time without waiting for the others: then it is the one.
    w.r.locks[locks[0]].alone_holds = {1, 1'000'000'000, 1'000'000'000, {}};
    w.r.sites[2].ns = 100'000'000;
    const profile::profile own = profile::make_profile(w.r);
    EXPECT_EQ(profile::diagnose(own).first->waits.ns, 900'000'000u);
}

// ---- Names ----

TEST(names, of_functions_and_of_other_runtimes_come_from_the_mapped_files) {
    written w;
    w.wait(w.lock(0), w.stack({in(inner_function, 4), in(outer_function, 4)}), 0, 0, 10);
    const profile::profile p = profile::make_profile(w.r);
    ASSERT_TRUE(p.without_names.empty());
    const profile::call_stack& stack = *p.locks[0].sites[0].stack;
    ASSERT_GE(stack.size(), 2u);
    EXPECT_EQ(stack.back()->function, "outer_function");
    EXPECT_EQ(stack.front()->function, "inner_function");
    ASSERT_TRUE(p.other_runtimes.contains("nsync"));
    EXPECT_EQ(p.other_runtimes.at("nsync"), "report_test");
    EXPECT_NE(report::as_text(p, profile::diagnose(p), {}).find("Not seen, but there: "), std::string::npos);
}

bool is_harmless(std::string_view text) {
    return std::all_of(text.begin(), text.end(),
                       [](char c) { return c == '\n' || static_cast<unsigned char>(c) >= 0x20; });
}

// Of a file that isn't there, with names that mean something to terminals, browsers, and readers of lines.
trace::recording hostile() {
    const std::string name = "\x1b[31m<script>&;\n%s\x9b \"'";
    written w;
    w.r.program = "/bin/" + name;
    w.r.threads[0].name = name;
    w.r.modules.push_back({0x1000, 0x9000, 0, 0, {0xab, 0x01}, "/lib/" + name});
    const std::uint32_t lock = w.lock(w.stack({0x1100}));
    w.wait(lock, w.stack({0x1200, 0x1300}), w.stack({0x1400}), 0x1500, 500'000'000);
    w.release(lock, w.stack({0x1500, 0x1600}), 1);
    const std::uint32_t condition = w.lock(w.stack({0x1100}), lock_kind::condition);
    w.r.locks[condition].alone.waits = 1;
    return w.r;
}

TEST(names, that_terminals_and_parsers_could_take_for_their_own_do_no_harm) {
    const profile::profile p = profile::make_profile(hostile());
    const profile::diagnosis d = profile::diagnose(p);
    for (const report::table_of rows :
         {report::table_of::locks, report::table_of::threads, report::table_of::sites}) {
        report::options o;
        o.rows = rows;
        EXPECT_TRUE(is_harmless(report::as_text(p, d, o)));
    }
    const std::string folded = report::as_folded(p, {});
    EXPECT_TRUE(is_harmless(folded));
    EXPECT_EQ(std::count(folded.begin(), folded.end(), '\n'), 1);
    EXPECT_EQ(std::count(folded.begin(), folded.end(), ';'), 2); // two frames and the lock
    EXPECT_TRUE(folded.ends_with(" 500000000\n")) << folded;
    EXPECT_TRUE(is_harmless(report::as_json(p, d, {}).dump()));
}

TEST(names, that_are_long_are_cut_in_the_middle) {
    EXPECT_EQ(shortened("short", 5), "short");
    EXPECT_EQ(shortened("a_long_name", 9), "a_l...ame");
    EXPECT_EQ(shortened("\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4", 8), "\u00e4...\u00e4"); // of two bytes each
    text_table table({"name", "n"});
    table.add({std::string(200, 'x'), "1"});
    const std::string text = table.text(false, "  ", 50);
    EXPECT_EQ(text.find('\n', text.find('\n') + 1) - text.find('\n') - 1, 50u);
}

// ---- Figures ----

TEST(figures, jain_is_one_for_equals_and_one_nth_for_one_who_has_all) {
    EXPECT_DOUBLE_EQ(profile::jain({5, 5, 5}), 1);
    EXPECT_DOUBLE_EQ(profile::jain({9, 0, 0}), 1.0 / 3);
    EXPECT_DOUBLE_EQ(profile::jain({}), 0);
}

TEST(figures, waits_spun_and_who_stood_behind_are_summed_over_sites) {
    written w;
    const std::uint32_t lock = w.lock(0);
    const std::uint32_t stack = w.stack({in(inner_function, 4)});
    w.wait(lock, stack, stack, 0, 800, 2);
    w.wait(lock, stack, 0, 0, 200, 3);
    const profile::profile p = profile::make_profile(w.r);
    const profile::wait_sums sums = sums_of(p.locks[0]);
    EXPECT_EQ(sums.count, 5u);
    EXPECT_EQ(sums.ns, 1'000u);
    EXPECT_EQ(sums.spun_ns, 250u);
    EXPECT_EQ(sums.behind, 15u);
    EXPECT_EQ(sums.holder_ns, 800u);
    EXPECT_NE(report::as_text(p, profile::diagnose(p), {}).find("known for 80 % of the time"),
              std::string::npos);
}

TEST(figures, a_condition_shows_how_long_signals_take_to_arrive) {
    written w;
    const std::uint32_t condition = w.lock(0, lock_kind::condition);
    w.r.locks[condition].acquisitions = 7;
    w.r.locks[condition].alone.waits = 5;
    w.r.locks[condition].woken.waits = 4;
    w.r.locks[condition].woken.ns = 8'000;
    w.r.locks[condition].woken.longest_ns = 3'000;
    w.r.locks[condition].woken.histogram[10] = 4;
    const profile::profile p = profile::make_profile(w.r);
    const profile::diagnosis d = profile::diagnose(p);
    EXPECT_EQ(d.first, nullptr);
    const std::string text = report::as_text(p, d, {});
    EXPECT_NE(text.find("woken p50"), std::string::npos) << text;
    EXPECT_NE(text.find("2.05 us"), std::string::npos) << text;
    EXPECT_EQ(report::as_json(p, d, {})["conditions"][0]["woken"]["wait_ns"], 8'000);
}

TEST(figures, locks_stand_in_the_order_that_is_asked_for) {
    written w;
    const std::uint32_t stack = w.stack({in(inner_function, 4)});
    for (std::uint64_t i = 0; i < 4; ++i)
        w.lock(0);
    w.wait(1, stack, 0, 0, 900, 3);
    w.wait(2, stack, 0, 0, 100, 9);
    w.r.locks[2].alone.longest_ns = 950;
    w.r.locks[3].alone_holds = {2, 700, 400, {}};
    w.r.locks[4].shared_acquisitions = 1'000;
    const profile::profile p = profile::make_profile(w.r);
    const auto first = [&](report::order by) {
        report::options o;
        o.by = by;
        return report::as_json(p, profile::diagnose(p), o)["locks"][0]["address"].get<std::uint64_t>();
    };
    EXPECT_EQ(first(report::order::wait), w.r.locks[1].address);
    EXPECT_EQ(first(report::order::longest), w.r.locks[2].address);
    EXPECT_EQ(first(report::order::contended), w.r.locks[2].address);
    EXPECT_EQ(first(report::order::hold), w.r.locks[3].address);
    EXPECT_EQ(first(report::order::acquisitions), w.r.locks[4].address);
}

// ---- pprof ----

struct read_profile {
    std::vector<std::string> strings;
    struct sample {
        std::vector<std::uint64_t> locations;
        std::vector<std::int64_t> values;
        std::map<std::string, std::string> labels;
    };
    std::vector<sample> samples;
    std::map<std::uint64_t, std::vector<std::uint64_t>> locations; // their functions, innermost first
    std::map<std::uint64_t, std::string> functions;
    std::vector<std::string> types;
    std::vector<std::string> build_ids;
    std::string default_type;

    [[nodiscard]] std::int64_t sum(std::size_t value) const {
        std::int64_t all = 0;
        for (const sample& s : samples)
            all += s.values.at(value);
        return all;
    }
    // Functions of a sample, leaf first.
    [[nodiscard]] std::vector<std::string> stack(const sample& s) const {
        std::vector<std::string> names;
        for (const std::uint64_t location : s.locations) {
            for (const std::uint64_t f : locations.at(location))
                names.push_back(functions.at(f));
        }
        return names;
    }
};

std::string unzipped(const std::string& data) {
    z_stream stream{};
    EXPECT_EQ(inflateInit2(&stream, 31), Z_OK);
    std::string copy = data;
    std::string out(1 << 20, '\0');
    stream.next_in = reinterpret_cast<Bytef*>(copy.data());
    stream.avail_in = static_cast<uInt>(copy.size());
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    EXPECT_EQ(inflate(&stream, Z_FINISH), Z_STREAM_END);
    out.resize(stream.total_out);
    inflateEnd(&stream);
    return out;
}

std::int64_t integer(protozero::pbf_reader message, protozero::pbf_tag_type field) {
    std::int64_t value = 0;
    while (message.next()) {
        if (message.tag() == field)
            value = message.get_int64();
        else
            message.skip();
    }
    return value;
}

read_profile read_back(const std::string& file) {
    const std::string bytes = unzipped(file);
    read_profile p;
    for (protozero::pbf_reader m(bytes); m.next(6);)
        p.strings.push_back(m.get_string());
    const auto text = [&p](std::int64_t at) { return p.strings.at(static_cast<std::size_t>(at)); };
    for (protozero::pbf_reader m(bytes); m.next();) {
        switch (m.tag()) {
        case 1:
            p.types.push_back(text(integer(m.get_message(), 1)));
            break;
        case 2: {
            read_profile::sample s;
            for (protozero::pbf_reader fields = m.get_message(); fields.next();) {
                if (fields.tag() == 1) {
                    for (const std::uint64_t id : fields.get_packed_uint64())
                        s.locations.push_back(id);
                } else if (fields.tag() == 2) {
                    for (const std::int64_t value : fields.get_packed_int64())
                        s.values.push_back(value);
                } else {
                    const protozero::pbf_reader label = fields.get_message();
                    s.labels[text(integer(label, 1))] = text(integer(label, 2));
                }
            }
            p.samples.push_back(s);
            break;
        }
        case 3: {
            p.build_ids.push_back(text(integer(m.get_message(), 6)));
            break;
        }
        case 4: {
            const protozero::pbf_reader location = m.get_message();
            std::vector<std::uint64_t> functions;
            for (protozero::pbf_reader lines = location; lines.next(4);)
                functions.push_back(static_cast<std::uint64_t>(integer(lines.get_message(), 1)));
            EXPECT_TRUE(p.locations.emplace(integer(location, 1), functions).second)
                << "one number, two locations";
            break;
        }
        case 5: {
            const protozero::pbf_reader function = m.get_message();
            p.functions[static_cast<std::uint64_t>(integer(function, 1))] = text(integer(function, 2));
            break;
        }
        case 14:
            p.default_type = text(m.get_int64());
            break;
        default:
            m.skip();
        }
    }
    return p;
}

TEST(pprof, says_who_waited_and_who_let_go_with_the_same_sums) {
    written w;
    const std::uint64_t root = in(root_function, 10);
    const std::uint32_t lock = w.lock(0);
    const std::uint32_t waiter = w.stack({in(inner_function, 4), root});
    w.wait(lock, waiter, 0, in(outer_function, 20), 900, 9);
    w.wait(lock, waiter, 0, in(helper_function, 20), 50, 1); // whose stack nobody sampled
    w.wait(lock, waiter, 0, 0, 30, 1);                       // of whom nothing is known
    w.release(lock, w.stack({in(outer_function, 20), root}), 2);
    w.release(lock, w.stack({in(outer_function, 20), in(root_function, 14)}), 1);
    const profile::profile p = profile::make_profile(w.r);

    const read_profile waiters = read_back(report::as_pprof(p, report::blame::waiters, {}));
    EXPECT_EQ(waiters.strings.at(0), "");
    EXPECT_EQ(waiters.types, (std::vector<std::string>{"contentions", "delay"}));
    EXPECT_EQ(waiters.default_type, "delay");
    EXPECT_EQ(waiters.sum(0), 11);
    EXPECT_EQ(waiters.sum(1), 980);
    for (const read_profile::sample& s : waiters.samples) {
        EXPECT_EQ(waiters.stack(s), (std::vector<std::string>{"inner_function", "root_function"}));
        EXPECT_EQ(s.labels.at("lock"), p.locks[0].name);
        EXPECT_EQ(s.labels.at("kind"), "mutex");
    }

    const read_profile holders = read_back(report::as_pprof(p, report::blame::holders, {}));
    EXPECT_EQ(holders.sum(0), 11);
    EXPECT_EQ(holders.sum(1), 980);
    std::map<std::vector<std::string>, std::int64_t> delays;
    for (const read_profile::sample& s : holders.samples)
        delays[holders.stack(s)] += s.values[1];
    EXPECT_EQ((delays[{"outer_function", "root_function"}]), 900);
    EXPECT_EQ(delays[{"helper_function"}], 50);
    EXPECT_EQ(delays[{"[not sampled]"}], 30);
    // Two places called it: by how often they did.
    std::set<std::int64_t> shares;
    for (const read_profile::sample& s : holders.samples)
        shares.insert(s.values[1]);
    EXPECT_EQ(shares, (std::set<std::int64_t>{30, 50, 300, 600}));
}

TEST(pprof, has_harmless_names_and_the_build_ids_of_files) {
    const profile::profile p = profile::make_profile(hostile());
    for (const report::blame whom : {report::blame::waiters, report::blame::holders}) {
        const read_profile read = read_back(report::as_pprof(p, whom, {}));
        for (const std::string& text : read.strings)
            EXPECT_TRUE(is_harmless(text) && text.find('\n') == std::string::npos) << text;
        EXPECT_EQ(read.build_ids.at(1), "ab01");
        EXPECT_EQ(read.sum(1), 500'000'000);
    }
}

} // namespace
