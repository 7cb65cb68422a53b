// Beginning, deciding, and beginning again after a fork. Nothing here allocates, locks, or is left half done by a signal
// handler that takes a lock: all that is written at the beginning is the same whoever writes it.
#include "substitute/process.hpp"

#include <cstdlib>
#include <cstring>

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <holdfast/native/native.hpp>
#include <holdfast/native/preserved_errno.hpp>

#include "preload/real.hpp"
#include "substitute/identity.hpp"

namespace holdfast::substitute {

constinit epoch_page process{};

namespace {

constexpr lock_choice nothing{};
constexpr std::uint32_t first_epoch = 2;
constexpr std::uint32_t about_to = 1; // added to an epoch

constinit std::atomic<std::uint32_t> last_epoch = 0; // of this process or its forebears

// What glibc's __kind has of a mutex that may be ours: its type, and whether it may be elided. Elision counts in the upper half
// of `made`.
constexpr int types = 3;
constexpr int no_elision = 0x200;
constexpr int elision = 0x300;

// Whether a lock that nobody has decided of can be ours. One that has been used by glibc is in use there.
bool can_be_ours(const mutex_bytes& mutex) {
    return chosen->mutex != nullptr && (mutex.kind & ~(types | elision)) == 0 &&
           mutex.owner.load(relaxed) == nullptr && mutex.again == 0;
}

bool can_be_ours(const rwlock_bytes& lock) {
    const auto& glibcs = reinterpret_cast<const pthread_rwlock_t&>(lock).__data;
    return chosen->rwlock != nullptr && glibcs.__shared == 0 && glibcs.__readers == 0;
}

bool is_shared(const mutex_bytes& mutex) {
    return (mutex.kind & 0x80) != 0;
}

bool is_shared(const rwlock_bytes& lock) {
    return reinterpret_cast<const pthread_rwlock_t&>(lock).__data.__shared != 0;
}

// One of glibc's, that may get another kind if it is selected. Some other thread may use it already, as what it was.
void leave(mutex_bytes& mutex, bool selected) {
    if ((mutex.kind & ~(types | elision)) == 0)
        mutex.kind |=
            no_elision | (selected && mutex.type() == PTHREAD_MUTEX_TIMED_NP ? chosen->mutex_kind : 0);
}

void leave(rwlock_bytes& lock, bool selected) {
    if (selected && chosen->rwlock_kind != 0)
        reinterpret_cast<pthread_rwlock_t&>(lock).__data.__flags = chosen->rwlock_kind;
}

const mutex_functions& functions_for(const mutex_bytes&) {
    return *chosen->mutex;
}

const rwlock_functions& functions_for(const rwlock_bytes&) {
    return *chosen->rwlock;
}

// The lock that the environment names.
const lock_choice& find_choice() {
    const char* const name = std::getenv("HOLDFAST_RUN_LOCK");
    if (name == nullptr)
        return nothing;
    if (const lock_choice* const found = find_lock_choice(name); found != nullptr)
        return *found;
    for (const char* part :
         {"holdfast: HOLDFAST_RUN_LOCK: there is no lock '", name, "'; nothing is replaced\n"})
        syscall(SYS_write, STDERR_FILENO, part, std::strlen(part));
    return nothing;
}

void begin() {
    const os::preserved_errno errno_now;
    if (last_epoch.load(relaxed) == 0) {
        preload::find_real_functions();
        read_selection();
        chosen = &find_choice();
        madvise(&process, sizeof process, MADV_WIPEONFORK);
    }
    const std::uint32_t next = last_epoch.load(relaxed) + first_epoch;
    std::uint32_t wiped = 0;
    // release: pairs with the acquire in settle.
    if (process.epoch.compare_exchange_strong(wiped, next, std::memory_order_release, relaxed))
        last_epoch.store(next, relaxed);
}

// Before all others (-z initfirst), which is before libc knows its environment.
[[gnu::constructor]] void begin_early(int, char**, char** environment) {
    if (environ == nullptr)
        environ = environment;
    begin();
    static_cast<void>(
        native::self()); // has a key of its threads made while there are few: the first need no memory
}

template <class Bytes>
bool settle_any(Bytes& lock, const void* pc) {
    // acquire: pairs with the release in begin: glibc's functions are known, and the choice.
    std::uint32_t epoch = process.epoch.load(std::memory_order_acquire);
    if (epoch == 0) {
        if (last_epoch.load(relaxed) == 0 && environ == nullptr) {
            preload::find_real_functions();
            return false; // before our constructor: it will be decided later
        }
        begin();
        epoch = process.epoch.load(std::memory_order_acquire);
    }
    for (os::spinner between(true);;) {
        std::uint32_t made = lock.made.load(std::memory_order_acquire);
        if (made == ~epoch)
            return true;
        if ((made & upper_half) == left_to_glibc)
            return false;
        if (made == ~(epoch + about_to)) { // by another thread
            between.relax(1);
            continue;
        }
        const bool fresh = (made & upper_half) == 0;
        if (fresh && is_shared(lock))
            return false;
        const bool selected = !fresh || is_selected(&lock, pc);
        if (fresh && !(selected && can_be_ours(lock))) {
            // Another thread may decide otherwise, that uses it first elsewhere; or count its spins.
            if (!lock.made.compare_exchange_strong(made, left_to_glibc | (made & ~upper_half), relaxed,
                                                   relaxed))
                continue;
            leave(lock, selected);
            return false;
        }
        // acquire: pairs with the release below, of whoever made it in another epoch.
        if (lock.made.compare_exchange_weak(made, ~(epoch + about_to), std::memory_order_acquire, relaxed)) {
            if (fresh)
                functions_for(lock).make(lock);
            else
                functions_for(lock).remake(lock);
            lock.made.store(~epoch, std::memory_order_release); // pairs with the acquire in is_ours
            return true;
        }
    }
}

} // namespace

constinit const lock_choice* chosen = &nothing;

[[gnu::cold, gnu::noinline]] bool settle(mutex_bytes& mutex, const void* pc) {
    return settle_any(mutex, pc);
}

[[gnu::cold, gnu::noinline]] bool settle(rwlock_bytes& lock, const void* pc) {
    return settle_any(lock, pc);
}

void take_over(condition_bytes& condition) {
    const std::uint32_t epoch = process.epoch.load(relaxed);
    for (os::spinner between(true);;) {
        std::uint32_t made = condition.made.load(std::memory_order_acquire);
        if (made == ~epoch && is_ours(condition))
            return;
        if (made == ~(epoch + about_to)) {
            between.relax(1);
            continue;
        }
        // acquire: pairs with the release below.
        if (condition.made.compare_exchange_weak(made, ~(epoch + about_to), std::memory_order_acquire,
                                                 relaxed)) {
            new (condition.waiters) our_condition;
            // Who signals has had the mutex after us.
            condition.marks.fetch_or(condition_bytes::ours, relaxed);
            condition.made.store(~epoch, std::memory_order_release); // pairs with the acquire in is_of_now
            return;
        }
    }
}

} // namespace holdfast::substitute
