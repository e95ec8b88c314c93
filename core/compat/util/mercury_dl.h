/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared objects that a program opens. */
#ifndef MERCURY_DL_H
#define MERCURY_DL_H

#include "mercury_util_config.h"

#include <dlfcn.h>

#define HG_DL_HANDLE void *

#ifdef __cplusplus
extern "C" {
#endif

/* Opens a shared object, its functions bound when they are first called. NULL:
 * hg_dl_error says why. */
static HG_UTIL_INLINE HG_DL_HANDLE
hg_dl_open(const char *file)
{
    return dlopen(file, RTLD_LAZY);
}

/* Returns 0 on success. */
static HG_UTIL_INLINE int
hg_dl_close(HG_DL_HANDLE handle)
{
    return dlclose(handle);
}

/* The address of a symbol, or NULL. */
static HG_UTIL_INLINE void *
hg_dl_sym(HG_DL_HANDLE handle, const char *name)
{
    return dlsym(handle, name);
}

/* What went wrong in this thread since it last asked, or NULL. */
static HG_UTIL_INLINE const char *
hg_dl_error(void)
{
    return dlerror();
}

/* The path of the object that addr lies in, as it was opened. HG_UTIL_FAIL, with
 * path unchanged: there is none, or it is longer than path_size bytes with its
 * terminating zero. [any thread] */
HG_UTIL_PUBLIC int hg_dl_get_path(
    const void *addr, char *path, size_t path_size);

#ifdef __cplusplus
}
#endif

#endif /* MERCURY_DL_H */
