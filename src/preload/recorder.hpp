// The recording of this process: when it starts, what a thread of it knows, and what is written down when a lock is
// taken, waited for and let go.
//
// Nothing of ours is re-entered. While a thread is in here its state says so (`inside`), and a lock that it, or a
// signal handler on top of it, takes meanwhile goes straight to glibc. That state never lasts over a call that waits,
// so a cancelled thread or a long jump out of a wait leaves nothing behind.
//
// A fork needs no handler. What says that recording is on lies in a page that the kernel wipes in a child (however it
// was forked), so the first lock of a child finds that nothing was started, and starts a recording of the child's own.
// The address of the page stays, and so does its mapping of the parent's file, unused.
//
// Fast path. A thread may record if its epoch is the page's: one comparison for "started", "this thread is known",
// "not inside" and "not a fork's child". A lock's entry is found by hashing its address. Figures of a holder are plain
// additions, for the lock is held.
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
    // To be told when an event, due or not, was sampled. Gives what it stands for.
    std::uint32_t sampled(std::uint64_t now);
    // The last event was none.
    void take_back() { ++left; }
};

// Epochs that are no process's.
inline constexpr std::uint32_t not_entered = 1;
inline constexpr std::uint32_t inside = 3;

inline constexpr std::uint32_t no_lock = 0; // entry 0 stands for those that found no room

enum class side : std::uint32_t { alone, shared };

// A hold that is being watched: its lock's entry names the stack with which it was taken.
struct watched_hold {
    std::uint32_t lock = no_lock;
    std::uint32_t stack = 0;
    std::uint64_t since = 0;
    side how = side::alone;
    bool timed = false; // whether it goes into the figures of holds
};

struct thread_state {
    std::uint32_t epoch = not_entered;
    std::uint32_t number = 0; // in the recording; 0 if there was no room
    watched_hold hold;
    sampler acquisitions;
    sampler waits;
    sampler releases;
    sampler conditions;
    sampler initialisations;
};

// `waiting`: the file is there, and what is recorded will begin when its command word, or the time, says so.
enum class stage : std::uint32_t { idle, starting, waiting, on, off };

// Wiped by a fork: all zero is "not started".
struct control {
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
extern constinit std::atomic<control*> process;
extern constinit thread_local thread_state self __attribute__((tls_model("initial-exec")));
// NOLINTEND(bugprone-dynamic-static-initializers)

std::uint64_t now_ns();

// The slow half of may_record(): finds glibc's functions, starts the recording, makes the thread known.
bool enter(control& c);

// Whether this thread records at this moment; to be asked first by every function of ours. Relaxed is enough: an
// equal epoch was stored by this very thread, after the control was ready.
inline control* may_record() {
    control* c = process.load(relaxed);
    if (self.epoch == c->epoch.load(relaxed)) [[likely]]
        return c;
    if (!enter(*c))
        return nullptr;
    return process.load(relaxed);
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

// The number of a lock that was not found: adds it, with the stack of the caller at `pc`. 0 if there is no room.
std::uint32_t add_lock(control& c, const volatile void* lock, lock_kind kind, const void* pc);

inline std::uint64_t slot_of(const control& c, std::uint64_t key) {
    return (key * 0x9e37'79b9'7f4a'7c15) >> c.index_shift;
}

inline std::uint32_t lock_number(control& c, const volatile void* lock, lock_kind kind, const void* pc) {
    const std::uint64_t key = reinterpret_cast<std::uint64_t>(lock) >> 2;
    // Acquire, with the release of the slot's store: the entry behind the number is there.
    const std::uint64_t there = c.index[slot_of(c, key)].load(std::memory_order_acquire);
    if (there >> trace::lock_number_bits == key) [[likely]]
        return static_cast<std::uint32_t>(there) & ((1u << trace::lock_number_bits) - 1);
    return add_lock(c, lock, kind, pc);
}

// A lock was initialised by the caller at `pc`: a new lock, if the address had one that was initialised elsewhere.
void initialised(control& c, const volatile void* lock, lock_kind kind, const void* pc);

// An acquisition that is about to be tried is a sample: its stack. The thread's acquisitions so far are written down.
std::uint32_t sampled_acquisition(control& c, const void* pc);

// The lock was taken by this thread, with this stack: its entry says so until it is let go. Only one lock of a thread
// is watched at a time, and the one that it has goes on being so.
void watch_hold(control& c, std::uint32_t lock, side how, std::uint32_t stack, bool timed);

// The watched lock is let go.
void end_watched_hold(control& c);

// The lock is held alone by this thread.
inline void acquired(control& c, std::uint32_t number) {
    lock_entry& lock = c.out.lock(number);
    lock.acquisitions.store(lock.acquisitions.load(relaxed) + 1, relaxed);
    if (lock.owner.load(relaxed) != self.number) {
        lock.owner.store(self.number, relaxed);
        lock.owner_changes.store(lock.owner_changes.load(relaxed) + 1, relaxed);
    }
}

// The lock is shared by this thread, and others.
inline void acquired_shared(control& c, std::uint32_t number) {
    c.out.lock(number).shared_acquisitions.fetch_add(1, relaxed);
}

// A wait that begins.
struct wait {
    std::uint64_t begin = 0;
    std::uint64_t cpu_begin = 0; // of a sample: the thread's CPU time
    std::uint32_t stack = 0;     // of a sample
    std::uint32_t holder = 0;    // the stack with which the holder took the lock; 0: unknown
    std::uint32_t period = 0;    // 0: no sample
};

enum class outcome { held, timed_out, refused };

// `stack` is the caller's if it was taken before the lock was tried (then the wait is a sample), or else 0.
wait begin_wait(control& c, std::uint32_t lock, std::uint32_t stack, const void* pc);
// The wait is over. A long one (1 ms) is never left out: it has its stack taken now if it was no sample, and stands for
// itself alone. Gives the stack, if there is one.
std::uint32_t end_wait(control& c, std::uint32_t lock, const wait& w, side how, outcome came, const void* pc);

// A try that failed.
void failed_try(control& c, std::uint32_t lock, side how);

// The same for a condition, whose entry counts those who wait for it, so that signals to nobody need no clock. A wait
// that is cancelled leaves one too many, which costs a clock.
wait begin_condition(control& c, std::uint32_t condition, const void* pc);
void end_condition(control& c, std::uint32_t condition, const wait& w, bool timed_out, const void* pc);

// The condition is about to be signalled.
void signalling(control& c, std::uint32_t condition);

// Those who wait are kept waiting by this holder, the one that held the lock before, or another one.
void keep_waiting(lock_entry& lock);

// Just before the lock is let go: whether others wait, so that released() is due after it.
inline bool releasing(control& c, std::uint32_t number, side how, const void* pc) {
    if (self.hold.lock == number && number != no_lock) [[unlikely]]
        end_watched_hold(c);
    lock_entry& lock = c.out.lock(number);
    if (lock.waiters.load(relaxed) == 0) [[likely]]
        return false;
    lock.release_pc.store(reinterpret_cast<std::uint64_t>(pc), relaxed);
    if (how == side::alone)
        keep_waiting(lock);
    return true;
}

// After a dlclose.
void files_may_be_gone(control& c);

// Just after, without the lock, so that nobody waits for the taking of a stack.
void released(control& c, std::uint32_t lock, const void* pc);

} // namespace holdfast::preload
