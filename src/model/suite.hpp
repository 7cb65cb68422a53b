// The model test of one lock: its scenarios, and its mutants.
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
// run() first explores every scenario; each must pass, and come to an end within its limits. Then it judges
// the scenarios: it weakens each memory order in the lock's header by one step, and drops each write, one at
// a time, and runs the scenarios again until one fails. A mutant that survives them all needs an argument why
// it is as good as the original (survives()); without one, or with one for a mutant that is caught, the test
// fails. Mistakes that were made once in other sources are mutants, too: an operation that does something else or
// comes too late (mistake()), or the lock under rules that it had once (once()).
#pragma once

#include <memory>
#include <new>
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

class suite {
public:
    // `header`: the lock's file in include/holdfast, whose operations are mutated.
    explicit suite(std::string header) : header_(std::move(header)) {}

    // Adds a scenario. Scenarios meet a mutant in the order in which they were added: cheap ones first.
    template <class Scenario>
    void scenario(std::string name, const limits& bounds = {}) {
        scenarios_.push_back({std::move(name), bounds, std::make_unique<program_of<Scenario>>()});
    }

    // Adds a mutant: a read-modify-write that makes something else of the value. `site` as in the table of mutants, without
    // what is changed.
    void mistake(std::string name, std::string site, explorer::change_of_bits otherwise) {
        mistakes_.push_back({std::move(name), std::move(site), "", otherwise});
    }
    // Adds a mutant: a read-modify-write that takes effect only after the same thread's next operation `until`.
    void mistake(std::string name, std::string site, std::string until) {
        mistakes_.push_back({std::move(name), std::move(site), std::move(until), nullptr});
    }
    // Adds a mutant: the lock under rules that it had once, in a scenario that must fail with it.
    template <class Scenario>
    void once(std::string mutant, std::string scenario, const limits& bounds = {}) {
        once_.push_back(
            {std::move(mutant), {std::move(scenario), bounds, std::make_unique<program_of<Scenario>>()}});
    }

    // Expects a mutant, by the name under which the table lists it, to survive, and says why it may.
    void survives(std::string mutant, std::string argument) {
        survivors_.push_back({std::move(mutant), std::move(argument), false});
    }

    // The exit code of the test. Arguments: --scenario TEXT, only the scenarios whose name contains it and no
    // mutants; --mutant TEXT, only the mutants whose name contains it, each with the execution that caught
    // it.
    int run(int argc, char** argv);

private:
    struct entry {
        std::string name;
        limits bounds;
        std::unique_ptr<program> what;
    };
    struct survivor {
        std::string mutant;
        std::string argument;
        bool met;
    };
    struct once_entry {
        std::string name;
        entry as;
    };
    struct mistaken {
        std::string name;
        std::string site;
        std::string until;
        explorer::change_of_bits otherwise;
    };
    struct named_site {
        std::string name;
        site what;
    };
    struct named_mutation {
        std::string name;
        mutation what;
    };

    bool run_scenarios(const std::string& only, std::vector<site>& sites) const;
    bool run_mutants(const std::string& only, const std::vector<site>& sites);
    // The first scenario that fails with the mutant, and how; nullptr: it survives.
    const entry* catcher_of(const mutation& mutant, outcome& result) const;
    std::vector<named_site> names_of(std::vector<site> sites) const;
    // nullptr: there is none.
    static const named_site* find(const std::vector<named_site>& sites, const std::string& name);
    std::vector<named_mutation> mutants_of(const std::vector<named_site>& sites) const;

    std::string header_;
    std::vector<entry> scenarios_;
    std::vector<once_entry> once_;
    std::vector<mistaken> mistakes_;
    std::vector<survivor> survivors_;
};

} // namespace holdfast::model
