// What somebody who installed holdfast writes first. Nothing here may reach into the source tree.
#include <holdfast/native/native.hpp>
#include <holdfast/ticket_lock.hpp>

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

    std::printf("%ld\n", count);
    return count == 2 * rounds ? 0 : 1;
}
