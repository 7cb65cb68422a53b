// Who the threads are: a table of slots, one for each thread that has ever needed one.
//
// A slot holds what others may want of a thread at any time, also after its end: its parking token, its CPU,
// its queue nodes, its wait record. So slots are never freed, only handed on: a thread takes one at its first need and gives
// it back at its end. A thread's identity is its slot's number plus one; a node's code is
// 4 * slot + depth + 1.
//
// The table is a list of segments, each twice the size of the one before, mapped when first needed: it grows
// without a lock and without moving, and needs no constructor, so locks work before main and after it. Free
// slots form a stack.
//
// Fork. Segments are mapped MADV_WIPEONFORK: the child's thread finds its slot's number wiped and takes
// another slot, while its parent's other threads remain in the child what they are there: threads that are
// gone. (Free slots but one are lost to the child, as the stack's links are wiped. Where the kernel can't
// wipe, the child's thread keeps its identity.)
//
// End of a thread. A POSIX key's destructor, in the round before the last: after C++'s thread_local objects
// and nearly all other keys. Who takes a lock still later takes another slot, which is lost.
//
// Signals. A handler may take nodes and ask for its thread's identity at any time.
//
// Programs that load libraries: the table must exist once in a process, or threads of two tables have the same
// identities, and wake each other's sleepers. The dynamic linker doesn't see to that: a program doesn't export
// its own copy to what it loads later, and libraries may hide theirs. So the copies meet at an agreed address: the
// first to come maps a page there with all that they share, stamped; the others find it. Where that address
// is somebody else's, each copy has a table of its own, and no lock may be used from two of them. Each
// copy keeps a thread's slot in a variable of its own, and asks the POSIX key for what another has found.
#pragma once

#include <atomic>
#include <bit>
#include <climits>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <holdfast/native/futex.hpp>
#include <holdfast/native/on_cpu.hpp>
#include <holdfast/native/preserved_errno.hpp>

namespace holdfast::os {

// How many queue nodes each thread has.
inline constexpr std::uint32_t nodes_per_thread = 4;

template <class Node, class Record>
struct thread_slot {
    // What a new owner and those who look for it need: rarely written.
    // `unused`: nobody has it. 0: a fork has wiped it, and nothing else has: no thread finds the slot of another of its
    // process so, not even if that has ended since it was last heard of.
    static constexpr std::uint32_t unused = ~std::uint32_t{0};
    alignas(Node) std::atomic<std::uint32_t> identity{unused};
    std::atomic<std::uint32_t> next_free{0}; // the identity of the slot below on the stack of free ones
    std::atomic<const std::uint32_t*> cpu_word{nullptr}; // own_cpu_word() of the owner, also when it has gone

    // relaxed, both: the owner itself knows; to others the answer was right at some time.
    [[nodiscard]] bool has_owner() const {
        const std::uint32_t value = identity.load(std::memory_order_relaxed);
        return value != 0 && value != unused;
    }
    [[nodiscard]] bool is_wiped() const { return identity.load(std::memory_order_relaxed) == 0; }

    // Written by those who wake this thread: a line of its own.
    alignas(Node) parker token;
    Node nodes[nodes_per_thread];
    Record waiting;
};

template <class Node, class Record>
class [[gnu::visibility("default")]] thread_table {
public:
    using slot = thread_slot<Node, Record>;

    // The calling thread's slot; takes one if it has none yet. Ends the program if there is no memory for it.
    static slot& mine() {
        slot* const known = me.load(std::memory_order_relaxed);
        if (known != nullptr && known->has_owner()) [[likely]]
            return *known;
        return take(known);
    }

    // The slot with this identity, whoever has it now; null if there has never been such a thread.
    static slot* find(std::uint32_t identity) {
        if (identity == 0 || identity > capacity)
            return nullptr;
        const place at = place_of(identity - 1);
        // acquire: pairs with the release in slot_at: the slots are constructed.
        slot* const segment = all().segments[at.segment].load(std::memory_order_acquire);
        return segment == nullptr ? nullptr : segment + at.offset;
    }

