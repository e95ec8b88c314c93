/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks that this core can use a descriptor, the constant na_plugin of a
 * plugin, before one of its functions is called.
 */
#ifndef PLUGIN_DESCRIPTOR_H
#define PLUGIN_DESCRIPTOR_H

#include "plugin/fault.h"

struct na_plugin;

/* mapped: readable bytes, SIZE_MAX if unknown. PROTOCOL_ERROR with stage ABI.
 */
na_return_t plugin_descriptor_check(
    const struct na_plugin *plugin, size_t mapped, struct plugin_fault *fault);

#endif /* PLUGIN_DESCRIPTOR_H */
