#include "bench/grid.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "replay/statistics.hpp"

namespace holdfast::bench {

namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;

// A group of cells that a quick grid has a budget for: those of one number of threads, or the other programs'.
using cell_group = std::vector<grid_point>;

// ---- Which cells --------------------------------------------------------------------------------------------

bool can_run(const bench_lock& lock, const grid_point& p, bool on_sim) {
    if (lock.when == asked::uncontended_only && p.program != lock_program::uncontended)
        return false;
    if (on_sim ? lock.on_sim == nullptr : lock.on_native == nullptr)
        return false;
    if ((p.program == lock_program::references) != (lock.kind == lock_kind::counter))
        return false;
    if (p.program == lock_program::condition)
        return lock.conditions;
    // An exclusive lock takes readers for writers: its figures would be those of 100 % again.
    const bool reads =
        p.settings.write_percent < 100 || (p.settings.loner && p.settings.loner->write_percent < 100);
    return !reads || lock.kind == lock_kind::shared;
}

cell_group cells_of(const grid_settings& s, std::uint32_t threads) {
    cell_group group;
    for (const std::uint32_t write_percent : s.write_percents) {
        for (const nanoseconds section : s.sections) {
            for (const nanoseconds think : s.thinks) {
                grid_point p{.bench = "grid", .program = lock_program::contend, .settings = {}};
                p.settings.threads = threads;
                p.settings.think = think;
                p.settings.section = section;
                p.settings.write_percent = write_percent;
                group.push_back(p);
            }
        }
    }
    return group;
}

// Whether a cell stays where there is no time for all: those that are like programs are.
bool is_telling(const grid_point& p) {
    return p.settings.think > 0ns && p.settings.section > 0ns && p.settings.write_percent > 0 &&
           p.settings.write_percent != 50;
}

cell_group cells_beside() {
    cell_group group;
    const auto add = [&group](const char* name, lock_program program, const contend_settings& s) {
        group.push_back({.bench = name, .program = program, .settings = s});
    };
    contend_settings one;
    add("uncontended, writing", lock_program::uncontended, one);
    one.write_percent = 0;
    add("uncontended, reading", lock_program::uncontended, one);

    contend_settings two;
    two.threads = 2;
    two.pinned = true;
    add("ping-pong", lock_program::ping_pong, two);
    two.pinned = false;
    add("condition hand-over", lock_program::condition, two);
    two.write_percent = 10;
    two.objects = 4'096;
    add("many locks", lock_program::contend, two);

    for (const std::uint32_t crowd : {2u, 8u}) {
        contend_settings s;
        s.threads = crowd;
        s.section = 5us;
        s.write_percent = 0;
        s.loner = contend_role{.think = 100us, .section = 5us, .write_percent = 100, .sleeps = true};
        add("a writer among readers", lock_program::contend, s);
        std::swap(s.write_percent, s.loner->write_percent);
        add("a reader among writers", lock_program::contend, s);
    }

    for (const std::uint32_t threads : {1u, 2u, 4u, 16u}) {
        contend_settings s;
        s.threads = threads;
        add("references", lock_program::references, s);
    }

    contend_settings sleeping;
    sleeping.threads = 3;
    sleeping.count = 3;
    sleeping.section = 50ms;
    add("sleeping owner", lock_program::sleeping_owner, sleeping);
    return group;
}

// ---- How long -----------------------------------------------------------------------------------------------

// Of a process and its threads: to start and to end them.
nanoseconds overhead(const grid_point& p) {
    return 5ms + p.settings.threads * 100us;
}

// How long each run of the group may be if all are to end within the budget.
nanoseconds affordable(const grid_settings& s, const cell_group& group, nanoseconds budget) {
    std::int64_t runs = 0;
    for (const grid_point& p : group) {
        const auto locks = std::count_if(s.locks.begin(), s.locks.end(), [&](const bench_lock& lock) {
            return can_run(lock, p, s.on != nullptr);
        });
        runs += locks * s.runs;
        budget -= locks * s.runs *
                  (overhead(p) + (p.program == lock_program::sleeping_owner
                                      ? static_cast<std::int64_t>(p.settings.count) * p.settings.section
                                      : 0ns));
    }
    return std::max(budget, nanoseconds(0)) / std::max<std::int64_t>(runs, 1);
}

// What a run must have to say anything.
nanoseconds least_duration(std::uint32_t threads) {
    return threads <= 4 ? 15ms : 300ms;
}

// What it has if there is time. The simulated machine has no noise, but each thread must have had the lock several
// times.
nanoseconds good_duration(const grid_settings& s, const grid_point& p) {
    if (s.on != nullptr)
        return std::max<nanoseconds>(1ms, 4 * p.settings.threads * (p.settings.section + 300ns));
    return p.settings.threads <= 4 ? 300ms : 1s;
}

// Of how many acquisitions one is timed, so that the two looks at the clock that a time takes are at most a hundredth of
// what an acquisition takes at least.
std::uint32_t sampling_for(const contend_settings& s, nanoseconds clock_cost) {
    const nanoseconds least = std::max<nanoseconds>(s.section + s.think, 10ns);
    return static_cast<std::uint32_t>(
        std::clamp<std::int64_t>(200 * clock_cost.count() / least.count(), 1, 1'000));
}

// ---- Running ------------------------------------------------------------------------------------------------

std::string name_of(const grid_point& p) {
    const contend_settings& s = p.settings;
    if (p.bench != "grid")
        return p.one_of_several() ? fmt::format("{} {}", p.bench, s.threads) : p.bench;
    const auto ns = [](nanoseconds t) { return t.count(); };
    return fmt::format("{} threads, {} % writes, section {} ns, think {} ns", s.threads, s.write_percent,
                       ns(s.section), ns(s.think));
}

class grid_run {
public:
    grid_run(const grid_settings& s, const progress& show) : s_(s), show_(show) {
        result_.locks = s.locks;
        if (s.on == nullptr)
            clock_cost_ = prepare_native();
    }

    grid_result all() {
        std::vector<std::pair<cell_group, nanoseconds>> groups; // and their budgets
        if (s_.beside && s_.on == nullptr)
            groups.emplace_back(planned(cells_beside(), beside_budget), beside_budget);
        for (std::size_t i = 0; i < s_.threads.size(); ++i) {
            const nanoseconds budget =
                i == 0 && !groups.empty() ? whole_budget - beside_budget : whole_budget;
            groups.emplace_back(planned(fitting(s_.threads[i], budget), budget), budget);
        }
        for (const auto& [group, budget] : groups)
            total_ += group.size();
        deadline_ = clock::now() + slack;
        for (const auto& [group, budget] : groups) {
            deadline_ += budget;
            if (!run_group(group))
                break;
        }
        return std::move(result_);
    }

private:
    // What --quick has for a number of threads; less than a minute, as locks may be slow to stop. Runs are planned to
    // end within it; what has not begun `slack` after the budgets so far is left out.
    static constexpr nanoseconds whole_budget = 54s;
    static constexpr nanoseconds beside_budget = 14s;
    static constexpr nanoseconds slack = 2s;

    // The cells of the grid for so many threads, or those of them that there is time for.
    cell_group fitting(std::uint32_t threads, nanoseconds budget) {
        cell_group group = cells_of(s_, threads);
        if (s_.quick && s_.duration == 0ns && affordable(s_, group, budget) < least_duration(threads)) {
            cell_group telling;
            std::copy_if(group.begin(), group.end(), std::back_inserter(telling), is_telling);
            if (!telling.empty() && telling.size() < group.size()) {
                result_.left_out.push_back(fmt::format("{} threads: {} of {} cells, those with 0 and 50 % "
                                                       "writes, without section, or without think time",
                                                       threads, group.size() - telling.size(), group.size()));
                group = std::move(telling);
            }
        }
        return group;
    }

    cell_group planned(cell_group group, nanoseconds budget) const {
        const nanoseconds share = s_.quick ? affordable(s_, group, budget) : 0ns;
        for (grid_point& p : group) {
            contend_settings& s = p.settings;
            const nanoseconds good = good_duration(s_, p);
            // The cost of a simulated run is not known beforehand.
            s.duration = s_.duration != 0ns             ? s_.duration
                         : s_.quick && s_.on == nullptr ? std::clamp<nanoseconds>(share, 10ms, good)
                                                        : good;
            s.checked = true;
            if (s_.on == nullptr) {
                s.at_once = true;
                s.clock_cost = clock_cost_;
                s.sample_every = sampling_for(s, clock_cost_);
            }
        }
        return group;
    }

    [[nodiscard]] bool late() const { return s_.quick && clock::now() > deadline_; }

    // False if it was interrupted.
    bool run_group(const cell_group& group) {
        std::size_t left_out = 0;
        cells_cut_ = 0;
        for (const grid_point& p : group) {
            if (late())
                ++left_out;
            else
                run_cell(p);
            ++done_;
            if (result_.interrupted)
                return false;
        }
        if (left_out > 0) {
            result_.left_out.push_back(fmt::format("{} threads: the last {} of {} cells, for want of time",
                                                   group.back().settings.threads, left_out, group.size()));
        }
        if (cells_cut_ > 0) {
            result_.left_out.push_back(fmt::format("{} threads: rounds of {} cells, for want of time",
                                                   group.back().settings.threads, cells_cut_));
        }
        return true;
    }

    void run_cell(const grid_point& p) {
        grid_cell all{.point = p, .entries = {}};
        for (std::size_t i = 0; i < s_.locks.size(); ++i) {
            if (can_run(s_.locks[i], p, s_.on != nullptr))
                all.entries.push_back({.lock = i, .figures = empty_cell(p, s_.locks[i]), .rounds = {}});
        }
        std::vector<std::vector<measurement>> runs(all.entries.size());
        for (std::uint32_t round = 0; round < s_.runs && !result_.interrupted; ++round) {
            if (round > 0 && late()) {
                ++cells_cut_;
                break;
            }
            for (std::size_t n = 0; n < all.entries.size() && !result_.interrupted; ++n) {
                const std::size_t i = round % 2 == 0 ? n : all.entries.size() - 1 - n;
                run_once(p, round, all.entries[i], runs[i]);
            }
        }
        for (std::size_t i = 0; i < all.entries.size(); ++i) {
            if (!runs[i].empty())
                set_figures(all.entries[i].figures, runs[i]);
        }
        result_.cells.push_back(std::move(all));
    }

    void run_once(const grid_point& p, std::uint32_t round, grid_entry& entry,
                  std::vector<measurement>& runs) {
        entry.rounds.resize(round + 1);
        if (!entry.figures.failure.empty())
            return;
        const bench_lock& lock = s_.locks[entry.lock];
        show_(done_, total_, fmt::format("{}: {}", name_of(p), lock.name));
        const std::uint64_t seed = round + 1;
        const run_outcome r =
            s_.on != nullptr ? measure_on_sim(lock, *s_.on, p.settings, seed)
                             : measure_native(lock, p.program, p.settings, seed, s_.limit, s_.interrupted);
        result_.interrupted = r.interrupted || s_.interrupted();
        entry.figures.failure = r.failure;
        if (!r.failure.empty() || r.interrupted)
            return;
        runs.push_back(r.measured);
        entry.rounds[round] = grid_entry::round{r.measured.per_second(), r.measured.cpu_per_operation()};
    }

    [[nodiscard]] cell empty_cell(const grid_point& p, const bench_lock& lock) const {
        const contend_settings& s = p.settings;
        cell c;
        c.bench = p.bench;
        c.lock = lock.name;
        c.platform = s_.on != nullptr ? "sim" : "native";
        c.machine = s_.on != nullptr ? s_.on->name : "";
        c.threads = s.threads + (s.loner ? 1 : 0);
        c.write_percent = s.loner ? s.loner->write_percent : s.write_percent;
        c.section_ns = s.section.count();
        c.think_ns = s.loner ? s.loner->think.count() : s.think.count();
        return c;
    }

    const grid_settings& s_;
    const progress& show_;
    nanoseconds clock_cost_{};
    std::size_t done_ = 0; // cells
    std::size_t total_ = 0;
    clock::time_point deadline_; // of the group that runs; for quick grids
    std::size_t cells_cut_ = 0;  // of that group, that lack rounds
    grid_result result_;
};

// ---- Comparing ----------------------------------------------------------------------------------------------

template <class Ratio>
std::optional<double> median_ratio(const grid_entry& a, const grid_entry& b, Ratio ratio) {
    std::vector<double> ratios;
    for (std::size_t i = 0; i < std::min(a.rounds.size(), b.rounds.size()); ++i) {
        if (!a.rounds[i] || !b.rounds[i])
            continue;
        const double r = ratio(*a.rounds[i], *b.rounds[i]);
        if (std::isfinite(r) && r > 0)
            ratios.push_back(r);
    }
    if (ratios.empty())
        return {};
    return replay::compute(replay::statistic::median, ratios);
}

const grid_entry* entry_of(const grid_cell& c, std::size_t lock) {
    const auto found = std::find_if(c.entries.begin(), c.entries.end(),
                                    [lock](const grid_entry& e) { return e.lock == lock; });
    return found == c.entries.end() ? nullptr : &*found;
}

// The numbers of threads in the grid, as they come.
std::vector<std::uint32_t> threads_of(const grid_result& r) {
    std::vector<std::uint32_t> threads;
    for (const grid_cell& c : r.cells) {
        const std::uint32_t n = c.point.settings.threads;
        if (c.point.bench == "grid" && std::find(threads.begin(), threads.end(), n) == threads.end())
            threads.push_back(n);
    }
    return threads;
}

bool is_of_grid(const grid_cell& c, std::uint32_t threads) {
    return c.point.bench == "grid" && c.point.settings.threads == threads;
}

} // namespace

grid_result run_grid(const grid_settings& s, const progress& show) {
    return grid_run(s, show).all();
}

std::optional<double> speed_ratio(const grid_entry& a, const grid_entry& b) {
    return median_ratio(a, b, [](const grid_entry::round& x, const grid_entry::round& y) {
        return x.per_second / y.per_second;
    });
}

std::optional<double> thrift_ratio(const grid_entry& a, const grid_entry& b) {
    return median_ratio(a, b, [](const grid_entry::round& x, const grid_entry::round& y) {
        return y.cpu_per_operation / x.cpu_per_operation;
    });
}

std::vector<grid_comparison> compare_with_subject(const grid_result& r) {
    std::vector<grid_comparison> all;
    for (std::size_t lock = 1; lock < r.locks.size(); ++lock) {
        for (const std::uint32_t threads : threads_of(r)) {
            grid_comparison c{.lock = lock, .threads = threads, .least_at = {}};
            std::vector<double> speeds;
            std::vector<double> thrifts;
            for (const grid_cell& each : r.cells) {
                const grid_entry* const subject = entry_of(each, 0);
                const grid_entry* const other = entry_of(each, lock);
                if (!is_of_grid(each, threads) || subject == nullptr || other == nullptr)
                    continue;
                const auto speed = speed_ratio(*subject, *other);
                if (!speed)
                    continue;
                if (speeds.empty() || *speed < c.least) {
                    c.least = *speed;
                    c.least_at = name_of(each.point);
                }
                speeds.push_back(*speed);
                if (const auto thrift = thrift_ratio(*subject, *other))
                    thrifts.push_back(*thrift);
            }
            if (speeds.empty())
                continue;
            c.cells = speeds.size();
            c.speed = replay::geometric_mean(speeds);
            c.thrift = thrifts.empty() ? 0 : replay::geometric_mean(thrifts);
            all.push_back(std::move(c));
        }
    }
    return all;
}

std::vector<grid_worst> worst_beside_best(const grid_result& r) {
    std::vector<grid_worst> all;
    for (const std::uint32_t threads : threads_of(r)) {
        std::optional<grid_worst> worst;
        for (const grid_cell& each : r.cells) {
            const grid_entry* const subject = entry_of(each, 0);
            if (!is_of_grid(each, threads) || subject == nullptr)
                continue;
            for (const grid_entry& other : each.entries) {
                if (other.lock == 0 || r.locks[other.lock].waits != waiting::parks)
                    continue;
                const auto speed = speed_ratio(*subject, other);
                if (speed && (!worst || *speed < worst->speed))
                    worst = grid_worst{threads, *speed, other.lock, name_of(each.point)};
            }
        }
        if (worst)
            all.push_back(*worst);
    }
    return all;
}

} // namespace holdfast::bench
