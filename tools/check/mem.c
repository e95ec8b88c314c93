/* SPDX-License-Identifier: BSD-3-Clause */
/* Registered memory regions, and deserialized registrations. */
#include "check/class.h"

#include "check/shared.h"

#include <stdlib.h>
#include <string.h>

static struct kit_mem *
mem_slot(struct kit_class *cls, uint32_t number)
{
    if (number >= KIT_MEMS || cls->mems[number].mem)
        kit_not_run("registration %u is in use, or does not exist", number);
    return &cls->mems[number];
}

/* Allocates the segments: from the kit, or by the plugin. */
static void
make_segments(struct kit_class *cls, struct kit_mem *mem,
    const struct kit_region *region, na_plugin_segment *segments)
{
    const char *before;

    if (region->allocated) {
        int32_t result;

        before = kit_call_enter("na.mem_alloc/1 alloc");
        result = cls->alloc->alloc(cls->cls, region->length, &mem->allocated);
        kit_call_leave(before);
        kit_expect(result == NA_PLUGIN_OK && mem->allocated, 12,
            "alloc gives memory", "%llu bytes: %s",
            (unsigned long long) region->length, kit_code_text(result));
        kit_expect(((uintptr_t) mem->allocated & 4095) == 0, 12,
            "alloc's memory is aligned to pages", "%p", mem->allocated);
        mem->base = mem->allocated;
        for (uint64_t i = 0; i < region->length; i++)
            kit_expect(mem->base[i] == 0, 12, "alloc's memory is zeroed",
                "byte %llu is not", (unsigned long long) i);
        segments[0] = (na_plugin_segment){mem->allocated, region->length};
        return;
    }
    if (region->inside > 0) {
        uint64_t length = region->length;

        mem->inside = true;
        mem->base = kit_class_mem_at(
            cls, region->inside - 1, region->inside_offset, &length);
        if (length != region->length)
            kit_not_run("region %u does not fit in its other", region->number);
        segments[0] = (na_plugin_segment){mem->base, region->length};
        return;
    }
    mem->blocks = calloc(region->segments, sizeof *mem->blocks);
    if (!mem->blocks)
        kit_not_run("out of memory");
    for (uint32_t i = 0; i < region->segments; i++) {
        uint64_t from = i * mem->share;
        uint64_t length =
            i + 1 == region->segments ? mem->length - from : mem->share;

        kit_guarded_create(&mem->blocks[i], length, 1);
        segments[i] = (na_plugin_segment){mem->blocks[i].memory, length};
    }
}

void
kit_class_region(struct kit_class *cls, const struct kit_region *region)
{
    struct kit_mem *mem = mem_slot(cls, region->number);
    na_plugin_segment *segments = calloc(region->segments, sizeof *segments);
    na_plugin_mem *made = NULL;
    const char *before;
    int32_t result;

    if (!segments)
        kit_not_run("out of memory");
    *mem = (struct kit_mem){.segments = region->segments,
        .length = region->length,
        .share = region->length / region->segments,
        .access = region->access};
    make_segments(cls, mem, region, segments);
    before = kit_call_enter("mem_register");
    result = cls->ops.mem_register(cls->cls,
        &(na_plugin_mem_info){.size = sizeof(na_plugin_mem_info),
            .segments = segments,
            .count = region->segments,
            .access = region->access},
        &made);
    kit_call_leave(before);
    /* The plugin copies the array. */
    memset(segments, 0xEE, region->segments * sizeof *segments);
    free(segments);
    kit_expect(result == NA_PLUGIN_OK && made, 12, "memory is registered",
        "%u segments, %llu bytes: %s", region->segments,
        (unsigned long long) region->length, kit_code_text(result));
    mem->mem = made;
    for (uint64_t offset = 0; !mem->inside && offset < region->length;) {
        uint64_t length = region->length - offset;
        unsigned char *at =
            kit_class_mem_at(cls, region->number, offset, &length);

        kit_pattern(at, length, region->seed + offset);
        offset += length;
    }
}

unsigned char *
kit_class_mem_at(
    struct kit_class *cls, uint32_t number, uint64_t offset, uint64_t *length_p)
{
    const struct kit_mem *mem = &cls->mems[number];
    uint32_t i;
    uint64_t from, rest;

