/* SPDX-License-Identifier: BSD-3-Clause */
/* Addresses of the HG interface. */
#include "hg/context.h"

#include "hg/auto_sm.h"
#include "na.h"
#include "na/addr.h"
#include "na/call.h"

#include <stdlib.h>
#include <string.h>

/* Creates an address object. It takes over the references of `from`. */
static hg_return_t
addr_create(
    struct hg_class *hg_class, const struct hg_addr *from, hg_addr_t *addr_p)
{
    struct hg_addr *peer = calloc(1, sizeof *peer);

    if (!peer) {
        struct hg_addr gone = *from;

        na_peer_release(&gone);
        return HG_NOMEM;
    }
    *peer = *from;
    peer->embedded = false;
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

/* Returns the class that reaches the local part of an address; NULL: none. */
static struct na_class *
local_class(const struct hg_class *hg_class, const char *name)
{
    struct na_class *sm_class = hg_class->bulk.sm_class;

    if (sm_class && na_addr_is_for(sm_class, name))
        return sm_class;
    return na_addr_is_for(hg_class_na(hg_class), name) ? hg_class_na(hg_class)
                                                       : NULL;
}

/* Returns whether the peer is on this node and `local` can reach it. */
static bool
is_here(const struct hg_class *hg_class, struct na_class *local,
    const struct hg_host_address *parts)
{
    na_sm_id_t host;
    char user[HG_HOST_USER_MAX];

    if (local == hg_class->bulk.sm_class)
        return NA_SM_Host_id_cmp(hg_class->host, parts->host) &&
               strcmp(hg_class->user, parts->user) == 0;
    if (NA_SM_Host_id_get(&host) != NA_SUCCESS ||
        !NA_SM_Host_id_cmp(host, parts->host))
        return false;
    hg_auto_sm_user(local, user);
    return strcmp(user, parts->user) == 0;
}

/* Looks up a peer with two addresses: the local one if it is on this node and
 * can be reached there, else the network address. */
static hg_return_t
lookup_two(const struct hg_class *hg_class, const char *name,
    const struct hg_host_address *parts, struct hg_addr *peer)
{
    struct na_class *local = local_class(hg_class, parts->local);
    char network[HG_HOST_ADDRESS_MAX];

    if (local && is_here(hg_class, local, parts)) {
        peer->na_class = local;
        return (hg_return_t) na_addr_lookup(local, parts->local, &peer->addr);
    }
    memcpy(network, name, parts->main_length);
    network[parts->main_length] = '\0';
    peer->na_class = hg_class_na(hg_class);
    return (hg_return_t) na_addr_lookup(peer->na_class, network, &peer->addr);
}

/* Looks up a peer with one address. */
static hg_return_t
lookup_plain(
    const struct hg_class *hg_class, const char *name, struct hg_addr *peer)
{
    struct na_class *sm_class = hg_class->bulk.sm_class;

    peer->na_class = hg_class_na(hg_class);
    if (sm_class && !na_addr_is_for(peer->na_class, name) &&
        na_addr_is_for(sm_class, name))
        peer->na_class = sm_class;
    return (hg_return_t) na_addr_lookup(peer->na_class, name, &peer->addr);
}

hg_return_t
HG_Addr_lookup2(hg_class_t *hg_class, const char *name, hg_addr_t *addr_p)
{
    struct hg_host_address parts;
    struct hg_addr peer = {0};
    struct na_class *sm_class;
    hg_return_t ret;

    if (!hg_class || !name || !addr_p)
        return HG_INVALID_ARG;
    sm_class = hg_class->bulk.sm_class;
    ret = hg_host_address_parse(name, &parts);
    if (ret != HG_SUCCESS)
        return ret;
    ret = parts.local ? lookup_two(hg_class, name, &parts, &peer)
                      : lookup_plain(hg_class, name, &peer);
    if (ret != HG_SUCCESS)
        return ret;
    peer.self = NA_Addr_is_self(peer.na_class, na_addr_public(peer.addr));
    if (peer.self && sm_class && peer.na_class == sm_class) {
        na_peer_release(&peer);
        return HG_Addr_self(hg_class, addr_p);
    }
    if (parts.local && !peer.self) {
        peer.name = na_peer_name_create(name);
        if (!peer.name) {
            na_peer_release(&peer);
            return HG_NOMEM;
        }
    }
    return addr_create(hg_class, &peer, addr_p);
}

hg_return_t
HG_Addr_free(hg_class_t *hg_class, hg_addr_t addr)
{
    if (!addr)
        return HG_SUCCESS;
    if (!hg_class || addr->embedded)
        return HG_INVALID_ARG;
    /* Release and acquire: uses of the address come before it is freed. */
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
    na_addr_forget(addr->na_class, addr->addr);
    return HG_SUCCESS;
}

hg_return_t
HG_Addr_self(hg_class_t *hg_class, hg_addr_t *addr_p)
{
    struct hg_addr peer = {.self = true};
    na_return_t ret;

    if (!hg_class || !addr_p)
        return HG_INVALID_ARG;
    peer.na_class = hg_class_na(hg_class);
    ret = na_addr_own(peer.na_class, &peer.addr);
    if (ret != NA_SUCCESS)
        return (hg_return_t) ret;
    return addr_create(hg_class, &peer, addr_p);
}

hg_return_t
HG_Addr_dup(hg_class_t *hg_class, hg_addr_t addr, hg_addr_t *new_addr_p)
{
    if (!hg_class || !addr || !new_addr_p)
        return HG_INVALID_ARG;
    if (addr->embedded) {
        struct hg_addr peer = {0};

        na_peer_copy(&peer, addr);
        return addr_create(hg_class, &peer, new_addr_p);
    }
    atomic_fetch_add_explicit(&addr->refs, 1, memory_order_relaxed);
    *new_addr_p = addr;
    return HG_SUCCESS;
}

static bool
is_self(const struct hg_addr *addr)
{
    return addr->self ||
           NA_Addr_is_self(addr->na_class, na_addr_public(addr->addr));
}

uint8_t
HG_Addr_cmp(hg_class_t *hg_class, hg_addr_t addr1, hg_addr_t addr2)
{
    if (!hg_class || !addr1 || !addr2)
        return HG_FALSE;
    /* Peers of different transports can't be compared, except for oneself. */
    if (addr1->na_class != addr2->na_class)
        return is_self(addr1) && is_self(addr2);
    return na_addr_same(addr1->na_class, addr1->addr, addr2->addr);
}

/* The string of the class itself also has its address on this node. */
static na_return_t
self_to_string(
    const struct hg_class *hg_class, char *buf, size_t *size_p, hg_addr_t addr)
{
    struct na_class *sm_class = hg_class->bulk.sm_class;
    char middle[HG_HOST_ADDRESS_MIDDLE];
    size_t front = 0, back = 0, needed, length;
    na_plugin_addr *local;
    na_return_t ret =
        na_addr_to_string(addr->na_class, addr->addr, NULL, &front);

    if (ret != NA_SUCCESS)
        return ret;
    ret = na_addr_own(sm_class, &local);
    if (ret != NA_SUCCESS)
        return ret;
    ret = na_addr_to_string(sm_class, local, NULL, &back);
    length = hg_host_address_middle(hg_class->host, hg_class->user, middle);
    needed = front - 1 + length + back;
    if (ret == NA_SUCCESS && buf && *size_p < needed)
        ret = NA_OVERFLOW;
    else if (ret == NA_SUCCESS && buf)
        ret = na_addr_to_string(addr->na_class, addr->addr, buf, &front);
    if (ret == NA_SUCCESS && buf) {
        memcpy(buf + front - 1, middle, length);
        ret = na_addr_to_string(sm_class, local, buf + needed - back, &back);
    }
    na_addr_free(sm_class, local);
    *size_p = needed;
    return ret;
}

static na_return_t
name_to_string(const struct na_peer_name *name, char *buf, size_t *size_p)
{
    size_t needed = strlen(name->text) + 1, room = *size_p;

    *size_p = needed;
    if (buf && room < needed)
        return NA_OVERFLOW;
    if (buf)
        memcpy(buf, name->text, needed);
    return NA_SUCCESS;
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
    if (addr->name)
        ret = name_to_string(addr->name, buf, &size);
    else if (addr->self && hg_class->bulk.sm_class &&
             NA_Is_listening(addr->na_class))
        ret = self_to_string(hg_class, buf, &size, addr);
    else
        ret = na_addr_to_string(addr->na_class, addr->addr, buf, &size);
    if (ret == NA_SUCCESS || ret == NA_OVERFLOW)
        *buf_size_p = size;
    return (hg_return_t) ret;
}
