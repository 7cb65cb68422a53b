// The formats for other programs that are text: folded stacks and JSON.
#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "report/report.hpp"
#include "report/words.hpp"
#include "sim/data_files.hpp"

namespace holdfast::report {

namespace {

using nlohmann::ordered_json;
using profile::call_stack;
using profile::lock;
using profile::place;
using profile::site;

std::string folded_name(std::string text) {
    std::replace(text.begin(), text.end(), ';', ':');
    return text;
}

ordered_json json_of(const place& p) {
    return {{"function", p.function}, {"source", p.source}, {"module", p.module}, {"inlined", p.inlined}};
}

ordered_json json_of(const call_stack& stack) {
    ordered_json frames = ordered_json::array();
    for (const place* p : stack)
        frames.push_back(json_of(*p));
    return frames;
}

// A single place of a call, with empty names if it isn't known.
ordered_json json_of_call(const call_stack& call) {
    const place* const user = user_of(call);
    return json_of(user == nullptr ? place{} : *user);
}

ordered_json json_of(const trace::waits_read& w) {
    return {{"waits", w.waits},
            {"wait_ns", w.ns},
            {"longest_ns", w.longest_ns},
            {"failed", w.failed},
            {"histogram", w.histogram}};
}

ordered_json json_of(const trace::holds_read& h) {
    return {{"timed", h.holds}, {"ns", h.ns}, {"longest_ns", h.longest_ns}, {"histogram", h.histogram}};
}

ordered_json json_of(const site& s) {
    constexpr std::string_view roles[] = {"none", "wait", "read_wait", "release", "condition"};
    static_assert(std::size(roles) == trace::site_roles);
    return {{"role", roles[static_cast<std::uint32_t>(s.role)]},
            {"samples", s.samples},
            {"count", s.count},
            {"wait_ns", s.ns},
            {"longest_ns", s.longest_ns},
            {"spun_ns", s.spun_ns},
            {"waiters", s.waiters},
            {"let_go", json_of_call(*s.let_go)},
            {"stack", json_of(*s.stack)},
            {"holder", json_of(*s.holder)}};
}

ordered_json json_of(const lock& l) {
    ordered_json sites = ordered_json::array();
    for (const site& s : l.sites)
        sites.push_back(json_of(s));
    const profile::wait_sums sums = sums_of(l);
    return {{"lock", l.name},
            {"type", l.type},
            {"kind", name_of(l.figures.kind)},
            {"locks", l.members},
            {"address", l.figures.address},
            {"initialisations", l.figures.lives},
            {"acquisitions_known", trace::counts_acquisitions(l.figures.kind)},
            {"acquisitions", l.figures.acquisitions},
            {"shared_acquisitions", l.figures.shared_acquisitions},
            {"wait_ns",
             {{"sum", l.waits.ns},
              {"p50", l.waits.quantile_ns(0.5)},
              {"p99", l.waits.quantile_ns(0.99)},
              {"max", l.waits.longest_ns}}},
            {"alone", json_of(l.figures.alone)},
            {"shared", json_of(l.figures.shared)},
            {"woken", json_of(l.figures.woken)},
            {"holds", json_of(l.figures.alone_holds)},
            {"shared_holds", json_of(l.figures.shared_holds)},
            {"sampled",
             {{"waits", sums.samples},
              {"wait_ns", sums.ns},
              {"spun_ns", sums.spun_ns},
              {"waiters_behind", sums.behind},
              {"wait_ns_with_holder", sums.holder_ns}}},
            {"owner_changes", l.figures.owner_changes},
            {"longest_monopoly", l.figures.longest_monopoly},
            {"longest_queue", l.figures.longest_queue},
            {"sites", std::move(sites)}};
}

ordered_json json_of(const profile::chain& c) {
    ordered_json links = ordered_json::array();
    for (const profile::link& l : c)
        links.push_back({{"lock", l.waited_for->name},
                         {"wait_ns", l.ns},
                         {"count", l.count},
                         {"stack", json_of(*l.longest->stack)}});
    return links;
}

ordered_json json_of(const trace::thread_read& t) {
    return {{"id", t.id},
            {"name", printable(t.name)},
            {"lived_ns", t.end_ns - t.start_ns},
            {"cpu_ns", t.cpu_ns},
            {"acquisitions", t.acquisitions},
            {"waits", t.waits},
            {"wait_ns", t.wait_ns},
            {"longest_wait_ns", t.longest_wait_ns},
            {"condition_waits", t.condition_waits},
            {"condition_ns", t.condition_ns}};
}

template <class List, class Value>
ordered_json array_of(const List& list, Value value) {
    ordered_json array = ordered_json::array();
    for (const auto& entry : list)
        array.push_back(value(entry));
    return array;
}

} // namespace

std::string as_folded(const profile::profile& p, const options& o) {
    std::string text;
    for (const lock* l : chosen(p.locks, o)) {
        for (const site& s : l->sites) {
            if (!s.waited_for_lock() || s.ns == 0)
                continue;
            for (auto frame = s.stack->rbegin(); frame != s.stack->rend(); ++frame)
                text += folded_name((*frame)->function) + ';';
            text += fmt::format("[lock {}] {}\n", folded_name(l->name), s.ns);
        }
    }
    return text;
}

ordered_json as_json(const profile::profile& p, const profile::diagnosis& d, const options& o) {
    const trace::recording& r = p.recording;
    const auto of_pointer = [](const lock* l) { return json_of(*l); };
    ordered_json lost;
    for (std::size_t s = 0; s < r.lost.size(); ++s)
        lost[std::string(section_names[s])] = r.lost[s];
    lost["operations"] = r.lost_operations;
    ordered_json passed;
    for (std::size_t i = 0; i < r.passed_through.size(); ++i)
        passed[std::string(passed_names[i])] = r.passed_through[i];
    const std::vector<std::uint64_t> shares = acquisitions_of_threads(p);
    return {{"program", printable(r.program)},
            {"process", r.process},
            {"begun", r.begun},
            {"ended", r.ended},
            {"cut", r.cut},
            {"verdict",
             {{"locks_hold_it_back", d.locks_hold_it_back},
              {"lock_share_percent", 100 * p.lock_share()},
              {"first", d.first == nullptr ? "" : d.first->name},
              {"trouble", name_of(d.what)},
              {"waited_for_longest", d.first == nullptr ? "" : p.locks.front().name}}},
            {"thread_ns", p.thread_ns},
            {"lock_wait_ns", p.lock_wait_ns},
            {"condition_ns", p.condition_ns},
            {"cpu_ns", p.cpu_ns},
            {"fairness", {{"threads", shares.size()}, {"jain_acquisitions", profile::jain(shares)}}},
            {"locks", array_of(chosen(p.locks, o), of_pointer)},
            {"conditions", array_of(chosen(p.conditions, o), of_pointer)},
            {"chains", array_of(d.chains, [](const profile::chain& c) { return json_of(c); })},
            {"threads", array_of(r.threads, [](const trace::thread_read& t) { return json_of(t); })},
            {"lost", std::move(lost)},
            {"passed_through", std::move(passed)},
            {"other_runtimes", p.other_runtimes},
            {"without_names", p.without_names}};
}

} // namespace holdfast::report
