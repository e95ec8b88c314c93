/* SPDX-License-Identifier: BSD-3-Clause */
/* Single-threaded steps of a program that uses HG. No assertions. */
#include "nomem.h"

#include "log_watch.h"
#include "mercury_hl.h"
#include "mercury_proc_string.h"
#include "rpcs.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

#define LARGE 300000U
#define CROWD 3U
#define STEPS_MAX 200000U
#define LOST_STEPS 1000U
#define MORE_RPCS 40U

static hg_id_t echo_id, hold_id, text_id;
static hg_handle_t held[CROWD + 1];
static uint32_t held_count;
static bool holding;

static hg_return_t
on_echo(hg_handle_t handle)
{
    blob_t blob;
    hg_return_t ret = HG_Get_input(handle, &blob);

    if (ret == HG_SUCCESS) {
        ret = HG_Respond(handle, NULL, NULL, &blob);
        HG_Free_input(handle, &blob);
    }
    HG_Destroy(handle);
    return ret;
}

static hg_return_t
on_text(hg_handle_t handle)
{
    hg_string_object_t text;
    hg_return_t ret = HG_Get_input(handle, &text);

    if (ret == HG_SUCCESS) {
        ret = HG_Respond(handle, NULL, NULL, &text.data);
        HG_Free_input(handle, &text);
    }
    HG_Destroy(handle);
    return ret;
}

static hg_return_t
on_hold(hg_handle_t handle)
{
    if (!holding) {
        hg_return_t ret = HG_Respond(handle, NULL, NULL, NULL);

        HG_Destroy(handle);
        return ret;
    }
    held[held_count++] = handle;
    return HG_SUCCESS;
}

static void
release_held(void)
{
    while (held_count > 0) {
        hg_handle_t handle = held[--held_count];

        HG_Respond(handle, NULL, NULL, NULL);
        HG_Destroy(handle);
    }
}

/* The ids are the same in all classes. */
static bool
register_all(hg_class_t *hg_class)
{
    hg_id_t echo = MERCURY_REGISTER(hg_class, "echo", blob_t, blob_t, on_echo);
    hg_id_t text = MERCURY_REGISTER(
        hg_class, "text", hg_string_object_t, hg_string_t, on_text);
    hg_id_t hold = MERCURY_REGISTER(hg_class, "hold", blob_t, void, on_hold);

    if (echo == 0 || text == 0 || hold == 0)
        return false;
    echo_id = echo;
    text_id = text;
    hold_id = hold;
    return true;
}

static hg_class_t *
open_class(bool both_ways)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.stats = 1;
    info.auto_sm = both_ways;
    info.request_post_init = 1;
    info.request_post_incr = 1;
    return HG_Init_opt2(session_transport(), HG_TRUE, HG_VERSION(2, 4), &info);
}

hg_return_t
nomem_open(struct nomem *n, bool both_ways)
{
    hg_size_t size = sizeof n->address;
    hg_addr_t self;
    hg_return_t ret;

    *n = (struct nomem){.peer = HG_ADDR_NULL};
    n->target_class = open_class(both_ways);
    n->origin_class = open_class(both_ways);
    if (n->target_class)
        n->target = HG_Context_create(n->target_class);
    if (n->origin_class)
        n->origin = HG_Context_create(n->origin_class);
    if (!n->target || !n->origin || !register_all(n->target_class) ||
        !register_all(n->origin_class))
        return HG_NOMEM;
    ret = HG_Addr_self(n->target_class, &self);
    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Addr_to_string(n->target_class, n->address, &size, self);
    HG_Addr_free(n->target_class, self);
    if (ret == HG_SUCCESS)
        ret = HG_Addr_lookup2(n->origin_class, n->address, &n->peer);
    return ret;
}

void
nomem_close(struct nomem *n)
{
    release_held();
    HG_Addr_free(n->origin_class, n->peer);
    HG_Context_destroy(n->origin);
    HG_Context_destroy(n->target);
    HG_Finalize(n->origin_class);
    HG_Finalize(n->target_class);
}

hg_return_t
nomem_open_again(struct nomem *n)
{
    struct nomem more;
    hg_return_t ret = nomem_open(&more, false);

    nomem_close(&more);
    return ret;
}

static void
step(struct nomem *n)
{
    HG_Progress(n->origin, 0);
    while (HG_Trigger(n->origin, 0, 1, NULL) == HG_SUCCESS)
        ;
    HG_Progress(n->target, 0);
    while (HG_Trigger(n->target, 0, 1, NULL) == HG_SUCCESS)
        ;
}

/* Waits until a call has completed. Cancels it when a message was reported
 * lost, but not before a surviving call would have completed. */
static hg_return_t
finish(struct nomem *n, hg_handle_t handle, const struct call *call)
{
    bool lost = false;

    for (uint32_t i = 0; i < STEPS_MAX && call->called == 0; i++) {
        if (i % LOST_STEPS == LOST_STEPS - 1 &&
            log_count("bytes dropped") > 0) {
            lost = true;
            HG_Cancel(handle);
        }
        step(n);
    }
    if (call->called != 1)
        return HG_FAULT;
    return lost && call->ret == HG_CANCELED ? HG_NOMEM : call->ret;
}

