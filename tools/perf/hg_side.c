/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens, polls and closes an HG class. */
#include "perf/hg_side.h"

#include <string.h>

static hg_return_t
proc_payload(hg_proc_t proc, void *data)
{
    struct perf_payload *payload = data;

    return hg_proc_bytes(proc, payload->bytes, payload->size);
}

static const struct {
    const char *name;
    hg_proc_cb_t in;
    hg_proc_cb_t out;
} rpcs[PERF_RPCS] = {
    [PERF_RPC_ECHO] = {"talaria.perf.echo", proc_payload, proc_payload},
    [PERF_RPC_WRITE] = {"talaria.perf.write", proc_payload, NULL},
    [PERF_RPC_READ] = {"talaria.perf.read", hg_proc_perf_read_in_t,
        proc_payload},
    [PERF_RPC_PULL] = {"talaria.perf.pull", hg_proc_perf_bulk_in_t,
        hg_proc_perf_bulk_out_t},
    [PERF_RPC_PUSH] = {"talaria.perf.push", hg_proc_perf_bulk_in_t,
        hg_proc_perf_bulk_out_t},
};

static bool
fill(struct perf_hg *hg, const struct perf_plan *plan,
    const hg_rpc_cb_t handlers[PERF_RPCS])
{
    for (int i = 0; i < PERF_RPCS; i++) {
        hg->ids[i] = HG_Register_name(hg->hg_class, rpcs[i].name, rpcs[i].in,
            rpcs[i].out, handlers ? handlers[i] : NULL);
        if (hg->ids[i] == 0) {
            perf_failure_set(hg->failure, "cannot register an RPC");
            return false;
        }
    }
    for (uint32_t i = 0; i < plan->contexts; i++) {
        hg->contexts[i] = HG_Context_create_id(hg->hg_class, (uint8_t) i);
        if (!hg->contexts[i]) {
            perf_failure_set(hg->failure, "cannot create context %u", i);
            return false;
        }
    }
    return true;
}

bool
perf_hg_open(struct perf_hg *hg, const char *info, const struct perf_plan *plan,
    const hg_rpc_cb_t handlers[PERF_RPCS], struct perf_failure *failure)
{
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;

    *hg = (struct perf_hg){
        .failure = failure, .at_once = perf_plan_callbacks(plan)};
    init.na_init_info.progress_mode = plan->busy ? NA_NO_BLOCK : 0;
    init.na_init_info.thread_mode = plan->single ? NA_THREAD_MODE_SINGLE : 0;
    init.na_init_info.max_contexts = (uint8_t) plan->contexts;
    hg->hg_class = HG_Init_opt2(info, handlers != NULL,
        HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &init);
    if (!hg->hg_class) {
        perf_failure_set(failure, "cannot open the transport %s", info);
        return false;
    }
    if (fill(hg, plan, handlers))
        return true;
    perf_hg_close(hg, plan);
    return false;
}

bool
perf_hg_connect(struct perf_hg *hg, const struct perf_origin_setup *setup)
{
    const char *address = setup->remote->address;
    hg_return_t ret;

    if (!perf_hg_open(hg, setup->info, setup->plan, NULL, setup->failure))
        return false;
    ret = HG_Addr_lookup2(hg->hg_class, address, &hg->addr);
    if (ret == HG_SUCCESS)
        return true;
    perf_failure_set(setup->failure, "cannot look up %s: %s", address,
        HG_Error_to_string(ret));
    perf_hg_close(hg, setup->plan);
    return false;
}

hg_return_t
perf_hg_bulk_alloc(
    struct perf_hg *hg, hg_size_t size, hg_bulk_t *bulk_p, char **memory_p)
{
    void *memory;
    hg_return_t ret =
        HG_Bulk_create(hg->hg_class, 1, NULL, &size, HG_BULK_READWRITE, bulk_p);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Bulk_access(
        *bulk_p, 0, size, HG_BULK_READWRITE, 1, &memory, &size, NULL);
    if (ret == HG_SUCCESS) {
        *memory_p = memset(memory, 1, size);
    } else {
        HG_Bulk_free(*bulk_p);
        *bulk_p = HG_BULK_NULL;
    }
    return ret;
}

void
perf_hg_close(struct perf_hg *hg, const struct perf_plan *plan)
{
    hg_return_t ret = HG_SUCCESS;

    HG_Addr_free(hg->hg_class, hg->addr);
    for (uint32_t i = 0; i < plan->contexts && ret == HG_SUCCESS; i++)
        if (hg->contexts[i])
            ret = HG_Context_destroy(hg->contexts[i]);
    if (ret == HG_SUCCESS)
        ret = HG_Finalize(hg->hg_class);
    if (ret != HG_SUCCESS)
        perf_failure_set(hg->failure, "cannot close the transport: %s",
            HG_Error_to_string(ret));
}

enum perf_poll
perf_hg_poll(struct perf_hg *hg, uint32_t context, unsigned int timeout_ms)
{
    hg_return_t ret = HG_Progress(hg->contexts[context], timeout_ms);

    if (ret == HG_SUCCESS)
        ret = HG_Trigger(hg->contexts[context], 0, hg->at_once, NULL);
    if (ret == HG_SUCCESS)
        return PERF_POLL_WORK;
    if (ret == HG_TIMEOUT || ret == HG_INTERRUPT)
        return PERF_POLL_IDLE;
    perf_failure_set(
        hg->failure, "the transport failed: %s", HG_Error_to_string(ret));
    return PERF_POLL_FAILED;
}
