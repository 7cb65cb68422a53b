// What every read-write lock must do: one writer alone, or readers together, and each sees what the writers before did.
//
// Writers change plain data and readers read it, so who is in where it must not be is a data race.
#pragma once

#include <holdfast/cancel_token.hpp>

#include "model/checking.hpp"

namespace holdfast::model {

// What a thread of the scenario does with the lock.
enum class role {
    write,           // a section of its own
    read,            // a section with other readers
    downgrade,       // writes, then reads, and nobody writes in between
    try_write,       // the same as the above, if it needs no waiting
    try_read,        //
    killable_write,  // unless cancelled
    killable_read,   //
    write_and_cancel // writes, and cancels the killable ones from within
};

template <class Lock, role... Roles>
struct rw_sections {
    static constexpr unsigned threads = sizeof...(Roles);
    Lock lock;
    cancel_token<platform> token;
    platform::var<unsigned> sum{0};
    platform::atomic<int> writing{0};
    unsigned written = 0;

    void thread(unsigned me) {
        constexpr role roles[] = {Roles...};
        switch (roles[me]) {
        case role::write:
            lock.lock();
            write();
            lock.unlock();
            break;
        case role::read:
            lock.lock_shared();
            read();
            lock.unlock_shared();
            break;
        case role::downgrade:
            if constexpr (requires { lock.downgrade(); }) {
                lock.lock();
                write();
                lock.downgrade();
                check(sum.get() == written, "somebody wrote during a downgrade");
                lock.unlock_shared();
            }
            break;
        case role::try_write:
            if (lock.try_lock()) {
                write();
                lock.unlock();
            }
            break;
        case role::try_read:
            if (lock.try_lock_shared()) {
                read();
                lock.unlock_shared();
            }
            break;
        case role::killable_write:
            if constexpr (requires { lock.lock(token); }) {
                if (lock.lock(token)) {
                    write();
                    lock.unlock();
                }
            }
            break;
        case role::killable_read:
            if constexpr (requires { lock.lock_shared(token); }) {
                if (lock.lock_shared(token)) {
                    read();
                    lock.unlock_shared();
                }
            }
            break;
        case role::write_and_cancel:
            lock.lock();
            write();
            token.cancel();
            lock.unlock();
            break;
        }
    }
    void write() {
        sum.set(sum.get() + 1);
        ++written;
    }
    void read() { check(sum.get() == written, "a reader sees old data"); }

    void end() {
        check(sum.get() == written, "a section was lost");
        check(!lock.is_locked(), "left locked");
        check(lock.try_lock(), "free, and not to be had for writing");
        check(!lock.try_lock() && !lock.try_lock_shared(), "held, and had again");
        lock.unlock();
        check(lock.try_lock_shared() && lock.try_lock_shared(), "free, and not to be had for reading");
        check(!lock.try_lock(), "held by readers, and had by a writer");
        lock.unlock_shared();
        lock.unlock_shared();
        check(!lock.is_locked(), "left locked");
    }
};

// Readers share: each waits within its section until all are in theirs.
template <class Lock, unsigned Readers>
struct sharing {
    static constexpr unsigned threads = Readers;
    Lock lock;
    platform::atomic<unsigned> inside{0};

    void thread(unsigned) {
        lock.lock_shared();
        inside.fetch_add(1, std::memory_order_relaxed);
        platform::await(
            std::memory_order_relaxed, [](unsigned n) { return n == Readers; }, inside);
        lock.unlock_shared();
    }
};

// Thread 0 holds the lock for writing from the start and lets it go; the others read, and none leaves before all are in:
// whoever lets one in lets in all.
template <class Lock, unsigned Readers>
struct sharing_after_writer {
    static constexpr unsigned threads = Readers + 1;
    Lock lock;
    platform::atomic<unsigned> inside{0};
    platform::var<unsigned> work{0};

    sharing_after_writer() { lock.lock(); }

    void thread(unsigned me) {
        if (me == 0) {
            work.set(1);
            lock.unlock();
            return;
        }
        lock.lock_shared();
        check(work.get() == 1, "the writer's work is not seen");
        inside.fetch_add(1, std::memory_order_relaxed);
        platform::await(
            std::memory_order_relaxed, [](unsigned n) { return n == Readers; }, inside);
        lock.unlock_shared();
    }
};

// Thread 0 holds the lock for writing from the start and lets it go; the others read, and then one of them writes: a reader
// that is in must be counted, or the writer gets in beside it.
template <class Lock>
struct writer_after_readers {
    static constexpr unsigned threads = 3;
    Lock lock;
    platform::var<unsigned> sum{0};

    writer_after_readers() { lock.lock(); }

    void thread(unsigned me) {
        if (me == 0) {
            lock.unlock();
            return;
        }
        lock.lock_shared();
        static_cast<void>(sum.get());
        lock.unlock_shared();
        if (me == 1) {
            lock.lock();
            sum.set(sum.get() + 1);
            lock.unlock();
        }
    }
    void end() {
        check(sum.get() == 1, "a section was lost");
        check(!lock.is_locked(), "left locked");
    }
};

} // namespace holdfast::model
