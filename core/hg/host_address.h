/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The string of a peer that its own node reaches by shared memory:
 *
 *   ofi+tcp://192.0.2.7:4000
 *     #sm=01234567-89ab-cdef-fedc-ba9876543210@1000:na+sm://77-0
 *
 * without the space: its address in the network, the id of its host (na_sm.h),
 * the user whose processes reach it there, or any, its address there.
 */
#ifndef HG_HOST_ADDRESS_H
#define HG_HOST_ADDRESS_H

#include "mercury_types.h"
#include "na_sm.h"

#include <stddef.h>

/* Bytes of such a string, terminating zero included. */
#define HG_HOST_ADDRESS_MAX 4096U

/* Bytes of a user's number, or any; terminating zero included. */
#define HG_HOST_USER_MAX 11U

struct hg_host_address {
    size_t main_length; /* bytes of the address in the network */
    na_sm_id_t host;
    char user[HG_HOST_USER_MAX];
    const char *near; /* the address on that host; NULL: there is none */
};

/* Tells the parts of a string, which may also be an address of one transport
 * alone. INVALID_ARG: it begins as the above and does not go on so, after a log
 * line; *address_p points into text. */
hg_return_t hg_host_address_parse(
    const char *text, struct hg_host_address *address_p);

/* Bytes that at most stand between the two addresses. */
#define HG_HOST_ADDRESS_MIDDLE (4U + NA_SM_HOST_ID_LEN + 1U + HG_HOST_USER_MAX)

/* Writes what stands between them, without a terminating zero; how many
 * bytes. */
size_t hg_host_address_middle(
    na_sm_id_t host, const char *user, char to[HG_HOST_ADDRESS_MIDDLE]);

#endif /* HG_HOST_ADDRESS_H */
