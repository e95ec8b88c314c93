/* SPDX-License-Identifier: BSD-3-Clause */
/* Slabs of messages in two sizes, of jobs, and of fragments. */
#include <string.h>

#include "fabric.h"
#include "ofi.h"
#include "pool.h"
#include "work.h"

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
fill(struct ofi_endpoint *ep, struct ofi_pool *pool)
{
    size_t stride = tx_stride(pool);
    uint32_t count = pool->room > (64U << 10) ? 1 : SLAB_TXS;
    struct ofi_slab *slab = slab_new(stride * count, &pool->slabs);

    if (slab == NULL)
        return false;
    if (ep->local_mr && ofi_fabric_register(ep, slab->memory, stride * count,
                            FI_SEND | FI_RECV, &slab->mr) != NA_PLUGIN_OK) {
        pool->slabs = slab->next;
        ofi_pages_free(slab, slab->bytes);
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct ofi_tx *tx = (void *) (slab->memory + stride * i);
        memset(tx, 0, sizeof(*tx));
        tx->pool = pool;
        tx->desc = slab->mr != NULL ? fi_mr_desc(slab->mr) : NULL;
        tp_list_append(&pool->spare, &tx->link);
    }
    pool->made += count;
    return true;
}

struct ofi_tx *
ofi_pool_tx(struct ofi_endpoint *ep, uint32_t room)
{
    struct ofi_pool *pool = room <= ep->small.room ? &ep->small : &ep->large;

    if (pool->spare.head == NULL && !fill(ep, pool))
        return NULL;
    struct ofi_tx *tx =
        TP_OBJECT(tp_list_pop(&pool->spare), struct ofi_tx, link);
    tx->flush = false;
    tx->lost = false;
    tx->op = NULL;
    tx->peer = NULL;
    return tx;
}

void
ofi_pool_tx_free(struct ofi_tx *tx)
{
    /* last in, first out: it is in the cache */
    ofi_tx_push(&tx->pool->spare, tx);
}

/* The link of a spare object, of those that have it at offset; NULL: no memory. */
static struct tp_link *
take_spare(
    struct ofi_endpoint *ep, struct tp_list *spare, size_t bytes, size_t offset)
{
    if (spare->head == NULL) {
        struct ofi_slab *slab = slab_new(SLAB_OTHERS * bytes, &ep->slabs);
        for (uint32_t i = 0; slab != NULL && i < SLAB_OTHERS; i++)
            tp_list_append(spare, (void *) (slab->memory + i * bytes + offset));
    }
    return tp_list_pop(spare);
}

struct ofi_job *
ofi_pool_job(struct ofi_endpoint *ep)
{
    struct tp_link *link = take_spare(ep, &ep->spare_jobs,
        sizeof(struct ofi_job), offsetof(struct ofi_job, by_ctx));

    return link != NULL ? TP_OBJECT(link, struct ofi_job, by_ctx) : NULL;
}

struct ofi_fragment *
ofi_pool_fragment(struct ofi_endpoint *ep)
{
    struct tp_link *link = take_spare(ep, &ep->spare_fragments,
        sizeof(struct ofi_fragment), offsetof(struct ofi_fragment, link));

    return link != NULL ? TP_OBJECT(link, struct ofi_fragment, link) : NULL;
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
ofi_pool_fini(struct ofi_endpoint *ep)
{
    slabs_free(&ep->small.slabs);
    slabs_free(&ep->large.slabs);
    slabs_free(&ep->slabs);
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
ofi_pool_bytes(const struct ofi_endpoint *ep)
{
    return slabs_bytes(ep->small.slabs) + slabs_bytes(ep->large.slabs) +
           slabs_bytes(ep->slabs);
}
