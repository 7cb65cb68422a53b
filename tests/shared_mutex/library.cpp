// A library that a program loads: it locks with code of its own.
#include <holdfast/shared_mutex.hpp>

// Runs section(argument) `count` times with the lock, a holdfast::shared_mutex, held for writing.
extern "C" [[gnu::visibility("default")]] void with_lock(void* lock, int count, void (*section)(void*),
                                                         void* argument) {
    auto& mutex = *static_cast<holdfast::shared_mutex*>(lock);
    for (int i = 0; i < count; ++i) {
        mutex.lock();
        section(argument);
        mutex.unlock();
    }
}
