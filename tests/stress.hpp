// Many real threads on one lock, and data that shows whether sections overlapped.
//
// The data is wide and plain, so that sections that must not overlap tear it, and ThreadSanitizer sees it. A run ends after
// a number of sections or a while, whichever comes first: how far it gets is the machine's business.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace holdfast {

class payload {
public:
    // Both: whether it was whole.
    bool advance() {
        const bool whole = is_whole();
        for (std::uint64_t& word : words_)
            ++word;
        return whole;
    }
    [[nodiscard]] bool is_whole() const {
        return std::all_of(words_.begin(), words_.end(),
                           [this](std::uint64_t word) { return word == words_[0]; });
    }
    [[nodiscard]] std::uint64_t value() const { return words_[0]; }

private:
    std::array<std::uint64_t, 24> words_{}; // three lines
};

// Each thread does step(thread, n) for n = 0, 1, ....
inline void stress(unsigned thread_count, unsigned steps,
                   const std::function<void(unsigned, unsigned)>& step) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(300);
    std::vector<std::thread> threads;
    threads.reserve(thread_count);
    for (unsigned i = 0; i < thread_count; ++i) {
        threads.emplace_back([&, i] {
            for (unsigned n = 0; n < steps && (n % 16 != 0 || std::chrono::steady_clock::now() < end); ++n)
                step(i, n);
        });
    }
    for (std::thread& thread : threads)
        thread.join();
}

// A read-write lock, the data that it guards, and the sections that each test has with them.
template <class Lock>
struct rw_sections {
    Lock lock;
    payload data;
    std::atomic<std::uint64_t> written{0};
    std::atomic<std::uint64_t> torn{0};

    // With the lock held, for writing and for reading.
    void advance() {
        torn += data.advance() ? 0 : 1;
        ++written;
    }
    void look() { torn += data.is_whole() ? 0 : 1; }

    void write() {
        lock.lock();
        advance();
        lock.unlock();
    }
    void try_write() {
        if (lock.try_lock()) {
            advance();
            lock.unlock();
        }
    }
    void read() {
        lock.lock_shared();
        look();
        lock.unlock_shared();
    }
    void try_read() {
        if (lock.try_lock_shared()) {
            look();
            lock.unlock_shared();
        }
    }

    // Once all threads have ended.
    void expect_all_whole() const {
        EXPECT_EQ(torn, 0u);
        EXPECT_EQ(data.value(), written);
        EXPECT_FALSE(lock.is_locked());
    }
};

} // namespace holdfast
