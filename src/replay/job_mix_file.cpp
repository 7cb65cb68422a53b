// Reads job mixes.
#include "replay/job_mix_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "sim/data_files.hpp"
#include "sim/toml_reader.hpp"

namespace holdfast::replay {

namespace {

constexpr std::int64_t most_weights = 10'000; // each user draws from a list as long
constexpr double most_times = 1e6;
constexpr double longest_ns = 60e9;
constexpr std::int64_t most_amount = std::int64_t{1} << 32;
constexpr std::size_t deepest =
    32; // operations that perform each other, and steps inside each other, together

// A word of a file, and what it means.
template <class T>
struct word {
    std::string_view text;
    T means;
};

constexpr std::array kinds = {
    word<step::kind>{"user_ns", step::kind::user},   word<step::kind>{"system_ns", step::kind::system},
    word<step::kind>{"sleep_ns", step::kind::sleep}, word<step::kind>{"disk_bytes", step::kind::disk},
    word<step::kind>{"fault", step::kind::fault},    word<step::kind>{"release", step::kind::release},
    word<step::kind>{"lock", step::kind::lock},      word<step::kind>{"do", step::kind::perform},
    word<step::kind>{"child", step::kind::child}};

// In the order in which they may be taken inside each other.
constexpr std::array locks = {word<step::lock>{"directory", step::lock::directory},
                              word<step::lock>{"journal", step::lock::journal},
                              word<step::lock>{"i_mmap", step::lock::i_mmap},
                              word<step::lock>{"root_anon_vma", step::lock::root_anon_vma},
                              word<step::lock>{"dentry", step::lock::dentry}};

constexpr std::array instances = {word<step::which>{"any", step::which::any},
                                  word<step::which>{"own", step::which::own},
                                  word<step::which>{"each", step::which::each}};

constexpr std::array rw_ways = {word<bool>{"read", false}, word<bool>{"write", true}};
constexpr std::array dentry_ways = {word<bool>{"reference", false}, word<bool>{"lock", true}};

constexpr std::array trees = {
    word<step::tree>{"insert", step::tree::insert}, word<step::tree>{"erase", step::tree::erase},
    word<step::tree>{"update", step::tree::update}, word<step::tree>{"lookup", step::tree::lookup}};

template <class T, std::size_t N>
std::vector<std::string> texts_of(const std::array<word<T>, N>& words) {
    std::vector<std::string> texts;
    texts.reserve(N);
    for (const word<T>& w : words)
        texts.emplace_back(w.text);
    return texts;
}

[[noreturn]] void unknown(const toml_reader& where, std::string_view key, std::string_view kind,
                          std::string_view name, const std::vector<std::string>& known) {
    where.fail(key,
               fmt::format("there is no {} '{}'{}", kind, printable(name), suggestion_or_all(name, known)));
}

// The meaning of the word under `key`, one of a `kind`.
template <class T, std::size_t N>
T meaning(const toml_reader& where, std::string_view key, std::string_view kind,
          const std::array<word<T>, N>& words) {
    const std::string text = where.text(key);
    for (const word<T>& w : words) {
        if (w.text == text)
            return w.means;
    }
    unknown(where, key, kind, text, texts_of(words));
}

double between(const toml_reader& where, std::string_view key, double minimum, double maximum) {
    const double value = where.number(key);
    if (value < minimum || value > maximum)
        where.fail(key, fmt::format("is {}; give {} to {}", value, minimum, maximum));
    return value;
}

nanoseconds duration(const toml_reader& where, std::string_view key) {
    return nanoseconds(std::llround(between(where, key, 0, longest_ns)));
}

class mix_reader {
public:
    // Adds the operations of a document; their steps are read when all names are known.
    void add(const toml_document& document) {
        const toml_reader root(document);
        for (const toml_reader& entry : root.tables("operations")) {
            entry.only({"name", "about", "steps", "source", "assumed", "fitted"});
            operation o{entry.text("name"), {}};
            entry.text("about");
            if (!entry.has("steps"))
                entry.fail("steps", "is missing; add it");
            if (number_of(o.name))
                entry.fail("name", fmt::format("'{}' is there already; give another", printable(o.name)));
            entry.provenance();
            mix_.operations.push_back(std::move(o));
            entries_.push_back(entry);
        }
    }

