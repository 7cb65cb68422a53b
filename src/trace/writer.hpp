// Writes a recording. Stands in somebody else's process: no allocation, no lock, no exception, no library call that
// another library could have replaced by one that locks. Any thread may call anything at any time, also while
// others do; a signal handler may interrupt any of it and do the same.
//
// Deduplication (of stacks and sites) is by hash tables in private memory that a fork wipes, as is the writer itself:
// a child starts with a writer that isn't open.
#pragma once

#include <cstdint>

#include "trace/format.hpp"

namespace holdfast::trace {

// One event at a site, that stands for `period` of them. The first five are the site's key; see site_entry for all.
struct site_sample {
    site_role role = site_role::none;
    std::uint32_t lock = 0;
    std::uint32_t stack = 0;
    std::uint32_t holder = 0;
    std::uint64_t pc = 0;
    std::uint64_t period = 1;
    std::uint64_t ns = 0;
    std::uint64_t spun_ns = 0;
    std::uint64_t waiters = 0;
};

// Zero pages are a writer that isn't open. Trivial, so that it may lie in memory that the kernel wipes.
class writer {
public:
    // Creates the file, which must not exist, of about `bytes` (smallest_file to largest_file), and maps it. Whoever
    // finds it finds the command `first` there.
    // Gives 0, or an error number, and then isn't open. Called by one thread.
    int open(const char* path, std::uint64_t bytes, const char* program, std::uint64_t now,
             command first = command::run);

    [[nodiscard]] bool is_open() const { return header_ != nullptr; }
    [[nodiscard]] header& head() const { return *header_; }

    // Entries by number, 1 to what an add gave. Entry 0 may be written, and is never read.
    [[nodiscard]] lock_entry& lock(std::uint32_t number) const { return locks_[number]; }
    // A lock's detail, which it gets now if it had none; entry 0 if there is no room.
    [[nodiscard]] detail_entry& detail(lock_entry& lock) {
        const std::uint32_t number = lock.detail.load(std::memory_order_relaxed);
        return number != 0 ? details_[number] : first_detail(lock);
    }
    [[nodiscard]] std::uint32_t number_of(const lock_entry& lock) const {
        return static_cast<std::uint32_t>(&lock - locks_);
    }
    [[nodiscard]] thread_entry& thread(std::uint32_t number) const { return threads_[number]; }
    [[nodiscard]] module_entry& module(std::uint32_t number) const { return modules_[number]; }
    [[nodiscard]] const stack_entry& stack(std::uint32_t number) const { return stacks_[number]; }

    // Each gives the new entry's number, or 0 if there is no room, and then has counted one as lost.
    std::uint32_t add_lock(std::uint64_t address, lock_kind kind, std::uint32_t stack, bool initialised);
    std::uint32_t add_thread(std::uint32_t id, const char* name, std::uint64_t now);
    std::uint32_t add_module(std::uint64_t start, std::uint64_t end, const unsigned char* build_id,
                             std::uint32_t build_id_size, const char* path);

    // The number of this stack, the same for the same frames in one generation of mapped files; 0 if there is no room. `depth` is cut at
    // deepest_stack. `fresh` is set if the stack was not known.
    std::uint32_t stack(const std::uint64_t* frames, std::uint32_t depth, bool& fresh);

    // Adds a sample to its site; one that finds no room is counted as lost.
    void sample(const site_sample& s);

private:
    std::uint32_t take(section which);
    detail_entry& first_detail(lock_entry& lock);

    header* header_;
    module_entry* modules_;
    thread_entry* threads_;
    stack_entry* stacks_;
    site_entry* sites_;
    detail_entry* details_;
    lock_entry* locks_;
    u32* stack_index_; // numbers by hash; private
    u32* site_index_;
    std::uint32_t stack_mask_;
    std::uint32_t site_mask_;
};

// Adds a wait, or a hold, of `ns` to a side's figures.
void add_wait(wait_figures& to, std::uint64_t ns);
void add_hold(hold_figures& to, std::uint64_t ns);

// The bucket of a duration.
std::uint32_t bucket_of(std::uint64_t ns);

// Raises `to` to at least `value`.
void raise(u64& to, std::uint64_t value);
void raise(u32& to, std::uint32_t value);

} // namespace holdfast::trace
