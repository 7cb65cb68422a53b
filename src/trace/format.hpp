// The recording: one file of fixed size, mapped by the process that is recorded, readable at any moment.
//
//   header | modules | threads | stacks | sites | details | locks
//
// Each section is a table of equal entries, filled from entry 1 on (0 means "none"), with a count in the header.
// All is aggregated while the program runs, so the size of the file depends on how many locks and stacks there
// are, never on how long it runs. What does not fit is counted in the header as lost, and reported.
//
// A process may wait before it records: its header's command word says so, and anybody who maps the file may change it.
// What is recorded is one stretch, from `begin_ns` on.
//
// Files come and go at the same addresses (dlopen, dlclose). The header counts those changes as generations: a module
// says in which it was there, a stack in which it was taken.
//
// Layout. Little endian, 64-bit, times in nanoseconds of CLOCK_MONOTONIC. A new layout has a new version; a
// reader takes positions and entry sizes from the header only to check that they are those it knows. A lock's
// entry starts with a cache line that only holders write (they do so under the lock, so plain additions are
// enough); what waiters write is on the lines after it.
//
// Memory orders. The pages are shared with readers in other processes and outlive a kill -9, as the kernel holds
// them. All figures are relaxed: a reader may see a count that is ahead of its sum, no more. The one order that
// matters is publication: a writer fills in an entry's identity and then stores its `ready` with release; whoever
// loads `ready` with acquire sees the identity. Entries that aren't ready are skipped.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace holdfast::trace {

using u32 = std::atomic<std::uint32_t>;
using u64 = std::atomic<std::uint64_t>;
static_assert(u64::is_always_lock_free && sizeof(u64) == 8 && sizeof(u32) == 4);

inline constexpr std::uint64_t magic =
    0x0a1a'6466'6864'6c68; // "hldhfd", then bytes that a text transfer breaks
inline constexpr std::uint32_t version = 3;

inline constexpr std::uint32_t deepest_stack = 29;
inline constexpr std::uint32_t histogram_buckets = 40; // bucket b: [2^b, 2^(b+1)) ns; the last has no end

enum class lock_kind : std::uint32_t {
    none,
    mutex,
    recursive,
    errorcheck,
    adaptive,
    rwlock,
    spin,
    condition,
    own_mutex, // Holdfast's, here and below: only their waits are known
    own_shared_mutex
};
inline constexpr std::uint32_t lock_kinds = 10;

// Whether a lock's acquisitions, holds and owners are counted, and not only its waits.
constexpr bool counts_acquisitions(lock_kind kind) {
    return kind != lock_kind::own_mutex && kind != lock_kind::own_shared_mutex;
}

enum class site_role : std::uint32_t {
    none,
    wait,      // `stack` waited to hold the lock alone, for a thread that let go of it at `pc` (0: unknown)
    read_wait, // the same, to share it
    release,   // `stack` let go of the lock while others waited for it
    condition, // `stack` waited for a condition
};
inline constexpr std::uint32_t site_roles = 5;

// What the process is to do; written by itself and by others.
enum class command : std::uint32_t { run, wait, stop };
inline constexpr std::uint32_t commands = 3;

// Waits of one side of a lock.
struct wait_figures {
    u64 waits; // acquisitions that had to wait
    u64 ns;
    u64 longest_ns;
    u64 failed; // try and timed acquisitions that came to nothing
    u32 histogram[histogram_buckets];
};

// Holds of one side, a sample.
struct hold_figures {
    u64 holds;
    u64 ns;
    u64 longest_ns;
    u32 histogram[histogram_buckets];
};

struct alignas(64) lock_entry {
    // Written by holders. Of a condition, `acquisitions` are signals and broadcasts.
    u64 acquisitions; // to hold it alone
    u64 owner_changes;
    u32 owner;            // thread that last held it alone
    u32 holder;           // the stack with which the holder took it, if that was sampled
    u32 monopoly;         // times in a row that one owner let go of it while others waited: now
    u32 longest_monopoly; // and at most
    u32 monopoly_start;   // owner_changes when it began
    u32 kind;             // lock_kind
    u64 address;
    u32 stack;       // where it was initialised, or else first used
    u32 initialised; // 1: `stack` is of an initialisation
    u32 lives;       // times that it was initialised
    u32 ready;
    // Written by those who wait, and by sharers.
    alignas(64) u64 shared_acquisitions;
    u64 release_pc; // where the last holder that kept others waiting let go
    u64 signal_ns;  // of a condition: when it was last signalled while somebody waited
    u32 waiters;    // now
    u32 longest_queue;
    u32 detail; // once there is something to say in it
};
static_assert(offsetof(lock_entry, shared_acquisitions) == 64 && sizeof(lock_entry) == 128);

