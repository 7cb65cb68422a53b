#include "model/checking.hpp"

#include <algorithm>
#include <map>
#include <stdexcept>
#include <string_view>
#include <tuple>
#include <utility>

namespace holdfast::model {

namespace {

// Executions of one scenario in search of a mutant, round after round. Who isn't caught in the last is found nowhere, most
// likely; and who may survive with fewer, as it costs them all in each scenario.
constexpr std::uint64_t rounds[] = {300, 20'000};
constexpr std::uint64_t enough_if_argued = 4'000;

struct named_site {
    std::string name;
    site what;
};

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
        list.emplace_back(change::skip_wait, "wait skipped");
    return list;
}

bool is_in(const site& s, const std::string& header) {
    const std::string_view file = s.at.file;
    return file == header || file.ends_with("/" + header);
}

// The sites of a header, by line. One is named by function, operation and order; where that is not enough, with its number
// among its likes.
std::vector<named_site> names_of(std::vector<site> sites, const std::string& header) {
    std::erase_if(sites, [&header](const site& s) { return !is_in(s, header); });
    const auto key = [](const site& s) { return std::tuple(s.at.line, s.what, s.order, s.failure); };
    std::sort(sites.begin(), sites.end(), [&key](const site& a, const site& b) { return key(a) < key(b); });
    sites.erase(std::unique(sites.begin(), sites.end()), sites.end());
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
        list.push_back({std::move(text), s});
    }
    return list;
}

// nullptr: there is none.
template <class Named>
const Named* find(const std::vector<Named>& list, const std::string& name) {
    const auto at =
        std::find_if(list.begin(), list.end(), [&name](const Named& n) { return n.name == name; });
    return at == list.end() ? nullptr : &*at;
}

} // namespace

void suite::add(scenario s) {
    for (const scenario& other : scenarios_) {
        if (other.name == s.name && other.threads == s.threads)
            throw std::logic_error(lock_ + ": two scenarios \"" + s.name + "\"");
    }
    scenarios_.push_back(std::move(s));
}

const scenario* suite::wide(unsigned threads) const {
    const auto at = std::find_if(wide_.begin(), wide_.end(),
                                 [threads](const scenario& s) { return s.threads == threads; });
    return at == wide_.end() ? nullptr : &*at;
}

mutant_list suite::mutants(const std::vector<site>& met) const {
    const std::vector<named_site> sites = names_of(met, header_);
    mutant_list list;
    for (const named_site& s : sites) {
        for (const auto& [how, words] : changes_of(s.what))
            list.mutants.push_back({s.name + ": " + words, {.how = how, .where = s.what}});
    }
    const auto site_of = [&](const std::string& name) {
        const named_site* found = find(sites, name);
        if (found == nullptr)
            list.unknown.push_back(name);
        return found == nullptr ? site{} : found->what;
    };
    for (const mistaken& m : mistakes_) {
        const site where = site_of(m.site);
        if (m.otherwise != nullptr) {
            list.mutants.push_back(
                {m.site + ": " + m.name,
                 {.how = change::modify_otherwise, .where = where, .otherwise = m.otherwise}});
        } else {
            list.mutants.push_back({m.site + ", after " + m.until + ": " + m.name,
                                    {.how = change::postpone, .where = where, .until = site_of(m.until)}});
        }
    }
    for (const under_old_rules& o : once_) {
        mutation what;
        if (const mutant* changed = find(list.mutants, o.changed); changed != nullptr)
            what = changed->what;
        else if (!o.changed.empty())
            list.unknown.push_back(o.changed);
        list.mutants.push_back({o.name, what, o.in.get()});
    }
    for (const survivor& s : survivors_) {
        const auto at = std::find_if(list.mutants.begin(), list.mutants.end(),
                                     [&s](const mutant& m) { return m.name == s.mutant; });
        if (at == list.mutants.end())
            list.unknown.push_back(s.mutant);
        else
            at->argument = s.argument;
    }
    return list;
}

verdict suite::judge(const mutant& m) const {
    std::vector<const scenario*> left;
    if (m.only != nullptr) {
        left.push_back(m.only);
    } else {
        for (const scenario& s : scenarios_) {
            if (s.bounds.random == 0)
                left.push_back(&s);
        }
    }
    for (const std::uint64_t most : rounds) {
        std::vector<const scenario*> cut_short;
        for (const scenario* s : left) {
            limits bounds = s->bounds;
            bounds.executions =
                std::min({bounds.executions, most, m.argument.empty() ? most : enough_if_argued});
            outcome result = explore(*s->make(), bounds, m.what);
            if (!result.failure.empty())
                return {s, std::move(result)};
            if (!result.complete)
                cut_short.push_back(s);
        }
        left = std::move(cut_short);
    }
    return {};
}

} // namespace holdfast::model
