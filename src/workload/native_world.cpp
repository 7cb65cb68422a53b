#include "workload/native_world.hpp"

#include <algorithm>
#include <cassert>
#include <exception>
#include <limits>
#include <optional>
#include <vector>

#include <linux/membarrier.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "workload/cpu_limit.hpp"

namespace holdfast {

namespace {

using clock = std::chrono::steady_clock;

struct made_object {
    void* at;
    void (*destroy)(void*);
};

// The program that runs.
struct program {
    std::uint64_t seed;
    std::vector<int> cpus; // the kernel's numbers of those that the process may use
    clock::time_point began = clock::now();
    std::atomic<std::uint32_t> threads{0};
    std::mutex mutex;
    std::vector<made_object> made; // guarded by mutex
    std::exception_ptr failure;    // guarded by mutex; the first that a thread has thrown
};
program* running = nullptr;

// The calling thread in the program: its number, from 1, and its random numbers, drawn as the simulated world
// does it.
struct program_thread {
    std::uint32_t number;
    random_source random;
};
thread_local std::optional<program_thread> me;

void become(std::uint32_t number) {
    me = program_thread{number,
                        random_source(random_source(running->seed + number * 0x9e3779b97f4a7c15).next())};
}

// Keeps the exception that is being handled, if it is the program's first.
void keep_failure() {
    const std::scoped_lock guard(running->mutex);
    if (!running->failure)
        running->failure = std::current_exception();
}

// ---- Computing
// -------------------------------------------------------------------------------------------------------

nanoseconds thread_time() {
    timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + nanoseconds(t.tv_nsec);
}

// One copy in one place for measuring and for computing: a loop that short takes twice as long where it lies across lines.
[[gnu::noinline, gnu::aligned(64)]] void turn(std::uint64_t times) {
    for (std::uint64_t i = 0; i < times; ++i)
        asm volatile("");
}

// How often that loop turns in a nanosecond: the best of several goes, as others can only slow it down.
double turns_per_nanosecond() {
    static const double measured = [] {
        constexpr std::uint64_t turns = 200'000;
        nanoseconds best = nanoseconds::max();
        for (int i = 0; i < 10; ++i) {
            const nanoseconds before = thread_time();
            turn(turns);
            best = std::min(best, thread_time() - before);
        }
        return static_cast<double>(turns) / static_cast<double>(std::max<std::int64_t>(best.count(), 1));
    }();
    return measured;
}

void turn_for(nanoseconds duration) {
    turn(static_cast<std::uint64_t>(static_cast<double>(duration.count()) * turns_per_nanosecond()));
}

// ---- Shootdown
// -------------------------------------------------------------------------------------------------------

// membarrier interrupts just the CPUs that run threads of this process and waits for them, which is what is
// wanted.
bool membarrier_works() {
    static const bool registered =
        syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return registered;
}

// The real thing, where there is no membarrier: takes the right to write from a page that has been written
// to. Also takes the process's address space for itself, which membarrier doesn't.
void protect_and_unprotect() {
    static void* const page = mmap(nullptr, 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static std::mutex mutex;
    if (page == MAP_FAILED)
        return;
    const std::scoped_lock guard(mutex);
    *static_cast<volatile char*>(page) = 1;
    mprotect(page, 1, PROT_READ);
    mprotect(page, 1, PROT_READ | PROT_WRITE);
}

nanoseconds time_of(std::uint64_t units, std::uint64_t units_per_second) {
    if (units_per_second == 0)
        return nanoseconds(0);
    return nanoseconds(
        static_cast<std::int64_t>(static_cast<double>(units) * 1e9 / static_cast<double>(units_per_second)));
}

} // namespace

void native_world::run(std::uint64_t seed, const std::function<void()>& body) {
    assert(running == nullptr);
    turns_per_nanosecond();
    membarrier_works();
    program p{.seed = seed, .cpus = usable_cpus(), .mutex = {}, .made = {}, .failure = {}};
    running = &p;
    // A thread of its own, so that nothing that the program does to it, such as pinning, outlives the
    // program.
    try {
        thread first = start(any_cpu, body);
        join(first);
    } catch (...) {
        keep_failure(); // it could not be started
    }
    // The last first, as objects may refer to earlier ones.
    for (auto it = p.made.rbegin(); it != p.made.rend(); ++it)
        it->destroy(it->at);
    running = nullptr;
    if (p.failure)
        std::rethrow_exception(p.failure);
}

native_world::thread native_world::start(std::uint32_t cpu, std::function<void()> body) {
    const std::uint32_t number = running->threads.fetch_add(1, std::memory_order_relaxed) + 1;
    return thread(std::jthread([cpu, number, what = std::move(body)] {
        if (cpu != any_cpu)
            pin(cpu);
        become(number);
        try {
            what();
        } catch (...) {
            keep_failure();
        }
    }));
}

std::uint32_t native_world::cpu_count() {
    return static_cast<std::uint32_t>(running->cpus.size());
}

void native_world::pin(std::uint32_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(running->cpus[cpu], &set);
    sched_setaffinity(0, sizeof set, &set);
}

void native_world::compute(nanoseconds duration, cpu_mode) {
    // The clock takes most of a microsecond to read on some machines, so short computations do without; long
    // ones go by it, and halve what is left until it is short.
    constexpr nanoseconds is_short = std::chrono::microseconds(20);
    if (duration <= is_short) {
        turn_for(std::max(duration, nanoseconds(0)));
        return;
    }
    const nanoseconds end = thread_time() + duration;
    for (;;) {
        const nanoseconds left = end - thread_time();
        if (left <= is_short) {
            turn_for(std::max(left, nanoseconds(0)));
            return;
        }
        turn_for(left / 2);
    }
}

void native_world::sleep(nanoseconds duration) {
    std::this_thread::sleep_for(duration);
}

nanoseconds native_world::now() {
    return clock::now() - running->began;
}

random_source& native_world::random() {
    return me->random;
}

void native_world::delete_later(void* object, void (*destroy)(void*)) {
    const std::scoped_lock guard(running->mutex);
    running->made.push_back({object, destroy});
}

native_world::device::device(const device_limits& limits) : limits_(limits) {}

void native_world::device::transfer(std::uint64_t bytes) {
    const nanoseconds moving = time_of(bytes, limits_.bytes_per_second);
    nanoseconds done;
    {
        const std::scoped_lock guard(mutex_);
        const nanoseconds begins = std::max(now(), free_at_);
        free_at_ = begins + std::max(moving, time_of(1, limits_.iops));
        done = begins + limits_.latency + moving;
    }
    std::this_thread::sleep_until(running->began + done);
}

void native_world::shootdown() {
    if (membarrier_works())
        syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    else
        protect_and_unprotect();
}

std::size_t native_world::counter::part() {
    return me->number % part_count;
}

} // namespace holdfast
