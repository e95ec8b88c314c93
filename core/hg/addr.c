/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the HG interface. */
#include "hg/context.h"

#include "na.h"
#include "na/addr.h"
#include "na/op.h"

#include <stdlib.h>

/* An address that stands alone; takes over the plugin's reference. */
static hg_return_t
addr_create(struct hg_class *hg_class, na_plugin_addr *addr, bool self,
    hg_addr_t *addr_p)
{
    struct na_class *na_class = hg_class_na(hg_class);
    struct hg_addr *peer = calloc(1, sizeof *peer);

    if (!peer) {
        na_class->ops.addr_free(na_class->plugin_class, addr);
        return HG_NOMEM;
    }
    peer->na_class = na_class;
    peer->addr = addr;
    peer->self = self;
    atomic_init(&peer->refs, 1);
    atomic_fetch_add_explicit(&hg_class->addr_count, 1, memory_order_relaxed);
    *addr_p = peer;
    return HG_SUCCESS;
}

struct lookup {
    struct base_completion completion;
    hg_cb_t callback;
    void *arg;
    hg_addr_t addr;
};

static void
lookup_run(struct base_completion *completion)
{
    struct lookup *lookup = (struct lookup *) completion;
    struct hg_cb_info info = {
        .arg = lookup->arg, .type = HG_CB_LOOKUP, .ret = HG_SUCCESS};
    hg_cb_t callback = lookup->callback;

    info.info.lookup.addr = lookup->addr;
    free(lookup);
    callback(&info);
}

hg_return_t
HG_Addr_lookup1(hg_context_t *context, hg_cb_t callback, void *arg,
    const char *name, hg_op_id_t *op_id_p)
{
    struct lookup *lookup;
    hg_return_t ret;

    if (!context || !callback)
        return HG_INVALID_ARG;
    lookup = calloc(1, sizeof *lookup);
    if (!lookup)
        return HG_NOMEM;
    ret = HG_Addr_lookup2(context->hg_class, name, &lookup->addr);
    if (ret != HG_SUCCESS) {
        free(lookup);
        return ret;
    }
    lookup->callback = callback;
    lookup->arg = arg;
    lookup->completion.run = lookup_run;
    if (op_id_p && op_id_p != HG_OP_ID_IGNORE)
        *op_id_p = HG_OP_ID_NULL;
    hg_context_complete(context, &lookup->completion);
    return HG_SUCCESS;
}

hg_return_t
HG_Addr_lookup2(hg_class_t *hg_class, const char *name, hg_addr_t *addr_p)
{
    na_plugin_addr *addr;
    na_return_t ret;

    if (!hg_class || !name || !addr_p)
        return HG_INVALID_ARG;
    ret = na_addr_lookup(hg_class_na(hg_class), name, &addr);
    if (ret != NA_SUCCESS)
        return (hg_return_t) ret;
    return addr_create(hg_class, addr,
        NA_Addr_is_self(hg_class_na(hg_class), na_addr_public(addr)), addr_p);
}

hg_return_t
HG_Addr_free(hg_class_t *hg_class, hg_addr_t addr)
{
    if (!addr)
        return HG_SUCCESS;
    if (!hg_class || addr->embedded)
        return HG_INVALID_ARG;
    /* Release and acquire: uses of the address come before its end. */
    if (atomic_fetch_sub_explicit(&addr->refs, 1, memory_order_acq_rel) != 1)
        return HG_SUCCESS;
    na_peer_release(addr);
    free(addr);
    atomic_fetch_sub_explicit(&hg_class->addr_count, 1, memory_order_relaxed);
    return HG_SUCCESS;
}

hg_return_t
HG_Addr_set_remove(hg_class_t *hg_class, hg_addr_t addr)
{
    if (!hg_class || !addr)
        return HG_INVALID_ARG;
    addr->na_class->ops.addr_forget(addr->na_class->plugin_class, addr->addr);
    return HG_SUCCESS;
}

hg_return_t
HG_Addr_self(hg_class_t *hg_class, hg_addr_t *addr_p)
{
    struct na_class *na_class;
    na_plugin_addr *addr;
    int32_t code;

    if (!hg_class || !addr_p)
        return HG_INVALID_ARG;
    na_class = hg_class_na(hg_class);
    code = na_class->ops.addr_self(na_class->plugin_class, &addr);
    if (code != NA_PLUGIN_OK)
        return (hg_return_t) na_code(code);
    return addr_create(hg_class, addr, true, addr_p);
}

hg_return_t
HG_Addr_dup(hg_class_t *hg_class, hg_addr_t addr, hg_addr_t *new_addr_p)
{
    if (!hg_class || !addr || !new_addr_p)
        return HG_INVALID_ARG;
    if (addr->embedded) {
        addr->na_class->ops.addr_dup(addr->na_class->plugin_class, addr->addr);
        return addr_create(hg_class, addr->addr, addr->self, new_addr_p);
    }
    atomic_fetch_add_explicit(&addr->refs, 1, memory_order_relaxed);
    *new_addr_p = addr;
    return HG_SUCCESS;
}

uint8_t
HG_Addr_cmp(hg_class_t *hg_class, hg_addr_t addr1, hg_addr_t addr2)
{
    if (!hg_class || !addr1 || !addr2 || addr1->na_class != addr2->na_class)
        return HG_FALSE;
    return addr1->na_class->ops.addr_equal(
               addr1->na_class->plugin_class, addr1->addr, addr2->addr) == 1;
}

hg_return_t
HG_Addr_to_string(
    hg_class_t *hg_class, char *buf, hg_size_t *buf_size_p, hg_addr_t addr)
{
    size_t size;
    na_return_t ret;

    if (!hg_class || !buf_size_p || !addr)
        return HG_INVALID_ARG;
    size = buf ? *buf_size_p : 0;
    ret = na_addr_to_string(addr->na_class, addr->addr, buf, &size);
    if (ret == NA_SUCCESS || ret == NA_OVERFLOW)
        *buf_size_p = size;
    return (hg_return_t) ret;
}
