/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy the machine is, as the kernel tells it. */
#include "na/load.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysinfo.h>
#include <unistd.h>

long
na_load_processors(void)
{
    static _Atomic int count;
    int known = atomic_load_explicit(&count, memory_order_relaxed);

    if (known == 0) {
        known = get_nprocs();
        atomic_store_explicit(&count, known, memory_order_relaxed);
    }
    return known;
}

/* The fourth field of /proc/loadavg, before its slash (proc(5)). */
long
na_load_runnable(void)
{
    int fd = open("/proc/loadavg", O_RDONLY | O_CLOEXEC);
    char text[64];
    ssize_t length = fd >= 0 ? read(fd, text, sizeof text - 1) : 0;
    const char *at = text;

    if (fd >= 0)
        close(fd);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    for (int i = 0; i < 3 && at; i++) {
        at = strchr(at, ' ');
        at = at ? at + 1 : NULL;
    }
    return at ? strtol(at, NULL, 10) : 0;
}