    job_mix read(const toml_document& document) {
        for (std::size_t i = 0; i < entries_.size(); ++i)
            mix_.operations[i].steps = read_steps(entries_[i], "steps", 1);
        depths_.resize(entries_.size());
        for (std::size_t i = 0; i < entries_.size(); ++i)
            depth(i);
        for (std::size_t i = 0; i < entries_.size(); ++i)
            check_locks(i, {});
        checked_.clear();
        const toml_reader root(document);
        mix_.name = root.text("name");
        mix_.summary = root.text("summary");
        root.provenance();
        const toml_reader weights = root.table("weights");
        std::int64_t sum = 0;
        for (const std::string& name : weights.keys()) {
            const std::optional<std::size_t> number = number_of(name);
            if (!number)
                unknown(weights, name, "operation", name, operation_names());
            const auto weight = static_cast<std::uint32_t>(weights.whole(name, 0, most_weights));
            mix_.jobs.push_back({*number, weight});
            sum += weight;
            if (sum > most_weights)
                weights.fail(name,
                             fmt::format("makes more than {} together; give smaller weights", most_weights));
        }
        if (sum == 0)
            root.fail("weights", "has no weight above 0; give an operation one");
        // Not of operations that nobody does.
        mix_.sleeps_in_rw_lock = false;
        for (const weighted_job& job : mix_.jobs) {
            if (job.weight > 0)
                check_locks(job.operation, {});
        }
        return std::move(mix_);
    }

private:
    std::vector<std::string> operation_names() const {
        std::vector<std::string> names;
        names.reserve(mix_.operations.size());
        for (const operation& o : mix_.operations)
            names.push_back(o.name);
        return names;
    }

    std::optional<std::size_t> number_of(std::string_view name) const {
        for (std::size_t i = 0; i < mix_.operations.size(); ++i) {
            if (mix_.operations[i].name == name)
                return i;
        }
        return {};
    }

    std::size_t operation_at(const toml_reader& where, std::string_view key) const {
        const std::string name = where.text(key);
        const std::optional<std::size_t> number = number_of(name);
        if (!number)
            unknown(where, key, "operation", name, operation_names());
        return *number;
    }

    std::vector<step> read_steps(const toml_reader& entry, std::string_view key, std::size_t nested) const {
        if (nested > deepest)
            entry.fail(key, fmt::format("is more than {} steps deep; make it simpler", deepest));
        std::vector<step> steps;
        for (const toml_reader& each : entry.tables(key))
            steps.push_back(read_step(each, nested));
        return steps;
    }

    step read_step(const toml_reader& entry, std::size_t nested) const {
        step s;
        std::optional<word<step::kind>> found;
        for (const word<step::kind>& kind : kinds) {
            if (!entry.has(kind.text))
                continue;
            if (found)
                entry.fail(kind.text, fmt::format("a step does one thing, and this has {}, too; make it two",
                                                  found->text));
            found = kind;
        }
        std::vector<std::string> known = {"times"};
        if (!found) {
            for (const std::string& kind : texts_of(kinds))
                known.push_back(kind);
            entry.only(known);
            entry.fail("", fmt::format("does nothing; give one of {}", fmt::join(texts_of(kinds), ", ")));
        }
        const std::string key(found->text);
        s.what = found->means;
        known.push_back(key);
        switch (s.what) {
        case step::kind::user:
        case step::kind::system:
        case step::kind::sleep:
            s.duration = duration(entry, key);
            break;
        case step::kind::disk:
        case step::kind::fault:
        case step::kind::release:
            s.amount = static_cast<std::uint64_t>(entry.whole(key, 0, most_amount));
            break;
        case step::kind::perform:
            s.operation = operation_at(entry, key);
            break;
        case step::kind::child:
            s.operation = operation_at(entry, key);
            known.emplace_back("command");
            if (entry.has("command"))
                s.command = entry.text("command");
            break;
        case step::kind::lock:
            read_lock(entry, s, nested);
            for (const char* const each : {"how", "which", "hold_ns", "tree", "as", "inside"})
                known.emplace_back(each);
            break;
        }
        entry.only(known);
        if (entry.has("times"))
            s.times = between(entry, "times", 0, most_times);
        return s;
    }

    void read_lock(const toml_reader& entry, step& s, std::size_t nested) const {
        s.taken = meaning(entry, "lock", "lock", locks);
        if (s.taken == step::lock::root_anon_vma || s.taken == step::lock::journal)
            s.exclusive = meaning(entry, "how", "way to take a read-write lock", rw_ways);
        else if (s.taken == step::lock::dentry)
            s.exclusive = meaning(entry, "how", "way to take a dentry", dentry_ways);
        else if (entry.has("how"))
            entry.fail("how", "is for locks that can be taken in two ways, and this can't; remove it");
        s.instance = meaning(entry, "which", "choice of locks", instances);
        s.duration = duration(entry, "hold_ns");
        if (entry.has("tree")) {
            if (s.taken != step::lock::root_anon_vma)
                entry.fail("tree", "is what a root_anon_vma guards, and this is none; remove it");
            s.change = meaning(entry, "tree", "work on a tree", trees);
            if (s.change != step::tree::lookup && !s.exclusive)
                entry.fail("how", "is read, and the tree is changed; make it write");
        }
        if (entry.has("as"))
            s.frame = entry.text("as");
        if (entry.has("inside"))
            s.inside = read_steps(entry, "inside", nested + 1);
    }

