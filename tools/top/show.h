/* SPDX-License-Identifier: BSD-3-Clause */
/* Views as text and as JSON. */
#ifndef TOP_SHOW_H
#define TOP_SHOW_H

#include "top/view.h"

#include <jansson.h>
#include <stdio.h>

/* Prints a process with its RPCs, peers and transports. */
void show_text(FILE *stream, const struct view *view);

/* Returns a process as a JSON object; NULL: out of memory. */
json_t *show_json(const struct view *view);

#endif /* TOP_SHOW_H */
