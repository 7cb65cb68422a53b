// What every lock must do: of the threads that lock it, one at a time is inside, and each sees what those
// before it did.
//
// The payload is plain data, so a section that overlaps another, or does not see it, is a data race; a
// hand-over that gets lost is a deadlock.
#pragma once

#include <utility>

#include "model/checking.hpp"

namespace holdfast::model {

// `Threads` threads, each `Sections` times in the section.
template <class Lock, unsigned Threads, unsigned Sections = 1>
struct exclusion {
    static constexpr unsigned threads = Threads;
    Lock lock;
    platform::var<unsigned> sum{0};

    void thread(unsigned) {
        for (unsigned i = 0; i < Sections; ++i) {
            lock.lock();
            sum.set(sum.get() + 1);
            lock.unlock();
        }
    }
    void end() {
        check(sum.get() == Threads * Sections, "a section was lost");
        check(!lock.is_locked(), "left locked");
    }
};

// Thread 0 tries, once or twice; the others lock. Who tries and gets it has the section like any other; and a
// lock that nobody holds can be had.
template <class Lock, unsigned Threads, unsigned Tries = 1>
struct exclusion_with_try {
    static constexpr unsigned threads = Threads;
    Lock lock;
    platform::var<unsigned> sum{0};
    unsigned tried = 0;

    void thread(unsigned me) {
        for (unsigned i = 0; i < (me == 0 ? Tries : 1); ++i) {
            if (me != 0)
                lock.lock();
            else if (!lock.try_lock())
                continue;
            else
                ++tried;
            sum.set(sum.get() + 1);
            lock.unlock();
        }
    }
    void end() {
        check(sum.get() == Threads - 1 + tried, "a section was lost");
        check(lock.try_lock(), "free, and not to be had");
        check(!lock.try_lock(), "held, and had again");
        lock.unlock();
    }
};

// The last user destroys the lock as soon as it has unlocked: nobody may touch a lock after having released
// it.
template <class Lock>
struct destruction {
    static constexpr unsigned threads = 2;
    platform::atomic<int> users{2};
    union {
        Lock lock; // ended by the last user
    };

    destruction() { new (&lock) Lock; }
    ~destruction() {}

    void thread(unsigned) {
        lock.lock();
        const bool last = users.fetch_sub(1, std::memory_order_relaxed) == 1;
        lock.unlock();
        if (last)
            lock.~Lock();
    }
};

} // namespace holdfast::model
