// Reads a recording: one that is finished, that a killed process left, or that is being written. The bytes are not
// trusted: whatever they are, the result's numbers refer only to what is there.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "trace/format.hpp"

namespace holdfast::trace {

struct waits_read {
    std::uint64_t waits = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t failed = 0;
    std::array<std::uint64_t, histogram_buckets> histogram{};
};

struct holds_read {
    std::uint64_t holds = 0; // that were timed, a sample
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::array<std::uint64_t, histogram_buckets> histogram{};
};

struct lock_read {
    std::uint64_t address = 0;
    lock_kind kind = lock_kind::none;
    std::uint32_t stack = 0;
    std::uint32_t lives = 0;
    bool initialised = false; // whether `stack` is of an initialisation
    std::uint64_t acquisitions = 0;
    std::uint64_t shared_acquisitions = 0;
    std::uint64_t owner_changes = 0;
    std::uint32_t longest_queue = 0;
    std::uint32_t longest_monopoly = 0; // times in a row that one owner let go of it while others waited
    waits_read alone;
    waits_read shared;
    waits_read woken; // of a condition: what of the waits came after the last signal
    holds_read alone_holds;
    holds_read shared_holds;
};

struct stack_read {
    std::uint32_t generation = 0; // in which it was taken; 0: unknown
    std::vector<std::uint64_t> frames;
};

struct site_read {
    site_role role = site_role::none;
    std::uint32_t lock = 0;
    std::uint32_t stack = 0;
    std::uint32_t holder = 0; // the stack with which the holder took the lock; 0: unknown
    std::uint64_t pc = 0;
    std::uint64_t samples = 0;
    std::uint64_t count = 0;
    std::uint64_t ns = 0;
    std::uint64_t longest_ns = 0;
    std::uint64_t spun_ns = 0;
    std::uint64_t waiters = 0;
};

struct thread_read {
    std::uint32_t id = 0;
    std::string name;
    std::uint64_t start_ns = 0;
    std::uint64_t end_ns = 0; // filled in where it was cut off
    std::uint64_t waits = 0;
    std::uint64_t wait_ns = 0;
    std::uint64_t longest_wait_ns = 0;
    std::uint64_t condition_waits = 0;
    std::uint64_t condition_ns = 0;
    std::uint64_t acquisitions = 0; // up to the last sample
    std::uint64_t cpu_ns = 0;       // the same
};

struct module_read {
    std::uint64_t start = 0;
    std::uint64_t end = 0;
    std::uint32_t first_generation = 0;
    std::uint32_t end_generation = 0; // 0: it was there to the end
    std::vector<unsigned char> build_id;
    std::string path;

    // Whether it had this address then. Generation 0 is any.
    [[nodiscard]] bool has(std::uint64_t address, std::uint32_t generation) const {
        return start <= address && address < end &&
               (generation == 0 ||
                (first_generation <= generation && (end_generation == 0 || generation < end_generation)));
    }
};

// Entry 0 of stacks and locks is there, and empty; every site's lock and stacks, and every lock's stack, is an
// index into them. Entries that were not ready are empty too.
struct recording {
    std::string program;
    std::uint32_t process = 0;
    std::uint64_t start_ns = 0; // of what is recorded
    std::uint64_t end_ns = 0;   // when it ended, or was last seen
    std::uint64_t start_unix_ns = 0;
    bool begun = true;  // false: it waits to be started
    bool ended = false; // false: it runs, was killed, or became another program
    bool cut = false;   // the file is shorter than its tables
    std::vector<module_read> modules;
    std::vector<thread_read> threads;
    std::vector<stack_read> stacks;
    std::vector<site_read> sites;
    std::vector<lock_read> locks;
    std::array<std::uint64_t, sections> lost{}; // by enum section
    std::uint64_t lost_operations = 0;
    std::array<std::uint64_t, 3> passed_through{}; // shared between processes, robust, inheriting priority
};

// The recording in these bytes. Throws std::runtime_error if they don't begin like one, saying how.
recording parse(std::span<const unsigned char> bytes);

// Whether a file begins like a recording, of whatever version.
bool is_recording(const std::filesystem::path& file);

// The recording in a file. Throws std::runtime_error, with the file's name.
recording read(const std::filesystem::path& file);

} // namespace holdfast::trace
