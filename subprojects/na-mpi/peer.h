/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses: what a class knows of a peer, and what waits for it. The functions
 * of the ABI take nampi_lock, all others are called under it. */
#ifndef NAMPI_PEER_H
#define NAMPI_PEER_H

#include "class.h"

/* The peer of that rank and number; NULL: it is not known. No reference. */
na_plugin_addr *nampi_peer_find(
    const na_plugin_class *cls, uint32_t rank, uint32_t number);

/* The same, made if need be; one reference. NOMEM. */
int32_t nampi_peer_get(na_plugin_class *cls, uint32_t rank, uint32_t number,
    na_plugin_addr **peer_p);
void nampi_peer_release(na_plugin_addr *peer);

/* It is written to, or heard of, and is told when the class is closed. */
void nampi_peer_meet(na_plugin_addr *peer);

/* Greets it if it has not been heard of; what is meant for it waits for the
 * answer. It has been heard of. It says that it is not there, perhaps not yet. */
void nampi_peer_contact(na_plugin_addr *peer);
void nampi_peer_heard(na_plugin_addr *peer);
void nampi_peer_absent(na_plugin_addr *peer);

/* A message without content: a greeting, a farewell. */
int32_t nampi_peer_say(
    na_plugin_addr *peer, enum nampi_kind kind, uint32_t ctx, uint32_t value);

/* Ends what is pending with it with HOSTUNREACH; what it is told next begins
 * anew. */
void nampi_peer_lose(na_plugin_addr *peer);

/* Greets silent peers again, and loses them when it takes too long. */
void nampi_peers_expire(na_plugin_class *cls);

/* Submits what has waited, as far as it may. */
void nampi_peer_advance(na_plugin_addr *peer);

/* It has received count messages in its context ctx. */
void nampi_peer_credit(na_plugin_addr *peer, uint32_t ctx, uint8_t count);

/* One of its unexpected messages has been received here, or dropped. */
void nampi_peer_owe(na_plugin_addr *peer, uint32_t ctx);

/* Says farewell to all; frees them. */
void nampi_peers_say_bye(na_plugin_class *cls);
void nampi_peers_free(na_plugin_class *cls);

int32_t nampi_addr_self(na_plugin_class *cls, na_plugin_addr **addr_p);
int32_t nampi_addr_lookup(
    na_plugin_class *cls, const char *name, na_plugin_addr **addr_p);
void nampi_addr_dup(na_plugin_class *cls, na_plugin_addr *addr);
void nampi_addr_free(na_plugin_class *cls, na_plugin_addr *addr);
int32_t nampi_addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b);
uint64_t nampi_addr_hash(na_plugin_class *cls, const na_plugin_addr *addr);
int32_t nampi_addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr,
    char *buffer, uint64_t *size_p);
int32_t nampi_addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr,
    void *buffer, uint64_t *size_p);
int32_t nampi_addr_deserialize(na_plugin_class *cls, const void *buffer,
    uint64_t length, na_plugin_addr **addr_p);
void nampi_addr_forget(na_plugin_class *cls, na_plugin_addr *addr);

#endif /* NAMPI_PEER_H */
