/* SPDX-License-Identifier: BSD-3-Clause */
/* The statistics of processes in the text exposition format of Prometheus. */
#ifndef EXPORT_METRICS_H
#define EXPORT_METRICS_H

#include "top/view.h"

#include <stdio.h>

/* Writes the latest snapshots. */
void metrics_write(FILE *stream, const struct reader *reader);

#endif /* EXPORT_METRICS_H */
