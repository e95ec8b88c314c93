/* SPDX-License-Identifier: BSD-3-Clause */
/* One registration of libfabric's for each segment; its bytes for peers. */
#include <stdlib.h>
#include <string.h>

#include "fabric.h"
#include "library.h"
#include "mem.h"
#include "ofi.h"
#include "pool.h"
#include "quirk.h"

/* Serialized by plugins/common; base is the address as the provider counts, plus
 * 1, since no segment may begin at 0. Behind the segments stand their keys (8 bytes
 * each), and, if a byte can be read back, its address and key (8 each). */
#define BYTES_VERSION 2U
#define BYTES_NUMBER 8U
#define BYTES_READBACK 16U

/* One page: a byte that peers read, and, apart from it, the place for theirs, which
 * no peer may read. */
#define PAGE 4096U
#define HERE 2048U

/* Where its segments are; their keys are behind them. */
#define FRONT offsetof(na_plugin_mem, segments)

static void
close_segments(na_plugin_class *cls, na_plugin_mem *mem)
{
    if (cls->conduct.serial_mr)
        tp_mutex_take(&cls->first->lock);
    for (uint32_t i = 0; i < mem->mem.count; i++)
        if (mem->keys[i].mr != NULL)
            fi_close(&mem->keys[i].mr->fid);
    if (cls->conduct.serial_mr)
        tp_mutex_drop(&cls->first->lock);
}

/* Registers one segment. What libfabric returns. */
static int
open_segment(na_plugin_class *cls, na_plugin_mem *mem, uint32_t segment,
    const na_plugin_mem_info *info)
{
    static const enum fi_hmem_iface ifaces[] = {
        [NA_PLUGIN_MEM_HOST] = FI_HMEM_SYSTEM,
        [NA_PLUGIN_MEM_CUDA] = FI_HMEM_CUDA,
        [NA_PLUGIN_MEM_ROCM] = FI_HMEM_ROCR,
        [NA_PLUGIN_MEM_ZE] = FI_HMEM_ZE,
    };
    const struct iovec iov = {
        mem->segments[segment].base, mem->segments[segment].length};
    struct fi_mr_attr attr = {
        .mr_iov = &iov, .iov_count = 1, .iface = ifaces[info->mem_type]};
    struct ofi_key *key = &mem->keys[segment];

    if (info->access & NA_PLUGIN_MEM_READ)
        attr.access |= FI_REMOTE_READ | FI_WRITE;
    if (info->access & NA_PLUGIN_MEM_WRITE)
        attr.access |= FI_REMOTE_WRITE | FI_READ;
    if (info->mem_type == NA_PLUGIN_MEM_CUDA)
        attr.device.cuda = (int) info->device;
    else if (info->mem_type == NA_PLUGIN_MEM_ZE)
        attr.device.ze = (int) info->device;

    int ret = ofi_fabric_register_attr(cls->first, &attr, &key->mr);
    if (ret != 0)
        return ret;
    key->key = fi_mr_key(key->mr);
    return key->key == FI_KEY_NOTAVAIL ? -FI_ENOKEY : 0;
}

static int
open_segments(
    na_plugin_class *cls, na_plugin_mem *mem, const na_plugin_mem_info *info)
{
    int ret = 0;

    if (cls->conduct.serial_mr)
        tp_mutex_take(&cls->first->lock);
    for (uint32_t i = 0; i < mem->mem.count && ret == 0; i++)
        ret = open_segment(cls, mem, i, info);
    if (cls->conduct.serial_mr)
        tp_mutex_drop(&cls->first->lock);
    return ret;
}

/* What peers may read back. */
static void
offer_readback(const struct ofi_endpoint *ep, na_plugin_mem *mem)
{
    mem->read_back = ep->readback_mr != NULL;
    if (!mem->read_back)
        return;
    mem->read_address = mem->offsets ? 0 : (uintptr_t) ep->readback;
    mem->read_key = fi_mr_key(ep->readback_mr);
}

int32_t
ofi_mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    const struct fi_info *device = cls->first->info;
    void *made;

    int32_t ret = tp_mem_make(cls->host, info, OFI_SEGMENTS,
        (device->caps & FI_HMEM) != 0, FRONT, sizeof(struct ofi_key), &made);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = made;
    mem->keys = (void *) &mem->segments[mem->mem.count];
    mem->mem.owner = cls->number;
    mem->own = true;
    mem->offsets = (device->domain_attr->mr_mode & FI_MR_VIRT_ADDR) == 0;
    offer_readback(cls->first, mem);
    int error = open_segments(cls, mem, info);
    if (error != 0) {
        TP_LOG(cls->host, ERROR,
            "cannot register %llu bytes in %u segments: %s",
            (unsigned long long) mem->mem.total, mem->mem.count,
            ofi_library.strerror(-error));
        close_segments(cls, mem);
        free(mem);
        return ofi_error_code(-error);
    }
    tp_mutex_take(&cls->memory_lock);
    mem->mem.keyed.key = ++cls->memory_id;
    OFI_QUIRKS_CALL(cls->first, memory_added, cls->first, mem);
    tp_table_insert(&cls->mems, &mem->mem.keyed);
    tp_mutex_drop(&cls->memory_lock);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

/* It is not in the table any more. */
static void
release(na_plugin_class *cls, na_plugin_mem *mem)
{
    OFI_QUIRKS_CALL(cls->first, memory_settle, cls->first);
    close_segments(cls, mem);
    free(mem);
}

