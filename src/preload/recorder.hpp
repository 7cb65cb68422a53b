// The recording of this process: when it starts, what a thread of it knows, and what is written down when a lock is
// taken, waited for and let go.
//
// Nothing of ours is re-entered. While a thread is in here its state says so (`inside`), and a lock that it, or a
// signal handler on top of it, takes meanwhile goes straight to glibc. That state never lasts over a call that waits,
// so a cancelled thread or a long jump out of a wait leaves nothing behind.
//
// A fork needs no handler. What says that recording is on lies in a page that the kernel wipes in a child (however it
// was forked), so the first lock of a child finds that nothing was started, and starts a recording of the child's own.
// The mapping of the parent's file stays, unused.
//
// Fast path. A thread may record if its epoch is the page's: one comparison for "started", "this thread is known",
// "not inside" and "not a fork's child". A lock's entry is found by hashing its address when it is taken; the thread
// remembers it, for what it lets go is mostly what it took last. Figures of a holder are plain additions, for the lock
// is held.
#pragma once

#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdint>

#include "trace/writer.hpp"

namespace holdfast::preload {

using trace::lock_entry;
using trace::lock_kind;
inline constexpr auto relaxed = std::memory_order_relaxed;

// Lets through so many events that about a thousand a second are sampled; each stands for those since the one before.
struct sampler {
    std::uint32_t period = 1;
    std::uint32_t left = 1;
    std::uint64_t last_ns = 0;

