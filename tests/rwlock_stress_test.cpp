// The read-write spinlocks on many real threads that read, write and try: does each section have what was
// promised? The data is wide and plain, so that sections that must not overlap tear it, and ThreadSanitizer
// sees it. A run ends after a number of sections or a while, whichever comes first: how far it gets is the
// machine's business.
#include <holdfast/native/native.hpp>
#include <holdfast/qrwlock.hpp>
#include <holdfast/rwlock.hpp>
#include <holdfast/ticket_lock.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace holdfast {
namespace {

using namespace std::chrono_literals;

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

template <class Lock>
class rwlock_stress : public testing::Test {};
using locks =
    testing::Types<rwlock<native>, qrwlock<native, qrwlock_presets::patch_2013>,
                   qrwlock<native, qrwlock_presets::linux_3_16>, qrwlock<native, qrwlock_presets::linux_4_15>,
                   qrwlock<native, qrwlock_presets::linux_3_16, ticket_lock>>;
TYPED_TEST_SUITE(rwlock_stress, locks);

// Of seven steps one writes, one tries to, one tries to read, the others read; one of them reads again
// within, where the lock can.
TYPED_TEST(rwlock_stress, of_all_kinds) {
    for (const unsigned thread_count : {2u, 4u, 16u}) {
        TypeParam lock;
        payload data;
        std::atomic<std::uint64_t> written{0};
        std::atomic<std::uint64_t> torn{0};
        const auto write = [&] {
            torn += data.advance() ? 0 : 1;
            ++written;
        };
        const auto read = [&] { torn += data.is_whole() ? 0 : 1; };
        const auto step = [&](unsigned kind) {
            switch (kind) {
            case 0:
                lock.lock();
                write();
                lock.unlock();
                break;
            case 1:
                if (lock.try_lock()) {
                    write();
                    lock.unlock();
                }
                break;
            case 2:
                if (lock.try_lock_shared()) {
                    read();
                    lock.unlock_shared();
                }
                break;
            case 3:
                lock.lock_shared();
                read();
                if constexpr (requires { lock.lock_shared_unfair(); }) {
                    lock.lock_shared_unfair();
                    read();
                    lock.unlock_shared();
                }
                lock.unlock_shared();
                break;
            default:
                lock.lock_shared();
                read();
                lock.unlock_shared();
            }
        };
        const auto end = std::chrono::steady_clock::now() + 300ms;
        std::vector<std::thread> threads;
        threads.reserve(thread_count);
        for (unsigned i = 0; i < thread_count; ++i) {
            threads.emplace_back([&, i] {
                for (unsigned n = 0; n < 4000 && (n % 16 != 0 || std::chrono::steady_clock::now() < end); ++n)
                    step((i + n) % 7);
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(torn, 0u);
        EXPECT_EQ(data.value(), written);
        EXPECT_FALSE(lock.is_locked());
    }
}

} // namespace
} // namespace holdfast
