// shared_mutex that finds out when it is misused, and says so instead of going wrong.
//
// A type of its own, not a switch: a program may have both, and the layout of the plain one depends on nothing. What the plain
// lock doesn't know, who holds it, stands beside it.
//
//   found                                                          said
//   locked in any mode, by who holds it for writing or upgradable  locked again by its owner
//   locked for writing or upgradable, by a reader                  locked by a thread that reads already
//   locked for reading, by a reader, behind a writer that waits    the same: for ever, if it is to let go itself
//   unlocked, though nobody holds it so                            unlocked, but not held
//   unlocked, though another thread holds it so                    unlocked by a thread that doesn't hold it
//   end of life, while somebody holds it                           destroyed while held
//
// In one line on stderr; then the program aborts. The first 16 readers are known, later ones are only counted. A reader may be
// let go by another thread, but not by one that reads as well: the two can't be told apart.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include <pthread.h>

#include <holdfast/native/misuse.hpp>
#include <holdfast/shared_mutex.hpp>

namespace holdfast {

// Has the functions of shared_mutex and its guarantees, but for size and destructor.
class HOLDFAST_CAPABILITY("shared_mutex") checked_shared_mutex {
    // A thread as the C library knows it: the same in a child after fork. Its lowest bit is 0.
    using holder = std::uintptr_t;
    static constexpr holder exclusively = 1;
    static constexpr auto relaxed = std::memory_order_relaxed; // each thread only looks for itself

public:
    // `name` is for the report; not copied.
    constexpr explicit checked_shared_mutex(const char* name = "shared_mutex") : name_(name) {}
    checked_shared_mutex(const checked_shared_mutex&) = delete;
    checked_shared_mutex& operator=(const checked_shared_mutex&) = delete;
    ~checked_shared_mutex() {
        if (lock_.is_locked())
            report("destroyed while held");
    }

    void lock() HOLDFAST_ACQUIRE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_mine();
        lock_.lock();
        owned(exclusively);
    }
    [[nodiscard]] bool try_lock() HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return lock_.try_lock() && owned(exclusively);
    }
    template <class Time>
    [[nodiscard]] bool try_lock_for(const Time& time)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_mine();
        return lock_.try_lock_for(time) && owned(exclusively);
    }
    template <class Moment>
    [[nodiscard]] bool try_lock_until(const Moment& moment)
        HOLDFAST_TRY_ACQUIRE(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_mine();
        return lock_.try_lock_until(moment) && owned(exclusively);
    }
    void unlock() HOLDFAST_RELEASE() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        disowned(exclusively);
        lock_.unlock();
    }

    void lock_shared() HOLDFAST_ACQUIRE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_owned();
        if (!lock_.try_lock_shared()) {
            not_read();
            lock_.lock_shared();
        }
        read();
    }
    [[nodiscard]] bool try_lock_shared()
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return lock_.try_lock_shared() && read();
    }
    template <class Time>
    [[nodiscard]] bool try_lock_shared_for(const Time& time)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_owned();
        return lock_.try_lock_shared_for(time) && read();
    }
    template <class Moment>
    [[nodiscard]] bool try_lock_shared_until(const Moment& moment)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_owned();
        return lock_.try_lock_shared_until(moment) && read();
    }
    void unlock_shared() HOLDFAST_RELEASE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        std::uint32_t count = reading_.load(relaxed);
        do {
            if (count == 0)
                report("unlocked, but not held");
        } while (!reading_.compare_exchange_weak(count, count - 1, relaxed));
        if (!replace(me(), 0)) {
            for (std::atomic<holder>& reader : readers_) // whose it was, nobody knows
                reader.store(0, relaxed);
        }
        lock_.unlock_shared();
    }

    void lock_upgrade() HOLDFAST_ACQUIRE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_mine();
        lock_.lock_upgrade();
        owned(0);
    }
    [[nodiscard]] bool try_lock_upgrade()
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        return lock_.try_lock_upgrade() && owned(0);
    }
    template <class Time>
    [[nodiscard]] bool try_lock_upgrade_for(const Time& time)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_mine();
        return lock_.try_lock_upgrade_for(time) && owned(0);
    }
    template <class Moment>
    [[nodiscard]] bool try_lock_upgrade_until(const Moment& moment)
        HOLDFAST_TRY_ACQUIRE_SHARED(true) HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        not_mine();
        return lock_.try_lock_upgrade_until(moment) && owned(0);
    }
    void unlock_upgrade() HOLDFAST_RELEASE_SHARED() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        disowned(0);
        lock_.unlock_upgrade();
    }

    void unlock_upgrade_and_lock() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        disowned(0);
        not_read();
        lock_.unlock_upgrade_and_lock();
        owned(exclusively);
    }
    [[nodiscard]] bool try_unlock_upgrade_and_lock() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        disowned(0);
        const bool has = lock_.try_unlock_upgrade_and_lock();
        owned(has ? exclusively : 0);
        return has;
    }
    void unlock_and_lock_upgrade() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        disowned(exclusively);
        owned(0);
        lock_.unlock_and_lock_upgrade();
    }
    void unlock_and_lock_shared() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        disowned(exclusively);
        read();
        lock_.unlock_and_lock_shared();
    }
    void unlock_upgrade_and_lock_shared() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS {
        disowned(0);
        read();
        lock_.unlock_upgrade_and_lock_shared();
    }
    void downgrade() HOLDFAST_NO_THREAD_SAFETY_ANALYSIS { unlock_and_lock_shared(); }

    [[nodiscard]] bool is_locked() const { return lock_.is_locked(); }

private:
    [[noreturn]] void report(const char* what) const { os::report_misuse(name_, this, what); }

    static holder me() {
        // Of clang and musl a pointer, of glibc a number: an address in either case.
        return (holder)
            pthread_self(); // NOLINT(google-readability-casting): reinterpret_cast takes only one of the two
    }

    // The caller is about to wait, in a mode that somebody else's hold bars, and its own.
    void not_owned() const {
        if ((owner_.load(relaxed) & ~exclusively) == me())
            report("locked again by its owner");
    }
    void not_read() const {
        for (const std::atomic<holder>& reader : readers_) {
            if (reader.load(relaxed) == me())
                report("locked by a thread that reads already");
        }
    }
    void not_mine() const {
        not_owned();
        not_read();
    }

    bool owned(holder how) {
        owner_.store(me() | how, relaxed);
        return true;
    }
    void disowned(holder how) {
        const holder owner = owner_.load(relaxed);
        if (owner == 0 || (owner & exclusively) != how)
            report("unlocked, but not held");
        if (owner != (me() | how))
            report("unlocked by a thread that doesn't hold it");
        owner_.store(0, relaxed);
    }
    bool read() {
        reading_.fetch_add(1, relaxed);
        replace(0, me());
        return true;
    }
    // In one of the readers' places; false: in none.
    bool replace(holder old, holder now) {
        for (std::atomic<holder>& reader : readers_) {
            holder found = old;
            if (reader.compare_exchange_strong(found, now, relaxed))
                return true;
        }
        return false;
    }

    shared_mutex lock_;
    const char* name_;
    std::atomic<holder> owner_{0}; // for writing or upgradable
    std::atomic<std::uint32_t> reading_{0};
    std::array<std::atomic<holder>, 16> readers_{};
};

} // namespace holdfast
