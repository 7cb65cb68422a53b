// The floor under all locks and counters.
#pragma once

#include <atomic>
#include <cstdint>

namespace holdfast::peers {

// A compare-exchange and an exchange, or two additions: what no lock is faster than when nobody else wants it. Excludes
// nobody, so for one thread only.
class bare_atomics {
public:
    void lock() {
        std::uint32_t expected = 0;
        word_.compare_exchange_strong(expected, 1, std::memory_order_acquire, std::memory_order_relaxed);
    }
    void unlock() { word_.exchange(0, std::memory_order_release); }
    void lock_shared() { word_.fetch_add(1, std::memory_order_acquire); }
    void unlock_shared() { word_.fetch_sub(1, std::memory_order_release); }

private:
    std::atomic<std::uint32_t> word_{0};
};

// Two additions: the least that counting a reference and giving it back costs. Guards nothing.
class bare_counter {
public:
    void get() { count_.fetch_add(1, std::memory_order_relaxed); }
    void put() { count_.fetch_sub(1, std::memory_order_release); }
    [[nodiscard]] std::int64_t count() const { return count_.load(std::memory_order_relaxed); }

private:
    std::atomic<std::int64_t> count_{1};
};

} // namespace holdfast::peers
