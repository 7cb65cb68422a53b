// A transaction: reserves log space, collects what is changed under its locks, commits all of it at once.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "workload/xfs/allocation_group.hpp"
#include "workload/xfs/log.hpp"

namespace holdfast::xfs {

// To be committed before its end. Locks that it was given are released by the commit, in the order of joining.
template <class W, template <class> class SpinLock>
class transaction {
    using P = typename W::platform;
    using frame = typename P::frame;
    using log_type = log<W, SpinLock>;
    using buffer_type = buffer<P, SpinLock>;
    using mutex = kernel_mutex<P, kernel_mutex_presets::linux_4_10, SpinLock>;

public:
    // Waits for space for `reservation` bytes.
    transaction(log_type& l, std::uint64_t reservation, nanoseconds cost)
        : log_(l), reservation_(reservation) {
        const frame here{"xfs_trans_alloc"};
        W::compute(cost, cpu_mode::system);
        log_.reserve(reservation);
    }
    ~transaction() { assert(committed_); }
    transaction(const transaction&) = delete;
    transaction& operator=(const transaction&) = delete;

    // The caller has locked it; the commit will unlock it.
    void join(buffer_type& b) {
        assert(buffer_count_ < most);
        buffers_[buffer_count_++] = &b;
    }
    void join(mutex& m) {
        assert(mutex_count_ < most);
        mutexes_[mutex_count_++] = &m;
    }
    bool has(const buffer_type& b) const {
        for (std::size_t i = 0; i < buffer_count_; ++i) {
            if (buffers_[i] == &b)
                return true;
        }
        return false;
    }

    // So many bytes of the item were changed, under a lock that has joined.
    void changed(log_item<P>& what, std::uint32_t bytes) {
        for (std::size_t i = 0; i < dirty_count_; ++i) {
            if (dirty_[i].what == &what)
                return;
        }
        assert(dirty_count_ < most);
        dirty_[dirty_count_++] = {&what, bytes};
    }

    void commit() {
        const frame here{"xfs_trans_commit"};
        log_.commit({dirty_.data(), dirty_count_}, reservation_, [this] {
            const frame releasing{"xfs_trans_free_items"};
            for (std::size_t i = 0; i < buffer_count_; ++i)
                buffers_[i]->lock.up();
            for (std::size_t i = 0; i < mutex_count_; ++i)
                mutexes_[i]->unlock();
        });
        committed_ = true;
    }

private:
    static constexpr std::size_t most = 8; // of what the engine's transactions take, at most

    log_type& log_;
    const std::uint64_t reservation_;
    bool committed_ = false;
    std::size_t dirty_count_ = 0;
    std::size_t buffer_count_ = 0;
    std::size_t mutex_count_ = 0;
    std::array<typename log_type::dirty, most> dirty_{};
    std::array<buffer_type*, most> buffers_{};
    std::array<mutex*, most> mutexes_{};
};

} // namespace holdfast::xfs
