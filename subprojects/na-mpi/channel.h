/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses, connections to peers, and the messages on them. nampi_lock is held
 * in all functions but nampi_addr_parse. None of them blocks. */
#ifndef NAMPI_CHANNEL_H
#define NAMPI_CHANNEL_H

#include "class.h"

/* Entries of tp_carrier; common/transport.h describes them. */
int32_t nampi_addr_parse(na_plugin_class *cls, const char *text, size_t length,
    bool resolve, na_plugin_addr *addr);
int32_t nampi_connect(na_plugin_class *cls, na_plugin_addr *peer);
void nampi_flush(struct tp_channel *channel);
int32_t nampi_advance(na_plugin_class *cls);
bool nampi_is_out(struct tp_channel *channel);
bool nampi_hello_received(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length);
void nampi_close(struct tp_channel *channel);

/* Returns the address object of a class, with one reference for the caller;
 * NULL without memory. */
na_plugin_addr *nampi_addr_get(
    na_plugin_class *cls, uint32_t rank, uint32_t number);

/* Checks a message that was received from a rank, and delivers it to the class
 * it addresses. size: of the whole message, header included. */
void nampi_dispatch(struct nampi_engine *engine, int rank,
    const unsigned char *bytes, uint32_t size);

#endif /* NAMPI_CHANNEL_H */
