/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a server may listen without a token: where nobody from another machine
 * can reach it. */
#ifndef COPY_LISTEN_H
#define COPY_LISTEN_H

#include <stdbool.h>

struct copy_listen {
    char *info;         /* what to open, to be freed */
    bool loopback_only; /* its address has to be a loopback one */
};

/* Decides by the info string that the user gave. A transport that reaches other
 * machines is bound to 127.0.0.1 on the device lo when neither host nor device
 * is given; others than loopback's need a token. Opens the transport for a
 * moment, to see what it reaches. Returns 0, or -1 after a line on standard
 * error. */
int copy_listen_decide(
    const char *info, bool has_token, struct copy_listen *listen_p);

/* Whether the host in an address, such as ofi+tcp://127.0.0.1:40000, is a
 * number of the loopback interface's. */
bool copy_listen_is_loopback(const char *address);

#endif /* COPY_LISTEN_H */
