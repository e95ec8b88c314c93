/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether a descriptor, the constant na_plugin of a plugin, is one that this
 * core can use: everything is looked at before a function of it is called.
 */
#ifndef PLUGIN_DESCRIPTOR_H
#define PLUGIN_DESCRIPTOR_H

#include "plugin/fault.h"

struct na_plugin;

/* mapped: bytes that are known to be there, SIZE_MAX if that is not known.
 * PROTOCOL_ERROR, stage ABI. */
na_return_t plugin_descriptor_check(
    const struct na_plugin *plugin, size_t mapped, struct plugin_fault *fault);

#endif /* PLUGIN_DESCRIPTOR_H */
