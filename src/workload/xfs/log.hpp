// The log of a metadata engine: space that transactions reserve, and the list of what they have committed but
// nobody has written yet (XFS: the committed item list, CIL).
//
// A transaction reserves log space for the worst case before it changes anything. Its commit formats what it has
// changed, puts the items into the list, and gives back what it did not need. An item that is in the list already
// takes space only for what it has grown by: so a buffer that each transaction changes is written once for
// thousands of them. When the list has grown to the soft limit, a worker takes it all as a checkpoint, writes that, and then
// returns its space; at the hard limit, twice the soft one, who has committed waits for that.
//
// The list is one, under one spinlock, where each commit moves its items to the end; or one for each CPU, where a commit puts
// those items that no list has yet, and the worker gathers them. A commit shares the context's semaphore; the
// worker takes it alone for as long as it gathers.
//
//   reserved_     bytes of the log that are spoken for: by transactions, by the list, by checkpoints being written
//   used_         bytes in the list; those of lists by CPU are added from time to time
//   checkpoint_   number of the list; changes with context_ held alone
//   context_      read-write semaphore: commits share it
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <holdfast/rwsem.hpp>
#include <holdfast/semaphore.hpp>

#include "workload/program.hpp"
#include "workload/xfs/log_item.hpp"
#include "workload/xfs/wait_queue.hpp"

namespace holdfast::xfs {

struct log_parameters {
    bool list_per_cpu = false;
    std::uint64_t bytes = 0; // of the log; at least what the hard limit and all transactions at once take
    std::uint64_t soft_limit = 1; // bytes in the list; the hard one is twice as much
    nanoseconds commit{};         // of a commit, besides its items
    nanoseconds format{};         // of an item: sized, and formatted into a buffer for the log
    nanoseconds account{};        // of a commit, with the list's lock
    nanoseconds gather{};         // of an item, by the worker
    device_limits device{};
};

// An object of W::make.
template <class W, template <class> class SpinLock>
class log {
    using P = typename W::platform;
    using frame = typename P::frame;
    using item = log_item<P>;

public:
    // An item and how much of it a transaction logs.
    struct dirty {
        item* what = nullptr;
        std::uint32_t bytes = 0;
    };

    explicit log(const log_parameters& p)
        : p_(p), device_(W::template make<typename W::device>(p.device)), one_(W::template make<list>()) {
        const std::uint32_t cpus = p.list_per_cpu ? W::cpu_count() : 0;
        by_cpu_.reserve(cpus);
        for (std::uint32_t i = 0; i < cpus; ++i)
            by_cpu_.push_back(&W::template make<list>());
    }

    // Starts the worker that writes checkpoints.
    void start() {
        stopping_.store(0, std::memory_order_relaxed);
        worker_ = W::spawn([this] { work(); });
    }

    // Has everything written, and ends the worker. No transaction is under way or comes later.
    void stop() {
        // release: pairs with the worker's acquire.
        stopping_.store(1, std::memory_order_release);
        push_.up();
        W::join(worker_);
    }

    // Takes space, and waits for it if there is none. To be given back by commit or give_back.
    void reserve(std::uint64_t bytes) {
        const frame here{"xfs_log_reserve"};
        if (!try_reserve(bytes)) {
            const frame waiting{"xlog_grant_head_wait"};
            push();
            space_.wait([&] { return try_reserve(bytes); });
        }
    }

    void give_back(std::uint64_t bytes) {
        reserved_.fetch_sub(bytes, std::memory_order_relaxed);
        space_.notify_all();
    }

    // Commits items whose locks the caller holds, out of a reservation for at least their bytes. release()
    // unlocks them.
    template <class Release>
    void commit(std::span<const dirty> items, std::uint64_t reservation, Release release) {
        const frame here{"xlog_cil_commit"};
        {
            const frame formatting{"xlog_cil_insert_format_items"};
            W::compute(p_.commit + p_.format * items.size(), cpu_mode::system);
        }
        context_.lock_shared();
        const std::uint64_t grown = p_.list_per_cpu ? put_by_cpu(items) : put_into_one(items);
        give_back(reservation - grown);
        release();
        context_.unlock_shared();
        commits_.add(1);
        // relaxed: limits need not be exact.
        const std::uint64_t used = used_.load(std::memory_order_relaxed);
        if (used < p_.soft_limit)
            return;
        push();
        if (used >= 2 * p_.soft_limit) {
            const frame blocked{"xlog_cil_push_background"};
            written_.wait([&] { return used_.load(std::memory_order_relaxed) < 2 * p_.soft_limit; });
        }
    }

    // Bytes spoken for; after stop 0, if no transaction has kept any.
    std::uint64_t reserved() const { return reserved_.load(std::memory_order_relaxed); }
    std::uint64_t used() const { return used_.load(std::memory_order_relaxed); }
    // So far, by threads that were joined.
    std::uint64_t commits() const { return commits_.value(); }
    std::uint64_t checkpoints() const { return checkpoints_; }
    std::uint64_t bytes_written() const { return written_bytes_; }

private:
    struct list {
        SpinLock<P> lock;
        item_list<P> items;
        typename P::template var<std::uint64_t> used{0}; // bytes not in used_ yet; of a list by CPU
    };

