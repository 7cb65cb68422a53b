// A queue between threads: one condition variable for "not empty", which ends all waits when the queue is closed.
#include <holdfast/condition_variable.hpp>
#include <holdfast/mutex.hpp>

#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

class queue {
public:
    void push(int item) {
        {
            const std::scoped_lock guard(lock_);
            items_.push_back(item);
        }
        filled_.notify_one(); // without the lock: whom it wakes finds it free
    }
    void close() {
        {
            const std::scoped_lock guard(lock_);
            closed_ = true;
        }
        filled_.notify_all();
    }
    // The next item; nothing once the queue is closed and empty.
    std::optional<int> pop() {
        std::unique_lock guard(lock_);
        filled_.wait(guard, [this] { return !items_.empty() || closed_; });
        if (items_.empty())
            return std::nullopt;
        const int item = items_.front();
        items_.pop_front();
        return item;
    }

private:
    holdfast::mutex lock_;
    holdfast::condition_variable filled_;
    std::deque<int> items_;
    bool closed_ = false;
};

int main() {
    queue work;
    holdfast::mutex lock;
    long sum = 0;
    std::vector<std::thread> workers;
    workers.reserve(3);
    for (int i = 0; i < 3; ++i) {
        workers.emplace_back([&] {
            long mine = 0;
            while (const std::optional<int> item = work.pop())
                mine += *item;
            const std::scoped_lock guard(lock);
            sum += mine;
        });
    }
    for (int n = 1; n <= 1000; ++n)
        work.push(n);
    work.close();
    for (std::thread& worker : workers)
        worker.join();
    return sum == 500'500 ? 0 : 1;
}
