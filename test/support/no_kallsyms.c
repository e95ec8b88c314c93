/* SPDX-License-Identifier: BSD-3-Clause */
/* For LD_PRELOAD: /proc/kallsyms is empty. libfabric's verbs provider reads it
 * twice in each process that loads libfabric, to find out whether the kernel
 * has the memory of GPUs; that is 80 ms of processor time and more, and a test
 * has hundreds of such processes. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef FILE *open_function(const char *path, const char *mode);

FILE *
fopen(const char *path, const char *mode)
{
    union {
        void *symbol;
        open_function *function;
    } next = {.symbol = dlsym(RTLD_NEXT, "fopen")};

    if (strcmp(path, "/proc/kallsyms") == 0)
        path = "/dev/null";
    return next.function(path, mode);
}

/* Where a long has 64 bits, they are the same. */
FILE *fopen64(const char *path, const char *mode)
    __attribute__((alias("fopen")));