    // How deep the steps of this operation are in each other, with those that it performs. Fails if that is too deep, or a
    // circle.
    std::size_t depth(std::size_t number) {
        constexpr std::size_t in_progress = 0;
        if (!depths_[number]) {
            depths_[number] = in_progress;
            depths_[number] = 1 + depth(mix_.operations[number].steps);
        }
        if (*depths_[number] == in_progress || *depths_[number] > deepest)
            entries_[number].fail("steps", fmt::format("is performed by an operation that it performs, or is "
                                                       "more than {} steps deep; take one out",
                                                       deepest));
        return *depths_[number];
    }
    std::size_t depth(const std::vector<step>& steps) {
        std::size_t most = 0;
        for (const step& s : steps) {
            if (s.what == step::kind::perform || s.what == step::kind::child)
                most = std::max(most, depth(s.operation));
            else if (!s.inside.empty())
                most = std::max(most, 1 + depth(s.inside));
        }
        return most;
    }

    // What is held around a step.
    struct held {
        std::optional<step::lock> innermost{};
        bool rw = false;       // one of them is a read-write lock
        bool spinning = false; // the innermost is a dentry's spinlock
        bool operator<(const held& other) const {
            return std::tie(innermost, rw, spinning) < std::tie(other.innermost, other.rw, other.spinning);
        }
    };

    // Whether steps take locks in the order of `locks` only, so that they can't wait for each other in a circle, and none sleeps
    // with a spinlock held. Notes whether one may sleep with a read-write lock held.
    void check_locks(std::size_t number, held around) {
        if (checked_.insert({number, around}).second)
            check_locks(number, mix_.operations[number].steps, around);
    }
    void check_locks(std::size_t number, const std::vector<step>& steps, held around) {
        for (const step& s : steps) {
            const bool mutex = s.what == step::kind::lock &&
                               (s.taken == step::lock::i_mmap || s.taken == step::lock::directory);
            if (s.what == step::kind::sleep || s.what == step::kind::disk || s.what == step::kind::child ||
                mutex) {
                if (around.spinning)
                    entries_[number].fail("steps",
                                          "sleeps with a dentry's spinlock held; take that out of 'inside'");
                mix_.sleeps_in_rw_lock |= around.rw;
            }
            if (s.what == step::kind::perform || s.what == step::kind::child)
                check_locks(s.operation, around);
            if (s.what != step::kind::lock)
                continue;
            if (around.innermost && s.taken <= *around.innermost)
                entries_[number].fail(
                    "steps",
                    fmt::format(
                        "takes {} with {} held, so threads could wait for each other for ever; locks go "
                        "inside each other in this order: {}",
                        name_of(s.taken), name_of(*around.innermost), fmt::join(texts_of(locks), ", ")));
            held inside = around;
            inside.innermost = s.taken;
            inside.rw |= s.taken == step::lock::root_anon_vma || s.taken == step::lock::journal;
            inside.spinning = s.taken == step::lock::dentry && s.exclusive;
            check_locks(number, s.inside, inside);
        }
    }

    static std::string_view name_of(step::lock lock) {
        return std::find_if(locks.begin(), locks.end(), [lock](const auto& w) { return w.means == lock; })
            ->text;
    }

    job_mix mix_;
    std::vector<toml_reader> entries_;               // of the operations
    std::vector<std::optional<std::size_t>> depths_; // of the operations, as far as known
    std::set<std::pair<std::size_t, held>> checked_;
};

} // namespace

job_mix parse_job_mix(std::string_view text, std::string_view file) {
    const toml_document document(std::string(file), text);
    const toml_reader root(document);
    root.only({"name", "summary", "library", "source", "assumed", "fitted", "operations", "weights"});
    mix_reader reader;
    std::optional<toml_document> library;
    if (root.has("library")) {
        const std::filesystem::path path = data_file("job_mixes/operations", root.text("library"));
        library.emplace(path.string(), read_text(path));
        toml_reader(*library).only({"operations"});
        reader.add(*library);
    }
    reader.add(document);
    return reader.read(document);
}

job_mix read_job_mix(const std::filesystem::path& path) {
    return parse_job_mix(read_text(path), path.string());
}

} // namespace holdfast::replay