// What was timed of a lock. Most locks of a program that has many are never waited for, and have none.
struct alignas(64) detail_entry {
    wait_figures alone;
    wait_figures shared; // of a condition: what of each wait came after the last signal
    hold_figures alone_holds;
    hold_figures shared_holds;
};
static_assert(sizeof(detail_entry) == 768);

// Frames are return addresses, leaf first.
struct stack_entry {
    u64 hash;
    u32 depth;
    u32 ready;
    u32 generation;
    u32 unused;
    u64 frames[deepest_stack];
};
static_assert(sizeof(stack_entry) == 256);

// Sampled: `count`, `ns`, `spun_ns` and `waiters` are estimates, the sum of samples each times its period.
struct site_entry {
    u32 role; // site_role
    u32 lock;
    u32 stack;
    u32 holder; // of a wait: the stack with which the holder at its begin took the lock; 0: unknown
    u64 pc;
    u32 ready;
    u32 unused;
    u64 samples;
    u64 count;
    u64 ns;
    u64 longest_ns;
    u64 spun_ns; // of a wait: CPU time that it took
    u64 waiters; // those who waited, summed: of a release, when it came; of a wait, when it ended
};
static_assert(sizeof(site_entry) == 80);

struct thread_entry {
    u32 id; // the kernel's
    u32 ready;
    u64 start_ns; // when its first lock was seen
    u64 end_ns;   // 0: it runs, or was cut off
    char name[16];
    u64 waits;
    u64 wait_ns;
    u64 longest_wait_ns;
    u64 condition_waits;
    u64 condition_ns;
    u64 acquisitions; // of locks, up to the last sample
    u64 cpu_ns;       // since start_ns, up to the last sample
    u64 unused[4];
};
static_assert(sizeof(thread_entry) == 128);

struct module_entry {
    u64 start; // where the file's first byte is mapped
    u64 end;   // after its last mapped byte
    u32 ready;
    u32 build_id_size;
    u32 first_generation;
    u32 end_generation; // the first in which it was gone; 0: it is still there
    unsigned char build_id[32];
    char path[448]; // ends with a zero
};
static_assert(sizeof(module_entry) == 512);

enum class section : std::uint32_t { modules, threads, stacks, sites, details, locks };
inline constexpr std::uint32_t sections = 6;

struct section_entry {
    std::uint64_t offset; // from the file's start, in bytes
    std::uint32_t entry_size;
    std::uint32_t capacity; // entries, with entry 0
    u32 used;               // entries given away, with entry 0; may be beyond capacity
    std::uint32_t unused;
    u64 lost; // times that something did not fit
};

struct header {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t process;
    std::uint64_t start_ns; // when the file was made
    std::uint64_t start_unix_ns;
    u64 begin_ns;          // of what is recorded; 0: it waits
    u64 end_ns;            // 0: it runs, or was killed, or became another program
    u64 last_ns;           // when something was last written
    u64 lost_operations;   // on locks that have no entry
    u64 passed_through[3]; // operations on locks that are shared between processes, robust, that inherit
    section_entry table[sections]; // by enum section
    u32 command;                   // what the process is to do
    u32 generation;                // of mapped files, from 1 on
    char program[256];             // path; ends with a zero
};
inline constexpr std::size_t header_size = 4096;
static_assert(sizeof(header) <= header_size);

inline constexpr std::uint32_t entry_sizes[sections] = {sizeof(module_entry), sizeof(thread_entry),
                                                        sizeof(stack_entry),  sizeof(site_entry),
                                                        sizeof(detail_entry), sizeof(lock_entry)};

// A lock's number has so many bits in the preload library's index.
inline constexpr std::uint32_t lock_number_bits = 19;

inline constexpr std::uint32_t most_modules = 1024;

inline constexpr std::uint64_t smallest_file = 1 << 20;
inline constexpr std::uint64_t standard_file = 64 << 20;
inline constexpr std::uint64_t largest_file = std::uint64_t{1} << 30;

} // namespace holdfast::trace
