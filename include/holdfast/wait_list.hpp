// The wait list of the sleeping locks: threads in the order in which they came, each in a frame of its own stack.
//
// The list belongs to the lock's wait_lock, and so does everything in a waiter except `thread`. A waiter that is woken
// to compete stays in the list and removes itself when it has the lock, or gives up. A waiter that is granted
// what it waits for is removed by whoever grants: it sees that `thread` is nobody, without a lock, and goes. From that
// store on its memory may be gone, so the thread to wake is read before.
//
//   thread    who waits; nobody: granted, the waiter may be gone. Written once, by who removed the waiter
//   next      towards the last; may link what has been removed and isn't granted yet
//   previous  towards the first
#pragma once

#include <holdfast/platform.hpp>

namespace holdfast {

// A waiting thread. A lock derives its own kind of waiter, with what else it wants to know.
template <class P, class Waiter>
struct alignas(P::line_size) waiter_base {
    // Tells the waiter that it has what it waits for. The result is the thread to unpark.
    [[nodiscard]] thread_id grant() {
        const thread_id waiting = thread.load(std::memory_order_relaxed);
        // release: pairs with the acquire in granted; the waiter reuses its memory.
        thread.store(nobody, std::memory_order_release);
        return waiting;
    }
    [[nodiscard]] bool granted() const {
        // acquire: pairs with the release in grant.
        return thread.load(std::memory_order_acquire) == nobody;
    }

    typename P::template atomic<thread_id> thread{P::self()};
    typename P::template var<Waiter*> next{nullptr};
    typename P::template var<Waiter*> previous{nullptr};
};

template <class P, class Waiter>
class wait_list {
public:
    [[nodiscard]] Waiter* first() const { return first_.get(); }
    [[nodiscard]] bool empty() const { return first() == nullptr; }

    void append(Waiter& w) {
        Waiter* const last = last_.get();
        w.previous.set(last);
        if (last == nullptr)
            first_.set(&w);
        else
            last->next.set(&w);
        last_.set(&w);
    }

    void remove(Waiter& w) {
        Waiter* const before = w.previous.get();
        Waiter* const after = w.next.get();
        if (before == nullptr)
            first_.set(after);
        else
            before->next.set(after);
        if (after == nullptr)
            last_.set(before);
        else
            after->previous.set(before);
    }

    // Removes all before `rest`, or all if that is null. They stay linked by `next`.
    void remove_before(Waiter* rest) {
        first_.set(rest);
        if (rest == nullptr)
            last_.set(nullptr);
        else
            rest->previous.set(nullptr);
    }

private:
    typename P::template var<Waiter*> first_{nullptr};
    typename P::template var<Waiter*> last_{nullptr};
};

} // namespace holdfast
