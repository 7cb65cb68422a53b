// A program that waits for Holdfast's own locks, and links nothing for it.
// usage: own_locks    ten waits each for a mutex, for another on the heap, for a shared_mutex to write and to read, and for
//                     a condition variable; and one each for the first and the last that times out
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>

#include <holdfast/condition_variable.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/shared_mutex.hpp>

#include "waiting.h"

namespace {

using namespace std::chrono_literals;

holdfast::mutex queue_lock;
struct {
    int entries = 0;
    holdfast::shared_mutex lock;
} table;
struct mailbox {
    holdfast::mutex lock;
    holdfast::condition_variable filled;
    bool full = false;
} box;
std::mutex free_lock; // never waited for

constexpr int rounds = 10;

// Holds the lock until another thread sleeps in `wait`, again and again.
template <class Lock, class Wait>
void contend(Lock& lock, Wait wait) {
    for (int i = 0; i < rounds; ++i) {
        lock.lock();
        std::thread waiter([&] {
            i_wait(0);
            wait(lock);
            i_have_it(0);
        });
        until_waits(0);
        lock.unlock();
        waiter.join();
    }
}

[[gnu::noinline]] void wait_in_queue(holdfast::mutex& lock) {
    const std::scoped_lock has(lock);
    std::puts("queue");
}

[[gnu::noinline]] void wait_to_write(holdfast::shared_mutex& lock) {
    const std::scoped_lock has(lock);
    std::puts("write");
}

[[gnu::noinline]] void wait_to_read(holdfast::shared_mutex& lock) {
    const std::shared_lock has(lock);
    std::puts("read");
}

void wait_for_mail() {
    for (int i = 0; i < rounds; ++i) {
        std::thread receiver([] {
            std::unique_lock has(box.lock);
            i_wait(0);
            box.filled.wait(has, [] { return box.full; });
            i_have_it(0);
            box.full = false;
        });
        until_waits(0);
        {
            const std::scoped_lock has(box.lock);
            box.full = true;
        }
        box.filled.notify_one();
        receiver.join();
    }
}

void give_up() {
    queue_lock.lock();
    std::thread([] { std::puts(queue_lock.try_lock_for(5ms) ? "taken" : "late"); }).join();
    queue_lock.unlock();
    std::unique_lock has(box.lock);
    std::puts(box.filled.wait_for(has, 5ms) == std::cv_status::timeout ? "late" : "woken");
}

} // namespace

int main() {
    contend(queue_lock, wait_in_queue);
    contend(table.lock, wait_to_write);
    contend(table.lock, wait_to_read);
    const auto heap = std::make_unique<holdfast::mutex>();
    contend(*heap, wait_in_queue);
    wait_for_mail();
    give_up();
    const std::scoped_lock has(free_lock);
    std::puts("done");
}
