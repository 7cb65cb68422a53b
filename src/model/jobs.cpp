#include "model/jobs.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

namespace holdfast::model {

namespace {

// Executions of each scenario that look for the operations of a lock. Those behind them are rare enough to be in another
// scenario's way.
constexpr std::uint64_t enough_to_meet_all = 20'000;

// A task that is expected to take longer than others gets up to so many shares of the time that is left.
constexpr double most_shares = 6;

constexpr double unlimited = std::numeric_limits<double>::infinity();

// Does work(0) to work(count - 1), each by whichever thread is free first. The first exception is thrown on, once all have stopped.
void in_parallel(std::size_t count, const job_settings& settings,
                 const std::function<std::string(std::size_t)>& name,
                 const std::function<void(std::size_t)>& work) {
    std::mutex mutex;
    std::size_t next = 0, done = 0;
    std::exception_ptr failed;
    const auto worker = [&] {
        for (;;) {
            std::size_t mine = 0;
            {
                const std::scoped_lock held(mutex);
                if (next == count || failed != nullptr)
                    return;
                mine = next++;
                if (settings.progress)
                    settings.progress(done, count, name(mine));
            }
            try {
                work(mine);
            } catch (...) {
                const std::scoped_lock held(mutex);
                failed = std::current_exception();
            }
            const std::scoped_lock held(mutex);
            ++done;
        }
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < std::min<std::size_t>(settings.threads, count); ++i)
        threads.emplace_back(worker);
    worker();
    threads.clear(); // joins
    if (failed != nullptr)
        std::rethrow_exception(failed);
}

} // namespace

extent exploration::reached() const {
    const limits& bounds = of.bounds;
    if (!result.failure.empty())
        return extent::failed;
    if (bounds.random != 0)
        return result.executions < bounds.random ? extent::incomplete : extent::random;
    if (!result.complete)
        return extent::incomplete;
    const bool bounded = bounds.preemptions != limits::unlimited || bounds.old_values != limits::unlimited;
    return bounded ? extent::bounded : extent::complete;
}

std::vector<task> tasks_of(const suite& s) {
    std::vector<task> tasks;
    for (const scenario& one : s.scenarios())
        tasks.push_back({&s, &one, one.bounds});
    return tasks;
}

std::vector<exploration> explore_all(const std::vector<task>& tasks, const job_settings& settings) {
    using clock = std::chrono::steady_clock;
    const clock::time_point begun = clock::now();
    std::atomic<std::size_t> left = tasks.size();
    std::vector<exploration> results(tasks.size());
    in_parallel(
        tasks.size(), settings,
        [&](std::size_t i) { return tasks[i].of->lock() + ", " + tasks[i].what->name; },
        [&](std::size_t i) {
            const double used = std::chrono::duration<double>(clock::now() - begun).count();
            const double shares = static_cast<double>(left--) / most_shares;
            exploration& e = results[i];
            e.of = tasks[i];
            limits bounds = e.of.bounds;
            bounds.seconds =
                std::min(bounds.seconds, std::max(0.0, settings.seconds - used) * settings.threads /
                                             std::max<double>(settings.threads, shares));
            e.result = explore(*e.of.what->make(), bounds);
        });
    return results;
}

bool judgement::good() const {
    if (!list.unknown.empty())
        return false;
    for (std::size_t i = 0; i < verdicts.size(); ++i) {
        if ((verdicts[i].by == nullptr) == list.mutants[i].argument.empty())
            return false;
    }
    return true;
}

std::vector<mutant_list> mutants_of(std::span<const suite* const> suites, const job_settings& settings) {
    std::vector<task> tasks;
    for (const suite* s : suites) {
        for (task t : tasks_of(*s)) {
            t.bounds.executions = std::min(t.bounds.executions, enough_to_meet_all);
            if (t.bounds.random == 0)
                tasks.push_back(t);
        }
    }
    const std::vector<exploration> met = explore_all(tasks, {settings.threads, unlimited, settings.progress});
    std::vector<mutant_list> lists;
    for (const suite* s : suites) {
        std::vector<site> sites;
        for (const exploration& e : met) {
            if (e.of.of == s)
                sites.insert(sites.end(), e.result.sites.begin(), e.result.sites.end());
        }
        lists.push_back(s->mutants(sites));
    }
    return lists;
}

std::vector<judgement> judge_all(std::span<const suite* const> suites, const std::string& text,
                                 const job_settings& settings) {
    std::vector<mutant_list> lists = mutants_of(suites, settings);
    std::vector<judgement> judgements;
    std::vector<std::pair<std::size_t, std::size_t>> places; // of each mutant
    for (std::size_t which = 0; which < suites.size(); ++which) {
        std::vector<mutant>& mutants = lists[which].mutants;
        std::erase_if(mutants, [&text](const mutant& m) { return m.name.find(text) == text.npos; });
        for (std::size_t i = 0; i < mutants.size(); ++i)
            places.emplace_back(which, i);
        judgement& j = judgements.emplace_back();
        j.of = suites[which];
        j.verdicts.resize(mutants.size());
        j.list = std::move(lists[which]);
    }
    in_parallel(
        places.size(), settings,
        [&](std::size_t i) {
            const auto [which, of_it] = places[i];
            return judgements[which].of->lock() + ", " + judgements[which].list.mutants[of_it].name;
        },
        [&](std::size_t i) {
            const auto [which, of_it] = places[i];
            judgement& j = judgements[which];
            j.verdicts[of_it] = j.of->judge(j.list.mutants[of_it]);
        });
    return judgements;
}

} // namespace holdfast::model
