// Sleeping so that a cancel gets through.
#include "substitute/in_place_condition.hpp"

#include <csetjmp>

namespace holdfast::substitute {

// Between the two changes of the type a cancel may come at any instruction, but for a lock or memory that would be left behind:
// there are none, and a parker that was left is reset.
bool cancellable::park(const deadline& until) {
    using table = os::thread_table<queue_node<native>, wait_record<native>>;
    auto& token = table::mine().token;
    __pthread_unwind_buf_t here;
    // NOLINTNEXTLINE(cert-err52-cpp): it is how glibc tells of a cancel
    if (__sigsetjmp_cancel(here.__cancel_jmp_buf, 0) != 0) {
        __pthread_unregister_cancel(&here);
        token.reset();
        cancelled = true;
        return false;
    }
    __pthread_register_cancel(&here);
    int type = 0;
    // NOLINTNEXTLINE(concurrency-thread-canceltype-asynchronous): as glibc does in its own waits
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    const bool told = token.park(until);
    pthread_setcanceltype(type, &type);
    __pthread_unregister_cancel(&here);
    return told;
}

} // namespace holdfast::substitute
