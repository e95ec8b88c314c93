/* SPDX-License-Identifier: BSD-3-Clause */
/* Hosts that do not answer. UCX leaves segments that nobody acknowledges to TCP,
 * which gives up after a quarter of an hour. */
#ifndef UCX_SILENCE_H
#define UCX_SILENCE_H

#include "conn.h"

/* Shuts down UCX's sockets whose peer's host has acknowledged nothing for
 * ucx.host_timeout, so that UCX ends these connections. Only if something sent by
 * a connection had no answer for as long. Plans the next look. */
void ucx_silence_look(na_plugin_class *cls);

#endif /* UCX_SILENCE_H */
