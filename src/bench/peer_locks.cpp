// Other libraries' locks, as far as the build has found them. Nothing else of the program includes their headers.
#include "bench/locks.hpp"

#include "peers/peers.hpp"

namespace holdfast::bench {

std::vector<bench_lock> peer_locks() {
    using enum waiting;
    std::vector<bench_lock> locks;
#ifdef HOLDFAST_HAVE_ABSL
    locks.push_back(native_lock<peers::absl_mutex, peers::absl_mutex_with_conditions>("absl::Mutex", parks,
                                                                                      asked::quick));
#endif
#ifdef HOLDFAST_HAVE_NSYNC
    locks.push_back(
        native_lock<peers::nsync_mutex, peers::nsync_mutex_with_conditions>("nsync_mu", parks, asked::quick));
#endif
#ifdef HOLDFAST_HAVE_PARKING_LOT
    locks.push_back(native_lock<peers::parking_lot_rwlock>("parking_lot::RwLock", parks, asked::quick));
    locks.push_back(native_lock<peers::parking_lot_mutex>("parking_lot::Mutex", parks, asked::full));
#endif
#ifdef HOLDFAST_HAVE_TBB
    locks.push_back(native_lock<tbb::spin_mutex>("tbb::spin_mutex", spins, asked::full));
    locks.push_back(native_lock<tbb::spin_rw_mutex>("tbb::spin_rw_mutex", spins, asked::quick));
    locks.push_back(native_lock<tbb::rw_mutex>("tbb::rw_mutex", parks, asked::quick));
    locks.push_back(native_lock<peers::tbb_queuing_rw>("tbb::queuing_rw_mutex", spins, asked::full));
#endif
#ifdef HOLDFAST_HAVE_BOOST
    locks.push_back(native_lock<boost::shared_mutex,
                                peers::with_conditions<boost::shared_mutex, boost::condition_variable_any>>(
        "boost::shared_mutex", parks, asked::full));
#endif
#ifdef HOLDFAST_HAVE_CK
    locks.push_back(native_lock<peers::ck_ticket>("ck_spinlock_ticket", spins, asked::full));
    locks.push_back(native_lock<peers::ck_rw>("ck_rwlock", spins, asked::full));
    locks.push_back(native_lock<peers::ck_pf>("ck_pflock", spins, asked::full));
#endif
    return locks;
}

} // namespace holdfast::bench
