// The table. A lock with one more row here is one more that a program can be given.
#include "substitute/locks.hpp"

#include <algorithm>

#include <holdfast/mutex.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/qspinlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/rwsem.hpp>
#include <holdfast/rwsem_xadd.hpp>
#include <holdfast/shared_mutex.hpp>
#include <holdfast/ticket_lock.hpp>

#include "substitute/in_place_mutex.hpp"
#include "substitute/in_place_rwlock.hpp"
#include "substitute/queued_flag.hpp"

namespace holdfast::substitute {

namespace {

// For mutexes alone.
template <class Lock>
constexpr lock_choice exclusive(std::string_view name, std::string_view what) {
    return {.name = name, .what = what, .mutex = &in_place_mutex<Lock>::functions};
}

// For read-write locks, and for mutexes by its write side.
template <class Lock>
constexpr lock_choice shared(std::string_view name, std::string_view what) {
    return {.name = name,
            .what = what,
            .mutex = &in_place_mutex<Lock>::functions,
            .rwlock = &in_place_rwlock<Lock>::functions};
}

// For read-write locks alone: 40 bytes don't fit beside a mutex's kind.
template <class Lock>
constexpr lock_choice semaphore(std::string_view name, std::string_view what) {
    return {.name = name, .what = what, .rwlock = &in_place_rwlock<Lock>::functions};
}

template <rwsem_rules Rules>
using semaphore_of = rwsem<native, Rules>;
template <rwsem_xadd_rules Rules>
using old_semaphore_of = rwsem_xadd<native, Rules>;

constexpr lock_choice choices[] = {
    {.name = "glibc", .what = "what the program has; no library goes into it"},
    {.name = "adaptive",
     .what = "normal mutexes become PTHREAD_MUTEX_ADAPTIVE_NP, which spin before they sleep",
     .mutex_kind = PTHREAD_MUTEX_ADAPTIVE_NP},
    {.name = "prefer-writer",
     .what = "read-write locks become PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP",
     .rwlock_kind = PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP},
    exclusive<mutex>("mutex", "spins a little, sleeps in line, hands over after 4 ms"),
    shared<shared_mutex>("shared_mutex", "spins a little, sleeps; neither side starves"),
    exclusive<ticket_lock<native>>("ticket", "the simplest fair spinlock"),
    exclusive<queued_flag<native>>("mcs",
                                   "an MCS queue before a flag: fair, each spins on a line of its own"),
    exclusive<qspinlock<native>>("qspinlock", "Linux's queued spinlock"),
    shared<rwlock<native>>("rwlock", "Linux's read-write spinlock up to 3.15: unfair"),
    shared<qrwlock<native>>("qrwlock", "Linux's queued read-write spinlock since 4.15"),
    shared<qrwlock<native, qrwlock_presets::linux_3_16>>("qrwlock.linux_3_16", "the same, 3.16 to 4.14"),
    shared<qrwlock<native, qrwlock_presets::patch_2013>>(
        "qrwlock.patch_2013", "the same as first sent: waiting writers stop no reader"),
    semaphore<semaphore_of<rwsem_presets::linux_6>>("rwsem", "Linux's read-write semaphore since 6.3"),
    semaphore<semaphore_of<rwsem_presets::linux_5_19>>("rwsem.linux_5_19", "the same, of 5.19"),
    semaphore<semaphore_of<rwsem_presets::linux_5_16>>("rwsem.linux_5_16", "the same, of 5.16"),
    semaphore<semaphore_of<rwsem_presets::linux_5_11>>("rwsem.linux_5_11", "the same, of 5.11"),
    semaphore<semaphore_of<rwsem_presets::linux_5_3>>("rwsem.linux_5_3", "the same, of 5.3: readers spin"),
    semaphore<old_semaphore_of<rwsem_xadd_presets::linux_3_16>>("rwsem.linux_3_16",
                                                                "its forerunner of 3.16: writers spin"),
    semaphore<old_semaphore_of<rwsem_xadd_presets::linux_3_15>>("rwsem.linux_3_15",
                                                                "its forerunner of 3.15: nobody spins"),
};

} // namespace

std::span<const lock_choice> lock_choices() {
    return choices;
}

const lock_choice* find_lock_choice(std::string_view name) {
    constexpr std::string_view ours = "holdfast::";
    const bool named_ours = name.starts_with(ours);
    const std::string_view bare = named_ours ? name.substr(ours.size()) : name;
    const auto* const found = std::find_if(std::begin(choices), std::end(choices), [&](const lock_choice& c) {
        return c.name == bare && (!named_ours || c.mutex != nullptr || c.rwlock != nullptr);
    });
    return found == std::end(choices) ? nullptr : found;
}

} // namespace holdfast::substitute
