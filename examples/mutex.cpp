// The mutex and its kin: with the standard's guards, for a time, recursive, and checked.
#include <holdfast/checked.hpp>
#include <holdfast/mutex.hpp>
#include <holdfast/recursive_mutex.hpp>

#include <chrono>
#include <mutex>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

// Eight bytes beside what it guards; usable as a global, before main, without a constructor.
struct account {
    holdfast::mutex lock;
    int balance = 0;
};
constinit account accounts[2];

void transfer(account& from, account& to, int amount) {
    const std::scoped_lock both(from.lock, to.lock); // no order to remember: the standard avoids deadlock
    from.balance -= amount;
    to.balance += amount;
}

// A tree whose functions call each other.
class tree {
public:
    void insert(int n) {
        const std::scoped_lock guard(lock_);
        if (n > 0)
            insert(n - 1);
        ++size_;
    }
    int size() {
        const std::scoped_lock guard(lock_);
        return size_;
    }

private:
    holdfast::recursive_mutex lock_;
    int size_ = 0;
};

int main() {
    tree all;
    holdfast::checked_mutex log("log"); // says on stderr what is wrong, should it be misused
    int lines = 0;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            for (int n = 0; n < 1000; ++n)
                transfer(accounts[i % 2], accounts[1 - i % 2], n);
            all.insert(9);
            // Rather nothing than late.
            std::unique_lock guard(log, 5s);
            if (guard.owns_lock())
                ++lines;
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return accounts[0].balance == 0 && accounts[1].balance == 0 && all.size() == 40 && lines == 4 ? 0 : 1;
}
