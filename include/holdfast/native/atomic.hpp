// std::atomic without its defaults: whoever touches shared memory says in which order. Same size, same
// layout, and constant-initialised, so that a lock may be a global that needs no constructor.
#pragma once

#include <atomic>
#include <concepts>
#include <type_traits>

namespace holdfast::os {

template <class T>
class atomic {
    // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer, and its own size is meant
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8, "clause A of platform.hpp");
    static_assert(std::atomic<T>::is_always_lock_free, "a lock can't be made of locks");

public:
    constexpr atomic() = default;
    constexpr atomic(T value) : value_(value) {}
    atomic(const atomic&) = delete;
    atomic& operator=(const atomic&) = delete;

    [[nodiscard]] T load(std::memory_order order) const { return value_.load(order); }
    void store(T value, std::memory_order order) { value_.store(value, order); }
    T exchange(T value, std::memory_order order) { return value_.exchange(value, order); }
    bool compare_exchange_weak(T& expected, T desired, std::memory_order success, std::memory_order failure) {
        return value_.compare_exchange_weak(expected, desired, success, failure);
    }
    bool compare_exchange_strong(T& expected, T desired, std::memory_order success,
                                 std::memory_order failure) {
        return value_.compare_exchange_strong(expected, desired, success, failure);
    }
    T fetch_add(T value, std::memory_order order) requires std::integral<T> {
        return value_.fetch_add(value, order);
    }
    T fetch_sub(T value, std::memory_order order) requires std::integral<T> {
        return value_.fetch_sub(value, order);
    }
    T fetch_and(T value, std::memory_order order) requires std::integral<T> {
        return value_.fetch_and(value, order);
    }
    T fetch_or(T value, std::memory_order order) requires std::integral<T> {
        return value_.fetch_or(value, order);
    }
    T fetch_xor(T value, std::memory_order order) requires std::integral<T> {
        return value_.fetch_xor(value, order);
    }

private:
    std::atomic<T> value_{};
};

// Data that a lock protects: on the real machine nobody watches it.
template <class T>
class var {
public:
    constexpr var() = default;
    constexpr var(T value) : value_(value) {}

    [[nodiscard]] T get() const { return value_; }
    void set(T value) { value_ = value; }

private:
    T value_{};
};

static_assert(sizeof(atomic<char>) == 1 && sizeof(atomic<int>) == 4 &&
              sizeof(atomic<void*>) == sizeof(void*));

} // namespace holdfast::os
