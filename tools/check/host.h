/* SPDX-License-Identifier: BSD-3-Clause */
/* The host that the kit gives to a class, in place of a core's. */
#ifndef KIT_HOST_H
#define KIT_HOST_H

#include "check/class.h"

void kit_host_init(struct kit_class *cls);

/* Called after the class was closed: checks that nothing wrote to the table. */
void kit_host_verify(const struct kit_class *cls);

/* Called around poll and arm of a context (core_ctx) and around submissions
 * (NULL), during which the plugin may call log and wake only. Calls do not
 * nest. */
void kit_host_path_enter(const void *core_ctx);
void kit_host_path_leave(void);

#endif /* KIT_HOST_H */
