/* SPDX-License-Identifier: BSD-3-Clause */
/* The interface of handles. */
#include "base/log.h"
#include "hg/extra.h"
#include "hg/handle.h"
#include "hg/origin.h"
#include "na.h"

static void
set_rpc(struct hg_handle *handle, struct hg_rpc *rpc)
{
    handle->rpc = rpc;
    handle->info.id = rpc->id;
    hg_handle_set_special(handle, HG_SPECIAL_UNFIT, handle->peer.addr == NULL);
    hg_handle_set_special(handle, HG_SPECIAL_HEADER,
        !handle->has_header || handle->header_id != rpc->id);
}

static void
set_peer(struct hg_handle *handle, const struct hg_addr *addr)
{
    struct hg_addr before = handle->peer;

    na_peer_copy(&handle->peer, addr);
    handle->info.addr = &handle->peer;
    na_peer_release(&before);
    handle->loopback = addr->self && !handle->hg_class->no_loopback;
    hg_handle_set_special(handle, HG_SPECIAL_UNFIT, handle->rpc == NULL);
    hg_handle_note_special(handle);
}

hg_return_t
HG_Create(
    hg_context_t *context, hg_addr_t addr, hg_id_t id, hg_handle_t *handle_p)
{
    struct hg_rpc *rpc = NULL;
    struct hg_port *port;
    struct hg_handle *handle;
    hg_return_t ret;

    if (!context || !handle_p)
        return HG_INVALID_ARG;
    port = addr ? hg_context_port(context, addr->na_class)
                : &context->ports[RT_MAIN];
    if (!port)
        return HG_INVALID_ARG;
    if (id != 0) {
        rpc = hg_registry_find(&context->hg_class->registry, id);
        if (!rpc) {
            LOG_ERROR(
                HG, "RPC id %llu is not registered", (unsigned long long) id);
            return HG_NOENTRY;
        }
    }
    ret = hg_pool_get(context, port, &hg_origin_side, &handle);
    if (ret != HG_SUCCESS)
        return ret;
    atomic_store_explicit(&handle->refs, 1, memory_order_relaxed);
    handle->target_id = 0;
    handle->timeout_ms = 0;
    handle->info.context_id = 0;
    handle->rpc = NULL;
    handle->info.id = 0;
    hg_handle_set_special(handle, HG_SPECIAL_UNFIT, true);
    hg_handle_note_special(handle);
    if (rpc)
        set_rpc(handle, rpc);
    handle->info.addr = HG_ADDR_NULL;
    if (addr)
        set_peer(handle, addr);
    *handle_p = handle;
    return HG_SUCCESS;
}

hg_return_t
HG_Destroy(hg_handle_t handle)
{
    /* In Mercury a response not sent holds a reference as well, and a handler that
     * doesn't respond destroys the handle twice. */
    if (!handle || __builtin_expect(hg_handle_no_user(handle), 0))
        return HG_SUCCESS;
    handle = base_same(handle);
    /* For handler_run, while the handler runs. */
    if (__builtin_expect(handle->runner == base_thread(), 1))
        handle->given_back = true;
    if (hg_handle_drop_fast(handle))
        handle->side->released(handle);
    return HG_SUCCESS;
}

__attribute__((cold)) hg_return_t
HG_Reset(hg_handle_t handle, hg_addr_t addr, hg_id_t id)
{
    struct hg_rpc *rpc = NULL;
    struct hg_port *port;
    hg_return_t ret;

    if (!handle || handle->role != HG_ROLE_ORIGIN)
        return HG_INVALID_ARG;
    port =
        addr ? hg_context_port(handle->context, addr->na_class) : handle->port;
    if (!port)
        return HG_INVALID_ARG;
    if (!hg_call_is_idle(&handle->call))
        return HG_BUSY;
    if (id != 0) {
        rpc = hg_registry_find(&handle->context->hg_class->registry, id);
        if (!rpc)
            return HG_NOENTRY;
    }
    ret =
        port != handle->port ? hg_handle_change_port(handle, port) : HG_SUCCESS;
    if (ret != HG_SUCCESS)
        return ret;
    if (rpc)
        set_rpc(handle, rpc);
    if (addr && addr != &handle->peer)
        set_peer(handle, addr);
    hg_extra_clear(handle);
    handle->in.size = 0;
    handle->out.size = 0;
    return HG_SUCCESS;
}

hg_return_t
HG_Ref_incr(hg_handle_t hg_handle)
{
    if (!hg_handle)
        return HG_INVALID_ARG;
    hg_handle_ref(hg_handle, 1);
    return HG_SUCCESS;
}

/* References that Mercury counts beside the user's, for programs that depend on
 * the number: the handler's while it runs, and the response's until its
 * callback has returned, also before it is sent. A response without a callback
 * counts as long as the handler runs. */
static __attribute__((cold)) int32_t
references_of_target(const struct hg_handle *handle, int32_t refs)
{
    /* Acquire pairs with the release in hg_call_answered, for callback. */
    uint32_t word =
        atomic_load_explicit(&handle->call.word, memory_order_acquire);
    bool over =
        word & (HG_CALL_OVER | HG_CALL_EARLY) && !(word & HG_CALL_CALLBACK);
    bool answer = refs & HG_REF_ANSWER;
    int32_t running = (refs & HG_REF_HANDLER) != 0;

    if (handle->local)
        /* The handle also counts for the origin: one reference of its caller,
         * one of its forward, and for a response none before its callback. */
        return running + 2 + (over && answer);
    if (answer)
        return running + 1;
    if (handle->no_response)
        return running;
    if (!over)
        return running + 1;
    return !handle->callback &&
                   !atomic_load_explicit(&handle->dropped, memory_order_relaxed)
               ? 2 * running
               : running;
}

__attribute__((cold)) int32_t
HG_Ref_get(hg_handle_t handle)
{
    int32_t refs, count;

    if (!handle)
        return -1;
    refs = atomic_load_explicit(&handle->refs, memory_order_relaxed);
    count = refs & HG_REF_USER;
    return handle->role == HG_ROLE_ORIGIN
               ? count
               : count + references_of_target(handle, refs);
}

const struct hg_info *
HG_Get_info(hg_handle_t handle)
{
    return handle ? &handle->info : NULL;
}

__attribute__((cold)) hg_return_t
HG_Set_data(hg_handle_t handle, void *data, void (*free_callback)(void *))
{
    if (!handle)
        return HG_INVALID_ARG;
    handle->data = data;
    handle->data_free = free_callback;
    return HG_SUCCESS;
}

void *
HG_Get_data(hg_handle_t handle)
{
    return handle ? handle->data : NULL;
}

__attribute__((cold)) hg_return_t
HG_Set_target_id(hg_handle_t handle, uint8_t id)
{
    if (!handle || handle->role != HG_ROLE_ORIGIN)
        return HG_INVALID_ARG;
    handle->target_id = id;
    handle->info.context_id = id;
    return HG_SUCCESS;
}