    bool try_reserve(std::uint64_t bytes) {
        std::uint64_t now = reserved_.load(std::memory_order_relaxed);
        while (now + bytes <= p_.bytes) {
            // relaxed: a sum; the data is guarded by other locks.
            if (reserved_.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed,
                                                std::memory_order_relaxed))
                return true;
        }
        return false;
    }

    // Notes that the item is part of this checkpoint; gives what that takes on top of what it took before.
    std::uint64_t grow(const dirty& d) const {
        item& i = *d.what;
        const std::uint32_t before = i.checkpoint == checkpoint_ ? i.bytes : 0;
        const std::uint32_t more = d.bytes > before ? d.bytes - before : 0;
        i.bytes = before + more;
        i.checkpoint = checkpoint_;
        return more;
    }

    std::uint64_t put_into_one(std::span<const dirty> items) {
        const frame here{"xlog_cil_insert_items"};
        std::uint64_t grown = 0;
        {
            const frame locking{"_raw_spin_lock"};
            one_.lock.lock();
        }
        W::compute(p_.account, cpu_mode::system);
        for (const dirty& d : items) {
            if (d.what->checkpoint == checkpoint_)
                one_.items.remove(*d.what);
            one_.items.append(*d.what);
            grown += grow(d);
        }
        // relaxed, as its readers: a sum.
        used_.store(used_.load(std::memory_order_relaxed) + grown, std::memory_order_relaxed);
        one_.lock.unlock();
        return grown;
    }

    std::uint64_t put_by_cpu(std::span<const dirty> items) {
        const frame here{"xlog_cil_insert_items"};
        std::uint64_t grown = 0;
        list& mine = *by_cpu_[P::cpu() % by_cpu_.size()];
        {
            const frame locking{"_raw_spin_lock"};
            mine.lock.lock(); // natively somebody else may be on this CPU by now
        }
        W::compute(p_.account, cpu_mode::system);
        for (const dirty& d : items) {
            if (d.what->checkpoint != checkpoint_)
                mine.items.append(*d.what);
            grown += grow(d);
        }
        const std::uint64_t used = mine.used.get() + grown;
        const bool tell = used >= p_.soft_limit / by_cpu_.size();
        mine.used.set(tell ? 0 : used);
        mine.lock.unlock();
        if (tell)
            used_.fetch_add(used, std::memory_order_relaxed);
        return grown;
    }

    // Wakes the worker unless it is on its way.
    void push() {
        if (pushed_.load(std::memory_order_relaxed) == 0 &&
            pushed_.exchange(1, std::memory_order_relaxed) == 0)
            push_.up();
    }

    void work() {
        for (bool last = false; !last;) {
            const frame here{"worker_thread"};
            push_.down();
            // acquire: pairs with the release of stop.
            last = stopping_.load(std::memory_order_acquire) != 0;
            pushed_.store(0, std::memory_order_relaxed);
            write_checkpoint();
        }
    }

    void write_checkpoint() {
        const frame here{"xlog_cil_push_work"};
        context_.lock();
        std::uint64_t count = one_.items.take_all();
        std::uint64_t bytes = used_.load(std::memory_order_relaxed);
        for (list* const each : by_cpu_) {
            count += each->items.take_all();
            bytes += each->used.get();
            each->used.set(0);
        }
        used_.store(0, std::memory_order_relaxed);
        ++checkpoint_;
        context_.unlock();
        written_.notify_all();
        if (bytes == 0)
            return;
        W::compute(p_.gather * count, cpu_mode::system);
        device_.transfer(bytes);
        give_back(bytes);
        ++checkpoints_;
        written_bytes_ += bytes;
    }

    const log_parameters p_;
    typename W::device& device_;
    list& one_;
    std::vector<list*> by_cpu_;
    typename W::counter& commits_ = W::template make<typename W::counter>();

    using word = typename P::template atomic<std::uint64_t>;
    word& reserved_ = W::template make<word>(0u);
    word& used_ = W::template make<word>(0u);
    rwsem<P, rwsem_presets::linux_5_3, SpinLock>& context_ =
        W::template make<rwsem<P, rwsem_presets::linux_5_3, SpinLock>>();
    std::uint64_t checkpoint_ = 1;
    wait_queue<P, SpinLock>& space_ = W::template make<wait_queue<P, SpinLock>>();
    wait_queue<P, SpinLock>& written_ = W::template make<wait_queue<P, SpinLock>>();

    // The worker.
    typename W::thread worker_;
    semaphore<P, SpinLock>& push_ = W::template make<semaphore<P, SpinLock>>(0u);
    typename P::template atomic<std::uint32_t> pushed_{0};
    typename P::template atomic<std::uint32_t> stopping_{0};
    std::uint64_t checkpoints_ = 0; // these two are the worker's until it was joined
    std::uint64_t written_bytes_ = 0;
};

} // namespace holdfast::xfs
