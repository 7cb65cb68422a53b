// Words with which clang checks at compile time who may touch what: -Wthread-safety. Nothing under other compilers.
//
//     class HOLDFAST_CAPABILITY("mutex") lock { void lock() HOLDFAST_ACQUIRE(); ... };
//     int balance HOLDFAST_GUARDED_BY(lock);
//
// A lock's own body takes itself by atomics, which clang can't follow: there, HOLDFAST_NO_THREAD_SAFETY_ANALYSIS. clang knows
// no mode between reading and writing, so an upgradable hold counts as one for reading.
#pragma once

#if defined(__clang__)
#define HOLDFAST_ANNOTATION(x) __attribute__((x))
#else
#define HOLDFAST_ANNOTATION(x)
#endif

// Of a type: its objects are locks; its objects lock in the constructor and unlock in the destructor.
#define HOLDFAST_CAPABILITY(name) HOLDFAST_ANNOTATION(capability(name))
#define HOLDFAST_SCOPED_CAPABILITY HOLDFAST_ANNOTATION(scoped_lockable)

// Of data: who touches it, or what it points to, holds the lock.
#define HOLDFAST_GUARDED_BY(lock) HOLDFAST_ANNOTATION(guarded_by(lock))
#define HOLDFAST_PT_GUARDED_BY(lock) HOLDFAST_ANNOTATION(pt_guarded_by(lock))

// Of a function: the caller holds the locks; doesn't hold them.
#define HOLDFAST_REQUIRES(...) HOLDFAST_ANNOTATION(requires_capability(__VA_ARGS__))
#define HOLDFAST_REQUIRES_SHARED(...) HOLDFAST_ANNOTATION(requires_shared_capability(__VA_ARGS__))
#define HOLDFAST_EXCLUDES(...) HOLDFAST_ANNOTATION(locks_excluded(__VA_ARGS__))

// Of a function: it takes the locks (its own object, without arguments), or lets them go; TRY: if it returns the first argument.
#define HOLDFAST_ACQUIRE(...) HOLDFAST_ANNOTATION(acquire_capability(__VA_ARGS__))
#define HOLDFAST_ACQUIRE_SHARED(...) HOLDFAST_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define HOLDFAST_TRY_ACQUIRE(...) HOLDFAST_ANNOTATION(try_acquire_capability(__VA_ARGS__))
#define HOLDFAST_TRY_ACQUIRE_SHARED(...) HOLDFAST_ANNOTATION(try_acquire_shared_capability(__VA_ARGS__))
#define HOLDFAST_RELEASE(...) HOLDFAST_ANNOTATION(release_capability(__VA_ARGS__))
#define HOLDFAST_RELEASE_SHARED(...) HOLDFAST_ANNOTATION(release_shared_capability(__VA_ARGS__))

// Of a function: clang is not to look inside.
#define HOLDFAST_NO_THREAD_SAFETY_ANALYSIS HOLDFAST_ANNOTATION(no_thread_safety_analysis)
