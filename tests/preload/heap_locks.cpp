// A program with locks on the heap, of which debug information tells whose members they are, or likely are.
// usage: heap_locks    takes each of them once
#include <memory>
#include <mutex>
#include <shared_mutex>

#include <pthread.h>

namespace {

class account {
public:
    [[gnu::noinline]] void pay() {
        const std::scoped_lock has(guarded_.lock);
        ++balance_;
    }
    [[gnu::noinline]] void read() { const std::shared_lock has(history_); }

private:
    int balance_ = 0;
    struct {
        std::mutex lock;
    } guarded_;
    std::shared_mutex history_;
};

class ledger {
public:
    [[gnu::noinline]] void close() { const std::scoped_lock has(second_); }

private:
    std::mutex first_;
    std::mutex second_;
};

struct made {
    [[gnu::noinline]] made() { pthread_mutex_init(&lock, nullptr); }
    pthread_mutex_t lock;
};

[[gnu::noinline]] void lock_one(std::mutex& any) {
    const std::scoped_lock has(any);
}

struct stranger {
    // Not its own.
    [[gnu::noinline]] void borrow(std::mutex& others) {
        const std::scoped_lock has(others);
        ++times;
    }
    int times = 0;
};

} // namespace

int main() {
    const auto a = std::make_unique<account>();
    a->pay();
    a->read();
    std::make_unique<ledger>()->close();
    const auto m = std::make_unique<made>();
    pthread_mutex_lock(&m->lock);
    pthread_mutex_unlock(&m->lock);
    const auto any = std::make_unique<std::mutex>();
    lock_one(*any);
    const auto lent = std::make_unique<std::mutex>();
    stranger().borrow(*lent);
}
