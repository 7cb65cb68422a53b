// Starting, threads, locks' entries, and waits.
#include "preload/recorder.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "preload/modules.hpp"
#include "preload/real.hpp"
#include "preload/signal_name.hpp"
#include "trace/command.hpp"
#include "unwind/unwind.hpp"

namespace holdfast::preload {

namespace {

constexpr std::uint64_t sample_gap_ns = 1'000'000;
constexpr std::uint32_t longest_period = 1 << 14;
constexpr std::uint32_t longest_probe = 64;
constexpr std::uint64_t forgotten =
    ~std::uint64_t{0}; // a slot of the index whose lock is gone; no address is that

std::uint64_t time_of(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return static_cast<std::uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::uint64_t>(t.tv_nsec);
}

// CPU time of this thread.
std::uint64_t cpu_ns() {
    return time_of(CLOCK_THREAD_CPUTIME_ID);
}

// ---- Stacks ----

// Locks in files that ended with this generation: what comes to their addresses is another lock.
void forget_locks(control& c, std::uint32_t generation) {
    for (std::uint64_t i = 0; i <= c.index_mask; ++i) {
        std::uint64_t there = c.index[i].load(relaxed);
        if (there != 0 && there != forgotten &&
            gone_with(c.out, (there >> trace::lock_number_bits) << 2, generation))
            c.index[i].compare_exchange_strong(there, forgotten, relaxed);
    }
}

// Brings the recorded files up to date. Whether it did: one thread does so at a time.
bool refreshed(control& c) {
    // Acquire, with the release below: each leaves the list as a whole to the next.
    if (c.reading_modules.exchange(true, std::memory_order_acquire))
        return false;
    const std::uint32_t generation = c.out.head().generation.load(relaxed);
    refresh_modules(c.out);
    const std::uint32_t now = c.out.head().generation.load(relaxed);
    if (now != generation)
        forget_locks(c, now);
    c.reading_modules.store(false, std::memory_order_release);
    return true;
}

std::uint32_t written_stack(control& c, const std::uint64_t* frames, std::uint32_t depth) {
    bool fresh = false;
    const std::uint32_t generation = c.out.head().generation.load(relaxed);
    const std::uint32_t stack = c.out.stack(frames, depth, fresh);
    const auto is_covered = [&](std::uint64_t pc) { return covered(c.out, pc); };
    if (!fresh || std::all_of(frames, frames + depth, is_covered) || !refreshed(c) ||
        c.out.head().generation.load(relaxed) == generation)
        return stack;
    return c.out.stack(frames, depth, fresh); // in the generation that has just begun
}

// The stack from the caller at `pc` on; where that can't be unwound, the caller alone.
std::uint32_t stack_from(control& c, const void* pc) {
    const auto caller = reinterpret_cast<std::uint64_t>(pc);
    std::uint64_t frames[trace::deepest_stack];
    const std::uint32_t depth =
        unwind::stack(caller, c.out.head().generation.load(relaxed), frames, trace::deepest_stack);
    return depth != 0 ? written_stack(c, frames, depth) : written_stack(c, &caller, 1);
}

// ---- Starting ----

// The file of this process: FILE for the process that `holdfast record` started, also when it has become another
// program since; for others FILE if there is none yet, else FILE.PID, FILE.PID.2 and so on.
int open_file(trace::writer& out, const char* file, bool root, std::uint64_t bytes, std::uint64_t now,
              trace::command first) {
    char program[sizeof(trace::header::program)] = {};
    syscall(SYS_readlink, "/proc/self/exe", program, sizeof program - 1);
    if (root)
        syscall(SYS_unlinkat, AT_FDCWD, file, 0);
    int error = out.open(file, bytes, program, now, first);
    char other[4096 + 32];
    for (int n = 1; error == EEXIST && n < 1'000; ++n) {
        if (n == 1)
            std::snprintf(other, sizeof other, "%s.%d", file, static_cast<int>(getpid()));
        else
            std::snprintf(other, sizeof other, "%s.%d.%d", file, static_cast<int>(getpid()), n);
        error = out.open(other, bytes, program, now, first);
    }
    return error;
}

// Writes down those since the last time, and the CPU time.
void count_acquisitions(control& c, std::uint64_t now) {
    trace::thread_entry& thread = c.out.thread(self.number);
    thread.acquisitions.store(thread.acquisitions.load(relaxed) + self.acquisitions.sampled(now), relaxed);
    thread.cpu_ns.store(cpu_ns() - self.cpu_before, relaxed);
}

pthread_key_t thread_end_key;
std::atomic<bool> has_key = false;

void note_thread_end(void*) {
    control& c = process;
    if (self.epoch != c.epoch.load(relaxed))
        return;
    const bookkeeping inside_here;
    trace::thread_entry& thread = c.out.thread(self.number);
    count_acquisitions(c, now_ns());
    prctl(PR_GET_NAME, thread.name);
    thread.end_ns.store(now_ns(), relaxed);
}

// Only a word is written: begin first, then stop.
void on_trigger(int /*signal*/) {
    control& c = process;
    if (!c.out.is_open())
        return;
    auto waits = static_cast<std::uint32_t>(trace::command::wait);
    if (!c.out.head().command.compare_exchange_strong(waits, static_cast<std::uint32_t>(trace::command::run),
                                                      relaxed))
        c.out.head().command.store(static_cast<std::uint32_t>(trace::command::stop), relaxed);
}

// Takes a signal that the program does nothing about.
void take_signal(int number) {
    struct sigaction action {};
    if (number == 0 || sigaction(number, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
        action.sa_handler != SIG_DFL)
        return;
    action.sa_handler = on_trigger;
    action.sa_flags = SA_RESTART;
    sigaction(number, &action, nullptr);
}

// What the environment says about when to begin.
trace::command first_command(control& c, std::uint64_t now) {
    const char* const delay = std::getenv("HOLDFAST_RECORD_DELAY");
    const char* const signal = std::getenv("HOLDFAST_RECORD_SIGNAL");
    c.begin_at = 0;
    if (delay != nullptr) {
        const double seconds = std::strtod(delay, nullptr);
        if (seconds > 0 && seconds < 1e9)
            c.begin_at = now + static_cast<std::uint64_t>(seconds * 1e9);
    }
    return c.begin_at != 0 || signal != nullptr || std::getenv("HOLDFAST_RECORD_WAIT") != nullptr
               ? trace::command::wait
               : trace::command::run;
}

// Makes the file and all that is needed to write to it. Afterwards its command word says what to do.
bool prepare(control& c) {
    const char* const file = std::getenv("HOLDFAST_RECORD_FILE");
    if (file == nullptr || *file != '/' || std::strlen(file) > 4096)
        return false;
    const char* const root_text = std::getenv("HOLDFAST_RECORD_ROOT");
    const bool root = root_text != nullptr && std::atol(root_text) == getpid();
    const char* const follow = std::getenv("HOLDFAST_RECORD_FOLLOW");
    if (!root && follow != nullptr && std::strcmp(follow, "0") == 0)
        return false;
    const char* const size = std::getenv("HOLDFAST_RECORD_SIZE");
    const std::uint64_t bytes = size == nullptr ? trace::standard_file : std::strtoull(size, nullptr, 10);
    if (bytes < trace::smallest_file || bytes > trace::largest_file)
        return false;

    const std::uint64_t now = now_ns();
    trace::command first = first_command(c, now);
    // Who was told to wait obeys what its group has been told meanwhile. The first process of the group may have become
    // another program, and reads what it was told before; others read after their own file is there to be told.
    const bool in_group = std::getenv("HOLDFAST_RECORD_WAIT") != nullptr;
    if (in_group) {
        trace::command told = first;
        if (trace::read_command(file, told) == 0 && (root || told == trace::command::stop))
            first = told;
    }
    if (first == trace::command::stop && !root)
        return false;
    if (open_file(c.out, file, root, bytes, now, first) != 0)
        return false;
    if (in_group && !root && trace::read_command(file, first) == 0)
        c.out.head().command.store(static_cast<std::uint32_t>(first), relaxed);

    const trace::section_entry& locks = c.out.head().table[static_cast<std::uint32_t>(trace::section::locks)];
    const std::uint64_t slots = std::bit_ceil(std::uint64_t{locks.capacity} * 2);
    void* const index = mmap(nullptr, slots * sizeof(std::uint64_t), PROT_READ | PROT_WRITE,
                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (index == MAP_FAILED)
        return false;
    madvise(index, slots * sizeof(std::uint64_t), MADV_WIPEONFORK);
    c.index = static_cast<std::atomic<std::uint64_t>*>(index);
    c.index_mask = static_cast<std::uint32_t>(slots - 1);
    c.index_shift = 64 - std::countr_zero(slots);
    if (!has_key.exchange(true, relaxed) && pthread_key_create(&thread_end_key, note_thread_end) != 0)
        has_key.store(false, relaxed);
    if (const char* const signal = std::getenv("HOLDFAST_RECORD_SIGNAL"); signal != nullptr)
        take_signal(signal_number(signal));
    return true;
}

trace::command told(const control& c) {
    return static_cast<trace::command>(c.out.head().command.load(relaxed));
}

// Whether it is time to begin, or to give up.
bool wait_is_over(const control& c) {
    return told(c) != trace::command::wait ||
           (c.begin_at != 0 && time_of(CLOCK_MONOTONIC_COARSE) >= c.begin_at);
}

// From here on threads record. Called by the one that has set the stage to `starting`; gives the next.
stage begin(control& c) {
    if (told(c) == trace::command::stop)
        return stage::off;
    refresh_modules(c.out);
    c.out.head().command.store(static_cast<std::uint32_t>(trace::command::run), relaxed);
    c.out.head().begin_ns.store(now_ns(), relaxed);
    c.epoch.store(static_cast<std::uint32_t>(getpid()) + inside + 1, relaxed);
    return stage::on;
}

// Whether the recording is on; starts it if it is time, unless another thread is about to.
bool started(control& c) {
    stage seen = stage::idle;
    // Acquire, with the release below: who sees a later stage sees the writer. One thread gets to starting.
    if (c.now.compare_exchange_strong(seen, stage::starting, std::memory_order_acquire)) {
        const bool can = madvise(&c, sizeof c, MADV_WIPEONFORK) == 0 && prepare(c);
        seen = !can ? stage::off : wait_is_over(c) ? begin(c) : stage::waiting;
        c.now.store(seen, std::memory_order_release);
    } else if (seen == stage::waiting && wait_is_over(c) &&
               c.now.compare_exchange_strong(seen, stage::starting, std::memory_order_acquire)) {
        seen = begin(c);
        c.now.store(seen, std::memory_order_release);
    }
    return seen == stage::on;
}

// Stops for good if that was asked for. To be called now and then by whoever records.
void obey(control& c) {
    if (told(c) != trace::command::stop)
        return;
    c.epoch.store(0, relaxed);
    c.now.store(stage::off, std::memory_order_release);
    std::uint64_t running = 0;
    c.out.head().end_ns.compare_exchange_strong(running, now_ns(), relaxed);
}

} // namespace

constinit control process{};
constinit thread_local thread_state self;

std::uint64_t now_ns() {
    return time_of(CLOCK_MONOTONIC);
}

std::uint32_t sampler::sampled(std::uint64_t now) {
    const std::uint32_t stands_for = period - left;
    if (now - last_ns < sample_gap_ns)
        period = std::min(period * 2, longest_period);
    else if (now - last_ns > 2 * sample_gap_ns)
        period = std::max(period / 2, 1u);
    left = period;
    last_ns = now;
    return stands_for;
}

bool enter() {
    control& c = process;
    // Acquire, with started()'s release: glibc's functions were found before.
    const stage now = c.now.load(std::memory_order_acquire);
    if (now == stage::off || (now == stage::waiting && !wait_is_over(c)))
        return false;
    find_real_functions();
    // There is no environment in constructors that come before libc's own.
    if (self.epoch == inside || environ == nullptr)
        return false;
    std::uint32_t epoch = not_entered;
    {
        const bookkeeping inside_here;
        if (!started(c))
            return false;
        epoch = c.epoch.load(relaxed);
        char name[16] = {};
        prctl(PR_GET_NAME, name);
        self = {};
        self.epoch = inside;
        self.cpu_before = cpu_ns();
        self.number = c.out.add_thread(static_cast<std::uint32_t>(syscall(SYS_gettid)), name, now_ns());
        if (has_key.load(relaxed))
            pthread_setspecific(thread_end_key, &self);
    }
    self.epoch = epoch;
    return true;
}

lock_entry& add_lock(control& c, const volatile void* address, lock_kind kind, const void* pc) {
    const std::uint64_t key = reinterpret_cast<std::uint64_t>(address) >> 2;
    constexpr std::uint32_t mask = (1u << trace::lock_number_bits) - 1;
    if (key >> (64 - trace::lock_number_bits) != 0)
        return c.out.lock(0);
    std::uint32_t number = 0;
    for (std::uint32_t probe = 0; probe < longest_probe; ++probe) {
        std::atomic<std::uint64_t>& slot = c.index[(slot_of(c, key) + probe) & c.index_mask];
        std::uint64_t there = slot.load(std::memory_order_acquire); // with the release below
        if (there == 0) {
            const bookkeeping inside_here;
            if (number == 0)
                number =
                    c.out.add_lock(reinterpret_cast<std::uint64_t>(address), kind, stack_from(c, pc), false);
            if (number == 0)
                break;
            // Release: whoever finds the number sees the entry.
            if (slot.compare_exchange_strong(there, key << trace::lock_number_bits | number,
                                             std::memory_order_acq_rel, std::memory_order_acquire))
                return c.out.lock(number);
            c.out.lock(number).ready.store(0, relaxed); // another thread was first: this entry stays unused
            number = 0;
        }
        if (there >> trace::lock_number_bits == key)
            return c.out.lock(static_cast<std::uint32_t>(there) & mask);
    }
    c.out.head().lost_operations.fetch_add(1, relaxed);
    return c.out.lock(0);
}

namespace {

void replace_lock(control& c, const volatile void* address, lock_kind kind, const void* pc,
                  bool initialised) {
    const bookkeeping inside_here;
    const std::uint64_t key = reinterpret_cast<std::uint64_t>(address) >> 2;
    constexpr std::uint32_t mask = (1u << trace::lock_number_bits) - 1;
    if (key >> (64 - trace::lock_number_bits) != 0)
        return;
    const auto caller = reinterpret_cast<std::uint64_t>(pc);
    const auto add = [&] {
        std::uint32_t stack = 0;
        if (self.initialisations.due()) {
            self.initialisations.sampled(now_ns());
            stack = stack_from(c, pc);
        } else {
            stack = written_stack(c, &caller, 1);
        }
        return c.out.add_lock(reinterpret_cast<std::uint64_t>(address), kind, stack, initialised);
    };
    for (std::uint32_t probe = 0; probe < longest_probe; ++probe) {
        std::atomic<std::uint64_t>& slot = c.index[(slot_of(c, key) + probe) & c.index_mask];
        std::uint64_t there =
            slot.load(std::memory_order_acquire); // with the release below and in add_lock()
        if (there >> trace::lock_number_bits == key) {
            lock_entry& lock = c.out.lock(static_cast<std::uint32_t>(there) & mask);
            if (lock.kind.load(relaxed) == static_cast<std::uint32_t>(kind) &&
                lock.initialised.load(relaxed) == (initialised ? 1 : 0) &&
                c.out.stack(lock.stack.load(relaxed)).frames[0].load(relaxed) == caller) {
                lock.lives.fetch_add(1, relaxed);
                return;
            }
        } else if (there != 0) {
            continue;
        }
        const std::uint32_t number = add();
        if (number == 0)
            return;
        // Release: whoever finds the number sees the entry. An initialisation has no rival for its address; one for
        // the slot is another address's, and then the next slot is tried.
        if (slot.compare_exchange_strong(there, key << trace::lock_number_bits | number,
                                         std::memory_order_acq_rel, std::memory_order_acquire))
            return;
    }
}

} // namespace

void initialised(control& c, const volatile void* lock, lock_kind kind, const void* pc) {
    replace_lock(c, lock, kind, pc, true);
}

void became(control& c, const volatile void* lock, lock_kind kind, const void* pc) {
    replace_lock(c, lock, kind, pc, false);
}

std::uint32_t sampled_acquisition(control& c, const void* pc) {
    const bookkeeping inside_here;
    const std::uint64_t now = now_ns();
    count_acquisitions(c, now);
    c.out.head().last_ns.store(now, relaxed);
    obey(c);
    return stack_from(c, pc);
}

void watch_hold(const volatile void* lock, lock_entry& entry, side how, std::uint32_t stack, bool timed) {
    const std::uint64_t now = now_ns();
    watched_hold& hold = self.hold;
    // A lock that another thread let go of would be watched for ever.
    constexpr std::uint64_t longest_watch_ns = 1'000'000'000;
    if (hold.lock != nullptr && now - hold.since < longest_watch_ns &&
        (hold.how == side::shared || hold.entry->owner.load(relaxed) == self.number))
        return;
    hold = {lock, &entry, now, stack, how, timed};
    entry.holder.store(stack, relaxed);
}

void end_watched_hold(control& c) {
    watched_hold& hold = self.hold;
    lock_entry& lock = *hold.entry;
    // Sharers may have put another's stack there.
    std::uint32_t mine = hold.stack;
    lock.holder.compare_exchange_strong(mine, 0, relaxed);
    if (hold.timed) {
        const std::uint64_t now = now_ns();
        trace::detail_entry& detail = c.out.detail(lock);
        trace::add_hold(hold.how == side::alone ? detail.alone_holds : detail.shared_holds, now - hold.since);
        c.out.head().last_ns.store(now, relaxed);
    }
    hold.lock = nullptr;
}

wait begin_wait(control& c, lock_entry& lock, std::uint32_t stack, const void* pc) {
    wait w;
    w.epoch = self.epoch;
    const bookkeeping inside_here;
    w.begin = now_ns();
    trace::raise(lock.longest_queue, lock.waiters.fetch_add(1, relaxed) + 1);
    w.holder = lock.holder.load(relaxed);
    const bool due = self.waits.due();
    if (due || stack != 0) {
        obey(c);
        w.period = self.waits.sampled(w.begin);
        w.stack = stack != 0 ? stack : stack_from(c, pc);
        w.cpu_begin = cpu_ns();
    }
    return w;
}

std::uint32_t end_wait(control& c, lock_entry& lock, const wait& w, side how, outcome came, const void* pc) {
    const bookkeeping inside_here;
    const std::uint64_t now = now_ns();
    const std::uint64_t ns = now - w.begin;
    const std::uint32_t behind = lock.waiters.fetch_sub(1, relaxed) - 1;
    const std::uint64_t release_pc = lock.release_pc.exchange(0, relaxed);
    if (came == outcome::refused)
        return 0;
    trace::detail_entry& detail = c.out.detail(lock);
    trace::wait_figures& figures = how == side::alone ? detail.alone : detail.shared;
    trace::add_wait(figures, ns);
    if (came == outcome::timed_out)
        figures.failed.fetch_add(1, relaxed);
    trace::thread_entry& thread = c.out.thread(self.number);
    thread.waits.store(thread.waits.load(relaxed) + 1, relaxed);
    thread.wait_ns.store(thread.wait_ns.load(relaxed) + ns, relaxed);
    trace::raise(thread.longest_wait_ns, ns);
    c.out.head().last_ns.store(now, relaxed);
    const bool is_long = ns >= sample_gap_ns;
    if (w.period == 0 && !is_long)
        return 0;
    trace::site_sample sample;
    sample.role = how == side::alone ? trace::site_role::wait : trace::site_role::read_wait;
    sample.lock = c.out.number_of(lock);
    sample.stack = w.period != 0 ? w.stack : stack_from(c, pc);
    sample.holder = w.holder;
    sample.pc = release_pc;
    sample.period = is_long ? 1 : w.period;
    sample.ns = ns;
    // A long wait that was no sample slept, but for its first moments.
    sample.spun_ns = w.period != 0 ? std::min(cpu_ns() - w.cpu_begin, ns) : 0;
    sample.waiters = behind;
    c.out.sample(sample);
    return sample.stack;
}

void failed_try(control& c, lock_entry& lock, side how) {
    trace::detail_entry& detail = c.out.detail(lock);
    (how == side::alone ? detail.alone : detail.shared).failed.fetch_add(1, relaxed);
}

wait begin_condition(control& c, lock_entry& condition, const void* pc) {
    wait w;
    w.epoch = self.epoch;
    const bookkeeping inside_here;
    w.begin = now_ns();
    trace::raise(condition.longest_queue, condition.waiters.fetch_add(1, relaxed) + 1);
    if (self.conditions.due()) {
        obey(c);
        w.period = self.conditions.sampled(w.begin);
        w.stack = stack_from(c, pc);
    }
    return w;
}

void end_condition(control& c, lock_entry& condition, const wait& w, bool timed_out, const void* pc) {
    const bookkeeping inside_here;
    const std::uint64_t now = now_ns();
    const std::uint64_t ns = now - w.begin;
    condition.waiters.fetch_sub(1, relaxed);
    trace::detail_entry& detail = c.out.detail(condition);
    trace::add_wait(detail.alone, ns);
    const std::uint64_t signal_ns = condition.signal_ns.load(relaxed);
    if (timed_out)
        detail.alone.failed.fetch_add(1, relaxed);
    else if (signal_ns >= w.begin && signal_ns <= now) // else it woke of itself
        trace::add_wait(detail.shared, now - signal_ns);
    trace::thread_entry& thread = c.out.thread(self.number);
    thread.condition_waits.store(thread.condition_waits.load(relaxed) + 1, relaxed);
    thread.condition_ns.store(thread.condition_ns.load(relaxed) + ns, relaxed);
    c.out.head().last_ns.store(now, relaxed);
    const bool is_long = ns >= sample_gap_ns;
    if (w.period == 0 && !is_long)
        return;
    trace::site_sample sample;
    sample.role = trace::site_role::condition;
    sample.lock = c.out.number_of(condition);
    sample.stack = w.period != 0 ? w.stack : stack_from(c, pc);
    sample.period = is_long ? 1 : w.period;
    sample.ns = ns;
    c.out.sample(sample);
}

void signalling(lock_entry& condition) {
    condition.acquisitions.fetch_add(1, relaxed);
    if (condition.waiters.load(relaxed) != 0)
        condition.signal_ns.store(now_ns(), relaxed);
}

void releasing(lock_entry& lock, side how, const void* pc) {
    lock.release_pc.store(reinterpret_cast<std::uint64_t>(pc), relaxed);
    if (how == side::shared)
        return;
    // Held by this thread still. The changes of owner say whether another one held it since the last time.
    const auto changes = static_cast<std::uint32_t>(lock.owner_changes.load(relaxed));
    const bool same = lock.monopoly_start.load(relaxed) == changes;
    const std::uint32_t times = same ? lock.monopoly.load(relaxed) + 1 : 1;
    lock.monopoly_start.store(changes, relaxed);
    lock.monopoly.store(times, relaxed);
    trace::raise(lock.longest_monopoly, times);
}

void files_may_be_gone(control& c) {
    const bookkeeping inside_here;
    refreshed(c);
}

void released(control& c, const lock_entry& lock, const void* pc) {
    if (!self.releases.due())
        return;
    const bookkeeping inside_here;
    trace::site_sample sample;
    sample.role = trace::site_role::release;
    sample.lock = c.out.number_of(lock);
    sample.waiters = lock.waiters.load(relaxed);
    sample.period = self.releases.sampled(now_ns());
    sample.stack = stack_from(c, pc);
    sample.pc = reinterpret_cast<std::uint64_t>(pc);
    c.out.sample(sample);
}

namespace {

// The process that was asked for is recorded from here on even if it never takes a lock, and so is one that a signal may
// come to; others from their first.
__attribute__((constructor)) void begin_process() {
    const char* const root = std::getenv("HOLDFAST_RECORD_ROOT");
    if ((root != nullptr && std::atol(root) == getpid()) || std::getenv("HOLDFAST_RECORD_SIGNAL") != nullptr)
        may_record();
}

__attribute__((destructor)) void end_process() {
    control& c = process;
    const stage at = c.now.load(std::memory_order_acquire); // with started()'s release
    if (at != stage::on && at != stage::waiting)
        return;
    const std::uint64_t now = now_ns();
    if (self.epoch == c.epoch.load(relaxed))
        count_acquisitions(c, now);
    c.out.head().end_ns.store(now, relaxed);
}

} // namespace

} // namespace holdfast::preload
