// Many users at once, each with a list of jobs to do: the AIM Multiuser Benchmark's way to load a machine.
//
// After AIM7 (areaim): one process forks a process for each user; all begin at the same time. A user draws
// its jobs from a mix without putting them back, so that each job's share is that of its weight, and does one
// after the other. The score is jobs a minute over all users, until the last has ended.
//
// What a job does in the kernel is data (job_mix.hpp), where users meet is modelled_kernel.hpp. `size` is how
// much of a job is done, of its repetitions and computing: the mix stays what it is when a run is made
// shorter.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>
#include <vector>

#include "workload/job_mix.hpp"
#include "workload/modelled_kernel.hpp"
#include "workload/program.hpp"

namespace holdfast {

struct multi_user_parameters {
    std::uint32_t users = 1;
    std::uint32_t jobs = 1;           // of each user
    double size = 1;                  // of a job; positive
    double work = 1;                  // factor to all computing without a lock
    double hold = 1;                  // and with one
    std::uint32_t jitter_percent = 0; // all computing takes this much more or less, at most; below 100
    kernel_parameters kernel{};
};

struct multi_user_result {
    nanoseconds elapsed{};
    double jobs_per_minute = 0; // whole ones: those done, times their size
    std::uint64_t children = 0; // forked, and ended
    std::uint64_t mappings = 0; // left in the trees: those of the users
    std::uint64_t pages = 0;    // left in use
};

// Runs as the program of a world `W`.
template <class W>
class multi_user {
    using P = typename W::platform;
    using frame = typename P::frame;
    using kernel = modelled_kernel<W>;
    using node = typename kernel::node;
    using thread = typename W::thread;

public:
    // `mix` must live as long as what is made of the run's profile.
    static multi_user_result run(const multi_user_parameters& p, const job_mix& mix, const named<rw_lock>& rw,
                                 const named<reference_count>& reference) {
        multi_user load(p, mix, rw, reference);
        // The users' mappings, which the first process's forks have left.
        for (user& u : load.users_)
            load.map(u, u.self);
        const nanoseconds begin = W::now();
        std::vector<thread> threads;
        threads.reserve(p.users);
        for (user& u : load.users_)
            threads.push_back(W::spawn([&load, &u] { load.work_off(u); }));
        for (thread& each : threads)
            W::join(each);
        multi_user_result result;
        result.elapsed = W::now() - begin;
        for (const user& u : load.users_) {
            if (std::any_of(u.coming.begin(), u.coming.end(), [](const node* n) { return n != nullptr; }))
                throw std::logic_error("multi_user: a child's mappings are inserted, and no child is forked");
        }
        const double jobs = static_cast<double>(p.users) * p.jobs * p.size;
        result.jobs_per_minute = jobs * 60e9 / static_cast<double>(result.elapsed.count());
        result.children = load.children_.value();
        for (const auto* root : load.kernel_.roots)
            result.mappings += root->mappings.size();
        for (const user& u : load.users_)
            result.pages += std::accumulate(u.self.pages.begin(), u.self.pages.end(), std::uint64_t{0});
        return result;
    }

private:
    // Where a process's private mappings are in the trees; nullptr: in none, since it has replaced its memory
    // (exec), or has given it back.
    using mappings = std::vector<node*>;

    struct process {
        mappings mapped;
        typename kernel::pages pages;
    };

    struct user {
        std::uint32_t number = 0;
        process self;
        mappings coming{};          // of the child that is forked next
        std::vector<node*> spare{}; // nodes in no tree. Of all processes of a user one works at a time.
        const char* command = "reaim";
    };

    multi_user(const multi_user_parameters& p, const job_mix& mix, const named<rw_lock>& rw,
               const named<reference_count>& reference)
        : p_(p), mix_(mix), kernel_(W::template make<kernel>(p.kernel, rw, reference)),
          children_(W::template make<typename W::counter>()), users_(p.users) {
        for (const weighted_job& job : mix.jobs)
            list_.insert(list_.end(), job.weight, job.operation);
        for (std::uint32_t i = 0; i < p.users; ++i) {
            users_[i].number = i;
            users_[i].self.mapped.resize(p.kernel.mappings);
            users_[i].coming.resize(p.kernel.mappings);
        }
    }