void
ofi_mem_deregister(na_plugin_class *cls, na_plugin_mem *mem)
{
    tp_mutex_take(&cls->memory_lock);
    tp_table_remove(&cls->mems, &mem->mem.keyed);
    OFI_QUIRKS_CALL(cls->first, memory_removed, cls->first, mem);
    tp_mutex_drop(&cls->memory_lock);
    release(cls, mem);
}

static void
end(void *arg, struct tp_keyed *keyed)
{
    na_plugin_class *cls = arg;
    na_plugin_mem *mem = TP_OBJECT(keyed, na_plugin_mem, mem.keyed);

    OFI_QUIRKS_CALL(cls->first, memory_removed, cls->first, mem);
    release(cls, mem);
}

uint32_t
ofi_mem_fini(na_plugin_class *cls)
{
    return tp_table_free(&cls->mems, end, cls);
}

int32_t
ofi_mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    na_plugin_segment segments[OFI_SEGMENTS];
    unsigned char extra[OFI_SEGMENTS * BYTES_NUMBER + BYTES_READBACK];
    unsigned char *end = extra;

    for (uint32_t i = 0; i < mem->mem.count; i++) {
        segments[i] = mem->segments[i];
        segments[i].base = (void *) (uintptr_t) (ofi_mem_address(mem, i) + 1);
        end = tp_pack(end, mem->keys[i].key, BYTES_NUMBER);
    }
    if (mem->read_back) {
        end = tp_pack(end, mem->read_address, BYTES_NUMBER);
        end = tp_pack(end, mem->read_key, BYTES_NUMBER);
    }
    return tp_mem_serialize(BYTES_VERSION, &mem->mem, segments, extra,
        (uint32_t) (end - extra), buffer, size_p);
}

int32_t
ofi_mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    const unsigned char *extra;
    uint32_t extra_length;
    void *made;

    int32_t ret =
        tp_mem_read(cls->host, BYTES_VERSION, buffer, length, OFI_SEGMENTS,
            FRONT, sizeof(struct ofi_key), &made, &extra, &extra_length);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_mem *mem = made;
    uint32_t keys = mem->mem.count * BYTES_NUMBER;
    if (extra_length != keys && extra_length != keys + BYTES_READBACK) {
        TP_LOG(
            cls->host, WARNING, "malformed keys of a serialized registration");
        free(mem);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    mem->keys = (void *) &mem->segments[mem->mem.count];
    for (uint32_t i = 0; i < mem->mem.count; i++) {
        mem->segments[i].base =
            (void *) ((uintptr_t) mem->segments[i].base - 1);
        mem->keys[i].key = tp_unpack(extra + (size_t) i * 8, BYTES_NUMBER);
    }
    mem->read_back = extra_length != keys;
    if (mem->read_back) {
        mem->read_address = tp_unpack(extra + keys, BYTES_NUMBER);
        mem->read_key = tp_unpack(extra + keys + BYTES_NUMBER, BYTES_NUMBER);
    }
    OFI_QUIRKS_CALL(cls->first, memory_described, cls->first, mem);
    *mem_p = mem;
    return NA_PLUGIN_OK;
}

void
ofi_mem_free(na_plugin_class *cls, na_plugin_mem *mem)
{
    free(mem);
}

const na_plugin_mem *
ofi_mem_own(const na_plugin_class *cls, const na_plugin_mem *described)
{
    struct tp_keyed *keyed =
        tp_table_find(&cls->mems, NULL, described->mem.keyed.key);

    if (keyed == NULL)
        return NULL;
    const na_plugin_mem *mem = TP_OBJECT(keyed, na_plugin_mem, mem.keyed);
    if (mem->mem.count != described->mem.count ||
        mem->mem.owner != described->mem.owner ||
        (described->mem.access & ~mem->mem.access) != 0)
        return NULL;
    for (uint32_t i = 0; i < mem->mem.count; i++)
        if (mem->segments[i].length != described->segments[i].length ||
            mem->keys[i].key != described->keys[i].key)
            return NULL;
    return mem;
}

int32_t
ofi_readback_init(struct ofi_endpoint *ep)
{
    int32_t ret = NA_PLUGIN_OK;

    if (ep->cls->delivery)
        return NA_PLUGIN_OK;
    ep->readback = ofi_pages_new(PAGE);
    if (ep->readback == NULL) {
        TP_LOG(ep->cls->host, ERROR, "out of memory for an endpoint");
        return NA_PLUGIN_E_NOMEM;
    }
    if (ofi_is_first(ep))
        ret = ofi_fabric_register(
            ep, ep->readback, 1, FI_REMOTE_READ, &ep->readback_mr);
    if (ret == NA_PLUGIN_OK && ep->local_mr)
        ret = ofi_fabric_register(
            ep, ep->readback + HERE, 1, FI_READ, &ep->readback_here_mr);
    return ret;
}

void
ofi_readback_fini(struct ofi_endpoint *ep)
{
    if (ep->readback_mr != NULL)
        fi_close(&ep->readback_mr->fid);
    if (ep->readback_here_mr != NULL)
        fi_close(&ep->readback_here_mr->fid);
    ofi_pages_free(ep->readback, PAGE);
    ep->readback_mr = ep->readback_here_mr = NULL;
    ep->readback = NULL;
}

void *
ofi_readback_here(const struct ofi_endpoint *ep, void **desc_p)
{
    *desc_p =
        ep->readback_here_mr != NULL ? fi_mr_desc(ep->readback_here_mr) : NULL;
    return ep->readback + HERE;
}
