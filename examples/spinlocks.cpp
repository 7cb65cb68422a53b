// The spinlocks: one word for each object, the standard's guards, and nodes where a lock asks for them.
#include <holdfast/mcs_lock.hpp>
#include <holdfast/native/native.hpp>
#include <holdfast/osq.hpp>
#include <holdfast/qspinlock.hpp>

#include <mutex>
#include <thread>
#include <vector>

using holdfast::native;

// Four bytes beside what it guards; usable as a global, before main, without a constructor.
struct account {
    holdfast::qspinlock<native> lock;
    int balance = 0;
};
constinit account accounts[2];

void transfer(account& from, account& to, int amount) {
    const std::scoped_lock both(from.lock, to.lock); // no order to remember: the standard avoids deadlock
    from.balance -= amount;
    to.balance += amount;
}

// An MCS lock keeps a node for each acquisition; its guard has one.
constinit holdfast::mcs_lock<native> log_lock;
int lines_logged = 0;

void log_line() {
    const holdfast::mcs_lock<native>::guard guard(log_lock);
    ++lines_logged;
}

// An OSQ is a place to spin in for as long as that makes sense. False: it doesn't any more, so go to sleep
// instead.
constinit holdfast::osq_lock<native> spinners;

template <class TryLock>
bool spin_for(TryLock try_lock) {
    const native::no_preempt spinning;
    native::node_slot slot;
    if (!spinners.lock(slot))
        return false;
    bool got = try_lock();
    while (!got && !native::need_resched()) {
        native::pause();
        got = try_lock();
    }
    spinners.unlock(slot);
    return got;
}

int main() {
    std::mutex slow;
    int slept = 0;
    std::vector<std::thread> threads;
    threads.reserve(4);
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&slow, &slept, i] {
            for (int n = 0; n < 1000; ++n) {
                transfer(accounts[i % 2], accounts[1 - i % 2], n);
                log_line();
                if (!spin_for([&slow] { return slow.try_lock(); })) {
                    slow.lock();
                    ++slept;
                }
                slow.unlock();
            }
        });
    }
    for (std::thread& thread : threads)
        thread.join();
    return accounts[0].balance == 0 && accounts[1].balance == 0 && lines_logged == 4000 ? 0 : 1;
}
