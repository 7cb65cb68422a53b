//! parking_lot's locks behind C functions (parking_lot_shim.h). A call costs about a nanosecond, which counts in the
//! uncontended case.
//!
//! A lock is a word of the caller's that is 0 at first, as RawRwLock::INIT is.

use parking_lot::lock_api::{RawMutex as _, RawRwLock as _};
use parking_lot::{RawMutex, RawRwLock};

const _: () = assert!(std::mem::size_of::<RawRwLock>() == std::mem::size_of::<usize>());
const _: () = assert!(std::mem::size_of::<RawMutex>() == 1);

#[no_mangle]
pub extern "C" fn shim_parking_lot_write_lock(lock: &RawRwLock) {
    lock.lock_exclusive();
}

#[no_mangle]
pub unsafe extern "C" fn shim_parking_lot_write_unlock(lock: &RawRwLock) {
    lock.unlock_exclusive();
}

#[no_mangle]
pub extern "C" fn shim_parking_lot_read_lock(lock: &RawRwLock) {
    lock.lock_shared();
}

#[no_mangle]
pub unsafe extern "C" fn shim_parking_lot_read_unlock(lock: &RawRwLock) {
    lock.unlock_shared();
}

#[no_mangle]
pub extern "C" fn shim_parking_lot_mutex_lock(lock: &RawMutex) {
    lock.lock();
}

#[no_mangle]
pub unsafe extern "C" fn shim_parking_lot_mutex_unlock(lock: &RawMutex) {
    lock.unlock();
}