/* Forwards and waits. Decodes the output into out if the call succeeds. */
static hg_return_t
call_on(struct nomem *n, hg_handle_t handle, void *in, void *out)
{
    struct call call = {.called = 0};
    hg_return_t ret = HG_Forward(handle, call_done, &call, in);

    if (ret == HG_SUCCESS)
        ret = finish(n, handle, &call);
    if (ret == HG_SUCCESS && out)
        ret = HG_Get_output(handle, out);
    return ret;
}

/* Echoes a blob of size bytes. */
static hg_return_t
echo(struct nomem *n, hg_addr_t addr, uint32_t size)
{
    hg_handle_t handle;
    blob_t in = {.size = size, .data = malloc(size)}, out;
    hg_return_t ret = in.data ? HG_SUCCESS : HG_NOMEM;

    if (ret == HG_SUCCESS)
        ret = HG_Create(n->origin, addr, echo_id, &handle);
    if (ret != HG_SUCCESS) {
        free(in.data);
        return ret;
    }
    memset(in.data, 7, size);
    talaria_handle_set_deadline(handle, 60000);
    ret = call_on(n, handle, &in, &out);
    if (ret == HG_SUCCESS) {
        if (!blob_equal(&in, &out))
            ret = HG_FAULT;
        HG_Free_output(handle, &out);
    }
    HG_Destroy(handle);
    free(in.data);
    return ret;
}

hg_return_t
nomem_open_both_ways(struct nomem *n)
{
    struct nomem more;
    hg_return_t ret = nomem_open(&more, true);

    if (ret == HG_SUCCESS)
        ret = echo(&more, more.peer, 100);
    nomem_close(&more);
    return ret;
}

hg_return_t
nomem_call(struct nomem *n)
{
    return echo(n, n->peer, 100);
}

hg_return_t
nomem_call_large(struct nomem *n)
{
    return echo(n, n->peer, LARGE);
}

hg_return_t
nomem_call_oneself(struct nomem *n)
{
    hg_addr_t self;
    hg_return_t ret = HG_Addr_self(n->origin_class, &self);

    if (ret != HG_SUCCESS)
        return ret;
    ret = echo(n, self, 100);
    if (ret == HG_SUCCESS)
        ret = echo(n, self, LARGE);
    HG_Addr_free(n->origin_class, self);
    return ret;
}

