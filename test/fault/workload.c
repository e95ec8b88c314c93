/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes, calls, and the order of all steps. */
#include "run.h"
#include "workload_internal.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define LARGE 300000U
#define ATTEMPTS 4
#define BUSY_STEPS 20
#define LOST_MS 1000U   /* an operation still pending then is considered lost */
#define CANCEL_MS 5000U /* and has to end within this after a cancel */

struct workload *workload_current;
static hg_handle_t held;

hg_return_t
workload_accepted(hg_return_t ret)
{
    workload_current->accepted += ret == HG_SUCCESS;
    return ret;
}

hg_return_t
workload_called(const struct hg_cb_info *info)
{
    struct workload_op *op = info->arg;

    workload_current->called++;
    if (op) {
        if (op->called++ > 0)
            run_fail("second callback of one operation");
        op->ret = info->ret;
    }
    return HG_SUCCESS;
}

/* Echoes: one side responds, the other calls; the injected failure may hit
 * either. */
static void
progress(hg_context_t *context, unsigned timeout_ms)
{
    HG_Progress(context, timeout_ms);
    while (HG_Trigger(context, 0, 1, NULL) == HG_SUCCESS)
        ;
}

void
workload_step(unsigned timeout_ms)
{
    progress(workload_current->origin, timeout_ms);
    progress(workload_current->target, timeout_ms);
}

static bool
step_until(const struct workload_op *op, unsigned limit_ms)
{
    uint64_t end = session_now_ms() + limit_ms;

    for (unsigned i = 0; op->called == 0 && session_now_ms() < end; i++)
        workload_step(i < BUSY_STEPS ? 0 : 1);
    return op->called > 0;
}

hg_return_t
workload_wait(struct workload_op *op, hg_handle_t handle, hg_op_id_t transfer)
{
    hg_return_t ret;

    if (step_until(op, LOST_MS))
        return op->ret;
    if (!workload_current->rule->failed())
        run_fail("timed out after %u ms without an injected failure", LOST_MS);
    else if (run_current->logged == 0)
        run_fail("timed out after %u ms without a line in the log", LOST_MS);
    ret = handle ? HG_Cancel(handle) : HG_Bulk_cancel(transfer);
    if (ret != HG_SUCCESS)
        run_fail("cancel: %s", HG_Error_to_string(ret));
    if (!step_until(op, CANCEL_MS))
        run_fail("no callback %u ms after the cancel", CANCEL_MS);
    return op->ret;
}

void
workload_respond(hg_handle_t handle, void *out)
{
    hg_return_t ret = HG_NOMEM;

    for (int i = 0; i < ATTEMPTS && ret != HG_SUCCESS; i++)
        ret = workload_accepted(HG_Respond(handle, workload_called, NULL, out));
    if (ret != HG_SUCCESS)
        run_fail("respond: %s", HG_Error_to_string(ret));
}

static hg_return_t
on_echo(hg_handle_t handle)
{
    blob_t blob;
    hg_return_t ret = HG_Get_input(handle, &blob);

    if (ret != HG_SUCCESS) {
        HG_Destroy(handle);
        return ret;
    }
    workload_respond(handle, &blob);
    HG_Free_input(handle, &blob);
    HG_Destroy(handle);
    return HG_SUCCESS;
}

static void
release_held(void)
{
    if (held) {
        workload_respond(held, NULL);
        HG_Destroy(held);
    }
    held = HG_HANDLE_NULL;
}

static hg_return_t
on_hold(hg_handle_t handle)
{
    release_held();
    held = handle;
    return HG_SUCCESS;
}

static bool
register_all(struct workload *s, hg_class_t *hg_class)
{
    s->echo_id = MERCURY_REGISTER(hg_class, "echo", blob_t, blob_t, on_echo);
    s->hold_id = MERCURY_REGISTER(hg_class, "hold", blob_t, void, on_hold);
    s->move_id = workload_register_move(hg_class);
    return s->echo_id != 0 && s->hold_id != 0 && s->move_id != 0;
}

static hg_return_t
open_side(struct workload *s, hg_class_t **class_p, hg_context_t **context_p)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    info.auto_sm = s->rule->auto_sm;
    info.request_post_init = 2;
    info.request_post_incr = 2;
    if (!*class_p)
        *class_p =
            HG_Init_opt2(s->rule->transport, HG_TRUE, HG_VERSION(2, 4), &info);
    if (*class_p && !register_all(s, *class_p))
        return HG_NOMEM;
    if (*class_p && !*context_p)
        *context_p = HG_Context_create(*class_p);
    return *context_p ? HG_SUCCESS : HG_NOMEM;
}

static hg_return_t
open_target(void)
{
    struct workload *s = workload_current;

    return open_side(s, &s->target_class, &s->target);
}

static hg_return_t
open_origin(void)
{
    struct workload *s = workload_current;

    return open_side(s, &s->origin_class, &s->origin);
}

static hg_return_t
find_target(void)
{
    struct workload *s = workload_current;
    hg_size_t size = sizeof s->address;
    hg_addr_t self;
    hg_return_t ret = HG_Addr_self(s->target_class, &self);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Addr_to_string(s->target_class, s->address, &size, self);
    HG_Addr_free(s->target_class, self);
    return ret == HG_SUCCESS
               ? HG_Addr_lookup2(s->origin_class, s->address, &s->peer)
               : ret;
}

