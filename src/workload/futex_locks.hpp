// What a program's own threads wait on: a mutex, a condition and a semaphore like those of pthreads, on a
// futex.
//
// A futex is a word and a queue of sleepers in the kernel. Who finds the word in the wrong state sleeps on
// it, unless it has changed meanwhile; who changes it wakes sleepers if there may be any. Uncontended, nobody
// enters the kernel.
//
//   mutex      word 0: free, 1: locked, 2: locked, and somebody may sleep (Drepper, "Futexes are tricky")
//   condition  word: how often it was signalled
//   semaphore  word: how many may pass; a count of sleepers beside it
//
// These are part of the workloads, not for users of Holdfast: they are there so that a program on a simulated
// machine sleeps and wakes where the real one does. On the simulated machine all their time is system time.
#pragma once

#include <cstdint>
#include <limits>

#include <holdfast/ticket_lock.hpp>

namespace holdfast {

// The kernel's side: those who sleep on one word, in the order of their coming.
template <class P>
class futex_queue {
public:
    using word = typename P::template atomic<std::uint32_t>;

    // Sleeps until woken; returns at once if `value` is no longer `expected`.
    void wait(const word& value, std::uint32_t expected) {
        typename P::frame frame{"futex_wait"};
        sleeper mine;
        bucket_.lock();
        if (value.load(std::memory_order_relaxed) != expected) {
            bucket_.unlock();
            return;
        }
        if (sleeper* const last = tail_.get())
            last->next.set(&mine);
        else
            head_.set(&mine);
        tail_.set(&mine);
        bucket_.unlock();
        // acquire: pairs with wake's release; `mine` is ours again.
        while (mine.thread.load(std::memory_order_acquire) != nobody)
            P::park();
    }

    // Wakes the first `most` sleepers.
    void wake(std::uint32_t most) {
        typename P::frame frame{"futex_wake"};
        bucket_.lock();
        for (; most > 0; --most) {
            sleeper* const first = head_.get();
            if (first == nullptr)
                break;
            head_.set(first->next.get());
            if (head_.get() == nullptr)
                tail_.set(nullptr);
            const thread_id thread = first->thread.load(std::memory_order_relaxed);
            // release: pairs with wait's acquire. The sleeper may be gone from here on.
            first->thread.store(nobody, std::memory_order_release);
            P::unpark(thread);
        }
        bucket_.unlock();
    }

private:
    struct alignas(P::line_size) sleeper {
        typename P::template atomic<thread_id> thread{P::self()};
        typename P::template var<sleeper*> next{nullptr};
    };

    ticket_lock<P> bucket_;
    typename P::template var<sleeper*> head_{nullptr};
    typename P::template var<sleeper*> tail_{nullptr};
};

// A Lockable but for try_lock.
template <class P>
class futex_mutex {
public:
    void lock() {
        std::uint32_t expected = 0;
        // acquire, here and below: pairs with unlock's release.
        if (word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed))
            return;
        while (word_.exchange(2, std::memory_order_acquire) != 0)
            queue_.wait(word_, 2);
    }

    void unlock() {
        // release: pairs with lock's acquire.
        if (word_.exchange(0, std::memory_order_release) == 2)
            queue_.wake(1);
    }

private:
    typename futex_queue<P>::word word_{0};
    futex_queue<P> queue_;
};

template <class P>
class futex_condition {
public:
    // Gives up `mutex`, which the caller has locked, sleeps until signalled, and locks it again. May wake up
    // for nothing.
    void wait(futex_mutex<P>& mutex) {
        const std::uint32_t seen = signals_.load(std::memory_order_relaxed);
        mutex.unlock();
        queue_.wait(signals_, seen);
        mutex.lock();
    }

    // Wakes all who wait. With the mutex locked, so that none comes between a waiter's look and its sleep.
    void broadcast() {
        signals_.fetch_add(1, std::memory_order_relaxed);
        queue_.wake(std::numeric_limits<std::uint32_t>::max());
    }

private:
    typename futex_queue<P>::word signals_{0};
    futex_queue<P> queue_;
};

template <class P>
class futex_semaphore {
public:
    explicit futex_semaphore(std::uint32_t value) : value_(value) {}

    // Takes one, once there is one.
    void wait() {
        std::uint32_t value = value_.load(std::memory_order_relaxed);
        for (;;) {
            // acquire: pairs with post's release.
            while (value > 0) {
                if (value_.compare_exchange_weak(value, value - 1, std::memory_order_acquire,
                                                 std::memory_order_relaxed))
                    return;
            }
            // seq_cst, with those of post: either post sees this sleeper, or the sleeper sees post's value.
            sleepers_.fetch_add(1, std::memory_order_seq_cst);
            queue_.wait(value_, 0);
            sleepers_.fetch_sub(1, std::memory_order_relaxed);
            value = value_.load(std::memory_order_seq_cst);
        }
    }

    // Gives one back.
    void post() {
        // release: pairs with wait's acquire. seq_cst: as there.
        value_.fetch_add(1, std::memory_order_seq_cst);
        if (sleepers_.load(std::memory_order_seq_cst) != 0)
            queue_.wake(1);
    }

private:
    typename futex_queue<P>::word value_;
    typename P::template atomic<std::uint32_t> sleepers_{0};
    futex_queue<P> queue_;
};

} // namespace holdfast
