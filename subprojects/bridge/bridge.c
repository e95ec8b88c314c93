/* SPDX-License-Identifier: BSD-3-Clause */
/* The bridge: a class on each of two transports. It forwards a request from one
 * side to the target on the other side. Data passes through one buffer
 * registered with both classes: one pulls into it, the other serves it. */
#include "blocks.h"
#include "serve.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct side {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_addr_t target; /* HG_ADDR_NULL: no target on this side */
    struct block_ids ids;
    struct side *other;
};

/* A request that is being forwarded. */
struct relay {
    struct side *from;
    struct side *to;
    hg_handle_t handle;    /* the received request */
    hg_handle_t forwarded; /* the forwarded request */
    bool reading;
    block_in_t in;
    block_out_t out;
    void *buffer;
    hg_size_t size;
    hg_bulk_t near; /* the buffer, registered with the side of the request */
    hg_bulk_t far;  /* the buffer, registered with the other side */
};

static void
relay_end(struct relay *relay, hg_return_t ret)
{
    hg_handle_t handle = relay->handle;
    uint64_t size = relay->out.size;

    if (ret == HG_SUCCESS)
        ret = (hg_return_t) relay->out.ret;
    HG_Destroy(relay->forwarded);
    HG_Bulk_free(relay->near);
    HG_Bulk_free(relay->far);
    free(relay->buffer);
    HG_Free_input(handle, &relay->in);
    free(relay);
    blocks_answer(handle, ret, size);
}

static hg_return_t
pushed(const struct hg_cb_info *info)
{
    relay_end(info->arg, info->ret);
    return HG_SUCCESS;
}

/* Transfers `size` bytes between the buffer and the requester's memory. */
static hg_return_t
relay_move(struct relay *relay, hg_bulk_op_t op, hg_size_t size, hg_cb_t done)
{
    return HG_Bulk_transfer(relay->from->context, done, relay, op,
        HG_Get_info(relay->handle)->addr, relay->in.data, 0, relay->near, 0,
        size, HG_OP_ID_IGNORE);
}

static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct relay *relay = info->arg;
    hg_return_t ret = info->ret;
    block_out_t out;

    if (ret == HG_SUCCESS)
        ret = HG_Get_output(relay->forwarded, &out);
    if (ret != HG_SUCCESS) {
        relay_end(relay, ret);
        return HG_SUCCESS;
    }
    relay->out = out;
    HG_Free_output(relay->forwarded, &out);
    if (relay->reading && relay->out.ret == HG_SUCCESS && relay->size > 0 &&
        relay->out.size > 0) {
        ret = relay_move(relay, HG_BULK_PUSH,
            relay->out.size < relay->size ? relay->out.size : relay->size,
            pushed);
        if (ret == HG_SUCCESS)
            return HG_SUCCESS;
    }
    relay_end(relay, ret);
    return HG_SUCCESS;
}

static void
relay_forward(struct relay *relay)
{
    const struct side *to = relay->to;
    block_in_t in = {.name = relay->in.name, .data = relay->far};
    hg_return_t ret = HG_Create(to->context, to->target,
        relay->reading ? to->ids.read : to->ids.write, &relay->forwarded);

    if (ret == HG_SUCCESS)
        ret = HG_Forward(relay->forwarded, answered, relay, &in);
    if (ret != HG_SUCCESS)
        relay_end(relay, ret);
}

static hg_return_t
pulled(const struct hg_cb_info *info)
{
    if (info->ret == HG_SUCCESS)
        relay_forward(info->arg);
    else
        relay_end(info->arg, info->ret);
    return HG_SUCCESS;
}

