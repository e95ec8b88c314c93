/* SPDX-License-Identifier: BSD-3-Clause */
/* Reading /proc/self/fd. */
#include <fcntl.h>
#include <stdalign.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/descriptor.h"

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

size_t
tp_descriptor_name(int fd, char *name, size_t size)
{
    char path[32];

    snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
    ssize_t length = readlink(path, name, size - 1);
    name[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t) length : 0;
}

/* A number for what is open. By its name, which asks no file server. */
static uint16_t
tag_of(int fd)
{
    char name[64];
    size_t length = tp_descriptor_name(fd, name, sizeof(name));
    uint32_t hash = 2166136261; /* FNV-1a */

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char) name[i]) * 16777619;
    return (uint16_t) (hash >> 16 ^ hash);
}

static bool
is_noted(const struct tp_descriptors *noted, int fd)
{
    return (noted->bits[fd / 64] >> fd % 64 & 1) != 0 &&
           ((unsigned) fd >= TP_DESCRIPTORS_TAGGED ||
               noted->tags[fd] == tag_of(fd));
}

static void
note(int fd, void *arg)
{
    struct tp_descriptors *noted = arg;

    if ((unsigned) fd < TP_DESCRIPTORS)
        noted->bits[fd / 64] |= UINT64_C(1) << fd % 64;
    if ((unsigned) fd < TP_DESCRIPTORS_TAGGED)
        noted->tags[fd] = tag_of(fd);
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
