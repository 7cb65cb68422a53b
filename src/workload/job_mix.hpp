// What users of a time-sharing machine do, as data: a mix of jobs, each an operation of some weight, each
// operation a list of steps. src/replay/job_mix_file.hpp reads them from files; multi_user.hpp performs them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workload/program.hpp"

namespace holdfast {

// A step of an operation: what it does, with the fields that this needs. The others keep their defaults.
struct step {
    enum class kind : std::uint8_t {
        user,    // computes for `duration`, as user time
        system,  // computes for `duration`, as system time
        sleep,   // sleeps for `duration`
        disk,    // transfers `amount` bytes
        fault,   // takes `amount` pages into use
        release, // gives up to `amount` pages back
        lock,    // takes a lock for `duration` of system time, and performs `inside` with it held
        perform, // performs operation number `operation`
        child    // forks a child process that performs it as `command`, and waits for its end
    };
    // The locks that steps take, and where they are in a kernel; in the order in which one may be taken inside another.
    enum class lock : std::uint8_t {
        directory,     // sleeping mutex: a directory's entries
        journal,       // rw: a file system's journal; transactions share it, a commit has it alone
        i_mmap,        // sleeping mutex: who has mapped a file
        root_anon_vma, // rw: the private memory of all processes that descend from one
        dentry         // lockref: a reference to a directory entry, got and put; exclusively: its spinlock
    };
    // Which of the locks of a kind.
    enum class which : std::uint8_t {
        any, // one, drawn
        own, // the user's: users share them if there are fewer locks than users
        each // all, one after the other
    };
    // What is done to the tree of intervals that a root_anon_vma guards.
    enum class tree : std::uint8_t {
        none,
        insert, // the mapping of the child that is forked next
        erase,  // the process's own, if it has one: else the lock isn't taken
        update, // out and in again
        lookup  // a search for one that overlaps
    };

    kind what = kind::user;
    double times = 1; // a fraction is the probability of one more
    nanoseconds duration{};
    std::uint64_t amount = 0;
    lock taken = lock::root_anon_vma;
    which instance = which::any;
    bool exclusive = false; // for writing, where a lock is taken for reading, too
    tree change = tree::none;
    std::string frame{}; // names what is done with the lock held, in profiles; empty: nothing
    std::vector<step> inside{};
    std::size_t operation = 0;
    std::string command{}; // empty: the parent's
};

struct operation {
    std::string name;
    std::vector<step> steps;
};

// One kind of job, and how often it is in the list that users draw their jobs from.
struct weighted_job {
    std::size_t operation = 0;
    std::uint32_t weight = 0;
};

struct job_mix {
    std::string name;
    std::string summary;
    std::vector<operation> operations; // none performs itself, directly or through others
    std::vector<weighted_job> jobs;    // at least one has a weight
    bool sleeps_in_rw_lock = false;    // some step may, with a root_anon_vma or a journal held
};

} // namespace holdfast