    if (!mem->mem || mem->remote || offset >= mem->length)
        kit_not_run(
            "region %u has no byte %llu", number, (unsigned long long) offset);
    if (mem->base) {
        if (*length_p > mem->length - offset)
            *length_p = mem->length - offset;
        return mem->base + offset;
    }
    i = mem->share == 0 ? 0 : (uint32_t) (offset / mem->share);
    if (i >= mem->segments)
        i = mem->segments - 1;
    from = i * mem->share;
    rest = (i + 1 == mem->segments ? mem->length : from + mem->share) - offset;
    if (*length_p > rest)
        *length_p = rest;
    return mem->blocks[i].memory + (offset - from);
}

void
kit_class_mem_free(struct kit_class *cls, uint32_t number)
{
    struct kit_mem *mem = &cls->mems[number];
    const char *before;

    if (!mem->mem)
        return;
    before = kit_call_enter(mem->remote ? "mem_remote_free" : "mem_deregister");
    if (mem->remote)
        cls->ops.mem_remote_free(cls->cls, mem->mem);
    else
        cls->ops.mem_deregister(cls->cls, mem->mem);
    kit_call_leave(before);
    for (uint32_t i = 0; mem->blocks && i < mem->segments; i++) {
        kit_expect(kit_guarded_intact(&mem->blocks[i]), 11,
            "nothing outside of registered memory is written",
            "it was, beside segment %u", i);
        kit_guarded_destroy(&mem->blocks[i]);
    }
    free(mem->blocks);
    if (mem->allocated) {
        before = kit_call_enter("na.mem_alloc/1 free");
        cls->alloc->free(cls->cls, mem->allocated);
        kit_call_leave(before);
    }
    memset(mem, 0, sizeof *mem);
}

size_t
kit_class_mem_bytes(
    struct kit_class *cls, uint32_t number, void *bytes, size_t room)
{
    const na_plugin_mem *mem = cls->mems[number].mem;
    const char *before = kit_call_enter("mem_serialize");
    uint64_t needed = 0, size;
    int32_t result;

    result = cls->ops.mem_serialize(cls->cls, mem, NULL, &needed);
    kit_expect(result == NA_PLUGIN_OK && needed > 0 && needed <= room, 12,
        "mem_serialize returns the bytes that it needs", "%s, %llu bytes",
        kit_code_text(result), (unsigned long long) needed);
    size = needed - 1;
    result = cls->ops.mem_serialize(cls->cls, mem, bytes, &size);
    kit_expect(result == NA_PLUGIN_E_OVERFLOW && size == needed, 12,
        "mem_serialize: OVERFLOW, and the bytes needed, if room is short",
        "%s, %llu bytes", kit_code_text(result), (unsigned long long) size);
    size = needed;
    result = cls->ops.mem_serialize(cls->cls, mem, bytes, &size);
    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK && size == needed, 12,
        "mem_serialize fills in what it asked for", "%s, %llu bytes",
        kit_code_text(result), (unsigned long long) size);
    return (size_t) size;
}

void
kit_class_mem_remote(
    struct kit_class *cls, uint32_t number, const void *bytes, size_t length)
{
    struct kit_mem *mem = mem_slot(cls, number);
    struct kit_guarded copy;
    na_plugin_mem *made = NULL;
    const char *before;
    int32_t result;

    /* At the end of a page: reading further faults. */
    kit_guarded_create(&copy, length, 1);
    memcpy(copy.memory, bytes, length);
    before = kit_call_enter("mem_deserialize");
    result = cls->ops.mem_deserialize(cls->cls, copy.memory, length, &made);
    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK && made, 12,
        "what mem_serialize wrote is understood by another class", "%s",
        kit_code_text(result));
    kit_guarded_destroy(&copy);
    *mem = (struct kit_mem){.mem = made, .remote = true};
}

void
kit_mems_finish(struct kit_class *cls)
{
    /* Memory is freed after the last registration of it. */
    for (uint32_t i = 0; i < KIT_MEMS; i++)
        if (cls->mems[i].inside)
            kit_class_mem_free(cls, i);
    for (uint32_t i = 0; i < KIT_MEMS; i++)
        kit_class_mem_free(cls, i);
}
