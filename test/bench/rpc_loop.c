/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Origin and target in one thread over one transport: measures instructions and
 * malloc calls of a remote procedure call.
 *
 * rpc_loop INFO COUNT [single|self]: COUNT calls with 64 bytes in each
 * direction, after a warm-up; self: of a class to itself. Prints the number of
 * allocations.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "allocations.h"
#include "mercury.h"
#include "mercury_macros.h"

#define WARM_UP 1000U
#define BYTES 64U
/* Time between two readings of the clock in a run: some 30 polls, as without
 * callgrind. */
#define READ_NS 8000

struct payload {
    char bytes[BYTES];
};

static struct timespec steady; /* the time in a run, else 0 */

/* Instead of the C library's, also for the core and the plugin: how often these
 * look at the kernel depends on the time. In a run over na+sm it passes by
 * readings, of whatever clock, so that every run has as many looks. */
int
clock_gettime(clockid_t id, struct timespec *now)
{
    if (steady.tv_sec == 0)
        return (int) syscall(SYS_clock_gettime, id, now);
    steady.tv_nsec += READ_NS;
    if (steady.tv_nsec >= 1000000000) {
        steady.tv_nsec -= 1000000000;
        steady.tv_sec++;
    }
    *now = steady;
    return 0;
}

static hg_return_t
proc_payload(hg_proc_t proc, void *data)
{
    struct payload *payload = data;

    return hg_proc_bytes(proc, payload->bytes, sizeof payload->bytes);
}

static hg_return_t
echo(hg_handle_t handle)
{
    struct payload payload;
    hg_return_t ret = HG_Get_input(handle, &payload);

    if (ret != HG_SUCCESS)
        return ret;
    ret = HG_Respond(handle, NULL, NULL, &payload);
    HG_Free_input(handle, &payload);
    HG_Destroy(handle);
    return ret;
}

struct call {
    bool done;
    bool right;
    struct payload sent;
};

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    hg_handle_t handle = info->info.forward.handle;
    struct payload got;

    call->done = true;
    if (info->ret != HG_SUCCESS || HG_Get_output(handle, &got) != HG_SUCCESS)
        return HG_SUCCESS;
    call->right = memcmp(&got, &call->sent, sizeof got) == 0;
    return HG_Free_output(handle, &got);
}

struct side {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t id;
};

static bool
open_side(struct side *side, const char *info, bool listen, bool single)
{
    struct hg_init_info init = HG_INIT_INFO_INITIALIZER;

    init.na_init_info.progress_mode = NA_NO_BLOCK;
    init.na_init_info.thread_mode = single ? NA_THREAD_MODE_SINGLE : 0;
    side->hg_class = HG_Init_opt2(info, listen, HG_VERSION(2, 4), &init);
    if (!side->hg_class)
        return false;
    side->context = HG_Context_create(side->hg_class);
    side->id = HG_Register_name(side->hg_class, "echo", proc_payload,
        proc_payload, listen ? echo : NULL);
    return side->context && side->id != 0;
}

static void
close_side(struct side *side)
{
    HG_Context_destroy(side->context);
    HG_Finalize(side->hg_class);
}

/* An ordinary program's loop, for both sides in turn. */
static void
progress(struct side *side)
{
    if (HG_Progress(side->context, 0) == HG_SUCCESS)
        HG_Trigger(side->context, 0, 1, NULL);
}

static bool
run(struct side *origin, struct side *target, hg_handle_t handle,
    unsigned long count)
{
    struct call call = {.sent = {.bytes = "sixty-four bytes there and back"}};

    for (unsigned long i = 0; i < count; i++) {
        call.done = call.right = false;
        memcpy(call.sent.bytes + 40, &i, sizeof i);
        if (HG_Forward(handle, answered, &call, &call.sent) != HG_SUCCESS)
            return false;
        while (!call.done) {
            progress(target);
            progress(origin);
        }
        if (!call.right)
            return false;
    }
    return true;
}

static hg_handle_t
reach(struct side *origin, struct side *target, hg_addr_t *addr_p)
{
    char name[256];
    hg_size_t size = sizeof name;
    hg_addr_t self;
    hg_handle_t handle = HG_HANDLE_NULL;

    if (HG_Addr_self(target->hg_class, &self) != HG_SUCCESS)
        return HG_HANDLE_NULL;
    if (HG_Addr_to_string(target->hg_class, name, &size, self) == HG_SUCCESS &&
        HG_Addr_lookup2(origin->hg_class, name, addr_p) == HG_SUCCESS)
        HG_Create(origin->context, *addr_p, origin->id, &handle);
    HG_Addr_free(target->hg_class, self);
    return handle;
}

int
main(int argc, char **argv)
{
    bool single = argc > 3 && strcmp(argv[3], "single") == 0;
    bool self = argc > 3 && strcmp(argv[3], "self") == 0;
    unsigned long count = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    struct side other, target, *origin = self ? &target : &other;
    hg_addr_t addr = HG_ADDR_NULL;
    hg_handle_t handle;
    bool right;

    if (argc < 3) {
        fprintf(stderr, "usage: %s INFO COUNT [single|self]\n", argv[0]);
        return 2;
    }
    if (!open_side(&target, argv[1], true, single) ||
        (!self && !open_side(&other, argv[1], false, single)))
        return 1;
    handle = reach(origin, &target, &addr);
    if (!handle)
        return 1;
    if (strcmp(argv[1], "na+sm") == 0)
        clock_gettime(CLOCK_MONOTONIC, &steady);
    if (!run(origin, &target, handle, WARM_UP))
        return 1;
    allocations_count(true);
    right = run(origin, &target, handle, count);
    allocations_count(false);
    steady.tv_sec = 0;
    printf("allocations %lu\n", allocations_of(ALLOCATIONS_CORE).count +
                                    allocations_of(ALLOCATIONS_PLUGIN).count);
    HG_Destroy(handle);
    HG_Addr_free(origin->hg_class, addr);
    if (!self)
        close_side(&other);
    close_side(&target);
    return right ? 0 : 1;
}
