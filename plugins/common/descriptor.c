/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading /proc/self/fd. */
#include <fcntl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/descriptor.h"

#define FILE_BITS                                                              \
    ((uint32_t) (sizeof(((struct tp_descriptors *) NULL)->files) * 8))

void
tp_descriptors_each_in(int folder, tp_descriptor_visit *visit, void *arg)
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
tp_descriptors_each(tp_descriptor_visit *visit, void *arg)
{
    int folder = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (folder < 0)
        return;
    tp_descriptors_each_in(folder, visit, arg);
    close(folder);
}

/* The bit that stands for a number and what is open by it. Collisions only make
 * a number that was closed and opened again look as if it had stayed open. */
static uint32_t
file_bit(int fd)
{
    struct stat status;

    if (fstat(fd, &status) != 0)
        return 0;
    uint64_t hash = (uint64_t) status.st_ino * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (uint64_t) status.st_dev) * UINT64_C(0x9e3779b97f4a7c15);
    hash = (hash ^ (uint64_t) fd) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t) (hash >> 32) % FILE_BITS;
}

static bool
is_set(const uint64_t *bits, uint32_t at)
{
    return (bits[at / 64] >> at % 64 & 1) != 0;
}

static void
set(uint64_t *bits, uint32_t at)
{
    bits[at / 64] |= UINT64_C(1) << at % 64;
}

static bool
is_noted(const struct tp_descriptors *noted, int fd)
{
    return is_set(noted->bits, (uint32_t) fd) &&
           is_set(noted->files, file_bit(fd));
}

static void
note(int fd, void *arg)
{
    struct tp_descriptors *noted = arg;

    if ((unsigned) fd >= TP_DESCRIPTORS)
        return;
    set(noted->bits, (uint32_t) fd);
    set(noted->files, file_bit(fd));
}

void
tp_descriptors_note(struct tp_descriptors *noted)
{
    tp_descriptors_each(note, noted);
}

struct search {
    const struct tp_descriptors *noted;
    tp_descriptor_visit *visit;
    void *arg;
};

static void
visit_new(int fd, void *arg)
{
    const struct search *search = arg;

    if ((unsigned) fd < TP_DESCRIPTORS && !is_noted(search->noted, fd))
        search->visit(fd, search->arg);
}

void
tp_descriptors_each_new(
    const struct tp_descriptors *noted, tp_descriptor_visit *visit, void *arg)
{
    struct search search = {noted, visit, arg};

    tp_descriptors_each(visit_new, &search);
}
