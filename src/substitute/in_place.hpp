// Where our locks lie in glibc's types, and what can be done with one there, whichever it is.
//
// A program's locks are initialised by glibc's functions or by its static initialisers, so what those leave is the state in
// which we find a lock: zeros, but for a mutex's kind, a read-write lock's sharing and kind, and a condition's clock. `made` is
// zero in all of these. It says whose the lock is:
//
//   0 in the upper half    nobody's yet: it is decided at the lock's first use, or its initialisation
//   left_to_glibc          in the upper half: glibc's for as long as it lives
//   ~epoch                 ours, made in this epoch of the process; all other bytes but a mutex's kind are ours
//   ~(epoch + 1)           about to become so
//
// A child process is in another epoch. A lock that it finds as ours of an older one may have traces of threads that
// don't exist there, so it is made again: free, or held if it was.
//
// glibc never writes to these words, but for the lower half of a mutex's: an adaptive mutex counts its spins there.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <pthread.h>
#include <time.h>

namespace holdfast::substitute {

inline constexpr auto relaxed = std::memory_order_relaxed;

// Who holds a lock: of all threads that there are, only one has this thread pointer, and a child's only thread has the one
// that its parent's had.
inline const void* self() {
    return __builtin_thread_pointer();
}

inline constexpr std::uint32_t left_to_glibc = 0x1efd'0000;
inline constexpr std::uint32_t upper_half = 0xffff'0000;

// A pthread_mutex_t.
struct mutex_bytes {
    std::atomic<const void*> owner; // null: nobody
    std::uint32_t again; // how often the owner of a recursive one has locked it besides the first time
    std::uint32_t unused;
    int kind; // glibc's, and where glibc has it
    std::atomic<std::uint32_t> made;
    alignas(8) std::byte lock[16];

    [[nodiscard]] int type() const { return kind & 3; } // PTHREAD_MUTEX_...
};
#if defined(__x86_64__) // elsewhere there is no library
static_assert(sizeof(mutex_bytes) == sizeof(pthread_mutex_t));
static_assert(offsetof(mutex_bytes, kind) == offsetof(pthread_mutex_t, __data.__kind) &&
              offsetof(mutex_bytes, made) == offsetof(pthread_mutex_t, __data.__spins));
#endif

// A pthread_rwlock_t.
struct rwlock_bytes {
    std::byte lock[40];
    std::uint32_t unused;
    std::atomic<std::uint32_t> made;
    std::atomic<const void*> writer; // null: nobody writes
};
#if defined(__x86_64__)
static_assert(sizeof(rwlock_bytes) == sizeof(pthread_rwlock_t));
static_assert(offsetof(rwlock_bytes, made) == offsetof(pthread_rwlock_t, __data.__pad2) + 4 &&
              offsetof(rwlock_bytes, writer) == offsetof(pthread_rwlock_t, __data.__flags));
#endif

// What one of our locks does in such a place. Answers are those of the functions of that name in POSIX. `make` makes it,
// free; `remake` after a fork.
struct mutex_functions {
    int (*lock)(mutex_bytes&);
    int (*try_lock)(mutex_bytes&);
    int (*lock_until)(mutex_bytes&, clockid_t, const timespec&);
    int (*unlock)(mutex_bytes&);
    void (*make)(mutex_bytes&);
    void (*remake)(mutex_bytes&);
};

struct rwlock_functions {
    int (*lock_shared)(rwlock_bytes&);
    int (*try_lock_shared)(rwlock_bytes&);
    int (*lock_shared_until)(rwlock_bytes&, clockid_t, const timespec&);
    int (*lock)(rwlock_bytes&);
    int (*try_lock)(rwlock_bytes&);
    int (*lock_until)(rwlock_bytes&, clockid_t, const timespec&);
    int (*unlock)(rwlock_bytes&);
    void (*make)(rwlock_bytes&);
    void (*remake)(rwlock_bytes&);
};

} // namespace holdfast::substitute
