// Any lock as a pthread mutex: POSIX's kinds on top of it, by an owner and a count beside it.
//
// The owner is written after the lock was taken, and before it is let go. So who finds itself there holds the lock, and
// nobody else's finding matters.
//
// A mutex of the normal kind may be unlocked by another thread, and its holder who locks it again waits for that. None of our
// locks is made for the latter, as some know their owner by an identity and take what is theirs for passed on to them.
// So such a caller stands back, outside of the lock, until another thread has let go of it.
#pragma once

#include <cerrno>
#include <limits>
#include <new>

#include <holdfast/native/native.hpp>

#include "substitute/in_place.hpp"
#include "substitute/times.hpp"

namespace holdfast::substitute {

// 0 or EPERM: what the caller's unlock would answer.
inline int may_unlock(const mutex_bytes& m) {
    const bool owned = m.type() == PTHREAD_MUTEX_RECURSIVE_NP || m.type() == PTHREAD_MUTEX_ERRORCHECK_NP;
    return owned && m.owner.load(relaxed) != self() ? EPERM : 0;
}

template <class Lock>
class in_place_mutex {
    static_assert(sizeof(Lock) <= sizeof(mutex_bytes::lock));
    static_assert(alignof(Lock) <= alignof(void*));

public:
    static int lock(mutex_bytes& m) {
        if (is_barred(m)) [[unlikely]] {
            if (is_again(m))
                return lock_again(m);
            stand_back(m, os::deadline::never());
        }
        of(m).lock();
        return took(m);
    }

    static int try_lock(mutex_bytes& m) {
        if (m.owner.load(relaxed) == self() && m.type() == PTHREAD_MUTEX_RECURSIVE_NP) [[unlikely]]
            return lock_again(m);
        return of(m).try_lock() ? took(m) : EBUSY;
    }

    static int lock_until(mutex_bytes& m, clockid_t clock, const timespec& until) {
        if (!is_clock(clock))
            return EINVAL;
        if (is_again(m))
            return lock_again(m);
        // As glibc, which looks at the time itself only if it has to wait.
        if (of(m).try_lock())
            return took(m);
        if (!is_time(until))
            return EINVAL;
        return until_moment(clock, until, [&m](auto wait) { return lock_within(m, wait); }) ? took(m)
                                                                                            : ETIMEDOUT;
    }

    static int unlock(mutex_bytes& m) {
        const void* const owner = m.owner.load(relaxed);
        if (owner != self() || m.again != 0) [[unlikely]] {
            if (const int refused = may_unlock(m); refused != 0)
                return refused;
            if (owner == nullptr)
                return 0; // glibc lets that pass
            if (m.again != 0) {
                --m.again;
                return 0;
            }
        }
        m.owner.store(nullptr, relaxed);
        of(m).unlock();
        return 0;
    }

    static void make(mutex_bytes& m) {
        m.owner.store(nullptr, relaxed);
        m.again = 0;
        new (m.lock) Lock;
    }

    static void remake(mutex_bytes& m) {
        new (m.lock) Lock;
        if (m.owner.load(relaxed) != nullptr)
            of(m).lock();
    }

    static constexpr mutex_functions functions{lock, try_lock, lock_until, unlock, make, remake};

private:
    static Lock& of(mutex_bytes& m) { return *std::launder(reinterpret_cast<Lock*>(m.lock)); }

    static int took(mutex_bytes& m) {
        m.owner.store(self(), relaxed);
        return 0;
    }

    // Whether the caller can't wait in the lock, which is its own, or takes it for its owner: for the unlock by another thread
    // is not done yet, or the owner was one that has ended, whose identity the caller now has.
    static bool is_barred(mutex_bytes& m) {
        if (m.owner.load(relaxed) == self())
            return true;
        if constexpr (requires { of(m).is_mine(); })
            return of(m).is_mine();
        return false;
    }

    static bool is_again(const mutex_bytes& m) {
        return m.owner.load(relaxed) == self() &&
               (m.type() == PTHREAD_MUTEX_RECURSIVE_NP || m.type() == PTHREAD_MUTEX_ERRORCHECK_NP);
    }

    static int lock_again(mutex_bytes& m) {
        if (m.type() == PTHREAD_MUTEX_ERRORCHECK_NP)
            return EDEADLK;
        if (m.again == std::numeric_limits<std::uint32_t>::max() - 1)
            return EAGAIN;
        ++m.again;
        return 0;
    }

    static void stand_back(mutex_bytes& m, const os::deadline& until) {
        os::spinner between(true);
        while (is_barred(m) && !until.expired())
            between.relax(1);
    }

    static bool lock_within(mutex_bytes& m, std::chrono::nanoseconds wait) {
        if (is_barred(m)) {
            stand_back(m, os::deadline::after(wait));
            return false; // to be called again with what is left of the time
        }
        if constexpr (requires { of(m).try_lock_for(wait); })
            return of(m).try_lock_for(wait);
        else
            return keep_trying(wait, [&m] { return of(m).try_lock(); });
    }
};

} // namespace holdfast::substitute
