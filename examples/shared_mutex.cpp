// A table of routes: many look up, few change it. Who misses adds the route itself, by an upgrade: looks first with an
// upgradable lock, which others may read beside, and writes only if nobody else has added it meanwhile.
#include <holdfast/shared_mutex.hpp>

#include <chrono>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

class routes {
public:
    // The gate for a host; a new one for a new host.
    int gate_of(const std::string& host) {
        {
            const std::shared_lock reading(lock_);
            if (const auto found = gates_.find(host); found != gates_.end())
                return found->second;
        }
        lock_.lock_upgrade(); // one at a time; readers go on
        auto found = gates_.find(host);
        if (found == gates_.end()) {
            lock_.unlock_upgrade_and_lock(); // nobody writes in between
            found = gates_.emplace(host, static_cast<int>(gates_.size())).first;
            lock_.unlock_and_lock_upgrade();
        }
        const int gate = found->second;
        lock_.unlock_upgrade();
        return gate;
    }

    // Forgets all routes and says how many there were; -1 if the table was busy for too long.
    int clear() {
        if (!lock_.try_lock_for(10s))
            return -1;
        const auto count = static_cast<int>(gates_.size());
        gates_.clear();
        lock_.downgrade(); // readers may come in again, but nobody else changes it before we have looked
        const bool empty = gates_.empty();
        lock_.unlock_shared();
        return empty ? count : -1;
    }

private:
    holdfast::shared_mutex lock_; // 16 bytes; constinit as a global
    std::map<std::string, int> gates_;
};

int main() {
    routes table;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&table] {
            for (int n = 0; n < 2000; ++n)
                static_cast<void>(table.gate_of("host" + std::to_string(n % 50)));
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return table.clear() == 50 && table.clear() == 0 ? 0 : 1;
}
