// Any read-write lock as a pthread_rwlock_t. Who writes stands beside it: its unlock is a writer's, and what else it asks for
// is a deadlock that POSIX wants reported.
#pragma once

#include <cerrno>
#include <new>

#include <holdfast/native/native.hpp>

#include "substitute/in_place.hpp"
#include "substitute/times.hpp"

namespace holdfast::substitute {

template <class Lock>
class in_place_rwlock {
    static_assert(sizeof(Lock) <= sizeof(rwlock_bytes::lock));
    static_assert(alignof(Lock) <= alignof(void*));

public:
    static int lock_shared(rwlock_bytes& l) {
        if (writes(l))
            return EDEADLK;
        of(l).lock_shared();
        return 0;
    }

    static int try_lock_shared(rwlock_bytes& l) { return of(l).try_lock_shared() ? 0 : EBUSY; }

    static int lock_shared_until(rwlock_bytes& l, clockid_t clock, const timespec& until) {
        return lock_until_with(l, clock, until, [&l](auto wait) {
            if constexpr (requires { of(l).try_lock_shared_for(wait); })
                return of(l).try_lock_shared_for(wait);
            else
                return keep_trying(wait, [&l] { return of(l).try_lock_shared(); });
        });
    }

    static int lock(rwlock_bytes& l) {
        if (writes(l))
            return EDEADLK;
        of(l).lock();
        return took(l, 0);
    }

    static int try_lock(rwlock_bytes& l) { return of(l).try_lock() ? took(l, 0) : EBUSY; }

    static int lock_until(rwlock_bytes& l, clockid_t clock, const timespec& until) {
        return took(l, lock_until_with(l, clock, until, [&l](auto wait) {
                        if constexpr (requires { of(l).try_lock_for(wait); })
                            return of(l).try_lock_for(wait);
                        else
                            return keep_trying(wait, [&l] { return of(l).try_lock(); });
                    }));
    }

    static int unlock(rwlock_bytes& l) {
        if (l.writer.load(relaxed) == nullptr) {
            of(l).unlock_shared();
        } else {
            l.writer.store(nullptr, relaxed);
            of(l).unlock();
        }
        return 0;
    }

    static void make(rwlock_bytes& l) {
        l.writer.store(nullptr, relaxed);
        new (l.lock) Lock;
    }

    // Who reads is written nowhere. If somebody did, it is taken to have been the forking thread, once.
    static void remake(rwlock_bytes& l) {
        const bool held = of(l).is_locked();
        new (l.lock) Lock;
        if (l.writer.load(relaxed) != nullptr)
            of(l).lock();
        else if (held)
            of(l).lock_shared();
    }

    static constexpr rwlock_functions functions{
        lock_shared, try_lock_shared, lock_shared_until, lock, try_lock, lock_until, unlock, make, remake};

private:
    static Lock& of(rwlock_bytes& l) { return *std::launder(reinterpret_cast<Lock*>(l.lock)); }

    static bool writes(const rwlock_bytes& l) { return l.writer.load(relaxed) == self(); }

    static int took(rwlock_bytes& l, int answer) {
        if (answer == 0)
            l.writer.store(self(), relaxed);
        return answer;
    }

    template <class Wait>
    static int lock_until_with(rwlock_bytes& l, clockid_t clock, const timespec& until, Wait wait) {
        if (!is_clock(clock) || !is_time(until))
            return EINVAL;
        if (writes(l))
            return EDEADLK;
        return until_moment(clock, until, wait) ? 0 : ETIMEDOUT;
    }
};

} // namespace holdfast::substitute