    // Takes the calling thread's next level of nodes, and gives its depth: how many there are below. unnest()
    // gives it back. A signal handler in between leaves the count as it was.
    static std::uint32_t nest() {
        const std::uint32_t depth = nesting.load(std::memory_order_relaxed);
        nesting.store(depth + 1, std::memory_order_relaxed);
        // A handler from here on sees the level taken; and sees it so for as long as the node is written to.
        std::atomic_signal_fence(std::memory_order_seq_cst);
        return depth;
    }
    static void unnest() {
        std::atomic_signal_fence(std::memory_order_seq_cst);
        nesting.store(nesting.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }

    // The code of the calling thread's node number `depth`; 0 if it has none.
    static std::uint32_t code_of(std::uint32_t depth) {
        const std::uint32_t number = mine().identity.load(std::memory_order_relaxed) - 1;
        if (depth >= nodes_per_thread || number >= max_code / nodes_per_thread)
            return 0;
        return number * nodes_per_thread + depth + 1;
    }

    // Whose node a code names.
    static constexpr std::uint32_t identity_of(std::uint32_t code) {
        return (code - 1) / nodes_per_thread + 1;
    }

    // The node of a code that code_of has given.
    static Node& node(std::uint32_t code) {
        const place at = place_of((code - 1) / nodes_per_thread);
        // acquire: as in find.
        slot* const segment = all().segments[at.segment].load(std::memory_order_acquire);
        return segment[at.offset].nodes[(code - 1) % nodes_per_thread];
    }

private:
    // Linux has no more threads than that, on all of a machine (PID_MAX_LIMIT).
    static constexpr std::uint32_t capacity = std::uint32_t{1} << 22;
    static constexpr std::uint32_t max_code = (std::uint32_t{1} << 23) - 1;
    static constexpr std::uint32_t first_segment = 64;
    static constexpr std::uint32_t segment_count = 17;
    static_assert(first_segment * ((std::uint64_t{1} << segment_count) - 1) >= capacity);

    struct place {
        std::uint32_t segment;
        std::uint32_t offset;
    };

    // Segment n begins at slot first_segment * (2^n - 1): with first_segment added, at a power of two.
    static constexpr place place_of(std::uint32_t number) {
        const std::uint32_t shifted = number + first_segment;
        return {static_cast<std::uint32_t>(std::bit_width(shifted) - std::bit_width(first_segment)),
                shifted - std::bit_floor(shifted)};
    }

    // The slot of a number, on a segment that is mapped now if it wasn't.
    static slot& slot_at(std::uint32_t number) {
        const place at = place_of(number);
        std::atomic<slot*>& segment = all().segments[at.segment];
        // acquire: pairs with the release below.
        slot* slots = segment.load(std::memory_order_acquire);
        if (slots == nullptr) {
            const std::size_t count = std::size_t{first_segment} << at.segment;
            const std::size_t bytes = count * sizeof(slot);
            void* const memory =
                mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (memory == MAP_FAILED)
                std::abort();
            madvise(memory, bytes, MADV_WIPEONFORK);
            slot* const fresh = static_cast<slot*>(memory);
            for (std::size_t i = 0; i < count; ++i)
                new (fresh + i) slot;
            // release: pairs with the acquire of whoever reads the segment's address.
            if (segment.compare_exchange_strong(slots, fresh, std::memory_order_release,
                                                std::memory_order_acquire))
                slots = fresh;
            else
                munmap(memory, bytes);
        }
        return slots[at.offset];
    }

    // Takes a slot for the calling thread, which had `known` before (null, or wiped).
    [[gnu::cold, gnu::noinline]] static slot& take(slot * known) {
        const preserved_errno errno_now;
        if (slot* const other = of_another_copy()) {
            me.store(other, std::memory_order_relaxed);
            return *other;
        }
        const std::uint32_t identity = pop();
        slot& taken = slot_at(identity - 1);
        taken.token.reset();
        taken.cpu_word.store(own_cpu_word(), std::memory_order_relaxed);
        taken.identity.store(identity, std::memory_order_relaxed);
        if (!me.compare_exchange_strong(known, &taken, std::memory_order_relaxed,
                                        std::memory_order_relaxed)) {
            // A signal handler of this thread was faster.
            push(taken);
            return *known;
        }
        call_at_exit(taken);
        return taken;
    }

    // The slot that the calling thread took in another library, if there is one.
    static slot* of_another_copy() {
        const std::uint64_t key = all().key_word.load(std::memory_order_relaxed);
        if (key == 0)
            return nullptr;
        auto* const other = static_cast<slot*>(pthread_getspecific(static_cast<pthread_key_t>(key - 1)));
        return other != nullptr && other->has_owner() ? other : nullptr;
    }

    // Has leave(&taken) called in the next round of key destructors. If there are no more keys, or no memory,
    // the slot is lost when the thread ends.
    static void call_at_exit(slot & taken) {
        std::uint64_t known = all().key_word.load(std::memory_order_relaxed);
        if (known == 0) {
            pthread_key_t key;
            if (pthread_key_create(&key, leave) != 0)
                return;
            if (all().key_word.compare_exchange_strong(known, std::uint64_t{key} + 1,
                                                       std::memory_order_relaxed, std::memory_order_relaxed))
                known = std::uint64_t{key} + 1;
            else
                pthread_key_delete(key);
        }
        pthread_setspecific(static_cast<pthread_key_t>(known - 1), &taken);
    }

    // The end of a thread, once for each round of key destructors.
    static void leave(void* ours) {
        slot& left = *static_cast<slot*>(ours);
        if (++exit_rounds < PTHREAD_DESTRUCTOR_ITERATIONS - 1) {
            call_at_exit(left);
            return;
        }
        me.store(nullptr, std::memory_order_relaxed);
        push(left);
    }

    // Puts a slot on the stack of free ones. The stack's word holds a tag above the top's identity; a new tag
    // with each change, because a slot may be taken and put back between another thread's look and its
    // exchange.
    static void push(slot & left) {
        const std::uint32_t identity = left.identity.load(std::memory_order_relaxed);
        left.identity.store(slot::unused, std::memory_order_relaxed);
        std::uint64_t top = all().free_slots.load(std::memory_order_relaxed);
        do {
            left.next_free.store(static_cast<std::uint32_t>(top), std::memory_order_relaxed);
            // release: pairs with the acquire in pop: who takes the slot sees it left.
        } while (!all().free_slots.compare_exchange_weak(
            top, retagged(top, identity), std::memory_order_release, std::memory_order_relaxed));
    }

    // A free slot's identity: of the stack, or else one that nobody has had.
    static std::uint32_t pop() {
        // acquire: pairs with the release in push, for next_free and the rest.
        std::uint64_t top = all().free_slots.load(std::memory_order_acquire);
        while (static_cast<std::uint32_t>(top) != 0) {
            const auto identity = static_cast<std::uint32_t>(top);
            const std::uint32_t below = find(identity)->next_free.load(std::memory_order_relaxed);
            if (all().free_slots.compare_exchange_weak(top, retagged(top, below), std::memory_order_acquire,
                                                       std::memory_order_acquire))
                return identity;
        }
        const std::uint32_t number = all().used_slots.fetch_add(1, std::memory_order_relaxed);
        if (number >= capacity)
            std::abort();
        return number + 1;
    }

    static constexpr std::uint64_t retagged(std::uint64_t top, std::uint32_t identity) {
        return (((top >> 32) + 1) << 32) | identity;
    }

    // What all copies share. All zeros is a valid, empty one.
    struct shared_state {
        std::atomic<std::uint32_t> stamp;
        std::atomic<std::uint32_t> used_slots;
        std::atomic<std::uint64_t> free_slots;
        std::atomic<std::uint64_t> key_word; // the key plus one
        std::atomic<slot*> segments[segment_count];
    };

    // Far from where Linux maps things of itself.
    static constexpr std::uintptr_t meeting_place = sizeof(void*) == 8 ? 0x7e80'0000'0000 : 0x6e80'0000;
    // Copies with other slots don't fit, nor those that mean another thing by them: then the upper half changes.
    static constexpr std::uint32_t our_stamp = 0x4850'0000u + sizeof(slot);

    static shared_state& all() {
        // acquire: pairs with the release in find_all.
        shared_state* const known = found.load(std::memory_order_acquire);
        return known != nullptr ? *known : find_all();
    }

    [[gnu::cold, gnu::noinline]] static shared_state& find_all() {
        const preserved_errno errno_now;
        void* const there = reinterpret_cast<void*>(meeting_place);
        void* const memory = mmap(there, sizeof(shared_state), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        auto* state = static_cast<shared_state*>(there);
        if (memory == there) {
            // release: pairs with the kernel's look in futex_compare, and the acquire below.
            state->stamp.store(our_stamp, std::memory_order_release);
        } else {
            if (memory != MAP_FAILED) // by a kernel that takes the address for a wish
                munmap(memory, sizeof(shared_state));
            while (futex_compare(there, 0) == 0) // another copy is about to
                sched_yield();
            if (futex_compare(there, our_stamp) == 0)
                // acquire: pairs with the release above, of whichever copy: what the kernel saw orders nothing here.
                static_cast<void>(state->stamp.load(std::memory_order_acquire));
            else
                state = &alone;
        }
        found.store(state, std::memory_order_release);
        return *state;
    }

    static inline constinit shared_state alone{};
    static inline constinit std::atomic<shared_state*> found{nullptr};
    static inline constinit thread_local std::atomic<slot*> me{nullptr};
    static inline constinit thread_local std::atomic<std::uint32_t> nesting{0};
    static inline constinit thread_local int exit_rounds = 0;
};

} // namespace holdfast::os
