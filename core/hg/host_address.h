/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The address string of a peer that can also be reached by shared memory:
 *
 *   ofi+tcp://192.0.2.7:4000
 *     #sm=01234567-89ab-cdef-fedc-ba9876543210@1000:na+sm://77-0
 *
 * without the space: the network address; the id of the host (na_sm.h); the
 * user whose processes can use the shared memory, or "any"; the address on that
 * host.
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
    const char *local; /* the address on that host, or NULL */
};

/* Splits a string, which may also be a plain address of one transport.
 * INVALID_ARG, after a log line: malformed. *address_p points into text. */
hg_return_t hg_host_address_parse(
    const char *text, struct hg_host_address *address_p);

/* Maximum bytes between the two addresses. */
#define HG_HOST_ADDRESS_MIDDLE (4U + NA_SM_HOST_ID_LEN + 1U + HG_HOST_USER_MAX)

/* Writes the part between the two addresses, without a terminating zero.
 * Returns its bytes. */
size_t hg_host_address_middle(
    na_sm_id_t host, const char *user, char to[HG_HOST_ADDRESS_MIDDLE]);

#endif /* HG_HOST_ADDRESS_H */
