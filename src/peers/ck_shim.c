#include "ck_shim.h"

#ifdef HOLDFAST_HAVE_CK
#include <ck_pflock.h>
#include <ck_rwlock.h>
#include <ck_spinlock.h>

_Static_assert(sizeof(ck_spinlock_ticket_t) <= sizeof(struct shim_ck_ticket), "room for the lock");
_Static_assert(sizeof(ck_spinlock_mcs_context_t) <= sizeof(struct shim_ck_mcs_node), "room for the node");
_Static_assert(sizeof(ck_rwlock_t) <= sizeof(struct shim_ck_rwlock), "room for the lock");
_Static_assert(sizeof(ck_pflock_t) <= sizeof(struct shim_ck_pflock), "room for the lock");

void shim_ck_ticket_init(struct shim_ck_ticket* lock) {
    ck_spinlock_ticket_init((ck_spinlock_ticket_t*)lock);
}
void shim_ck_ticket_lock(struct shim_ck_ticket* lock) {
    ck_spinlock_ticket_lock((ck_spinlock_ticket_t*)lock);
}
void shim_ck_ticket_unlock(struct shim_ck_ticket* lock) {
    ck_spinlock_ticket_unlock((ck_spinlock_ticket_t*)lock);
}

void shim_ck_mcs_lock(struct shim_ck_mcs* lock, struct shim_ck_mcs_node* node) {
    ck_spinlock_mcs_lock((ck_spinlock_mcs_t*)&lock->tail, (ck_spinlock_mcs_context_t*)node);
}
void shim_ck_mcs_unlock(struct shim_ck_mcs* lock, struct shim_ck_mcs_node* node) {
    ck_spinlock_mcs_unlock((ck_spinlock_mcs_t*)&lock->tail, (ck_spinlock_mcs_context_t*)node);
}

void shim_ck_rwlock_init(struct shim_ck_rwlock* lock) {
    ck_rwlock_init((ck_rwlock_t*)lock);
}
void shim_ck_rwlock_write_lock(struct shim_ck_rwlock* lock) {
    ck_rwlock_write_lock((ck_rwlock_t*)lock);
}
void shim_ck_rwlock_write_unlock(struct shim_ck_rwlock* lock) {
    ck_rwlock_write_unlock((ck_rwlock_t*)lock);
}
void shim_ck_rwlock_read_lock(struct shim_ck_rwlock* lock) {
    ck_rwlock_read_lock((ck_rwlock_t*)lock);
}
void shim_ck_rwlock_read_unlock(struct shim_ck_rwlock* lock) {
    ck_rwlock_read_unlock((ck_rwlock_t*)lock);
}

void shim_ck_pflock_init(struct shim_ck_pflock* lock) {
    ck_pflock_init((ck_pflock_t*)lock);
}
void shim_ck_pflock_write_lock(struct shim_ck_pflock* lock) {
    ck_pflock_write_lock((ck_pflock_t*)lock);
}
void shim_ck_pflock_write_unlock(struct shim_ck_pflock* lock) {
    ck_pflock_write_unlock((ck_pflock_t*)lock);
}
void shim_ck_pflock_read_lock(struct shim_ck_pflock* lock) {
    ck_pflock_read_lock((ck_pflock_t*)lock);
}
void shim_ck_pflock_read_unlock(struct shim_ck_pflock* lock) {
    ck_pflock_read_unlock((ck_pflock_t*)lock);
}
#endif
