/* SPDX-License-Identifier: BSD-3-Clause */
/* Memory handles: described by NA_Mem_handle_create, registered by
 * NA_Mem_register. */
#ifndef NA_MEM_H
#define NA_MEM_H

#include "na_plugin.h"
#include "na_types.h"

#include <stdbool.h>

struct na_mem_handle {
    na_plugin_mem *mem; /* NULL until registered */
    bool remote;        /* deserialized: a peer's memory */
    uint32_t access;    /* NA_PLUGIN_MEM_* */
    size_t count;
    na_plugin_segment segments[];
};

#endif /* NA_MEM_H */
