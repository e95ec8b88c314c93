/* SPDX-License-Identifier: BSD-3-Clause */
/* Stacks from the unwinder, objects from the dynamic linker's table: neither
 * takes a lock or allocates, so allocators can use them. */
#include "frames.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>

#define OBJECTS_MAX 256
#define SKIPPED_MAX 6

enum kind {
    KIND_SYSTEM,
    KIND_LOADER,
    KIND_PROGRAM,
    KIND_OURS,
    KIND_JANSSON,
    KIND_OTHER
};

/* Objects seen so far, unloaded ones included. */
static struct object {
    const void *start;
    const void *end;
    enum kind kind;
    char name[64];
} objects[OBJECTS_MAX];
static int object_count;
static pthread_spinlock_t lock;

static bool
begins(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static enum kind
kind_of(const char *name)
{
    static const char *const system[] = {"libc.so", "libc-", "libpthread",
        "libasan", "libubsan", "libgcc_s", "linux-vdso", "libstdc++", "libdl"};

    if (!*name)
        return KIND_PROGRAM;
    if (begins(name, "libtalaria") || begins(name, "libna_"))
        return KIND_OURS;
    if (begins(name, "libjansson"))
        return KIND_JANSSON;
    if (begins(name, "ld-linux") || begins(name, "ld64"))
        return KIND_LOADER;
    for (size_t i = 0; i < sizeof system / sizeof system[0]; i++)
        if (begins(name, system[i]))
            return KIND_SYSTEM;
    return KIND_OTHER;
}

static const struct object *
object_known(const void *pc)
{
    /* Latest first: an address may have been used before. */
    for (int i = object_count; i-- > 0;)
        if (pc >= objects[i].start && pc < objects[i].end)
            return &objects[i];
    return NULL;
}

static const struct object *
object_of(void *pc)
{
    struct dl_find_object found;
    const struct object *known;
    const char *name;

    if (_dl_find_object(pc, &found) != 0)
        return object_known(pc);
    known = object_known(pc);
    name = strrchr(found.dlfo_link_map->l_name, '/');
    name = name ? name + 1 : found.dlfo_link_map->l_name;
    if (known && known->start == found.dlfo_map_start &&
        strncmp(known->name, name, sizeof known->name - 1) == 0)
        return known;
    if (object_count == OBJECTS_MAX)
        return NULL;
    objects[object_count].start = found.dlfo_map_start;
    objects[object_count].end = found.dlfo_map_end;
    objects[object_count].kind = kind_of(name);
    snprintf(objects[object_count].name, sizeof objects[0].name, "%s", name);
    return &objects[object_count++];
}

void
frames_begin(void)
{
    void *pc[2];

    pthread_spin_init(&lock, PTHREAD_PROCESS_PRIVATE);
    backtrace(pc, 2);
}

void
frames_take(struct frames *frames, const void *from)
{
    void *pc[FRAMES_MAX + SKIPPED_MAX];
    int count = backtrace(pc, FRAMES_MAX + SKIPPED_MAX), first = 0;

    for (int i = 0; i < count && i <= SKIPPED_MAX; i++)
        if (pc[i] == from)
            first = i;
    frames->count = count - first < FRAMES_MAX ? count - first : FRAMES_MAX;
    memcpy(frames->pc, pc + first, (size_t) frames->count * sizeof pc[0]);
}

enum owner
frames_owner(const struct frames *frames)
{
    static const enum owner owners[] = {[KIND_PROGRAM] = OWNER_TEST,
        [KIND_OURS] = OWNER_OURS,
        [KIND_JANSSON] = OWNER_JANSSON,
        [KIND_OTHER] = OWNER_OTHER};
    enum owner owner = OWNER_OTHER;
    bool found = false, loader = false;

    pthread_spin_lock(&lock);
    /* Looks up all objects now, so that they are known later. */
    for (int i = 0; i < frames->count; i++) {
        const struct object *object = object_of(frames->pc[i]);

        if (object && object->kind == KIND_LOADER)
            loader = loader || !found;
        else if (object && object->kind != KIND_SYSTEM && !found) {
            owner = owners[object->kind];
            found = true;
        }
    }
    pthread_spin_unlock(&lock);
    return loader && owner == OWNER_OURS ? OWNER_LOADER : owner;
}

void
frames_print(const struct frames *frames, char *text, size_t size)
{
    size_t length = 0;

    pthread_spin_lock(&lock);
    for (int i = 0; i < frames->count && length < size; i++) {
        const struct object *object = object_known(frames->pc[i]);

        if (object)
            length += (size_t) snprintf(text + length, size - length,
                " %s+%#zx", *object->name ? object->name : "test",
                (size_t) ((char *) frames->pc[i] -
                          (const char *) object->start));
    }
    pthread_spin_unlock(&lock);
}
