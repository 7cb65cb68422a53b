// Threads that stat() one path: each walks to the path's directory entry (dentry), takes a reference to it,
// and gives it back.
//
// After Linus Torvalds's test program of August 2013 for lockref: some threads loop over stat() of one path,
// each with a score of its own, until ten seconds have passed. One iteration here:
//
//   enter the system call, look up the path      compute(work_before)
//     walk the hash chain to the dentry           a load from each of the other dentries in it
//     compare its name                            a load, from the lockref's cache line or another
//     take a reference                            lockref get_not_dead
//   copy the attributes out, leave               compute(work_after)
//     give the reference back                     lockref put_or_lock
//
// What differs from boot to boot is drawn from the seed: on which socket the dentries lie, whether the
// compared name shares the lockref's line, and how long the chain is.
#pragma once

#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "workload/program.hpp"

namespace holdfast {

struct path_walk_parameters {
    std::uint32_t threads = 1;
    nanoseconds duration{};           // how long they loop
    nanoseconds work_before{};        // of a call, until it looks at dentries
    nanoseconds work_after{};         // and from having the reference on
    std::uint32_t jitter_percent = 0; // each piece of work takes this much more or less, at most; below 100
    std::uint32_t name_near_percent = 0; // of boots: the compared name lies on the lockref's line
    std::uint32_t chain_depth = 1; // at most so many other dentries come first in the chain; at least one
    bool pinned = false;           // thread i stays on CPU i
};

struct path_walk_score {
    std::uint64_t loops = 0;
    std::uint32_t cpu = 0; // where the thread was when it began
};

// Runs as the program of a world `W` with lockrefs of type `Lockref` (a holdfast::lockref on W's platform).
// Gives each thread's score, in the order of their start.
template <class W, class Lockref>
class path_walk {
    using platform = typename W::platform;
    using frame = typename platform::frame;
    using name = typename platform::template var<std::uint64_t>;

    struct dentry {
        Lockref reference{1}; // the cache's own reference: the count never falls to 0
        name near_name{1};
    };

public:
    static std::vector<path_walk_score> run(const path_walk_parameters& p) {
        std::vector<path_walk_score> scores(p.threads);
        path_walk walk(p);
        const nanoseconds end = W::now() + p.duration;
        std::vector<typename W::thread> threads;
        for (std::uint32_t i = 0; i < p.threads; ++i) {
            const auto body = [&walk, &score = scores[i], end] { walk.stat_until(end, score); };
            threads.push_back(p.pinned ? W::spawn_on(i % W::cpu_count(), body) : W::spawn(body));
        }
        for (typename W::thread& thread : threads)
            W::join(thread);
        return scores;
    }

private:
    // Lays the dentries out, from a thread on the socket that they shall lie on.
    explicit path_walk(const path_walk_parameters& p) : p_(p) {
        const bool near = W::random().below(100) < p.name_near_percent;
        const std::uint64_t depth = 1 + W::random().below(p.chain_depth);
        const auto home = static_cast<std::uint32_t>(W::random().below(W::cpu_count()));
        typename W::thread maker = W::spawn_on(home, [&] {
            for (std::uint64_t i = 0; i < depth; ++i)
                chain_.push_back(&W::template make<name>(std::uint64_t{i}));
            target_ = &W::template make<dentry>();
            name_ = near ? &target_->near_name : &W::template make<name>(std::uint64_t{1});
        });
        W::join(maker);
    }

    void stat_until(nanoseconds end, path_walk_score& score) {
        typename W::counter& loops = W::template make<typename W::counter>();
        score.cpu = platform::cpu();
        while (W::now() < end) {
            stat();
            loops.add(1);
        }
        score.loops = loops.value();
    }

    void stat() {
        const frame system_call{"sys_newstat"};
        work(p_.work_before);
        take();
        work(p_.work_after);
        const frame path_put{"path_put"};
        if (!target_->reference.put_or_lock())
            throw std::logic_error("path_walk: a reference was lost");
    }

    // Walks to the dentry and takes a reference.
    void take() {
        const frame path_lookup{"path_lookupat"};
        std::uint64_t hash = 0;
        for (const name* other : chain_)
            hash ^= other->get();
        if (hash > chain_.size() * 2 || name_->get() != 1 || !target_->reference.get_not_dead())
            throw std::logic_error("path_walk: the dentry is gone");
    }

    void work(nanoseconds duration) {
        const auto span = duration.count() * p_.jitter_percent / 100;
        const auto drawn =
            span == 0
                ? 0
                : static_cast<std::int64_t>(W::random().below(static_cast<std::uint64_t>(2 * span + 1)));
        W::compute(nanoseconds(duration.count() - span + drawn), cpu_mode::system);
    }

    path_walk_parameters p_;
    dentry* target_ = nullptr;
    const name* name_ = nullptr;
    std::vector<const name*> chain_;
};

} // namespace holdfast
