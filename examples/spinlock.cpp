// The spinlocks and the lockref that need no choosing: a counter of few instructions, a small table that is mostly read, and
// an object that ends with its last reference.
#include <holdfast/native_lockref.hpp>
#include <holdfast/rw_spinlock.hpp>
#include <holdfast/spinlock.hpp>

#include <array>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

struct statistics {
    holdfast::spinlock lock;
    long hits = 0;
};

struct table {
    holdfast::rw_spinlock lock;
    std::array<int, 8> values{};
};

struct object {
    holdfast::native_lockref ref{1};
    bool ended = false; // guarded by ref's lock
};

void release(object& o) {
    if (o.ref.put_or_lock())
        return;
    o.ref.mark_dead();
    o.ended = true;
    o.ref.unlock();
}

int main() {
    statistics counted;
    table shared;
    object one;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int n = 0; n < 1000; ++n) {
                if (n % 100 == 0) {
                    const std::scoped_lock writer(shared.lock);
                    shared.values[static_cast<std::size_t>(i)] = n;
                }
                const std::shared_lock reader(shared.lock);
                if (one.ref.get_not_dead()) {
                    const std::scoped_lock guard(counted.lock);
                    counted.hits += shared.values[0] >= 0 ? 1 : 0;
                    release(one);
                }
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    release(one);
    return counted.hits == 4000 && one.ended && !one.ref.get_not_dead() ? 0 : 1;
}
