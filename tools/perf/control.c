/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and procs of the control RPCs. */
#include "perf/control.h"

#include <string.h>

hg_return_t
hg_proc_perf_text_t(hg_proc_t proc, void *data)
{
    perf_text_t *text = data;
    uint16_t length;
    hg_return_t ret;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    length = hg_proc_get_op(proc) == HG_ENCODE
                 ? (uint16_t) strnlen(text->text, sizeof text->text - 1)
                 : 0;
    ret = hg_proc_uint16_t(proc, &length);
    if (ret != HG_SUCCESS)
        return ret;
    if (length >= sizeof text->text)
        return HG_PROTOCOL_ERROR;
    ret = hg_proc_bytes(proc, text->text, length);
    if (ret == HG_SUCCESS && hg_proc_get_op(proc) == HG_DECODE)
        text->text[length] = 0;
    return ret;
}

hg_return_t
hg_proc_perf_bytes_t(hg_proc_t proc, void *data)
{
    perf_bytes_t *bytes = data;
    uint32_t size;
    hg_return_t ret;

    if (hg_proc_get_op(proc) == HG_FREE)
        return HG_SUCCESS;
    size = hg_proc_get_op(proc) == HG_ENCODE ? bytes->size : 0;
    ret = hg_proc_uint32_t(proc, &size);
    if (ret != HG_SUCCESS)
        return ret;
    if (size > sizeof bytes->bytes)
        return HG_PROTOCOL_ERROR;
    ret = hg_proc_bytes(proc, bytes->bytes, size);
    if (ret == HG_SUCCESS)
        bytes->size = size;
    return ret;
}

hg_return_t
perf_control_register(hg_class_t *hg_class,
    const hg_rpc_cb_t handlers[PERF_CONTROLS], hg_id_t ids[PERF_CONTROLS])
{
    static const struct {
        const char *name;
        hg_proc_cb_t in;
        hg_proc_cb_t out;
    } rpcs[PERF_CONTROLS] = {
        [PERF_CONTROL_HELLO] = {"talaria.perf.hello", hg_proc_perf_hello_in_t,
            hg_proc_perf_hello_out_t},
        [PERF_CONTROL_CHALLENGE] = {"talaria.perf.challenge",
            hg_proc_perf_challenge_in_t, hg_proc_perf_challenge_out_t},
        [PERF_CONTROL_OPEN] = {"talaria.perf.open", hg_proc_perf_open_in_t,
            hg_proc_perf_open_out_t},
        [PERF_CONTROL_REMOTE] = {"talaria.perf.place", hg_proc_perf_remote_in_t,
            hg_proc_perf_remote_out_t},
        [PERF_CONTROL_RUN] = {"talaria.perf.run", hg_proc_perf_run_in_t,
            hg_proc_perf_run_out_t},
        [PERF_CONTROL_CLOSE] = {"talaria.perf.close", hg_proc_perf_close_in_t,
            hg_proc_perf_close_out_t},
    };

    for (int i = 0; i < PERF_CONTROLS; i++) {
        ids[i] = HG_Register_name(hg_class, rpcs[i].name, rpcs[i].in,
            rpcs[i].out, handlers ? handlers[i] : NULL);
        if (ids[i] == 0)
            return HG_NOMEM;
    }
    return HG_SUCCESS;
}