hg_return_t
nomem_call_with_strings(struct nomem *n)
{
    char text[] = "of some length";
    hg_string_object_t in = {.data = text};
    hg_const_string_t out;
    hg_handle_t handle;
    hg_return_t ret = HG_Create(n->origin, n->peer, text_id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = call_on(n, handle, &in, &out);
    if (ret == HG_SUCCESS) {
        if (strcmp(out, text) != 0)
            ret = HG_FAULT;
        HG_Free_output(handle, &out);
    }
    HG_Destroy(handle);
    return ret;
}

/* Calls to self: only the caller's context is progressed. */
hg_return_t
nomem_call_and_wait(struct nomem *n)
{
    talaria_request_class_t *requests;
    blob_t in = {.size = 1, .data = (unsigned char *) "x"};
    hg_addr_t self;
    hg_return_t ret = HG_Addr_self(n->origin_class, &self);

    if (ret != HG_SUCCESS)
        return ret;
    requests = talaria_request_init(NULL, NULL, n->origin);
    ret = requests ? talaria_call(requests, self, "echo", 60000, &in, NULL)
                   : HG_NOMEM;
    if (requests)
        talaria_request_finalize(requests, NULL);
    HG_Addr_free(n->origin_class, self);
    return ret;
}

static hg_return_t
looked_up(const struct hg_cb_info *info)
{
    *(hg_addr_t *) info->arg = info->info.lookup.addr;
    return info->ret;
}

hg_return_t
nomem_look_up(struct nomem *n)
{
    hg_addr_t addr = HG_ADDR_NULL, copy = HG_ADDR_NULL;
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret =
        HG_Addr_lookup1(n->origin, looked_up, &addr, n->address, NULL);

    if (ret != HG_SUCCESS)
        return ret;
    step(n);
    ret = HG_Create(n->origin, addr, echo_id, &handle);
    /* HG_Get_info's address belongs to the handle; a copy is allocated. */
    if (ret == HG_SUCCESS)
        ret = HG_Addr_dup(n->origin_class, HG_Get_info(handle)->addr, &copy);
    if (ret == HG_SUCCESS && !HG_Addr_cmp(n->origin_class, addr, copy))
        ret = HG_FAULT;
    HG_Destroy(handle);
    HG_Addr_free(n->origin_class, copy);
    HG_Addr_free(n->origin_class, addr);
    return ret;
}

hg_return_t
nomem_register(struct nomem *n)
{
    hg_return_t ret = HG_SUCCESS;
    uint8_t known = 0;

    for (hg_id_t id = 1; ret == HG_SUCCESS && id <= MORE_RPCS; id++) {
        ret = HG_Register(n->origin_class, id, NULL, NULL, on_hold);
        HG_Registered(n->origin_class, id, &known);
        if ((ret == HG_SUCCESS) != (known != 0))
            ret = HG_FAULT;
    }
    if (ret == HG_SUCCESS &&
        HG_Register_name(n->origin_class, "more", NULL, NULL, on_hold) == 0)
        ret = HG_NOMEM;
    return ret;
}

hg_return_t
nomem_cancel(struct nomem *n)
{
    struct call call = {.called = 0};
    blob_t in = {.size = 1, .data = (unsigned char *) "x"};
    hg_handle_t handle;
    hg_return_t ret = HG_Create(n->origin, n->peer, hold_id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    holding = true;
    ret = HG_Forward(handle, call_done, &call, &in);
    for (uint32_t i = 0; i < STEPS_MAX && ret == HG_SUCCESS && held_count == 0;
         i++)
        step(n);
    if (ret == HG_SUCCESS)
        ret = HG_Cancel(handle);
    if (ret == HG_SUCCESS)
        ret = finish(n, handle, &call);
    HG_Destroy(handle);
    for (unsigned i = 0; i < 10; i++)
        step(n);
    holding = false;
    release_held();
    step(n);
    return ret == HG_CANCELED ? HG_SUCCESS : ret;
}

hg_return_t
nomem_call_many(struct nomem *n)
{
    struct call calls[CROWD] = {{.called = 0}};
    hg_handle_t handles[CROWD] = {HG_HANDLE_NULL};
    blob_t in = {.size = 1, .data = (unsigned char *) "x"};
    hg_return_t ret = HG_SUCCESS, last;
    unsigned count;

    for (count = 0; ret == HG_SUCCESS && count < CROWD; count++) {
        ret = HG_Create(n->origin, n->peer, hold_id, &handles[count]);
        if (ret == HG_SUCCESS)
            ret = HG_Forward(handles[count], call_done, &calls[count], &in);
        if (ret != HG_SUCCESS) {
            HG_Destroy(handles[count]);
            break;
        }
    }
    for (unsigned i = 0; i < count; i++) {
        last = finish(n, handles[i], &calls[i]);
        if (ret == HG_SUCCESS)
            ret = last;
        HG_Destroy(handles[i]);
    }
    return ret;
}

hg_return_t
nomem_get_stats(struct nomem *n)
{
    struct talaria_class_stats *stats;
    char *json;
    hg_return_t ret = talaria_class_stats(n->origin_class, &stats);

    if (ret != HG_SUCCESS)
        return ret;
    talaria_class_stats_free(stats);
    ret = talaria_class_stats_json(n->origin_class, &json);
    if (ret == HG_SUCCESS)
        free(json);
    return ret;
}

hg_return_t
nomem_get_protocols(struct nomem *n)
{
    struct na_protocol_info *list;
    hg_return_t ret = HG_Get_na_protocol_info(session_transport(), &list);

    if (ret == HG_SUCCESS)
        HG_Free_na_protocol_info(list);
    return ret;
}

/* Moves data within one descriptor to a higher offset, between segments of
 * different sizes. */
static hg_return_t
shift(struct nomem *n, hg_addr_t self)
{
    char memory[300];
    void *from[2] = {memory, memory + 150}, *to[2] = {memory + 50, memory + 99};
    hg_size_t from_sizes[2] = {100, 100}, to_sizes[2] = {49, 151};
    hg_bulk_t a = HG_BULK_NULL, b = HG_BULK_NULL;
    struct call call = {.called = 0};
    hg_return_t ret = HG_Bulk_create(
        n->origin_class, 2, from, from_sizes, HG_BULK_READ_ONLY, &a);

    if (ret == HG_SUCCESS)
        ret = HG_Bulk_create(
            n->origin_class, 2, to, to_sizes, HG_BULK_WRITE_ONLY, &b);
    memset(memory, 1, sizeof memory);
    memset(memory, 2, 100);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_transfer(n->origin, call_done, &call, HG_BULK_PULL, self,
            a, 0, b, 0, 200, HG_OP_ID_IGNORE);
    if (ret == HG_SUCCESS)
        ret = finish(n, HG_HANDLE_NULL, &call);
    if (ret == HG_SUCCESS && (memory[148] != 2 || memory[150] != 1))
        ret = HG_FAULT;
    HG_Bulk_free(b);
    HG_Bulk_free(a);
    return ret;
}

hg_return_t
nomem_move_data(struct nomem *n)
{
    hg_addr_t self;
    hg_return_t ret = HG_Addr_self(n->origin_class, &self);

    if (ret != HG_SUCCESS)
        return ret;
    ret = shift(n, self);
    HG_Addr_free(n->origin_class, self);
    return ret;
}
