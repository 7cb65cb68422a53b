// What a lock is judged by: a suite of scenarios, and the mutants that they must catch.
//
// A scenario is a struct: the lock, what it guards, and what each thread does with them.
//
//     struct two_sections {
//         static constexpr unsigned threads = 2;
//         ticket_lock<platform> lock;
//         platform::var<int> sum{0};
//         void thread(unsigned) { lock.lock(); sum.set(sum.get() + 1); lock.unlock(); }
//         void end() { check(sum.get() == 2, "a section was lost"); } // optional: after all threads
//     };
//
// Each scenario must pass, whatever happens within its limits. And a scenario that cannot fail is worth nothing: so the lock's
// header is changed, one operation at a time, and the scenarios must catch that. Each acquire and release is weakened by one step,
// each write and each wake-up is dropped, each wait is cut short. Mistakes that were made once in other sources are mutants,
// too: an operation that does something else or comes too late (mistake()), or the lock under rules that it had once
// (once()). A mutant that survives needs an argument why it is as good as the original (survives()).
//
// Nothing here prints, or explores by itself: jobs.hpp does that, and gives structs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "model/explorer.hpp"
#include "model/platform.hpp"

namespace holdfast::model {

// A scenario as the explorer runs it: begun anew for each execution, and left as it is where one fails.
template <class Scenario>
class program_of final : public program {
public:
    unsigned threads() const override { return Scenario::threads; }
    void begin() override { scenario_ = new (room_) Scenario; }
    void thread(unsigned index) override { scenario_->thread(index); }
    void end() override {
        if constexpr (requires { scenario_->end(); })
            scenario_->end();
        scenario_->~Scenario();
    }

private:
    alignas(Scenario) std::byte room_[sizeof(Scenario)];
    Scenario* scenario_ = nullptr;
};

// One of a suite. The name and the number of threads together are found once in it.
struct scenario {
    std::string name;
    unsigned threads;
    limits bounds;
    std::unique_ptr<program> (*make)(); // a program for each exploration: several may run at once
};

// A change of the lock, and what is known of it beforehand.
struct mutant {
    std::string name; // as "lock exchange(acq_rel): acq_rel -> release"
    mutation what;
    const scenario* only = nullptr; // the scenario for it; nullptr: any of the suite
    std::string argument = {};      // why it may survive; empty: it must be caught
};

// What a suite makes of the operations that its scenarios execute.
struct mutant_list {
    std::vector<mutant> mutants;
    std::vector<std::string> unknown; // what the suite says of mutants or operations that are not there
};

// How one mutant fared.
struct verdict {
    const scenario* by = nullptr; // the scenario that caught it; nullptr: it survives
    outcome result;               // of that scenario
};

class suite {
public:
    // `lock`: its name. `header`: the file whose operations are mutated, as it ends: "holdfast/rwsem.hpp".
    suite(std::string lock, std::string header) : lock_(std::move(lock)), header_(std::move(header)) {}

    // Adds a scenario. Of several that catch a mutant as cheaply, the first added counts. Throws std::logic_error if there is one of
    // that name with as many threads.
    template <class Scenario>
    void add(std::string name, const limits& bounds = {}) {
        add(scenario_of<Scenario>(std::move(name), bounds));
    }

    // Adds a scenario that there is for any number of threads, explored by chance: with four, and with more for who asks.
    template <template <unsigned Threads> class Scenario>
    void widen(std::string name, const chances& allowed = {}) {
        const limits bounds{.allowed = allowed, .random = default_random};
        wide_ = {scenario_of<Scenario<4>>(name, bounds), scenario_of<Scenario<5>>(name, bounds),
                 scenario_of<Scenario<6>>(name, bounds), scenario_of<Scenario<7>>(name, bounds),
                 scenario_of<Scenario<8>>(name, bounds)};
        add(wide_.front());
    }

    // Adds a mutant: a read-modify-write that makes something else of the value. `site` as in the names of mutants, without
    // what is changed.
    void mistake(std::string name, std::string site, explorer::change_of_bits otherwise) {
        mistakes_.push_back({std::move(name), std::move(site), "", otherwise});
    }
    // Adds a mutant: a read-modify-write that takes effect only after the same thread's next operation `until`.
    void mistake(std::string name, std::string site, std::string until) {
        mistakes_.push_back({std::move(name), std::move(site), std::move(until), nullptr});
    }
    // Adds a mutant: the lock under rules that it had once, in a scenario that must fail with it; if `changed` is not
    // empty, with the mutant of that name.
    template <class Scenario>
    void once(std::string name, std::string in, const limits& bounds = {}, std::string changed = "") {
        once_.push_back({std::move(name),
                         std::make_unique<scenario>(scenario_of<Scenario>(std::move(in), bounds)),
                         std::move(changed)});
    }

    // Expects a mutant to survive, and says why it may.
    void survives(std::string mutant, std::string argument) {
        survivors_.push_back({std::move(mutant), std::move(argument)});
    }

    const std::string& lock() const { return lock_; }
    const std::vector<scenario>& scenarios() const { return scenarios_; }

    // The scenario with so many threads, more than four; nothing: it has none.
    const scenario* wide(unsigned threads) const;

    // The mutants, from the operations that were met: outcomes' sites, of whatever files.
    mutant_list mutants(const std::vector<site>& met) const;

    // Explores the scenarios with the mutant until one fails. In a first round each has few executions, in a second many, so what
    // catches it is mostly what catches it soonest.
    verdict judge(const mutant& m) const;

private:
    static constexpr std::uint64_t default_random = 20'000;

    struct mistaken {
        std::string name;
        std::string site;
        std::string until;
        explorer::change_of_bits otherwise;
    };
    struct under_old_rules {
        std::string name;
        std::unique_ptr<scenario> in;
        std::string changed;
    };
    struct survivor {
        std::string mutant;
        std::string argument;
    };

    template <class Scenario>
    static scenario scenario_of(std::string name, const limits& bounds) {
        return {std::move(name), Scenario::threads, bounds,
                [] { return std::unique_ptr<program>(std::make_unique<program_of<Scenario>>()); }};
    }
    void add(scenario s);

    std::string lock_;
    std::string header_;
    std::vector<scenario> scenarios_;
    std::vector<scenario> wide_; // from four threads on
    std::vector<mistaken> mistakes_;
    std::vector<under_old_rules> once_;
    std::vector<survivor> survivors_;
};

} // namespace holdfast::model
