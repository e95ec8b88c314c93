/* SPDX-License-Identifier: BSD-3-Clause */
/* The id of a host: equal in two processes that can share memory, which have
 * the same boot of the kernel and the same namespaces. */
#ifndef NA_SM_H
#define NA_SM_H

#include "na_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Opaque. Compare ids with NA_SM_Host_id_cmp. */
typedef struct na_sm_id {
    uint64_t high;
    uint64_t low;
} na_sm_id_t;

/* Characters of an id as a string, without the terminating zero. */
#define NA_SM_HOST_ID_LEN 36

/* Any thread may call these functions. They don't block. */

/* Gets the id of this host. NA_OPNOTSUPPORTED: the system doesn't provide what
 * it is made of. */
NA_PUBLIC na_return_t NA_SM_Host_id_get(na_sm_id_t *id_p);

/* Writes an id as NA_SM_HOST_ID_LEN characters and a zero. `string` must have
 * that size. NA_INVALID_ARG: string is NULL. */
NA_PUBLIC na_return_t NA_SM_Host_id_to_string(na_sm_id_t id, char *string);

/* Reads an id that NA_SM_Host_id_to_string wrote. NA_INVALID_ARG:
 * malformed; *id_p is unchanged. */
NA_PUBLIC na_return_t NA_SM_String_to_host_id(
    const char *string, na_sm_id_t *id_p);

/* Copies an id. */
NA_PUBLIC void NA_SM_Host_id_copy(na_sm_id_t *dst_p, na_sm_id_t src);

/* Returns whether two ids are equal. */
NA_PUBLIC bool NA_SM_Host_id_cmp(na_sm_id_t id1, na_sm_id_t id2);

#ifdef __cplusplus
}
#endif

#endif /* NA_SM_H */
