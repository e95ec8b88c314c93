/* SPDX-License-Identifier: BSD-3-Clause */
/* The id of a host: equal in two processes when they can share memory, that is,
 * same boot of the same kernel and same namespaces that bound shared memory. */
#ifndef NA_SM_H
#define NA_SM_H

#include "na_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A value: compare with NA_SM_Host_id_cmp, nothing else in it has a meaning. */
typedef struct na_sm_id {
    uint64_t high;
    uint64_t low;
} na_sm_id_t;

/* Characters of an id as a string, without the terminating zero. */
#define NA_SM_HOST_ID_LEN 36

/* Each of these may be called in any thread, and doesn't block. */

/* Gives the id of this host. NA_OPNOTSUPPORTED: the system doesn't tell. */
NA_PUBLIC na_return_t NA_SM_Host_id_get(na_sm_id_t *id_p);

/* Writes an id as NA_SM_HOST_ID_LEN characters and a zero, which `string` must
 * have room for. NA_INVALID_ARG: string is NULL. */
NA_PUBLIC na_return_t NA_SM_Host_id_to_string(na_sm_id_t id, char *string);

/* Reads an id that NA_SM_Host_id_to_string wrote. NA_INVALID_ARG: it is
 * something else; *id_p is then unchanged. */
NA_PUBLIC na_return_t NA_SM_String_to_host_id(
    const char *string, na_sm_id_t *id_p);

/* Copies an id. */
NA_PUBLIC void NA_SM_Host_id_copy(na_sm_id_t *dst_p, na_sm_id_t src);

/* Tells whether two ids are equal. */
NA_PUBLIC bool NA_SM_Host_id_cmp(na_sm_id_t id1, na_sm_id_t id2);

#ifdef __cplusplus
}
#endif

#endif /* NA_SM_H */
