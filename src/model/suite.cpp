// Runs a model test and prints it as two tables: the scenarios and what was explored of each; the mutants and
// who caught them.
#include "model/suite.hpp"

#include <algorithm>
#include <cstdio>
#include <map>
#include <string_view>
#include <tuple>

namespace holdfast::model {

namespace {

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != text.npos;
}

bool writes(operation o) {
    return o != operation::load && o != operation::await && o != operation::fence;
}

// "lock" from "lock<unsigned int>": a function's name without its template arguments, which only some
// compilers add.
std::string function_name(const char* name) {
    const std::string_view view = name;
    return std::string(view.substr(0, view.find('<')));
}

// What can be done to a site, and its name: the orders before and after, as "acquire -> relaxed".
std::vector<std::pair<change, const char*>> changes_of(const site& s) {
    if (s.what == operation::unpark) // whose order is the platform's
        return {{change::drop_write, "dropped"}};
    std::vector<std::pair<change, const char*>> list;
    switch (s.order) {
    case std::memory_order_acquire:
        list.emplace_back(change::drop_acquire, "acquire -> relaxed");
        break;
    case std::memory_order_release:
        list.emplace_back(change::drop_release, "release -> relaxed");
        break;
    case std::memory_order_acq_rel:
        list.emplace_back(change::drop_acquire, "acq_rel -> release");
        list.emplace_back(change::drop_release, "acq_rel -> acquire");
        break;
    case std::memory_order_seq_cst:
        list.emplace_back(change::drop_seq_cst, "seq_cst -> acquire/release");
        break;
    default:
        break;
    }
    if (s.failure != std::memory_order_relaxed)
        list.emplace_back(change::drop_failure_acquire, "failure order -> relaxed");
    if (writes(s.what))
        list.emplace_back(change::drop_write, "write dropped");
    if (s.what == operation::await)
        list.emplace_back(change::skip_wait, "not waited for");
    return list;
}

// Executions of a scenario in search of a mutant: who isn't caught in so many is found nowhere, most likely.
constexpr std::uint64_t most_for_a_mutant = 150'000;

std::string bound_of(const limits& bounds) {
    std::string text;
    if (bounds.preemptions != limits::unlimited)
        text += "preemptions " + std::to_string(bounds.preemptions);
    if (bounds.old_values != limits::unlimited)
        text += (text.empty() ? "old values " : ", old values ") + std::to_string(bounds.old_values);
    return text.empty() ? "complete" : text;
}

void print_trace(const outcome& result) {
    for (const step& s : result.trace)
        std::printf("        %s%u %s, %s:%u %s\n", s.thread == step::alone ? "alone" : "thread ",
                    s.thread == step::alone ? 0 : s.thread, s.what.c_str(), s.at.file, s.at.line,
                    s.at.function);
}

} // namespace

int suite::run(int argc, char** argv) {
    std::string scenario, mutant;
    for (int i = 1; i < argc; i += 2) {
        const std::string_view option = argv[i];
        if (i + 1 == argc || (option != "--scenario" && option != "--mutant")) {
            std::fprintf(stderr, "usage: %s [--scenario TEXT] [--mutant TEXT]\n", argv[0]);
            return 2;
        }
        (option == "--scenario" ? scenario : mutant) = argv[i + 1];
    }
    std::vector<site> sites;
    if (!run_scenarios(scenario, sites))
        return 1;
    return scenario.empty() && !run_mutants(mutant, sites) ? 1 : 0;
}

bool suite::run_scenarios(const std::string& only, std::vector<site>& sites) const {
    std::printf("%s\n", header_.c_str());
    bool good = true;
    for (const entry& e : scenarios_) {
        if (!contains(e.name, only))
            continue;
        const outcome result = explore(*e.what, e.bounds);
        const bool passed = result.complete;
        std::printf("    %u threads  %-28s %8llu executions  %s%s%s\n", e.what->threads(),
                    passed ? bound_of(e.bounds).c_str() : "FAILS",
                    static_cast<unsigned long long>(result.executions), e.name.c_str(), passed ? "" : ": ",
                    result.failure.empty() && !passed ? "too many executions" : result.failure.c_str());
        print_trace(result);
        std::fflush(stdout);
        good = good && passed;
        for (const site& s : result.sites) {
            if (std::find(sites.begin(), sites.end(), s) == sites.end())
                sites.push_back(s);
        }
    }
    return good;
}

