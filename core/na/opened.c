/* SPDX-License-Identifier: BSD-3-Clause */
/* Checking what a plugin's open returned. */
#include "na/class.h"

#include <stddef.h>
#include <stdio.h>

/* A value with its limits and its name. */
struct limit {
    const char *name;
    uint64_t value;
    uint64_t least;
    uint64_t most;
};

static bool
check_limits(const na_plugin_opened *opened, char *fault, size_t size)
{
    const uint64_t least = NA_PLUGIN_MESSAGE_SIZE_MIN;
    const uint64_t most = NA_PLUGIN_MESSAGE_SIZE_MAX;
    const struct limit limits[] = {
        {"op_size", opened->op_size, 0, NA_PLUGIN_OP_SIZE_MAX},
        {"op_align", opened->op_align, 1, 64},
        {"max_unexpected_size", opened->max_unexpected_size, least, most},
        {"max_expected_size", opened->max_expected_size, least, most},
        {"unexpected_header_size", opened->unexpected_header_size, 0,
            opened->max_unexpected_size / 2},
        {"expected_header_size", opened->expected_header_size, 0,
            opened->max_expected_size / 2},
        {"max_tag", opened->max_tag, NA_PLUGIN_TAG_MIN, UINT64_MAX},
        {"max_segments", opened->max_segments, 1, UINT64_MAX},
        {"max_contexts", opened->max_contexts, 1, NA_PLUGIN_CONTEXTS_MAX},
    };

    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        const struct limit *limit = &limits[i];

        if (limit->value >= limit->least && limit->value <= limit->most)
            continue;
        snprintf(fault, size, "opened.%s is %llu, required %s %llu",
            limit->name, (unsigned long long) limit->value,
            limit->value < limit->least ? "at least" : "at most",
            (unsigned long long) (limit->value < limit->least ? limit->least
                                                              : limit->most));
        return false;
    }
    return true;
}

bool
na_opened_check(const na_plugin *plugin, const na_plugin_opened *opened,
    char *fault, size_t size)
{
    uint32_t align = opened->op_align;
    /* A newer minor version may use it. */
    bool known = plugin->abi_minor <= NA_PLUGIN_ABI_MINOR;

    if (!opened->cls || !opened->ops) {
        snprintf(fault, size, "opened.%s is NULL", opened->cls ? "ops" : "cls");
    } else if (opened->ops->size < NA_PLUGIN_OPS_SIZE_1_0) {
        snprintf(fault, size, "ops.size is %u, required at least %zu",
            opened->ops->size, NA_PLUGIN_OPS_SIZE_1_0);
    } else if (known && (opened->reserved_zero | opened->ops->reserved_zero)) {
        snprintf(fault, size, "%s.reserved_zero is not 0",
            opened->reserved_zero ? "opened" : "ops");
    } else if (check_limits(opened, fault, size)) {
        if ((align & (align - 1)) == 0)
            return true;
        snprintf(fault, size, "opened.op_align is %u, required a power of two",
            align);
    }
    return false;
}
