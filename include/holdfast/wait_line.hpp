// A line of waiting threads that takes half a word: the identity of the first, and links in the threads' wait
// records (platform.hpp, clause K).
//
//   next, previous   the neighbours; nobody at the ends
//   last             in the first thread's record: the end of the line
//
// An object of this class is the line in the hands of somebody who alone may change it. He reads `first` from where
// the lock keeps it, and writes it back.
#pragma once

#include <holdfast/platform.hpp>

namespace holdfast {

template <class P>
struct wait_line {
    thread_id first = nobody;

    [[nodiscard]] bool empty() const { return first == nobody; }

    // `thread` is in no line.
    void append(thread_id thread) {
        wait_record<P>& record = P::waiter(thread);
        record.next.set(nobody);
        if (empty()) {
            record.previous.set(nobody);
            first = thread;
        } else {
            const thread_id last = P::waiter(first).last.get();
            record.previous.set(last);
            P::waiter(last).next.set(thread);
        }
        P::waiter(first).last.set(thread);
    }

    // `thread` is in this line. Its record keeps what it says.
    void remove(thread_id thread) {
        const wait_record<P>& record = P::waiter(thread);
        const thread_id before = record.previous.get();
        const thread_id after = record.next.get();
        if (after != nobody)
            P::waiter(after).previous.set(before);
        if (before != nobody) {
            P::waiter(before).next.set(after);
            if (after == nobody)
                P::waiter(first).last.set(before);
        } else {
            if (after != nobody)
                P::waiter(after).last.set(record.last.get());
            first = after;
        }
    }
};

} // namespace holdfast
