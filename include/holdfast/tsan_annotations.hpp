// What ThreadSanitizer is told of a lock: that it is one. Then it reports two locks that threads take in opposite orders, before
// they ever hang, a lock taken twice, let go twice or destroyed while held; and names the locks held in a report of a data race.
//
// A lock tells it by inheriting from `told_to_tsan<P>`, which is empty, and nothing at all without the sanitizer or where
// threads are simulated. It says what is about to be done and what has been done:
//
//     class mutex : told_to_tsan<P> {
//         void lock() { this->begin_lock(); ...; this->end_lock(); }
//         bool try_lock() { this->begin_try(); return this->end_try(...); }
//         void unlock() { this->say_unlock(); ...; }
//
// ThreadSanitizer goes on to look at what the lock's own code does in between, its atomics and all. Under it a lock has a
// destructor, as otherwise the next lock in the same memory would be taken for this one.
#pragma once

#include <cstdint>
#include <type_traits>

#if defined(__SANITIZE_THREAD__)
#define HOLDFAST_UNDER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define HOLDFAST_UNDER_TSAN 1
#endif
#endif
#if !defined(HOLDFAST_UNDER_TSAN)
#define HOLDFAST_UNDER_TSAN 0
#endif

#if HOLDFAST_UNDER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace holdfast {

struct native;

inline constexpr bool under_tsan = HOLDFAST_UNDER_TSAN != 0;

// How a lock is held: an upgradable hold counts as a shared one, as for clang's analysis.
enum class hold : std::uint8_t { exclusive, shared };

// Of a platform whose threads ThreadSanitizer doesn't see as the threads of the lock; and everywhere without it.
template <class P, bool Told = under_tsan&& std::is_same_v<P, native>>
class told_to_tsan {
protected:
    // Around a call that waits for as long as it takes.
    static constexpr void begin_lock(hold = hold::exclusive) {}
    static constexpr void end_lock(hold = hold::exclusive) {}
    // Around a call that may give up. `got`: whether it has the lock; the result.
    static constexpr void begin_try(hold = hold::exclusive) {}
    static constexpr bool end_try(bool got, hold = hold::exclusive) { return got; }
    // Before the lock is let go: afterwards it may be gone.
    static constexpr void say_unlock(hold = hold::exclusive) {}
};

#if HOLDFAST_UNDER_TSAN
template <class P>
class told_to_tsan<P, true> {
    static constexpr unsigned flags_of(hold how) { return how == hold::shared ? __tsan_mutex_read_lock : 0; }

    // The lock, for ThreadSanitizer: a byte of its own. At the first, its word, the two kinds of what is known of an address
    // would mix.
    void* name() { return reinterpret_cast<char*>(this) + 1; }

    // ThreadSanitizer looks away from here on, and again here.
    void look_away() { __tsan_mutex_post_divert(name(), 0); }
    void look_here() { __tsan_mutex_pre_divert(name(), 0); }

protected:
    // A lock that is made before the program runs is never destroyed, for ThreadSanitizer.
    constexpr told_to_tsan() {
        if (!std::is_constant_evaluated())
            __tsan_mutex_create(name(), __tsan_mutex_not_static);
    }
    constexpr ~told_to_tsan() {
        if (!std::is_constant_evaluated())
            __tsan_mutex_destroy(name(), __tsan_mutex_not_static);
    }
    told_to_tsan(const told_to_tsan&) = delete;
    told_to_tsan& operator=(const told_to_tsan&) = delete;

    void begin_lock(hold how = hold::exclusive) {
        __tsan_mutex_pre_lock(name(), flags_of(how));
        look_here();
    }
    void end_lock(hold how = hold::exclusive) {
        look_away();
        __tsan_mutex_post_lock(name(), flags_of(how), 0);
    }
    void begin_try(hold how = hold::exclusive) {
        __tsan_mutex_pre_lock(name(), flags_of(how) | __tsan_mutex_try_lock);
        look_here();
    }
    bool end_try(bool got, hold how = hold::exclusive) {
        look_away();
        __tsan_mutex_post_lock(
            name(), flags_of(how) | __tsan_mutex_try_lock | (got ? 0 : __tsan_mutex_try_lock_failed), 0);
        return got;
    }
    void say_unlock(hold how = hold::exclusive) {
        __tsan_mutex_pre_unlock(name(), flags_of(how));
        __tsan_mutex_post_unlock(name(), flags_of(how));
    }
};
#endif

} // namespace holdfast
