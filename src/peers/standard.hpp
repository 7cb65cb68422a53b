// The locks that every system has, as ours look: lock() and unlock(), lock_shared() and unlock_shared(), or guards where a
// waiter needs a node of its own. Those with condition variables also have wait(i) and notify(i) on two of them, with
// the lock held.
#pragma once

#include <array>
#include <cstddef>
#include <mutex>

#include <pthread.h>

namespace holdfast::peers {

// A mutex, and two condition variables that wait with it or with a unique_lock of it.
template <class Mutex, class Condition>
class with_conditions : public Mutex {
public:
    void wait(std::size_t i) {
        if constexpr (requires(Mutex & mutex) { conditions_[i].wait(mutex); }) {
            conditions_[i].wait(static_cast<Mutex&>(*this));
        } else {
            std::unique_lock<Mutex> held(*this, std::adopt_lock);
            conditions_[i].wait(held);
            held.release();
        }
    }
    void notify(std::size_t i) { conditions_[i].notify_one(); }

private:
    std::array<Condition, 2> conditions_;
};

class pthread_spin {
public:
    pthread_spin() { pthread_spin_init(&lock_, PTHREAD_PROCESS_PRIVATE); }
    void lock() { pthread_spin_lock(&lock_); }
    void unlock() { pthread_spin_unlock(&lock_); }

private:
    pthread_spinlock_t lock_;
};

// glibc's read-write lock when told to let waiting writers go first; std::shared_mutex is the same lock, not told.
class pthread_prefer_writer {
public:
    pthread_prefer_writer() {
        pthread_rwlockattr_t attributes;
        pthread_rwlockattr_init(&attributes);
        pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
        pthread_rwlock_init(&lock_, &attributes);
        pthread_rwlockattr_destroy(&attributes);
    }
    void lock() { pthread_rwlock_wrlock(&lock_); }
    void unlock() { pthread_rwlock_unlock(&lock_); }
    void lock_shared() { pthread_rwlock_rdlock(&lock_); }
    void unlock_shared() { pthread_rwlock_unlock(&lock_); }

private:
    pthread_rwlock_t lock_;
};

} // namespace holdfast::peers
