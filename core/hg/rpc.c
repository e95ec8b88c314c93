/* SPDX-License-Identifier: BSD-3-Clause */
/* Registering RPCs. */
#include "hg/class.h"

#include "base/log.h"

hg_id_t
HG_Register_name(hg_class_t *hg_class, const char *func_name,
    hg_proc_cb_t in_proc_cb, hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb)
{
    hg_id_t id;

    if (!hg_class || !func_name)
        return 0;
    id = hg_registry_id(func_name);
    if (hg_registry_add(&hg_class->registry, id, func_name, in_proc_cb,
            out_proc_cb, rpc_cb) != HG_SUCCESS)
        return 0;
    return id;
}

hg_return_t
HG_Registered_name(
    hg_class_t *hg_class, const char *func_name, hg_id_t *id_p, uint8_t *flag_p)
{
    const struct hg_rpc *rpc;

    if (!hg_class || !func_name || !flag_p)
        return HG_INVALID_ARG;
    rpc = hg_registry_find(&hg_class->registry, hg_registry_id(func_name));
    *flag_p = rpc != NULL;
    if (id_p)
        *id_p = rpc ? rpc->id : 0;
    return HG_SUCCESS;
}

hg_return_t
HG_Register(hg_class_t *hg_class, hg_id_t id, hg_proc_cb_t in_proc_cb,
    hg_proc_cb_t out_proc_cb, hg_rpc_cb_t rpc_cb)
{
    if (!hg_class || id == 0)
        return HG_INVALID_ARG;
    return hg_registry_add(
        &hg_class->registry, id, NULL, in_proc_cb, out_proc_cb, rpc_cb);
}

hg_return_t
HG_Deregister(hg_class_t *hg_class, hg_id_t id)
{
    if (!hg_class)
        return HG_INVALID_ARG;
    return hg_registry_remove(&hg_class->registry, id);
}

hg_return_t
HG_Registered(hg_class_t *hg_class, hg_id_t id, uint8_t *flag_p)
{
    if (!hg_class || !flag_p)
        return HG_INVALID_ARG;
    *flag_p = hg_registry_find(&hg_class->registry, id) != NULL;
    return HG_SUCCESS;
}

/* Returns the proc as it was registered. */
static hg_proc_cb_t
registered(hg_proc_cb_t proc_cb)
{
    return proc_cb != hg_rpc_no_proc ? proc_cb : NULL;
}

hg_return_t
HG_Registered_proc_cb(hg_class_t *hg_class, hg_id_t id, uint8_t *flag_p,
    hg_proc_cb_t *in_proc_cb_p, hg_proc_cb_t *out_proc_cb_p)
{
    const struct hg_rpc *rpc;

    if (!hg_class || !flag_p)
        return HG_INVALID_ARG;
    rpc = hg_registry_find(&hg_class->registry, id);
    *flag_p = rpc != NULL;
    if (rpc && in_proc_cb_p)
        *in_proc_cb_p = registered(rpc->in_proc);
    if (rpc && out_proc_cb_p)
        *out_proc_cb_p = registered(rpc->out_proc);
    return HG_SUCCESS;
}

hg_return_t
HG_Register_data(
    hg_class_t *hg_class, hg_id_t id, void *data, void (*free_callback)(void *))
{
    struct hg_rpc *rpc;

    if (!hg_class)
        return HG_INVALID_ARG;
    base_lock_acquire(&hg_class->registry.lock);
    rpc = hg_registry_find(&hg_class->registry, id);
    if (rpc)
        hg_rpc_set_data(rpc, data, free_callback);
    base_lock_release(&hg_class->registry.lock);
    return rpc ? HG_SUCCESS : HG_NOENTRY;
}

void *
HG_Registered_data(hg_class_t *hg_class, hg_id_t id)
{
    const struct hg_rpc *rpc =
        hg_class ? hg_registry_find(&hg_class->registry, id) : NULL;

    return rpc ? hg_rpc_data(rpc) : NULL;
}

hg_return_t
HG_Registered_disable_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t disable)
{
    struct hg_rpc *rpc;

    if (!hg_class)
        return HG_INVALID_ARG;
    rpc = hg_registry_find(&hg_class->registry, id);
    if (!rpc)
        return HG_NOENTRY;
    atomic_store_explicit(
        &rpc->no_response, disable != 0, memory_order_relaxed);
    return HG_SUCCESS;
}

hg_return_t
HG_Registered_disabled_response(
    hg_class_t *hg_class, hg_id_t id, uint8_t *disabled_p)
{
    const struct hg_rpc *rpc;

    if (!hg_class || !disabled_p)
        return HG_INVALID_ARG;
    rpc = hg_registry_find(&hg_class->registry, id);
    if (!rpc)
        return HG_NOENTRY;
    *disabled_p = atomic_load_explicit(&rpc->no_response, memory_order_relaxed);
    return HG_SUCCESS;
}
