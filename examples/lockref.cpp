// A cache entry counted by a lockref: readers take and give back references without a lock, and who gives
// back the last one has the entry to itself and ends it. The cache's own reference keeps it alive until it is
// evicted.
#include <holdfast/lockref.hpp>
#include <holdfast/native/native.hpp>

#include <thread>
#include <vector>

using holdfast::native;

struct entry {
    holdfast::lockref<native> ref{1}; // the cache's reference
    int reads = 0;                    // guarded by ref's lock
};

// A reference for the caller. False: the entry is dead; it is to be looked up anew.
bool acquire(entry& e) {
    return e.ref.get_not_dead();
}

// Gives a reference back. True: it was the last one, and now the entry is dead.
bool release(entry& e) {
    if (e.ref.put_or_lock())
        return false;
    // The lock is ours, and with it the count: nobody gets a reference any more.
    e.ref.mark_dead();
    e.ref.unlock();
    return true;
}

int main() {
    entry e;
    std::vector<std::thread> readers;
    readers.reserve(4);
    for (int i = 0; i < 4; ++i) {
        readers.emplace_back([&e] {
            for (int n = 0; n < 1000; ++n) {
                if (!acquire(e))
                    return;
                e.ref.lock();
                ++e.reads;
                e.ref.unlock();
                release(e);
            }
        });
    }
    for (std::thread& reader : readers)
        reader.join();
    const bool died = release(e); // evicted
    return died && !acquire(e) && e.reads == 4000 ? 0 : 1;
}