static hg_return_t
echo(uint32_t size)
{
    struct workload *s = workload_current;
    struct workload_op op = {.called = 0};
    blob_t in = {.size = size, .data = malloc(size)}, out;
    hg_handle_t handle;
    hg_return_t ret =
        in.data ? HG_Create(s->origin, s->peer, s->echo_id, &handle) : HG_NOMEM;

    if (ret != HG_SUCCESS) {
        free(in.data);
        return ret;
    }
    for (uint32_t i = 0; i < size; i++)
        in.data[i] = (unsigned char) (i * 7 + i / 256);
    ret = workload_accepted(HG_Forward(handle, workload_called, &op, &in));
    if (ret == HG_SUCCESS)
        ret = workload_wait(&op, handle, HG_OP_ID_NULL);
    if (ret == HG_SUCCESS)
        ret = HG_Get_output(handle, &out);
    if (ret == HG_SUCCESS) {
        if (out.size != in.size || memcmp(out.data, in.data, size) != 0)
            run_fail("the echo of %u bytes differs", size);
        HG_Free_output(handle, &out);
    }
    if (HG_Destroy(handle) != HG_SUCCESS)
        run_fail("HG_Destroy failed");
    free(in.data);
    return ret;
}

static hg_return_t
call_small(void)
{
    return echo(100);
}

static hg_return_t
call_large(void)
{
    return echo(LARGE);
}

static hg_return_t
cancel(void)
{
    struct workload *s = workload_current;
    struct workload_op op = {.called = 0};
    blob_t in = {.size = 1, .data = (unsigned char *) "x"};
    uint64_t end = session_now_ms() + LOST_MS;
    hg_handle_t handle;
    hg_return_t ret = HG_Create(s->origin, s->peer, s->hold_id, &handle);

    if (ret != HG_SUCCESS)
        return ret;
    ret = workload_accepted(HG_Forward(handle, workload_called, &op, &in));
    if (ret == HG_SUCCESS) {
        while (!held && op.called == 0 && session_now_ms() < end)
            workload_step(1);
        HG_Cancel(handle);
        ret = workload_wait(&op, handle, HG_OP_ID_NULL);
    }
    HG_Destroy(handle);
    release_held();
    return ret == HG_CANCELED ? HG_SUCCESS : ret;
}

static const struct step {
    const char *name;
    hg_return_t (*run)(void);
} steps[] = {
    {"open the target", open_target},
    {"open the origin", open_origin},
    {"find the target", find_target},
    {"call", call_small},
    {"call again", call_small},
    {"call with large arguments", call_large},
    {"transfer data inside a descriptor", workload_move_small},
    {"transfer data", workload_move_large},
    {"transfer data allocated by the library", workload_move_allocated},
    {"cancel a call", cancel},
    {"call at the end", call_small},
};

static bool
run_step(const struct step *step)
{
    for (int i = 0; i < ATTEMPTS; i++) {
        bool before = workload_current->rule->failed();
        hg_return_t ret;

        run_doing(step->name);
        ret = step->run();
        if (ret == HG_SUCCESS)
            return true;
        if (!workload_current->rule->failed()) {
            run_fail("%s: %s without an injected failure", step->name,
                HG_Error_to_string(ret));
            return false;
        }
        if (before && i > 1)
            run_fail("%s, attempt %d after the failure: %s", step->name, i + 1,
                HG_Error_to_string(ret));
    }
    return false;
}

/* Retried once, in case this call was the one that failed. */
static void
ends(const char *what, hg_return_t (*end)(void))
{
    bool before = workload_current->rule->failed();
    hg_return_t ret;

    run_doing(what);
    ret = end();
    if (ret != HG_SUCCESS && !before && workload_current->rule->failed())
        ret = end();
    if (ret != HG_SUCCESS)
        run_fail("%s: %s", what, HG_Error_to_string(ret));
}

static hg_return_t
destroy_target(void)
{
    return HG_Context_destroy(workload_current->target);
}

static hg_return_t
destroy_origin(void)
{
    return HG_Context_destroy(workload_current->origin);
}

static hg_return_t
finalize_target(void)
{
    return HG_Finalize(workload_current->target_class);
}

static hg_return_t
finalize_origin(void)
{
    return HG_Finalize(workload_current->origin_class);
}

/* Lets the target finish its work. */
static void
settle(struct workload *s)
{
    uint64_t end = session_now_ms() + CANCEL_MS;

    run_doing("settle");
    release_held();
    while ((s->accepted != s->called || workload_moving()) &&
           session_now_ms() < end)
        workload_step(1);
}

static void
close_all(struct workload *s)
{
    if (s->target && s->origin)
        settle(s);
    if (s->peer != HG_ADDR_NULL)
        HG_Addr_free(s->origin_class, s->peer);
    if (s->origin)
        ends("destroy the origin's context", destroy_origin);
    if (s->target)
        ends("destroy the target's context", destroy_target);
    if (s->accepted != s->called)
        run_fail("%u operations were accepted, %u called back", s->accepted,
            s->called);
    if (s->origin_class)
        ends("finalize the origin", finalize_origin);
    if (s->target_class)
        ends("finalize the target", finalize_target);
}

static int log_line(FILE *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int
log_line(FILE *stream, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    run_log(format, args);
    va_end(args);
    return 0;
}

void
workload_prepare(void)
{
    HG_Set_log_func(log_line);
    HG_Set_log_subsys("all");
    HG_Set_log_level("warning");
}

void
workload_run(const struct workload_rule *rule)
{
    static struct workload workload;
    bool good = true;

    workload_current = &workload;
    workload.rule = rule;
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && good; i++)
        good = run_step(&steps[i]);
    close_all(&workload);
    run_doing("clean up");
    HG_Cleanup();
}
