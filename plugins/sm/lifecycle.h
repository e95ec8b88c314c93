/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing classes, creating and destroying contexts: functions of the
 * ABI. */
#ifndef SM_LIFECYCLE_H
#define SM_LIFECYCLE_H

#include "context.h"

/* A class, listening if wanted, by open_info that was checked; name: what it is
 * opened with, "": nothing. */
int32_t sm_class_open(const na_plugin_host *host,
    const na_plugin_open_info *info, const char *name, bool any_user,
    na_plugin_class **cls_p);
void sm_class_close(na_plugin_class *cls);

int32_t sm_ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p);
void sm_ctx_destroy(na_plugin_ctx *ctx);

#endif /* SM_LIFECYCLE_H */
