// The locks of other libraries as ours look, like those in standard.hpp. Each is there if the build has found its library:
// HOLDFAST_HAVE_*.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "peers/standard.hpp"

#ifdef HOLDFAST_HAVE_ABSL
#include <absl/synchronization/mutex.h>
#endif
#ifdef HOLDFAST_HAVE_BOOST
#include <boost/thread/condition_variable.hpp>
#include <boost/thread/mutex.hpp>
#include <boost/thread/shared_mutex.hpp>
#endif
#ifdef HOLDFAST_HAVE_CK
#include "peers/ck_shim.h"
#endif
#ifdef HOLDFAST_HAVE_NSYNC
#include <nsync.h>
#endif
#ifdef HOLDFAST_HAVE_PARKING_LOT
#include "peers/parking_lot_shim.h"
#endif
#ifdef HOLDFAST_HAVE_TBB
#include <oneapi/tbb/rw_mutex.h>
#include <tbb/queuing_rw_mutex.h>
#include <tbb/spin_mutex.h>
#include <tbb/spin_rw_mutex.h>
#endif

namespace holdfast::peers {

#ifdef HOLDFAST_HAVE_ABSL
class absl_mutex {
public:
    // Distributions build absl with its deadlock detector on, which is no part of a lock.
    absl_mutex() { absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore); }
    void lock() { lock_.Lock(); }
    void unlock() { lock_.Unlock(); }
    void lock_shared() { lock_.ReaderLock(); }
    void unlock_shared() { lock_.ReaderUnlock(); }

protected:
    absl::Mutex lock_;
};

class absl_mutex_with_conditions : public absl_mutex {
public:
    void wait(std::size_t i) { conditions_[i].Wait(&lock_); }
    void notify(std::size_t i) { conditions_[i].Signal(); }

private:
    std::array<absl::CondVar, 2> conditions_;
};
#endif

#ifdef HOLDFAST_HAVE_NSYNC
class nsync_mutex {
public:
    void lock() { nsync::nsync_mu_lock(&lock_); }
    void unlock() { nsync::nsync_mu_unlock(&lock_); }
    void lock_shared() { nsync::nsync_mu_rlock(&lock_); }
    void unlock_shared() { nsync::nsync_mu_runlock(&lock_); }

protected:
    nsync::nsync_mu lock_ = NSYNC_MU_INIT;
};

class nsync_mutex_with_conditions : public nsync_mutex {
public:
    void wait(std::size_t i) { nsync::nsync_cv_wait(&conditions_[i], &lock_); }
    void notify(std::size_t i) { nsync::nsync_cv_signal(&conditions_[i]); }

private:
    std::array<nsync::nsync_cv, 2> conditions_{};
};
#endif

#ifdef HOLDFAST_HAVE_PARKING_LOT
class parking_lot_rwlock {
public:
    void lock() { shim_parking_lot_write_lock(&word_); }
    void unlock() { shim_parking_lot_write_unlock(&word_); }
    void lock_shared() { shim_parking_lot_read_lock(&word_); }
    void unlock_shared() { shim_parking_lot_read_unlock(&word_); }

private:
    std::uintptr_t word_ = 0;
};

class parking_lot_mutex {
public:
    void lock() { shim_parking_lot_mutex_lock(&byte_); }
    void unlock() { shim_parking_lot_mutex_unlock(&byte_); }

private:
    std::uint8_t byte_ = 0;
};
#endif

#ifdef HOLDFAST_HAVE_TBB
class tbb_queuing_rw {
public:
    class guard {
    public:
        explicit guard(tbb_queuing_rw& lock) : held_(lock.lock_, true) {}

    private:
        tbb::queuing_rw_mutex::scoped_lock held_;
    };
    class shared_guard {
    public:
        explicit shared_guard(tbb_queuing_rw& lock) : held_(lock.lock_, false) {}

    private:
        tbb::queuing_rw_mutex::scoped_lock held_;
    };

private:
    tbb::queuing_rw_mutex lock_;
};
#endif

#ifdef HOLDFAST_HAVE_CK
class ck_ticket {
public:
    ck_ticket() { shim_ck_ticket_init(&lock_); }
    void lock() { shim_ck_ticket_lock(&lock_); }
    void unlock() { shim_ck_ticket_unlock(&lock_); }

private:
    shim_ck_ticket lock_;
};

class ck_mcs {
public:
    class guard {
    public:
        explicit guard(ck_mcs& lock) : lock_(lock) { shim_ck_mcs_lock(&lock_.lock_, &node_); }
        ~guard() { shim_ck_mcs_unlock(&lock_.lock_, &node_); }
        guard(const guard&) = delete;
        guard& operator=(const guard&) = delete;

    private:
        ck_mcs& lock_;
        shim_ck_mcs_node node_;
    };

private:
    shim_ck_mcs lock_{nullptr};
};

class ck_rw {
public:
    ck_rw() { shim_ck_rwlock_init(&lock_); }
    void lock() { shim_ck_rwlock_write_lock(&lock_); }
    void unlock() { shim_ck_rwlock_write_unlock(&lock_); }
    void lock_shared() { shim_ck_rwlock_read_lock(&lock_); }
    void unlock_shared() { shim_ck_rwlock_read_unlock(&lock_); }

private:
    shim_ck_rwlock lock_;
};

class ck_pf {
public:
    ck_pf() { shim_ck_pflock_init(&lock_); }
    void lock() { shim_ck_pflock_write_lock(&lock_); }
    void unlock() { shim_ck_pflock_write_unlock(&lock_); }
    void lock_shared() { shim_ck_pflock_read_lock(&lock_); }
    void unlock_shared() { shim_ck_pflock_read_unlock(&lock_); }

private:
    shim_ck_pflock lock_;
};
#endif

} // namespace holdfast::peers