std::vector<suite::named_site> suite::names_of(std::vector<site> sites) const {
    std::erase_if(sites,
                  [this](const site& s) { return !contains(s.at.file, "include/holdfast/" + header_); });
    std::sort(sites.begin(), sites.end(), [](const site& a, const site& b) {
        return std::tie(a.at.line, a.what, a.order) < std::tie(b.at.line, b.what, b.order);
    });
    // A site is named by function, operation and order; where that is not enough, with its number among its
    // likes.
    const auto name = [](const site& s) {
        return function_name(s.at.function) + " " + name_of(s.what) + "(" + name_of(s.order) + ")";
    };
    std::map<std::string, int> likes, met;
    for (const site& s : sites)
        ++likes[name(s)];
    std::vector<named_site> list;
    list.reserve(sites.size());
    for (const site& s : sites) {
        std::string text = name(s);
        if (likes[text] > 1)
            text += " #" + std::to_string(++met[name(s)]);
        list.push_back({text, s});
    }
    return list;
}

std::vector<suite::named_mutation> suite::mutants_of(const std::vector<named_site>& sites) const {
    std::vector<named_mutation> list;
    for (const named_site& s : sites) {
        for (const auto& [how, words] : changes_of(s.what))
            list.push_back({s.name + ": " + words, {how, s.what, nullptr, {}}});
    }
    const auto site_of = [&sites](const std::string& name) {
        const named_site* found = find(sites, name);
        return found == nullptr ? site{} : found->what;
    };
    for (const mistaken& m : mistakes_) {
        if (m.otherwise != nullptr)
            list.push_back(
                {m.site + ": " + m.name, {change::modify_otherwise, site_of(m.site), m.otherwise, {}}});
        else
            list.push_back({m.site + ", after " + m.until + ": " + m.name,
                            {change::postpone, site_of(m.site), nullptr, site_of(m.until)}});
    }
    return list;
}

const suite::named_site* suite::find(const std::vector<named_site>& sites, const std::string& name) {
    const auto at =
        std::find_if(sites.begin(), sites.end(), [&name](const named_site& s) { return s.name == name; });
    return at == sites.end() ? nullptr : &*at;
}

const suite::entry* suite::catcher_of(const mutation& mutant, outcome& result) const {
    for (const entry& e : scenarios_) {
        limits bounds = e.bounds;
        bounds.executions = std::min(bounds.executions, most_for_a_mutant);
        result = explore(*e.what, bounds, mutant);
        if (!result.failure.empty())
            return &e;
    }
    return nullptr;
}

bool suite::run_mutants(const std::string& only, const std::vector<site>& sites) {
    const std::vector<named_site> names = names_of(sites);
    const std::vector<named_mutation> mutants = mutants_of(names);
    if (mutants.empty() && survivors_.empty() && once_.empty())
        return true;
    std::printf("mutants of %s\n", header_.c_str());
    unsigned total = 0, caught = 0, argued = 0;
    bool good = true;
    // `by`: the scenario that failed with the mutant; nullptr: it survives.
    const auto judge = [&](const std::string& name, const entry* by, const outcome& result) {
        ++total;
        const auto argument = std::find_if(survivors_.begin(), survivors_.end(),
                                           [&](const survivor& s) { return s.mutant == name; });
        const bool expected = argument != survivors_.end();
        if (expected)
            argument->met = true;
        if (by != nullptr) {
            ++caught;
            std::printf("    %s%s\n        caught by \"%s\" in %llu: %s\n", name.c_str(),
                        expected ? "  UNEXPECTEDLY" : "", by->name.c_str(),
                        static_cast<unsigned long long>(result.executions), result.failure.c_str());
            if (!only.empty())
                print_trace(result);
            good = good && !expected;
        } else if (expected) {
            ++argued;
            std::printf("    %s\n        survives: %s\n", name.c_str(), argument->argument.c_str());
        } else {
            std::printf("    %s\n        SURVIVES\n", name.c_str());
            good = false;
        }
        std::fflush(stdout);
    };
    for (const named_mutation& m : mutants) {
        if (!contains(m.name, only))
            continue;
        outcome result;
        const entry* by = catcher_of(m.what, result);
        judge(m.name, by, result);
    }
    for (const once_entry& e : once_) {
        if (!contains(e.name, only))
            continue;
        const outcome result = explore(*e.as.what, e.as.bounds);
        judge(e.name, result.failure.empty() ? nullptr : &e.as, result);
    }
    std::printf("    %u mutants, %u caught, %u argued\n", total, caught, argued);
    for (const survivor& s : survivors_) {
        if (!s.met && only.empty()) {
            std::printf("    no such mutant: %s\n", s.mutant.c_str());
            good = false;
        }
    }
    for (const mistaken& m : mistakes_) {
        for (const std::string& site : {m.site, m.until}) {
            if (!site.empty() && find(names, site) == nullptr) {
                std::printf("    no such operation: %s\n", site.c_str());
                good = false;
            }
        }
    }
    return good;
}

} // namespace holdfast::model
