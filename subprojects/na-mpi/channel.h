/* SPDX-License-Identifier: BSD-3-Clause */
/* Peers: their names, greeting them, and what passes. All under nampi_lock, but for
 * nampi_addr_parse. */
#ifndef NAMPI_CHANNEL_H
#define NAMPI_CHANNEL_H

#include "class.h"

/* Entries of tp_carrier. */
int32_t nampi_addr_parse(na_plugin_class *cls, const char *text, size_t length,
    bool resolve, na_plugin_addr *addr);
int32_t nampi_connect(na_plugin_class *cls, na_plugin_addr *peer);
void nampi_flush(struct tp_channel *channel);
int32_t nampi_advance(na_plugin_class *cls);
bool nampi_is_out(struct tp_channel *channel);
bool nampi_greeted(
    struct tp_channel *channel, const unsigned char *extra, uint32_t length);
void nampi_close(struct tp_channel *channel);

/* The address of a class, with one reference; NULL: no memory. */
na_plugin_addr *nampi_addr_get(
    na_plugin_class *cls, uint32_t rank, uint32_t number);

/* A message has come: size bytes, header included. */
void nampi_dispatch(struct nampi_engine *engine, int rank,
    const unsigned char *bytes, uint32_t size);

#endif /* NAMPI_CHANNEL_H */
