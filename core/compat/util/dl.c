/* SPDX-License-Identifier: BSD-3-Clause */
/* Where a shared object was found. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "mercury_dl.h"

#include <string.h>

int
hg_dl_get_path(const void *addr, char *path, size_t path_size)
{
    Dl_info info;
    size_t size;

    if (!path || !dladdr(addr, &info) || !info.dli_fname)
        return HG_UTIL_FAIL;
    size = strlen(info.dli_fname) + 1;
    if (size > path_size)
        return HG_UTIL_FAIL;
    memcpy(path, info.dli_fname, size);
    return HG_UTIL_SUCCESS;
}
