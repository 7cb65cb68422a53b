// shared_mutex on many real threads, in all of its modes and ways to wait: does each section have what was promised? And the
// end of a lock right after an unlock.
#include <holdfast/shared_mutex.hpp>

#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "stress.hpp"

namespace holdfast {
namespace {

void one_section(rw_sections<shared_mutex>& on, unsigned kind, std::chrono::nanoseconds patience) {
    shared_mutex& lock = on.lock;
    switch (kind) {
    case 0:
        on.write();
        break;
    case 1:
        on.try_write();
        break;
    case 2:
        if (lock.try_lock_for(patience)) {
            on.advance();
            lock.unlock();
        }
        break;
    case 3:
        lock.lock();
        on.advance();
        lock.downgrade();
        on.look();
        lock.unlock_shared();
        break;
    case 4:
        lock.lock_upgrade();
        on.look();
        lock.unlock_upgrade_and_lock();
        on.advance();
        lock.unlock();
        break;
    case 5:
        if (lock.try_lock_upgrade_for(patience)) {
            on.look();
            if (lock.try_unlock_upgrade_and_lock()) {
                on.advance();
                lock.unlock_and_lock_upgrade();
                on.look();
            }
            lock.unlock_upgrade_and_lock_shared();
            on.look();
            lock.unlock_shared();
        }
        break;
    case 6:
        if (lock.try_lock_shared_for(patience)) {
            on.look();
            lock.unlock_shared();
        }
        break;
    case 7:
        on.try_read();
        break;
    default:
        on.read();
    }
}

TEST(shared_mutex_stress, of_all_kinds) {
    for (const unsigned thread_count : {2u, 4u, 16u, 60u}) {
        rw_sections<shared_mutex> on;
        stress(thread_count, 8000, [&](unsigned i, unsigned n) {
            one_section(on, (i + n) % 12, std::chrono::microseconds(n % 64));
        });
        on.expect_all_whole();
    }
}

// Sections in which the holder sleeps, so that all others do, too.
TEST(shared_mutex_stress, of_all_kinds_asleep) {
    for (const unsigned thread_count : {3u, 12u}) {
        rw_sections<shared_mutex> on;
        stress(thread_count, 2000, [&](unsigned i, unsigned n) {
            if (n % 8 == i % 8) {
                on.lock.lock();
                on.advance();
                std::this_thread::sleep_for(std::chrono::microseconds(50));
                on.lock.unlock();
            }
            one_section(on, (i + n) % 12, std::chrono::microseconds(n % 512));
        });
        on.expect_all_whole();
    }
}

// Each thread writes once on each lock; the last to do so frees it, while the others may still be returning from unlock.
TEST(shared_mutex_stress, freed_after_the_last_unlock) {
    struct counted {
        explicit counted(unsigned users) : left(users) {}
        shared_mutex lock;
        unsigned left;
    };
    constexpr unsigned rounds = 4000;
    for (const unsigned thread_count : {2u, 3u, 8u}) {
        std::vector<counted*> objects(rounds);
        for (counted*& object : objects)
            object = new counted(thread_count);
        std::atomic<unsigned> freed{0};
        const auto use = [&](unsigned i, counted* object) {
            if (i % 3 == 2) {
                object->lock.lock_upgrade();
                object->lock.unlock_upgrade_and_lock();
            } else {
                object->lock.lock();
            }
            const bool last = --object->left == 0;
            object->lock.unlock();
            if (last) {
                delete object;
                ++freed;
            }
        };
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < thread_count; ++i) {
            threads.emplace_back([&, i] {
                for (counted* const object : objects)
                    use(i, object);
            });
        }
        for (std::thread& thread : threads)
            thread.join();
        EXPECT_EQ(freed, rounds);
    }
}

} // namespace
} // namespace holdfast
