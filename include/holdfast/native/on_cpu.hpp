// Which CPU a thread is on, and what that says about another thread.
//
// With restartable sequences (rseq, Linux 4.18, registered by glibc since 2.35) the kernel writes a thread's
// CPU into the thread's own memory each time it returns to user mode somewhere else. Reading one's own costs
// a load. Another thread's may be unmapped between two instructions, since its memory goes when it ends; so
// the kernel does the looking, with a futex call that compares a word and else does nothing.
//
// What it proves. A thread that executes its own code is on the CPU that its word says. So if I am on CPU c,
// and afterwards another thread's word says c, then that thread was not executing at some moment in between:
// either when I was on c, or when it moved there. Nothing more is to be had that cheaply: a thread that is
// off its CPU while a third one has it is taken for running. And "executes" means in user mode: a thread that
// changed CPUs inside a system call and is still in there is taken for stopped.
#pragma once

#include <atomic>
#include <cerrno>
#include <cstdint>

#include <sched.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#define HOLDFAST_HAVE_RSEQ 1
#else
#define HOLDFAST_HAVE_RSEQ 0
#endif

#include <holdfast/native/futex.hpp>
#include <holdfast/native/preserved_errno.hpp>

namespace holdfast::os {

// The word in which the kernel keeps the calling thread's CPU; null if there is none.
inline const std::uint32_t* own_cpu_word() {
#if HOLDFAST_HAVE_RSEQ
    if (__rseq_size != 0) {
        const char* const thread = static_cast<const char*>(__builtin_thread_pointer());
        return &reinterpret_cast<const struct rseq*>(thread + __rseq_offset)->cpu_id;
    }
#endif
    return nullptr;
}

// The value of such a word: atomic, because the kernel writes it.
inline std::uint32_t read_cpu_word(const std::uint32_t* word) {
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

// The CPU that the calling thread ran on a moment ago. Leaves errno alone.
inline std::uint32_t current_cpu() {
    if (const std::uint32_t* const word = own_cpu_word())
        return read_cpu_word(word);
    const preserved_errno errno_now;
    const int cpu = sched_getcpu();
    return cpu < 0 ? 0 : static_cast<std::uint32_t>(cpu);
}

// How many CPUs the process may use, or might when this was first called. Leaves errno alone.
inline std::uint32_t usable_cpus() {
    static constinit std::atomic<std::uint32_t> known{0};
    // relaxed, both: whoever counts comes to much the same number.
    std::uint32_t count = known.load(std::memory_order_relaxed);
    if (count == 0) {
        const preserved_errno errno_now;
        cpu_set_t set;
        // It fails where there are more CPUs than a set holds.
        count = sched_getaffinity(0, sizeof set, &set) == 0 ? static_cast<std::uint32_t>(CPU_COUNT(&set))
                                                            : CPU_SETSIZE;
        known.store(count, std::memory_order_relaxed);
    }
    return count;
}

// False only if the thread that owns `word` (own_cpu_word() there) was not executing at some moment during
// the call. Not for one's own. The word's memory may be gone. Costs a system call; leaves errno alone.
inline bool may_execute(const std::uint32_t* word) {
    if (word == nullptr)
        return true;
    // Read before the other's word: see above.
    const std::uint32_t mine = current_cpu();
    const int compared = futex_compare(word, mine);
    return compared != 0 && compared != EFAULT;
}

} // namespace holdfast::os
