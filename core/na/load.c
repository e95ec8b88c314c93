/* SPDX-License-Identifier: BSD-3-Clause */
/* How busy the machine is, as the kernel tells it. */
#include "na/load.h"

#include <fcntl.h>
#include <sched.h>
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

long
na_load_allowed(void)
{
    cpu_set_t set;
    long count = 0;

    /* Fails on a machine with more processors than the set has room for. */
    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return na_load_processors();
    for (unsigned i = 0; i < CPU_SETSIZE; i++)
        count += CPU_ISSET(i, &set);
    return count;
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
