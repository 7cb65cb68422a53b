/* Concurrency Kit's locks behind functions: its headers are C. A call costs about a nanosecond, which counts
 * in the uncontended case. */
#ifndef HOLDFAST_PEERS_CK_SHIM_H
#define HOLDFAST_PEERS_CK_SHIM_H

#ifdef __cplusplus
extern "C" {
#endif

struct shim_ck_ticket {
    unsigned int words[2];
};
void shim_ck_ticket_init(struct shim_ck_ticket* lock);
void shim_ck_ticket_lock(struct shim_ck_ticket* lock);
void shim_ck_ticket_unlock(struct shim_ck_ticket* lock);

struct shim_ck_mcs_node {
    void* words[2];
};
struct shim_ck_mcs {
    void* tail;
};
void shim_ck_mcs_lock(struct shim_ck_mcs* lock, struct shim_ck_mcs_node* node);
void shim_ck_mcs_unlock(struct shim_ck_mcs* lock, struct shim_ck_mcs_node* node);

struct shim_ck_rwlock {
    unsigned int words[2];
};
void shim_ck_rwlock_init(struct shim_ck_rwlock* lock);
void shim_ck_rwlock_write_lock(struct shim_ck_rwlock* lock);
void shim_ck_rwlock_write_unlock(struct shim_ck_rwlock* lock);
void shim_ck_rwlock_read_lock(struct shim_ck_rwlock* lock);
void shim_ck_rwlock_read_unlock(struct shim_ck_rwlock* lock);

struct shim_ck_pflock {
    unsigned int words[4];
};
void shim_ck_pflock_init(struct shim_ck_pflock* lock);
void shim_ck_pflock_write_lock(struct shim_ck_pflock* lock);
void shim_ck_pflock_write_unlock(struct shim_ck_pflock* lock);
void shim_ck_pflock_read_lock(struct shim_ck_pflock* lock);
void shim_ck_pflock_read_unlock(struct shim_ck_pflock* lock);

#ifdef __cplusplus
}
#endif
#endif