    // Whether this event is one to sample. No clock is read for those that aren't.
    bool due() { return --left == 0; }
    // Whether the last event was due and has yet to be sampled.
    [[nodiscard]] bool is_due() const { return left == 0; }
    // To be told when an event, due or not, was sampled. Gives what it stands for.
    std::uint32_t sampled(std::uint64_t now);
    // The last event was none.
    void take_back() { ++left; }
};

// Epochs that are no process's.
inline constexpr std::uint32_t not_entered = 1;
inline constexpr std::uint32_t inside = 3;

enum class side : std::uint32_t { alone, shared };

// A hold that is being watched: its lock's entry names the stack with which it was taken.
struct watched_hold {
    const volatile void* lock = nullptr; // null: none
    lock_entry* entry = nullptr;
    std::uint64_t since = 0;
    std::uint32_t stack = 0;
    side how = side::alone;
    bool timed = false; // whether it goes into the figures of holds
};

struct alignas(64) thread_state {
    std::uint32_t epoch = not_entered;
    std::uint32_t number = 0;                 // in the recording; 0 if there was no room
    const volatile void* last_lock = nullptr; // that it took
    lock_entry* last_entry = nullptr;         // of that one
    std::uint64_t cpu_before = 0;             // its CPU time when it became known
    sampler acquisitions;
    watched_hold hold;
    sampler waits;
    sampler releases;
    sampler conditions;
    sampler initialisations;
};

// `waiting`: the file is there, and what is recorded will begin when its command word, or the time, says so.
enum class stage : std::uint32_t { idle, starting, waiting, on, off };

// A page that a fork wipes: all zero is "not started".
struct alignas(4096) control {
    std::atomic<std::uint32_t> epoch; // of threads that may record; 0: none
    std::atomic<stage> now;
    std::atomic<bool> reading_modules;
    std::uint64_t begin_at; // CLOCK_MONOTONIC; 0: when it is told to
    trace::writer out;
    std::atomic<std::uint64_t>* index; // lock numbers by address: (address >> 2) << lock_number_bits | number
    std::uint32_t index_mask;
    int index_shift;
};

// NOLINTBEGIN(bugprone-dynamic-static-initializers): constinit
extern constinit control process;
extern constinit thread_local thread_state self __attribute__((tls_model("initial-exec")));
// NOLINTEND(bugprone-dynamic-static-initializers)

std::uint64_t now_ns();

// The slow half of may_record(): finds glibc's functions, starts the recording, makes the thread known.
bool enter();

// Whether this thread records at this moment. Relaxed is enough: an
// equal epoch was stored by this very thread, after the control was ready.
inline bool records_now() {
    return self.epoch == process.epoch.load(relaxed);
}

// The same, after starting the recording and making this thread known, if that is due.
inline control* may_record() {
    return records_now() || enter() ? &process : nullptr;
}

// As long as one lives, this thread is inside, and errno is kept.
class bookkeeping {
public:
    bookkeeping() : epoch_(self.epoch), error_(errno) { become(inside); }
    ~bookkeeping() {
        become(epoch_);
        errno = error_;
    }
    bookkeeping(const bookkeeping&) = delete;
    bookkeeping& operator=(const bookkeeping&) = delete;

private:
    // Fences for a signal handler on this thread: it sees `inside` for as long as we write.
    static void become(std::uint32_t epoch) {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        self.epoch = epoch;
        std::atomic_signal_fence(std::memory_order_seq_cst);
    }
    std::uint32_t epoch_;
    int error_;
};

// The entry of a lock that find_lock() did not find: adds it if it is new, with the stack of the caller at `pc`. Entry 0 if there is no room.
lock_entry& add_lock(control& c, const volatile void* lock, lock_kind kind, const void* pc);

inline std::uint64_t slot_of(const control& c, std::uint64_t key) {
    return (key * 0x9e37'79b9'7f4a'7c15) >> c.index_shift;
}

// The entry of this lock; null if it has to be looked for.
inline lock_entry* find_lock(const control& c, const volatile void* lock) {
    const std::uint64_t key = reinterpret_cast<std::uint64_t>(lock) >> 2;
    // Acquire, with the release of the slot's store: the entry behind the number is there.
    const std::uint64_t there = c.index[slot_of(c, key)].load(std::memory_order_acquire);
    return there >> trace::lock_number_bits == key
               ? &c.out.lock(static_cast<std::uint32_t>(there) & ((1u << trace::lock_number_bits) - 1))
               : nullptr;
}

// A lock was initialised by the caller at `pc`: a new lock, if the address had one that was initialised elsewhere.
void initialised(control& c, const volatile void* lock, lock_kind kind, const void* pc);

// The same for a lock of whose initialisation nobody told, now that it is used.
void became(control& c, const volatile void* lock, lock_kind kind, const void* pc);

// An acquisition that is about to be tried is a sample: its stack. The thread's acquisitions so far are written down.
std::uint32_t sampled_acquisition(control& c, const void* pc);

// The lock was taken by this thread, with this stack: its entry says so until it is let go. Only one lock of a thread
// is watched at a time, and the one that it has goes on being so.
void watch_hold(const volatile void* lock, lock_entry& entry, side how, std::uint32_t stack, bool timed);

// The watched lock is let go.
void end_watched_hold(control& c);

// The lock is held alone by this thread.
inline void acquired(lock_entry& lock) {
    lock.acquisitions.store(lock.acquisitions.load(relaxed) + 1, relaxed);
    if (lock.owner.load(relaxed) != self.number) {
        lock.owner.store(self.number, relaxed);
        lock.owner_changes.store(lock.owner_changes.load(relaxed) + 1, relaxed);
    }
}

// The lock is shared by this thread, and others.
inline void acquired_shared(lock_entry& lock) {
    lock.shared_acquisitions.fetch_add(1, relaxed);
}

// A wait that begins.
struct wait {
    std::uint32_t epoch = 0;
    std::uint64_t begin = 0;
    std::uint64_t cpu_begin = 0; // of a sample: the thread's CPU time
    std::uint32_t stack = 0;     // of a sample
    std::uint32_t holder = 0;    // the stack with which the holder took the lock; 0: unknown
    std::uint32_t period = 0;    // 0: no sample
};

enum class outcome { held, timed_out, refused };

// `stack` is the caller's if it was taken before the lock was tried (then the wait is a sample), or else 0.
wait begin_wait(control& c, lock_entry& lock, std::uint32_t stack, const void* pc);

// Whether what was begun is still part of what is recorded: not after a stop, nor in the child of a signal handler that
// forked meanwhile.
inline bool goes_on(const control& c, const wait& w) {
    return c.epoch.load(relaxed) == w.epoch && self.epoch == w.epoch;
}

// The wait is over, and goes on being recorded. A long one (1 ms) is never left out: it has its stack taken now if it was
// no sample, and stands for itself alone. Gives the stack, if there is one.
std::uint32_t end_wait(control& c, lock_entry& lock, const wait& w, side how, outcome came, const void* pc);

// A try that failed.
void failed_try(control& c, lock_entry& lock, side how);

// The same for a condition, whose entry counts those who wait for it, so that signals to nobody need no clock. A wait
// that is cancelled leaves one too many, which costs a clock.
wait begin_condition(control& c, lock_entry& condition, const void* pc);
void end_condition(control& c, lock_entry& condition, const wait& w, bool timed_out, const void* pc);

// The condition is about to be signalled.
void signalling(lock_entry& condition);

// Just before a lock is let go for which others wait. `how` is its holder's side.
void releasing(lock_entry& lock, side how, const void* pc);

// Just after, without the lock, so that nobody waits for the taking of a stack.
void released(control& c, const lock_entry& lock, const void* pc);

// After a dlclose.
void files_may_be_gone(control& c);

} // namespace holdfast::preload
