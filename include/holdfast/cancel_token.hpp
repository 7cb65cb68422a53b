// A way to make a sleeping waiter give up: what a fatal signal is to the kernel's killable locks.
#pragma once

#include <holdfast/platform.hpp>

namespace holdfast {

// Belongs to one waiting thread at a time, which passes it to a lock's killable functions. Any thread may cancel. Once
// cancelled it stays so: later waits with it end at once. Must outlive both.
template <class P>
class cancel_token {
public:
    constexpr cancel_token() = default;
    cancel_token(const cancel_token&) = delete;
    cancel_token& operator=(const cancel_token&) = delete;

    // Makes the wait with this token, if any, and all later ones end.
    void cancel() {
        // seq_cst, here and in begin_wait: of the canceller and the waiter at least one sees what the other has stored, so
        // the waiter either finds itself cancelled or gets a wake-up.
        cancelled_.store(1, std::memory_order_seq_cst);
        const thread_id waiter = waiter_.load(std::memory_order_seq_cst);
        if (waiter != nobody)
            P::unpark(waiter);
    }

    // For locks: the calling thread is about to wait with the token.
    void begin_wait() { waiter_.store(P::self(), std::memory_order_seq_cst); }
    // For locks: the wait is over. A wake-up on its way makes the thread's next park return early, as parks may.
    void end_wait() { waiter_.store(nobody, std::memory_order_relaxed); }
    // Whether somebody has cancelled.
    [[nodiscard]] bool cancelled() const { return cancelled_.load(std::memory_order_seq_cst) != 0; }

private:
    typename P::template atomic<std::uint32_t> cancelled_{0};
    typename P::template atomic<thread_id> waiter_{nobody};
};

} // namespace holdfast
