// Inactivation in the background: queues of unlinked inodes, the workers that free them, and who has to wait for them.
//
// Each CPU has a queue, a stack without a lock, and a worker. Who unlinks puts the inode into the queue of the CPU that it
// runs on; when the queue is longer than `work_above`, the worker is told. It takes all there is at once and inactivates
// one after the other. Above `throttle_above` whoever puts an inode in waits until the worker is through: that
// bounds the backlog, and is what makes the two sides take turns. A worker is bound to its queue's CPU, or runs
// wherever there is room.
//
// When memory gets short, a shrinker is told how short: priority 12 is light pressure, 0 is out of memory. Scaled by
// priority, it tells the workers of so many queues as hold that part of what is queued; as a one-shot trigger it tells them
// all, whatever the priority, and has everybody wait who puts an inode into one of those queues next.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include <holdfast/semaphore.hpp>

#include "workload/program.hpp"
#include "workload/xfs/allocation_group.hpp"
#include "workload/xfs/wait_queue.hpp"

namespace holdfast::xfs {

struct inodegc_settings {
    bool bound = false;               // workers, to the CPUs of their queues
    std::uint32_t work_above = 0;     // inodes
    std::uint32_t throttle_above = 0; // inodes, at least work_above; 0: nobody ever waits
    bool shrinker_by_priority = true; // false: a one-shot trigger
};

// The lightest pressure.
inline constexpr unsigned lightest_priority = 12;

// An object of W::make.
template <class W, template <class> class SpinLock>
class inodegc {
    using P = typename W::platform;
    using frame = typename P::frame;
    using inode_type = inode<P, SpinLock>;

public:
    // inactivate(inode) is called by the workers.
    inodegc(const inodegc_settings& s, std::function<void(inode_type&)> inactivate)
        : s_(s), inactivate_(std::move(inactivate)) {
        queues_.reserve(W::cpu_count());
        for (std::uint32_t cpu = 0; cpu < W::cpu_count(); ++cpu)
            queues_.push_back(&W::template make<queue>());
    }

    void start() {
        for (std::uint32_t cpu = 0; cpu < queues_.size(); ++cpu) {
            queue& q = *queues_[cpu];
            q.stopping.store(0, std::memory_order_relaxed);
            const auto body = [this, &q] { work(q); };
            q.worker = s_.bound ? W::spawn_on(cpu, body) : W::spawn(body);
        }
    }

    // Has all that is queued worked off, and ends the workers. Nothing is put in meanwhile or later.
    void stop() {
        for (queue* const q : queues_) {
            // release: pairs with the worker's acquire.
            q->stopping.store(1, std::memory_order_release);
            q->told.up();
        }
        for (queue* const q : queues_)
            W::join(q->worker);
    }

    // Puts an inode in that nobody uses any more, and waits for the worker if the backlog is long.
    void add(inode_type& i) {
        const frame here{"xfs_inodegc_queue"};
        queue& q = *queues_[P::cpu() % queues_.size()];
        const std::uint32_t length = q.length.fetch_add(1, std::memory_order_relaxed) + 1;
        i.next_queued = q.first.load(std::memory_order_relaxed);
        // release: pairs with the acquire of the worker's exchange, which hands the inode over.
        while (!q.first.compare_exchange_weak(i.next_queued, &i, std::memory_order_release,
                                              std::memory_order_relaxed)) {
        }
        const bool pressed = q.pressed.load(std::memory_order_relaxed) != 0;
        if (!pressed && length <= s_.work_above)
            return;
        if (pressed || (s_.throttle_above != 0 && length > s_.throttle_above)) {
            const frame throttled{"flush_work"};
            // The first round that begins from now on has the next number.
            const std::uint32_t round = q.begun.load(std::memory_order_relaxed) + 1;
            tell(q);
            q.through.wait([&] {
                return static_cast<std::int32_t>(q.ended.load(std::memory_order_relaxed) - round) >= 0;
            });
        } else {
            tell(q);
        }
    }

    // Waits until all that was put in before was worked off. Nothing is put in meanwhile.
    void flush() {
        const frame here{"xfs_inodegc_flush"};
        for (queue* const q : queues_) {
            tell(*q);
            q->through.wait([&] {
                // acquire: pairs with the worker's release. It begins a round before it makes the length 0.
                return q->length.load(std::memory_order_acquire) == 0 &&
                       q->begun.load(std::memory_order_relaxed) == q->ended.load(std::memory_order_relaxed);
            });
        }
    }

    // Frees some of the memory that queued inodes take, later. `priority`: lightest_priority to 0.
    void shrink(unsigned priority) {
        const frame here{"xfs_inodegc_shrinker_scan"};
        std::uint64_t wanted = 0;
        for (const queue* const q : queues_)
            wanted += q->length.load(std::memory_order_relaxed);
        if (s_.shrinker_by_priority)
            wanted >>= priority;
        for (queue* const q : queues_) {
            const std::uint64_t length = q->length.load(std::memory_order_relaxed);
            if (wanted == 0)
                return;
            if (length == 0)
                continue;
            wanted -= std::min(wanted, length);
            if (!s_.shrinker_by_priority)
                q->pressed.store(1, std::memory_order_relaxed);
            tell(*q);
        }
    }

private:
    struct queue {
        typename P::template atomic<inode_type*> first{nullptr};
        typename P::template atomic<std::uint32_t> length{0};  // without those that the worker has taken
        typename P::template atomic<std::uint32_t> pending{0}; // the worker was told
        typename P::template atomic<std::uint32_t> pressed{0}; // by the shrinker
        typename P::template atomic<std::uint32_t> stopping{0};
        typename P::template atomic<std::uint32_t> begun{0}; // rounds of the worker
        typename P::template atomic<std::uint32_t> ended{0};
        semaphore<P, SpinLock> told{0};
        wait_queue<P, SpinLock> through; // a round has ended
        typename W::thread worker;
    };

    void tell(queue& q) {
        if (q.pending.load(std::memory_order_relaxed) == 0 &&
            q.pending.exchange(1, std::memory_order_relaxed) == 0)
            q.told.up();
    }

    void work(queue& q) {
        for (bool last = false; !last;) {
            const frame here{"worker_thread"};
            q.told.down();
            // acquire: pairs with the release of stop.
            last = q.stopping.load(std::memory_order_acquire) != 0;
            q.pending.store(0, std::memory_order_relaxed);
            inactivate_all(q);
        }
    }

    void inactivate_all(queue& q) {
        const frame here{"xfs_inodegc_worker"};
        q.begun.fetch_add(1, std::memory_order_relaxed);
        q.pressed.store(0, std::memory_order_relaxed);
        // acquire: pairs with the release of add.
        inode_type* i = q.first.exchange(nullptr, std::memory_order_acquire);
        std::uint32_t taken = 0;
        for (const inode_type* each = i; each != nullptr; each = each->next_queued)
            ++taken;
        // release: pairs with the acquire of flush. Adding counts before it puts in, so this is never below 0.
        q.length.fetch_sub(taken, std::memory_order_release);
        while (i != nullptr) {
            inode_type* const next = i->next_queued;
            inactivate_(*i);
            i = next;
        }
        q.ended.fetch_add(1, std::memory_order_relaxed);
        q.through.notify_all();
    }

    const inodegc_settings s_;
    const std::function<void(inode_type&)> inactivate_;
    std::vector<queue*> queues_;
};

} // namespace holdfast::xfs
