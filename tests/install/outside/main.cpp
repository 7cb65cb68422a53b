// What somebody who installed holdfast writes first. Nothing here may reach into the source tree.
#include <holdfast/mutex.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/ticket_lock.hpp>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <thread>

int main() {
    constexpr long rounds = 10'000;
    holdfast::ticket_lock<holdfast::native> lock;
    long count = 0;

    auto work = [&] {
        for (long i = 0; i < rounds; ++i) {
            std::scoped_lock guard(lock);
            ++count;
        }
    };
    std::thread other(work);
    work();
    other.join();

    // A wait, for who records this.
    holdfast::mutex mutex;
    bool taken = true;
    mutex.lock();
    std::thread([&] { taken = mutex.try_lock_for(std::chrono::milliseconds(1)); }).join();
    mutex.unlock();

    std::printf("%ld\n", count);
    return count == 2 * rounds && !taken ? 0 : 1;
}