    void work_off(user& u) {
        const frame command{u.command};
        std::vector<std::size_t> list;
        for (std::uint32_t i = 0; i < p_.jobs; ++i) {
            if (list.empty())
                list = list_;
            std::swap(list[W::random().below(list.size())], list.back());
            do_job(u, list.back());
            list.pop_back();
        }
    }

    // A smaller job computes for less at a time, and does all else less often: steps that are done as often as each
    // other in a whole job are so in a part of one.
    void do_job(user& u, std::size_t number) {
        const operation& what = mix_.operations[number];
        const frame name{what.name.c_str()};
        const double chance = draw();
        for (const step& s : what.steps) {
            const bool computes =
                s.what == step::kind::user || s.what == step::kind::system || s.what == step::kind::sleep;
            repeat(u, u.self, s, count(computes ? s.times : s.times * p_.size, chance), p_.size, p_.work);
        }
    }

    void perform(user& u, process& p, std::size_t number) {
        const operation& what = mix_.operations[number];
        const frame name{what.name.c_str()};
        for (const step& s : what.steps)
            repeat(u, p, s, count(s.times, draw()), 1, p_.work);
    }

    // Does a step `times` times. What it computes takes `size` of its time, and that `factor` times.
    void repeat(user& u, process& p, const step& s, std::uint64_t times, double size, double factor) {
        using kind = step::kind;
        for (std::uint64_t i = 0; i < times; ++i) {
            switch (s.what) {
            case kind::user:
                compute(s.duration, size * factor, cpu_mode::user);
                break;
            case kind::system:
                compute(s.duration, size * factor, cpu_mode::system);
                break;
            case kind::sleep:
                W::sleep(scaled(s.duration, size));
                break;
            case kind::disk:
                kernel_.disk.transfer(s.amount);
                break;
            case kind::fault:
                kernel_.fault(p.pages, s.amount);
                break;
            case kind::release:
                kernel_.release(p.pages, s.amount);
                break;
            case kind::lock:
                take(u, p, s);
                break;
            case kind::perform:
                perform(u, p, s.operation);
                break;
            case kind::child:
                fork(u, s);
                break;
            }
        }
    }

    void fork(user& u, const step& s) {
        process child;
        child.mapped = std::exchange(u.coming, mappings(p_.kernel.mappings));
        const char* const command = s.command.empty() ? u.command : s.command.c_str();
        thread running = W::spawn([this, &u, &child, &s, command] {
            const frame name{command};
            perform(u, child, s.operation);
        });
        W::join(running);
        for (const node* left : child.mapped) {
            if (left != nullptr)
                throw std::logic_error("multi_user: a child of '" + mix_.operations[s.operation].name +
                                       "' has ended without erasing its mappings");
        }
        children_.add(1);
    }

    // Locks -------------------------------------------------------------------------------------------------

    // Calls with(i) for those of `count` locks that the step means.
    template <class With>
    static void for_each(const step& s, const user& u, std::size_t count, With with) {
        switch (s.instance) {
        case step::which::any:
            with(static_cast<std::size_t>(W::random().below(count)));
            break;
        case step::which::own:
            with(u.number % count);
            break;
        case step::which::each:
            for (std::size_t i = 0; i < count; ++i)
                with(i);
            break;
        }
    }

    void take(user& u, process& p, const step& s) {
        switch (s.taken) {
        case step::lock::root_anon_vma:
            for_each(s, u, p_.kernel.mappings, [&](std::size_t i) { take_root(u, p, s, i); });
            break;
        case step::lock::i_mmap:
            take_mutexes(u, p, s, kernel_.files);
            break;
        case step::lock::directory:
            take_mutexes(u, p, s, kernel_.directories);
            break;
        case step::lock::dentry:
            for_each(s, u, kernel_.dentries.size(), [&](std::size_t i) { take_dentry(u, p, s, i); });
            break;
        case step::lock::journal:
            for_each(s, u, kernel_.journals.size(),
                     [&](std::size_t i) { with(*kernel_.journals[i], s.exclusive, [&] { hold(u, p, s); }); });
            break;
        }
    }

    template <class Do>
    static void with(rw_lock& lock, bool exclusive, Do work) {
        if (exclusive) {
            lock.lock();
            work();
            lock.unlock();
        } else {
            lock.lock_shared();
            work();
            lock.unlock_shared();
        }
    }

