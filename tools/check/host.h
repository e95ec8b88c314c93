/* SPDX-License-Identifier: BSD-3-Clause */
/* The host that the kit gives a class in place of a core. */
#ifndef KIT_HOST_H
#define KIT_HOST_H

#include "check/class.h"

void kit_host_init(struct kit_class *cls);

/* After the class is closed: nothing wrote into its table. */
void kit_host_verify(const struct kit_class *cls);

/* Around poll and arm of a context (core_ctx), and around submissions (NULL):
 * the plugin may not call then what the path of a message must not. Calls do
 * not nest. */
void kit_host_path_enter(const void *core_ctx);
void kit_host_path_leave(void);

#endif /* KIT_HOST_H */
