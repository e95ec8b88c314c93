/* SPDX-License-Identifier: BSD-3-Clause */
/* Which addresses a server may listen on without a token: those that other
 * machines cannot reach. */
#ifndef LISTEN_H
#define LISTEN_H

#include <mercury.h>
#include <stdbool.h>

struct listen {
    char *info;         /* what to open, to be freed */
    bool loopback_only; /* its address has to be a loopback one */
};

/* For --help of servers. */
#define LISTEN_DOC                                                             \
    "A transport that reaches other machines is bound to the loopback "        \
    "address unless INFO names another address, which requires --token-file; " \
    "so does na+sm://any/."

/* Decides where to listen. A transport that reaches other machines is bound to
 * 127.0.0.1 on the device lo if the info string names neither host nor device;
 * any other address requires a token, and so does a transport that is configured to
 * accept peers of any user. Where the class reports that its peers are the
 * processes of one parallel job ("peers" is "job"), no token is required.
 * root_needs_token: run by root, a server requires a token wherever another
 *   user's process can reach it.
 * Opens the transport briefly to learn what it reaches. Returns NULL, or the
 * reason why the server may not listen there. */
const char *listen_decide(const char *info, bool has_token,
    bool root_needs_token, struct listen *listen_p);

/* Checks the address of the open transport, such as ofi+tcp://127.0.0.1:40000,
 * since a host name may resolve to anything. NULL is refused. Returns NULL, or
 * the reason why the address may not be served. */
const char *listen_check(const struct listen *listen, const char *address);

/* Writes the address of a listening class, at most `size` bytes. */
hg_return_t listen_address(hg_class_t *hg_class, char *text, hg_size_t size);

#endif /* LISTEN_H */
