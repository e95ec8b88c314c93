/* SPDX-License-Identifier: BSD-3-Clause */
/* Metrics over HTTP on the loopback. */
#ifndef EXPORT_SERVE_H
#define EXPORT_SERVE_H

#include "top/reader.h"

#include <stdint.h>

/* Serves http://127.0.0.1:PORT/metrics until SIGINT, SIGTERM or SIGHUP, and
 * prints that address first. port: 0: a free one. Returns the exit status. */
int serve_metrics(struct reader *reader, uint16_t port);

#endif /* EXPORT_SERVE_H */
