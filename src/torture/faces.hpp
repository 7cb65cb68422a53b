// Faces with lock() and unlock() for what has none: where a waiter brings a node, where a lock is taken down and up, and
// for condition variables, of which a lock is made that stands and falls with its notifications.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <optional>
#include <stop_token>

#include <holdfast/cancel_token.hpp>
#include <holdfast/mcs_lock.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/semaphore.hpp>

namespace holdfast::torture {

// A thread has one node: it takes one lock at a time.
class mcs_face {
public:
    void lock() { lock_.lock(node()); }
    [[nodiscard]] bool try_lock() { return lock_.try_lock(node()); }
    void unlock() { lock_.unlock(node()); }
    [[nodiscard]] bool is_locked() const { return lock_.is_locked(); }

private:
    static mcs_lock<native>::node& node() {
        thread_local mcs_lock<native>::node mine;
        return mine;
    }

    mcs_lock<native> lock_;
};

// Who waits leaves the queue after a time, and when its spinning is used up.
class osq_face {
    struct turn {
        native::no_preempt spinning;
        native::node_slot slot;
    };

public:
    [[nodiscard]] bool try_lock_for(std::chrono::nanoseconds time) {
        const auto until = native::deadline::after(time);
        mine().emplace();
        const bool got = lock_.lock(mine()->slot, &until);
        if (!got)
            mine().reset();
        return got;
    }
    void unlock() {
        lock_.unlock(mine()->slot);
        mine().reset();
    }
    [[nodiscard]] bool is_locked() const { return lock_.is_locked(); }

private:
    static std::optional<turn>& mine() {
        thread_local std::optional<turn> turn_of_thread;
        return turn_of_thread;
    }

    osq_lock<native> lock_;
};

// A semaphore that lets one pass is a lock.
template <std::uint32_t Count>
class semaphore_face {
public:
    void lock() { passes_.down(); }
    [[nodiscard]] bool lock(cancel_token<native>& token) { return passes_.down(token); }
    [[nodiscard]] bool try_lock() { return passes_.try_down(); }
    [[nodiscard]] bool try_lock_for(std::chrono::nanoseconds time) {
        return passes_.down(native::deadline::after(time));
    }
    void unlock() { passes_.up(); }
    [[nodiscard]] bool is_locked() {
        std::uint32_t got = 0;
        while (got < Count && passes_.try_down())
            ++got;
        for (std::uint32_t i = 0; i < got; ++i)
            passes_.up();
        return got != Count;
    }

private:
    semaphore<native> passes_{Count};
};

// One that lets several pass guards no data.
template <std::uint32_t Count>
class passes_face : public semaphore_face<Count> {
public:
    static constexpr std::uint32_t room = Count;
};

// A lock made of a mutex and a condition variable. It tells one waiter or, now and then, all; with the mutex held or not.
template <class Mutex, class Condition>
class condition_face {
public:
    void lock() {
        std::unique_lock held(mutex_);
        condition_.wait(held, [this] { return !taken_; });
        taken_ = true;
    }
    [[nodiscard]] bool try_lock() {
        const std::scoped_lock held(mutex_);
        return take_if(!taken_);
    }
    [[nodiscard]] bool try_lock_for(std::chrono::nanoseconds time) {
        std::unique_lock held(mutex_);
        return take_if(condition_.wait_for(held, time, [this] { return !taken_; }));
    }
    [[nodiscard]] bool lock(std::stop_token token) requires
        requires(Condition& condition, std::unique_lock<Mutex>& held) {
        condition.wait(held, token, [] { return true; });
    }
    {
        std::unique_lock held(mutex_);
        return take_if(condition_.wait(held, token, [this] { return !taken_; }));
    }
    void unlock() {
        std::unique_lock held(mutex_);
        taken_ = false;
        const std::uint32_t n = unlocked_++;
        if (n % 2 == 0)
            held.unlock();
        if (n % 8 == 0)
            condition_.notify_all();
        else
            condition_.notify_one();
    }

private:
    bool take_if(bool free) {
        taken_ |= free;
        return free;
    }

    Mutex mutex_;
    Condition condition_;
    bool taken_ = false;         // guarded by mutex_
    std::uint32_t unlocked_ = 0; // guarded by mutex_
};

} // namespace holdfast::torture
