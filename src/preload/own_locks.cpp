// Holdfast's own locks tell us of their waits, and of nothing else: how often they are taken, by whom they are held and
// who lets go of them isn't known. They find the functions below by a page at an agreed address (native/recorder.hpp).
#include <new>
#include <type_traits>

#include <sys/mman.h>

#include <holdfast/native/recorder.hpp>

#include "preload/recorder.hpp"

namespace holdfast::preload {

namespace {

// What is kept in the waiter's note.
struct own_wait {
    lock_entry* entry = nullptr; // null: it isn't recorded
    wait begun;
    bool is_condition = false;
    side how = side::alone;
};
static_assert(sizeof(own_wait) <= sizeof(os::wait_note));
static_assert(alignof(own_wait) <= alignof(os::wait_note) && std::is_trivially_destructible_v<own_wait>);

lock_kind kind_of(waited_for what) {
    switch (what) {
    case waited_for::mutex:
        return lock_kind::own_mutex;
    case waited_for::shared_mutex:
        return lock_kind::own_shared_mutex;
    case waited_for::condition:
        return lock_kind::condition;
    }
    return lock_kind::none;
}

// Nobody tells of their making, so memory that was another kind of lock shows only now that it has become one of ours.
lock_entry& entry_of(control& c, const void* lock, lock_kind kind, const void* pc) {
    const lock_entry* const known = find_lock(c, lock);
    if (known != nullptr && known->kind.load(relaxed) != static_cast<std::uint32_t>(kind))
        became(c, lock, kind, pc);
    return add_lock(c, lock, kind, pc);
}

void begin_own(os::wait_note& note, const void* lock, waited_for what, bool shared) {
    own_wait& w = *new (&note) own_wait;
    control* const c = may_record();
    if (c == nullptr)
        return;
    const void* const pc = __builtin_return_address(0);
    w.entry = &entry_of(*c, lock, kind_of(what), pc);
    w.is_condition = what == waited_for::condition;
    w.how = shared ? side::shared : side::alone;
    w.begun = w.is_condition ? begin_condition(*c, *w.entry, pc) : begin_wait(*c, *w.entry, 0, pc);
}

void end_own(os::wait_note& note, bool taken) {
    const own_wait& w = *std::launder(reinterpret_cast<const own_wait*>(&note));
    control& c = process;
    if (w.entry == nullptr || !goes_on(c, w.begun))
        return;
    const void* const pc = __builtin_return_address(0);
    if (w.is_condition)
        end_condition(c, *w.entry, w.begun, !taken, pc);
    else
        end_wait(c, *w.entry, w.begun, w.how, taken ? outcome::held : outcome::timed_out, pc);
}

// Where that address is somebody else's, the waits are not seen.
__attribute__((constructor)) void meet_own_locks() {
    void* const there = reinterpret_cast<void*>(os::recorder::meeting_place);
    void* const page = mmap(there, sizeof(os::recorder), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page == MAP_FAILED)
        return;
    if (page != there) { // by a kernel that takes the address for a wish
        munmap(page, sizeof(os::recorder));
        return;
    }
    auto* const meeting = new (page) os::recorder;
    meeting->begin = begin_own;
    meeting->end = end_own;
    // release: pairs with the acquire of who looks, for the functions.
    meeting->stamp.store(os::recorder::our_stamp, std::memory_order_release);
    mprotect(page, sizeof(os::recorder), PROT_READ);
}

} // namespace

} // namespace holdfast::preload
