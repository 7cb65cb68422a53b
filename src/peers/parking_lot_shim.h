/* parking_lot's locks behind functions: parking_lot/lib.rs. A lock is free when it is 0. */
#ifndef HOLDFAST_PEERS_PARKING_LOT_SHIM_H
#define HOLDFAST_PEERS_PARKING_LOT_SHIM_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void shim_parking_lot_write_lock(uintptr_t* lock);
void shim_parking_lot_write_unlock(uintptr_t* lock);
void shim_parking_lot_read_lock(uintptr_t* lock);
void shim_parking_lot_read_unlock(uintptr_t* lock);

void shim_parking_lot_mutex_lock(uint8_t* lock);
void shim_parking_lot_mutex_unlock(uint8_t* lock);

#ifdef __cplusplus
}
#endif
#endif
