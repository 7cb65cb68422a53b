// Threads that wait until something holds which others bring about, and say so.
#pragma once

#include <cstdint>

#include <holdfast/semaphore.hpp>

namespace holdfast::xfs {

template <class P, template <class> class SpinLock>
class wait_queue {
public:
    // Returns once holds() does. It may be called any number of times, and looks at atomics.
    template <class Predicate>
    void wait(Predicate holds) {
        while (!holds()) {
            waiting_.fetch_add(1, std::memory_order_relaxed);
            // Either we see what the notifier did, or it sees that we wait: pairs with the fence of notify_all.
            P::fence(std::memory_order_seq_cst);
            if (holds())
                return; // a later notification lets somebody look once too often
            passes_.down();
        }
    }

    // Has all who wait look again.
    void notify_all() {
        // Pairs with the fence of wait.
        P::fence(std::memory_order_seq_cst);
        if (waiting_.load(std::memory_order_relaxed) == 0)
            return;
        for (std::uint32_t n = waiting_.exchange(0, std::memory_order_relaxed); n > 0; --n)
            passes_.up();
    }

private:
    typename P::template atomic<std::uint32_t> waiting_{0};
    semaphore<P, SpinLock> passes_{0};
};

} // namespace holdfast::xfs
