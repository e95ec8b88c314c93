/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a class, and tearing it down. */
#ifndef UCX_OPEN_H
#define UCX_OPEN_H

#include "class.h"

/* A class as it is asked for. What the ABI's open returns; logged. */
int32_t ucx_class_new(const na_plugin_host *host,
    const na_plugin_open_info *info, na_plugin_class **cls_p);

/* Frees a class, from whatever stage of it. */
void ucx_class_destroy(na_plugin_class *cls);

#endif /* UCX_OPEN_H */