/* Allocates a buffer and registers it with both classes. */
static hg_return_t
relay_register(struct relay *relay)
{
    hg_return_t ret;

    relay->size = HG_Bulk_get_size(relay->in.data);
    if (relay->size > BLOCK_SIZE_MAX)
        return HG_OVERFLOW;
    if (relay->size == 0)
        return HG_SUCCESS;
    relay->buffer = malloc(relay->size);
    if (!relay->buffer)
        return HG_NOMEM;
    ret = HG_Bulk_create(relay->from->hg_class, 1, &relay->buffer, &relay->size,
        HG_BULK_READWRITE, &relay->near);
    if (ret != HG_SUCCESS)
        return ret;
    return HG_Bulk_create(relay->to->hg_class, 1, &relay->buffer, &relay->size,
        relay->reading ? HG_BULK_WRITE_ONLY : HG_BULK_READ_ONLY, &relay->far);
}

static hg_return_t
relay_begin(hg_handle_t handle, bool reading)
{
    struct relay *relay = calloc(1, sizeof *relay);
    hg_return_t ret;

    if (!relay) {
        blocks_answer(handle, HG_NOMEM, 0);
        return HG_SUCCESS;
    }
    relay->handle = handle;
    relay->reading = reading;
    relay->from = HG_Class_get_data(HG_Get_info(handle)->hg_class);
    relay->to = relay->from->other;
    ret = HG_Get_input(handle, &relay->in);
    if (ret != HG_SUCCESS) {
        free(relay);
        blocks_answer(handle, ret, 0);
        return HG_SUCCESS;
    }
    if (relay->to->target == HG_ADDR_NULL)
        ret = HG_HOSTUNREACH;
    else
        ret = relay_register(relay);
    if (ret != HG_SUCCESS) {
        relay_end(relay, ret);
    } else if (reading || relay->size == 0) {
        relay_forward(relay);
    } else {
        ret = relay_move(relay, HG_BULK_PULL, relay->size, pulled);
        if (ret != HG_SUCCESS)
            relay_end(relay, ret);
    }
    return HG_SUCCESS;
}

static hg_return_t
on_write(hg_handle_t handle)
{
    return relay_begin(handle, false);
}

static hg_return_t
on_read(hg_handle_t handle)
{
    return relay_begin(handle, true);
}

static void
side_close(struct side *side)
{
    HG_Addr_free(side->hg_class, side->target);
    HG_Context_destroy(side->context);
    HG_Finalize(side->hg_class);
}

static int
side_open(struct side *side, const char *info, const char *target)
{
    side->hg_class = HG_Init(info, HG_TRUE);
    if (!side->hg_class)
        return -1; /* the log has the reason */
    side->context = HG_Context_create(side->hg_class);
    if (!side->context)
        return -1;
    HG_Class_set_data(side->hg_class, side, NULL);
    side->ids = blocks_register(side->hg_class, on_write, on_read);
    if (strcmp(target, "-") != 0 &&
        HG_Addr_lookup2(side->hg_class, target, &side->target) != HG_SUCCESS) {
        fprintf(stderr, "%s is not an address of %s\n", target, info);
        return -1;
    }
    return 0;
}

int
main(int argc, char **argv)
{
    struct side sides[2] = {{.other = &sides[1]}, {.other = &sides[0]}};
    int ret;

    if (argc != 5 || serve_prepare() != 0) {
        fprintf(stderr,
            "usage: block-bridge INFO TARGET INFO TARGET\n"
            "A TARGET is an address of the transport before it, or -.\n");
        return 2;
    }
    ret = side_open(&sides[0], argv[1], argv[2]);
    if (ret == 0)
        ret = side_open(&sides[1], argv[3], argv[4]);
    if (ret == 0)
        ret = blocks_print_address(sides[0].hg_class, "1 ");
    if (ret == 0)
        ret = blocks_print_address(sides[1].hg_class, "2 ");
    if (ret == 0) {
        hg_context_t *contexts[2] = {sides[0].context, sides[1].context};

        ret = serve(contexts, 2);
    }
    side_close(&sides[1]);
    side_close(&sides[0]);
    return ret == 0 ? 0 : 1;
}