    // What a step does with its lock held.
    void hold(user& u, process& p, const step& s) {
        const frame name{s.frame.empty() ? "critical_section" : s.frame.c_str()};
        compute(s.duration, p_.hold, cpu_mode::system);
        for (const step& each : s.inside)
            repeat(u, p, each, count(each.times, draw()), 1, p_.hold);
    }

    void take_mutexes(user& u, process& p, const step& s,
                      const std::vector<typename kernel::mutex*>& mutexes) {
        for_each(s, u, mutexes.size(), [&](std::size_t i) {
            mutexes[i]->lock();
            hold(u, p, s);
            mutexes[i]->unlock();
        });
    }

    void take_dentry(user& u, process& p, const step& s, std::size_t number) {
        reference_count& dentry = *kernel_.dentries[number];
        if (s.exclusive) {
            dentry.lock();
            hold(u, p, s);
            dentry.unlock();
            return;
        }
        if (!dentry.get())
            throw std::logic_error("multi_user: a directory entry has died");
        hold(u, p, s);
        if (!dentry.put())
            throw std::logic_error("multi_user: a reference was lost");
    }

    void take_root(user& u, process& p, const step& s, std::size_t mapping) {
        using tree = step::tree;
        node*& mine = p.mapped[mapping];
        if (mine == nullptr && (s.change == tree::erase || s.change == tree::update))
            return;
        auto& guarded = root_of(mapping);
        const auto insert = [&](node*& place) {
            if (place != nullptr)
                throw std::logic_error(
                    "multi_user: a child's mapping is inserted again before the child is forked");
            const frame name{"anon_vma_interval_tree_insert"};
            place = spare(u);
            guarded.mappings.insert(*place, 0, mapping_pages);
        };
        const auto erase = [&] {
            const frame name{"anon_vma_interval_tree_remove"};
            guarded.mappings.erase(*mine);
            u.spare.push_back(std::exchange(mine, nullptr));
        };
        with(guarded.lock, s.exclusive, [&] {
            hold(u, p, s);
            switch (s.change) {
            case tree::none:
                break;
            case tree::insert:
                insert(u.coming[mapping]);
                break;
            case tree::erase:
                erase();
                break;
            case tree::update:
                erase();
                insert(mine);
                break;
            case tree::lookup:
                guarded.mappings.contains_overlap(0, mapping_pages);
                break;
            }
        });
    }

    // Before the users begin.
    void map(user& u, process& p) {
        for (std::size_t i = 0; i < p.mapped.size(); ++i) {
            p.mapped[i] = spare(u);
            root_of(i).mappings.insert(*p.mapped[i], 0, mapping_pages);
        }
    }

    typename kernel::anon_vma& root_of(std::size_t mapping) {
        return *kernel_.roots[mapping % kernel_.roots.size()];
    }

    node* spare(user& u) {
        if (u.spare.empty())
            return &W::template make<node>(W::random().below(std::uint64_t{1} << 32));
        node* const one = u.spare.back();
        u.spare.pop_back();
        return one;
    }

    // Amounts -----------------------------------------------------------------------------------------------

    static nanoseconds scaled(nanoseconds duration, double by) {
        return nanoseconds(std::llround(static_cast<double>(duration.count()) * by));
    }

    void compute(nanoseconds duration, double factor, cpu_mode mode) {
        const double jitter = p_.jitter_percent / 100.0;
        const nanoseconds taken = scaled(duration, factor * (1 + jitter * (2 * draw() - 1)));
        if (taken.count() > 0)
            W::compute(taken, mode);
    }

    // Uniform in [0, 1).
    static double draw() { return static_cast<double>(W::random().below(1 << 30)) / (1 << 30); }

    // A whole number that is `times` on average over `chance`, which is uniform in [0, 1).
    static std::uint64_t count(double times, double chance) {
        const double whole = std::floor(times);
        return static_cast<std::uint64_t>(whole) + (chance < times - whole ? 1 : 0);
    }

    // How far a mapping reaches: they all are as large.
    static constexpr std::uint64_t mapping_pages = 33;

    const multi_user_parameters p_;
    const job_mix& mix_;
    kernel& kernel_;
    typename W::counter& children_;
    std::vector<user> users_;
    std::vector<std::size_t> list_; // of operations, each as often as it weighs
};

} // namespace holdfast
