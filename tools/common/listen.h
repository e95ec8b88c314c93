/* SPDX-License-Identifier: BSD-3-Clause */
/* Where the servers of this command may listen without a token: where nobody
 * from another machine can reach them. */
#ifndef LISTEN_H
#define LISTEN_H

#include <stdbool.h>

struct listen {
    char *info;         /* what to open, to be freed */
    bool loopback_only; /* its address has to be a loopback one */
};

/* For --help of what listens. */
#define LISTEN_DOC                                                             \
    "A transport that reaches other machines is bound to the loopback "        \
    "address, unless INFO names another one, which needs --token-file; so "    \
    "does na+sm://any/."

/* Decides by the info string that the user gave. A transport that reaches other
 * machines is bound to 127.0.0.1 on the device lo when neither host nor device
 * is given; others than loopback's need a token, and so does a transport whose
 * peers may be of any user because the info string or a setting says so.
 * root_is_careful: a server that runs as root needs a token wherever a process
 * of another user can reach it. Opens the transport for a moment, to see what
 * it reaches. Returns NULL, or words: why not. */
const char *listen_decide(const char *info, bool has_token,
    bool root_is_careful, struct listen *listen_p);

/* What the transport made of a host's name, or of none, may be anything: checks
 * the address of what was opened, such as ofi+tcp://127.0.0.1:40000; NULL is
 * wrong, too. Returns NULL, or words: why it may not be served. */
const char *listen_check(const struct listen *listen, const char *address);

#endif /* LISTEN_H */
