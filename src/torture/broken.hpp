// Locks that are broken by design, each by one mistake that somebody has made before: to see that the torture sees it.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include <holdfast/native/futex.hpp>
#include <holdfast/native/native.hpp>

namespace holdfast::torture::broken {

// Nobody waits for anybody.
class no_exclusion {
public:
    void lock() {}
    [[nodiscard]] bool try_lock() { return true; }
    void unlock() {}
};

// Looks whether the lock is free, and then takes it.
class check_then_act {
public:
    void lock() {
        // acquire: pairs with unlock's release, which doesn't help.
        native::await(
            std::memory_order_acquire, [](std::uint32_t held) { return held == 0; }, held_);
        held_.store(1, std::memory_order_relaxed);
    }
    void unlock() { held_.store(0, std::memory_order_release); }

private:
    native::atomic<std::uint32_t> held_{0};
};

// Readers don't keep writers out, nor look for them.
class careless_readers {
public:
    void lock() { mutex_.lock(); }
    [[nodiscard]] bool try_lock() { return mutex_.try_lock(); }
    void unlock() { mutex_.unlock(); }
    void lock_shared() {}
    void unlock_shared() {}

private:
    std::mutex mutex_;
};

// Who has slept takes the lock as if nobody else slept for it, so that the next unlock wakes nobody. (From the mutex of
// Drepper's "Futexes are tricky", whose point it is not to do so.) Takes three threads.
class lost_wake_up {
    static constexpr std::uint32_t held = 1;
    static constexpr std::uint32_t held_and_waited_for = 2;

public:
    void lock() {
        for (;;) {
            std::uint32_t seen = 0;
            // acquire: pairs with unlock's release.
            if (word_.compare_exchange_strong(seen, held, std::memory_order_acquire,
                                              std::memory_order_relaxed))
                return;
            if (seen == held_and_waited_for ||
                word_.compare_exchange_strong(seen, held_and_waited_for, std::memory_order_relaxed,
                                              std::memory_order_relaxed))
                os::futex_wait(word_, held_and_waited_for, os::deadline::never());
        }
    }
    void unlock() {
        // release: pairs with lock's acquire.
        if (word_.exchange(0, std::memory_order_release) == held_and_waited_for)
            os::futex_wake(word_);
    }

private:
    std::atomic<std::uint32_t> word_{0};
};

// An MCS queue whose waiters sleep, each on a word of its own, so that nobody but the one before it wakes it up; and a signal.
class trusts_every_wake_up {
    struct node {
        std::atomic<node*> next{nullptr};
        std::atomic<std::uint32_t> granted{0};
    };

public:
    void lock() {
        node& mine = own();
        mine.next.store(nullptr, std::memory_order_relaxed);
        mine.granted.store(0, std::memory_order_relaxed);
        // acquire, release: as in mcs_lock.hpp. Here and below.
        node* const before = last_.exchange(&mine, std::memory_order_acq_rel);
        if (before == nullptr)
            return;
        before->next.store(&mine, std::memory_order_release);
        os::futex_wait(mine.granted, 0, os::deadline::never());
        // And doesn't look whether it was granted.
        static_cast<void>(mine.granted.load(std::memory_order_acquire));
    }
    void unlock() {
        node* expected = &own();
        if (last_.compare_exchange_strong(expected, nullptr, std::memory_order_acq_rel,
                                          std::memory_order_relaxed))
            return;
        node* next = nullptr;
        while ((next = own().next.load(std::memory_order_acquire)) == nullptr)
            native::pause();
        next->granted.store(1, std::memory_order_release);
        os::futex_wake(next->granted);
    }

private:
    static node& own() {
        thread_local node of_thread;
        return of_thread;
    }

    std::atomic<node*> last_{nullptr};
};

// A ticket lock; who tries in vain leaves its ticket in the queue, where nobody uses it.
class abandoned_ticket {
public:
    void lock() {
        const std::uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
        // acquire: pairs with unlock's release.
        native::await(
            std::memory_order_acquire, [ticket](std::uint32_t serving) { return serving == ticket; },
            serving_);
    }
    [[nodiscard]] bool try_lock() {
        const std::uint32_t ticket = next_.fetch_add(1, std::memory_order_relaxed);
        return serving_.load(std::memory_order_acquire) == ticket;
    }
    void unlock() { serving_.fetch_add(1, std::memory_order_release); }

private:
    native::atomic<std::uint32_t> next_{0};
    native::atomic<std::uint32_t> serving_{0};
};

// Its unlock releases nothing. x86 does so all the same: only ThreadSanitizer sees it there.
class relaxed_unlock {
public:
    void lock() {
        while (held_.exchange(1, std::memory_order_acquire) != 0) {
            native::await(
                std::memory_order_relaxed, [](std::uint32_t held) { return held == 0; }, held_);
        }
    }
    void unlock() { held_.store(0, std::memory_order_relaxed); }

private:
    native::atomic<std::uint32_t> held_{0};
};

} // namespace holdfast::torture::broken
