/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading /proc/self/fd. */
#include <fcntl.h>
#include <stdalign.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "fds.h"

void
ofi_fds_each_in(int folder, void (*visit)(int fd, void *arg), void *arg)
{
    struct entry {
        uint64_t inode;
        int64_t offset;
        unsigned short length;
        unsigned char type;
        char name[];
    };
    alignas(8) char bytes[2048];
    long got = 0;

    if (lseek(folder, 0, SEEK_SET) != 0)
        return;
    while ((got = syscall(SYS_getdents64, folder, bytes, sizeof(bytes))) > 0)
        for (long at = 0; at < got;) {
            const struct entry *entry = (const void *) (bytes + at);
            int fd = 0;
            at += entry->length;
            if (entry->name[0] < '0' || entry->name[0] > '9')
                continue;
            for (const char *c = entry->name; *c != '\0'; c++)
                fd = fd * 10 + (*c - '0');
            if (fd != folder)
                visit(fd, arg);
        }
}

void
ofi_fds_each(void (*visit)(int fd, void *arg), void *arg)
{
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return;
    ofi_fds_each_in(folder, visit, arg);
    close(folder);
}
