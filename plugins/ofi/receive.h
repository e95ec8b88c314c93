/* SPDX-License-Identifier: BSD-3-Clause */
/* The buffers that all messages come into. */
#ifndef OFI_RECEIVE_H
#define OFI_RECEIVE_H

#include "ofi.h"

/* Allocates and posts them. A code, with a line at level ERROR. */
int32_t ofi_rx_init(na_plugin_class *cls);

/* When the endpoint is closed. */
void ofi_rx_fini(na_plugin_class *cls);

/* Gives one (back) to libfabric. [lock] */
void ofi_rx_post(na_plugin_class *cls, struct ofi_rx *rx);

/* For the message that is being delivered: it is left in its buffer, until it
 * is forgotten. [lock] */
struct ofi_kept *ofi_rx_keep(na_plugin_class *cls, struct ofi_rx *rx);
void ofi_rx_forget(na_plugin_class *cls, struct ofi_kept *kept);

/* The same for those that libfabric did not take. [lock] */
void ofi_rx_retry(na_plugin_class *cls);

/* One has been filled, or failed. [lock] */
void ofi_rx_done(
    na_plugin_class *cls, struct ofi_rx *rx, uint64_t length, int error);

/* Delivers one of the messages in rx. [lock] */
void ofi_rx_dispatch(na_plugin_class *cls, struct ofi_rx *rx,
    const unsigned char *data, uint64_t length);

/* Counts what is no message of this plugin's. [lock] */
void ofi_rx_reject(na_plugin_class *cls, const char *why);

/* Counts a message that there was no memory for. [lock] */
void ofi_rx_lose(na_plugin_class *cls, uint64_t length);

#endif /* OFI_RECEIVE_H */
