/* SPDX-License-Identifier: BSD-3-Clause */
#include "node.h"

#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_proc_bulk.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define DATA_SIZE (1 << 20) /* bytes */
#define PATIENCE 20         /* seconds for a call */

MERCURY_GEN_PROC(sum_in_t, ((hg_bulk_t) (data)))
MERCURY_GEN_PROC(sum_out_t, ((uint64_t) (sum)))

struct node {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t sum_id;
    pthread_t server;
    bool serves;
    atomic_bool stop;
};

/* A request that is being served: the pulled data. */
struct pull {
    hg_handle_t handle;
    sum_in_t in;
    hg_bulk_t local;
    unsigned char data[DATA_SIZE];
};

/* A call whose response is awaited. */
struct call {
    bool ended;
    hg_return_t ret;
    uint64_t sum;
};

static uint64_t
sum_of(const unsigned char *data)
{
    uint64_t sum = 0;

    for (size_t i = 0; i < DATA_SIZE; i++)
        sum += (i + 1) * data[i];
    return sum;
}

static hg_return_t
pulled(const struct hg_cb_info *info)
{
    struct pull *pull = info->arg;
    sum_out_t out = {info->ret == HG_SUCCESS ? sum_of(pull->data) : 0};
    hg_return_t ret = HG_Respond(pull->handle, NULL, NULL, &out);

    if (ret != HG_SUCCESS)
        fprintf(stderr, "response: %s\n", HG_Error_to_string(ret));
    (void) HG_Bulk_free(pull->local);
    (void) HG_Free_input(pull->handle, &pull->in);
    (void) HG_Destroy(pull->handle);
    free(pull);
    return ret;
}

static hg_return_t
sum_handler(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    struct pull *pull = calloc(1, sizeof *pull);
    hg_size_t size = DATA_SIZE;
    hg_return_t ret;
    void *data;

    if (!pull)
        return HG_NOMEM;
    data = pull->data;
    pull->handle = handle;
    ret = HG_Get_input(handle, &pull->in);
    if (ret != HG_SUCCESS)
        goto free_pull;
    ret = HG_Bulk_create(
        info->hg_class, 1, &data, &size, HG_BULK_WRITE_ONLY, &pull->local);
    if (ret != HG_SUCCESS)
        goto free_input;
    ret =
        HG_Bulk_transfer(info->context, pulled, pull, HG_BULK_PULL, info->addr,
            pull->in.data, 0, pull->local, 0, DATA_SIZE, HG_OP_ID_IGNORE);
    if (ret == HG_SUCCESS)
        return HG_SUCCESS;
    (void) HG_Bulk_free(pull->local);
free_input:
    (void) HG_Free_input(handle, &pull->in);
free_pull:
    free(pull);
    return ret;
}

/* Progresses a node for at most that long. */
static void
node_progress(struct node *node, unsigned int ms)
{
    unsigned int count;

    (void) HG_Progress(node->context, ms);
    while (HG_Trigger(node->context, 0, 1, &count) == HG_SUCCESS && count > 0)
        continue;
}

static void *
serve(void *arg)
{
    struct node *node = arg;

    while (!atomic_load(&node->stop))
        node_progress(node, 10);
    return NULL;
}

static bool
node_close(struct node *node)
{
    bool closed = true;

    if (node->serves) {
        atomic_store(&node->stop, true);
        closed = pthread_join(node->server, NULL) == 0;
    }
    if (node->context && HG_Context_destroy(node->context) != HG_SUCCESS)
        closed = false;
    if (node->hg_class && HG_Finalize(node->hg_class) != HG_SUCCESS)
        closed = false;
    free(node);
    return closed;
}

static struct node *
node_open(const char *info, bool listen)
{
    struct node *node = calloc(1, sizeof *node);

    if (!node)
        return NULL;
    node->hg_class = HG_Init(info, listen);
    if (node->hg_class)
        node->context = HG_Context_create(node->hg_class);
    if (node->context) {
        node->sum_id = MERCURY_REGISTER(
            node->hg_class, "sum", sum_in_t, sum_out_t, sum_handler);
        node->serves =
            listen && pthread_create(&node->server, NULL, serve, node) == 0;
        if (node->serves == listen)
            return node;
    }
    (void) node_close(node);
    return NULL;
}

static bool
node_address(struct node *node, char *text, size_t size)
{
    hg_addr_t self = HG_ADDR_NULL;
    hg_size_t room = size;
    bool got =
        HG_Addr_self(node->hg_class, &self) == HG_SUCCESS &&
        HG_Addr_to_string(node->hg_class, text, &room, self) == HG_SUCCESS;

    (void) HG_Addr_free(node->hg_class, self);
    return got;
}

static hg_return_t
responded(const struct hg_cb_info *info)
{
    struct call *call = info->arg;
    sum_out_t out;

    call->ended = true;
    call->ret = info->ret;
    if (call->ret == HG_SUCCESS)
        call->ret = HG_Get_output(info->info.forward.handle, &out);
    if (call->ret == HG_SUCCESS) {
        call->sum = out.sum;
        call->ret = HG_Free_output(info->info.forward.handle, &out);
    }
    return HG_SUCCESS;
}

/* Forwards, and progresses until the callback has run. */
static hg_return_t
forward(struct node *node, hg_addr_t addr, sum_in_t *in, struct call *call)
{
    hg_handle_t handle = HG_HANDLE_NULL;
    hg_return_t ret = HG_Create(node->context, addr, node->sum_id, &handle);
    time_t end = time(NULL) + PATIENCE;

    if (ret == HG_SUCCESS)
        ret = HG_Forward(handle, responded, call, in);
    if (ret == HG_SUCCESS) {
        while (!call->ended && time(NULL) < end)
            node_progress(node, 10);
        if (!call->ended)
            (void) HG_Cancel(handle);
        while (!call->ended)
            node_progress(node, 10);
        ret = call->ret;
    }
    (void) HG_Destroy(handle);
    return ret;
}

static bool
node_call(struct node *node, const char *address)
{
    unsigned char *data = malloc(DATA_SIZE);
    hg_size_t size = DATA_SIZE;
    hg_addr_t addr = HG_ADDR_NULL;
    sum_in_t in = {HG_BULK_NULL};
    struct call call = {0};
    hg_return_t ret = HG_NOMEM;
    void *start = data;

    if (!data)
        goto out;
    for (size_t i = 0; i < DATA_SIZE; i++)
        data[i] = (unsigned char) (i * 31 + i / 256);
    ret = HG_Addr_lookup2(node->hg_class, address, &addr);
    if (ret == HG_SUCCESS)
        ret = HG_Bulk_create(
            node->hg_class, 1, &start, &size, HG_BULK_READ_ONLY, &in.data);
    if (ret == HG_SUCCESS)
        ret = forward(node, addr, &in, &call);
    if (ret == HG_SUCCESS && call.sum != sum_of(data))
        ret = HG_FAULT;
out:
    (void) HG_Bulk_free(in.data);
    (void) HG_Addr_free(node->hg_class, addr);
    free(data);
    if (ret != HG_SUCCESS)
        fprintf(stderr, "%s: %s\n", address, HG_Error_to_string(ret));
    return ret == HG_SUCCESS;
}

extern const struct node_ops node_ops;
const struct node_ops node_ops __attribute__((visibility("default"))) = {
    .open = node_open,
    .address = node_address,
    .call = node_call,
    .close = node_close,
};
