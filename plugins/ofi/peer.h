/* SPDX-License-Identifier: BSD-3-Clause */
/* What this class knows of a peer: where libfabric has it, whether it lives, and
 * that something of it is pending. All under the class's lock. */
#ifndef OFI_PEER_H
#define OFI_PEER_H

#include "ofi.h"

/* Tells libfabric of it, once. A code. */
int32_t ofi_peer_reach(na_plugin_class *cls, na_plugin_addr *peer);

/* Whether a peer is there still, where it can be seen at once: within a node.
 * All that is pending with one that is not ends. A code. */
int32_t ofi_peer_present(na_plugin_class *cls, na_plugin_addr *peer);

/* A message of its class number `number` has come. False: of one that has been
 * replaced, and not to be listened to. */
bool ofi_peer_heard(
    na_plugin_class *cls, na_plugin_addr *peer, uint64_t number);

/* Something is pending: ofi_peer_look will look at it. */
void ofi_peer_activate(na_plugin_class *cls, na_plugin_addr *peer);

/* libfabric takes nothing for it at the moment; takes something again. */
void ofi_peer_stuck(na_plugin_class *cls, na_plugin_addr *peer);
void ofi_peer_moved(na_plugin_class *cls, na_plugin_addr *peer);

/* Ends all that is pending to or from it. */
void ofi_peer_lose(na_plugin_class *cls, na_plugin_addr *peer, int32_t status,
    const char *why);

/* A message or a fragment to it failed with this error of libfabric's. */
void ofi_peer_failed(na_plugin_class *cls, na_plugin_addr *peer, int error);

/* Forgets it altogether, when nothing is pending. */
void ofi_peer_unknow(na_plugin_class *cls, na_plugin_addr *peer);

/* Retries what is stuck, at every poll; and, when it is time, looks who is
 * silent. */
void ofi_peer_work(na_plugin_class *cls);

/* When ofi_peer_work has to come again, in ns from now; UINT64_MAX: never. */
uint64_t ofi_peer_sleep(na_plugin_class *cls);

/* Nanoseconds of the monotonic clock. */
uint64_t ofi_peer_now(void);

/* A code for an error of libfabric's, and whether it says that there is no way
 * to the peer. */
int32_t ofi_peer_code(int error);
bool ofi_peer_is_loss(int error);

#endif /* OFI_PEER_H */
