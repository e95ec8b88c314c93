/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens the transport of an address, and calls an RPC there. */
#include "ping/caller.h"

#include "common/clock.h"
#include "ping/ping.h"

#include <stdio.h>
#include <string.h>

#define SCHEME_SIZE 128
#define PROGRESS_MS 50

static bool
failed(struct caller *caller, const char *step, const char *reason)
{
    caller->step = step;
    snprintf(caller->reason, sizeof caller->reason, "%s", reason);
    return false;
}

static bool
open_transport(struct caller *caller)
{
    char info[SCHEME_SIZE];
    const char *mark = strstr(caller->address, "://");
    size_t length = mark == NULL ? 0 : (size_t) (mark - caller->address);

    if (length == 0 || length >= sizeof info)
        return failed(
            caller, "address", "invalid: expected one such as na+sm://...");
    memcpy(info, caller->address, length);
    info[length] = 0;
    caller->hg_class = HG_Init(info, HG_FALSE);
    if (caller->hg_class == NULL)
        return failed(
            caller, "transport", "no plugin opened it; see \"talaria info\"");
    caller->context = HG_Context_create(caller->hg_class);
    if (caller->context == NULL)
        return failed(caller, "transport", "cannot create a context");
    return true;
}

bool
caller_open(struct caller *caller, const char *address)
{
    hg_return_t ret;
    hg_id_t id;

    *caller = (struct caller){
        .address = address, .addr = HG_ADDR_NULL, .handle = HG_HANDLE_NULL};
    if (!open_transport(caller))
        return false;
    ret = HG_Addr_lookup2(caller->hg_class, address, &caller->addr);
    if (ret != HG_SUCCESS)
        return failed(caller, "lookup", HG_Error_to_string(ret));
    id = HG_Register_name(caller->hg_class, PING_RPC, NULL, NULL, NULL);
    ret = id == 0
              ? HG_NOMEM
              : HG_Create(caller->context, caller->addr, id, &caller->handle);
    if (ret != HG_SUCCESS)
        return failed(caller, "call", HG_Error_to_string(ret));
    return true;
}

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    struct caller *caller = info->arg;

    caller->answered = true;
    caller->ret = info->ret;
    return HG_SUCCESS;
}

void
caller_progress(hg_context_t *context, unsigned int timeout)
{
    unsigned int count;

    HG_Progress(context, timeout);
    do {
        count = 0;
        HG_Trigger(context, 0, 1, &count);
    } while (count > 0);
}

bool
caller_call(struct caller *caller, unsigned int timeout, double *seconds_p)
{
    double start = clock_seconds();
    double deadline = start + timeout;
    bool late = false;
    char text[64];

    caller->answered = false;
    caller->ret = HG_Forward(caller->handle, on_answer, caller, NULL);
    if (caller->ret != HG_SUCCESS)
        return failed(caller, "connection", HG_Error_to_string(caller->ret));
    while (!caller->answered) {
        caller_progress(caller->context, PROGRESS_MS);
        if (!caller->answered && !late && clock_seconds() > deadline) {
            late = true;
            HG_Cancel(caller->handle);
        }
    }
    *seconds_p = clock_seconds() - start;
    if (late) {
        snprintf(text, sizeof text, "none within %u s", timeout);
        return failed(caller, "answer", text);
    }
    /* NOENTRY: the server is alive and does not have the RPC. */
    if (caller->ret != HG_SUCCESS && caller->ret != HG_NOENTRY)
        return failed(caller, "connection", HG_Error_to_string(caller->ret));
    return true;
}

void
caller_close(struct caller *caller)
{
    if (caller->handle != HG_HANDLE_NULL)
        HG_Destroy(caller->handle);
    if (caller->addr != HG_ADDR_NULL)
        HG_Addr_free(caller->hg_class, caller->addr);
    if (caller->context != NULL)
        HG_Context_destroy(caller->context);
    if (caller->hg_class != NULL)
        HG_Finalize(caller->hg_class);
}
