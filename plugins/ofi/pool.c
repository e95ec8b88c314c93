/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs of messages in two sizes, of jobs, and of fragments. */
#include <string.h>

#include "fabric.h"
#include "pages.h"
#include "pool.h"

#define SLAB_TXS 16U
#define SLAB_OTHERS 32U

struct ofi_slab {
    alignas(64) struct ofi_slab *next;
    struct fid_mr *mr; /* NULL: not registered */
    uint64_t bytes;
    alignas(64) unsigned char memory[];
};

static struct ofi_slab *
slab_new(size_t bytes, struct ofi_slab **first)
{
    bytes = (sizeof(struct ofi_slab) + bytes + 63) & ~(size_t) 63;
    struct ofi_slab *slab = ofi_pages_new(bytes);
    if (slab == NULL)
        return NULL;
    slab->bytes = bytes;
    slab->next = *first;
    *first = slab;
    return slab;
}

static size_t
tx_stride(const struct ofi_pool *pool)
{
    return (sizeof(struct ofi_tx) + pool->room + 63) & ~(size_t) 63;
}

/* One slab more of messages. */
static bool
fill(na_plugin_class *cls, struct ofi_pool *pool)
{
    size_t stride = tx_stride(pool);
    uint32_t count = pool->room > (64U << 10) ? 1 : SLAB_TXS;
    struct ofi_slab *slab = slab_new(stride * count, &pool->slabs);

    if (slab == NULL)
        return false;
    if (cls->local_mr && ofi_fabric_register(cls, slab->memory, stride * count,
                             FI_SEND | FI_RECV, &slab->mr) != NA_PLUGIN_OK) {
        pool->slabs = slab->next;
        ofi_pages_free(slab, slab->bytes);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ofi_tx *tx = (void *) (slab->memory + stride * i);
        memset(tx, 0, sizeof(*tx));
        tx->work.kind = OFI_WORK_TX;
        tx->pool = pool;
        tx->desc = slab->mr != NULL ? fi_mr_desc(slab->mr) : NULL;
        ofi_list_append(&pool->spare, &tx->link);
    }
    pool->made += count;
    return true;
}

struct ofi_tx *
ofi_pool_tx(na_plugin_class *cls, uint32_t room)
{
    struct ofi_pool *pool = room <= cls->small.room ? &cls->small : &cls->large;

    if (pool->spare.head == NULL && !fill(cls, pool))
        return NULL;
    struct ofi_tx *tx =
        OFI_OBJECT(ofi_list_pop(&pool->spare), struct ofi_tx, link);
    tx->fence = false;
    tx->lost = false;
    tx->op = NULL;
    tx->peer = NULL;
    return tx;
}

void
ofi_pool_tx_free(struct ofi_tx *tx)
{
    struct ofi_pool *pool = tx->pool;

    /* the one that was used last comes first: it is warm */
    tx->link.prev = NULL;
    tx->link.next = pool->spare.head;
    if (pool->spare.head != NULL)
        pool->spare.head->prev = &tx->link;
    else
        pool->spare.tail = &tx->link;
    pool->spare.head = &tx->link;
}

struct ofi_job *
ofi_pool_job(na_plugin_class *cls)
{
    if (cls->spare_jobs.head == NULL) {
        struct ofi_slab *slab =
            slab_new(SLAB_OTHERS * sizeof(struct ofi_job), &cls->slabs);
        if (slab == NULL)
            return NULL;
        struct ofi_job *jobs = (void *) slab->memory;
        for (uint32_t i = 0; i < SLAB_OTHERS; i++)
            ofi_list_append(&cls->spare_jobs, &jobs[i].by_ctx);
    }
    return OFI_OBJECT(ofi_list_pop(&cls->spare_jobs), struct ofi_job, by_ctx);
}

struct ofi_fragment *
ofi_pool_fragment(na_plugin_class *cls)
{
    if (cls->spare_fragments.head == NULL) {
        struct ofi_slab *slab =
            slab_new(SLAB_OTHERS * sizeof(struct ofi_fragment), &cls->slabs);
        if (slab == NULL)
            return NULL;
        struct ofi_fragment *fragments = (void *) slab->memory;
        for (uint32_t i = 0; i < SLAB_OTHERS; i++) {
            fragments[i].work.kind = OFI_WORK_FRAGMENT;
            ofi_list_append(&cls->spare_fragments, &fragments[i].link);
        }
    }
    return OFI_OBJECT(
        ofi_list_pop(&cls->spare_fragments), struct ofi_fragment, link);
}

static void
slabs_free(struct ofi_slab **first)
{
    while (*first != NULL) {
        struct ofi_slab *slab = *first;
        *first = slab->next;
        if (slab->mr != NULL)
            fi_close(&slab->mr->fid);
        ofi_pages_free(slab, slab->bytes);
    }
}

void
ofi_pool_fini(na_plugin_class *cls)
{
    slabs_free(&cls->small.slabs);
    slabs_free(&cls->large.slabs);
    slabs_free(&cls->slabs);
}

static uint64_t
slabs_bytes(const struct ofi_slab *slab)
{
    uint64_t bytes = 0;
    for (; slab != NULL; slab = slab->next)
        bytes += slab->bytes;
    return bytes;
}

uint64_t
ofi_pool_bytes(const na_plugin_class *cls)
{
    return slabs_bytes(cls->small.slabs) + slabs_bytes(cls->large.slabs) +
           slabs_bytes(cls->slabs);
}
