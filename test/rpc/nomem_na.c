/* SPDX-License-Identifier: BSD-3-Clause */
/* Single-threaded steps of a program that uses NA alone. No assertions. */
#include "nomem.h"

#include "log_watch.h"
#include "na.h"
#include "session.h"
#include "talaria.h"

#include <stdlib.h>

#define STEPS_MAX 200000U
#define SIZE 1000U

struct ends {
    na_class_t *na_class;
    na_context_t *context;
    na_op_id_t *send;
    na_op_id_t *receive;
    char *buffer;
    void *buffer_data;
    char *message;
    void *message_data;
    uint32_t sent;
    uint32_t received;
    uint32_t ended;
};

static void
ends_close(struct ends *e)
{
    if (e->buffer)
        NA_Msg_buf_free(e->na_class, e->buffer, e->buffer_data);
    if (e->message)
        NA_Msg_buf_free(e->na_class, e->message, e->message_data);
    NA_Op_destroy(e->na_class, e->receive);
    NA_Op_destroy(e->na_class, e->send);
    NA_Context_destroy(e->na_class, e->context);
    NA_Finalize(e->na_class);
}

static na_return_t
ends_open(struct ends *e)
{
    size_t max;

    *e = (struct ends){.na_class = NA_Initialize(session_transport(), true)};
    if (!e->na_class)
        return NA_NOMEM;
    e->context = NA_Context_create(e->na_class);
    e->send = NA_Op_create(e->na_class, NA_OP_SINGLE);
    e->receive = NA_Op_create(e->na_class, NA_OP_MULTI);
    if (!e->context || !e->send || !e->receive)
        return NA_NOMEM;
    max = NA_Msg_get_max_unexpected_size(e->na_class);
    e->message = NA_Msg_buf_alloc(e->na_class, max, NA_SEND, &e->message_data);
    e->buffer =
        NA_Msg_buf_alloc(e->na_class, 8 * max, NA_MULTI_RECV, &e->buffer_data);
    return e->message && e->buffer ? NA_SUCCESS : NA_NOMEM;
}

/* Once as the owner of the memory, once as a peer. */
static na_return_t
describe(na_class_t *na_class, char *memory)
{
    na_mem_handle_t *own = NULL, *copy = NULL;
    char bytes[512];
    size_t size;
    na_return_t ret =
        NA_Mem_handle_create(na_class, memory, SIZE, NA_MEM_READWRITE, &own);

    if (ret != NA_SUCCESS)
        return ret;
    ret = NA_Mem_register(na_class, own, NA_MEM_TYPE_HOST, 0);
    size = NA_Mem_handle_get_serialize_size(na_class, own);
    if (ret == NA_SUCCESS && size > sizeof bytes)
        ret = NA_FAULT;
    if (ret == NA_SUCCESS)
        ret = NA_Mem_handle_serialize(na_class, bytes, size, own);
    if (ret == NA_SUCCESS)
        ret = NA_Mem_handle_deserialize(na_class, &copy, bytes, size);
    if (copy)
        NA_Mem_handle_free(na_class, copy);
    NA_Mem_deregister(na_class, own);
    NA_Mem_handle_free(na_class, own);
    return ret;
}

hg_return_t
nomem_na_objects(struct nomem *n)
{
    struct talaria_report *report;
    struct ends e;
    void *memory;
    na_return_t ret = ends_open(&e);

    if (ret == NA_SUCCESS)
        ret = talaria_class_report(e.na_class, &report);
    if (ret == NA_SUCCESS) {
        talaria_class_report_free(report);
        ret = talaria_mem_alloc(e.na_class, SIZE, &memory);
    }
    if (ret == NA_SUCCESS) {
        ret = describe(e.na_class, memory);
        talaria_mem_free(e.na_class, memory);
    }
    ends_close(&e);
    return (hg_return_t) ret;
}

static void
on_sent(const struct na_cb_info *info)
{
    struct ends *e = info->arg;

    e->sent++;
}

static void
on_received(const struct na_cb_info *info)
{
    struct ends *e = info->arg;

    if (info->info.multi_recv_unexpected.source)
        NA_Addr_free(e->na_class, info->info.multi_recv_unexpected.source);
    e->received += info->ret == NA_SUCCESS;
    e->ended += info->info.multi_recv_unexpected.last;
}

static bool
lost(void)
{
    return log_count("a message of") > 0;
}

static void
step(struct ends *e)
{
    NA_Progress(e->na_class, e->context, 0);
    NA_Trigger(e->context, 1, NULL);
}

static na_return_t
exchange_messages(struct ends *e, na_addr_t *self)
{
    size_t size = NA_Msg_get_unexpected_header_size(e->na_class) + 1;
    na_return_t ret =
        NA_Msg_multi_recv_unexpected(e->na_class, e->context, on_received, e,
            e->buffer, 8 * NA_Msg_get_max_unexpected_size(e->na_class),
            e->buffer_data, e->receive);

    if (ret == NA_OPNOTSUPPORTED)
        return NA_SUCCESS;
    if (ret != NA_SUCCESS)
        return ret;
    ret = NA_Msg_init_unexpected(e->na_class, e->message, size);
    if (ret == NA_SUCCESS)
        ret = NA_Msg_send_unexpected(e->na_class, e->context, on_sent, e,
            e->message, size, e->message_data, self, 0, 1, e->send);
    for (uint32_t i = 0; i < STEPS_MAX && ret == NA_SUCCESS &&
                         (e->sent < 1 || (e->received < 1 && !lost()));
         i++)
        step(e);
    NA_Cancel(e->na_class, e->context, e->receive);
    for (uint32_t i = 0; i < STEPS_MAX && e->ended < 1; i++)
        step(e);
    if (ret == NA_SUCCESS && (e->ended != 1 || e->sent != 1))
        return NA_FAULT;
    return ret == NA_SUCCESS && lost() ? NA_NOMEM : ret;
}

hg_return_t
nomem_na_messages(struct nomem *n)
{
    na_addr_t *self;
    struct ends e;
    na_return_t ret = ends_open(&e);

    if (ret == NA_SUCCESS)
        ret = NA_Addr_self(e.na_class, &self);
    if (ret == NA_SUCCESS) {
        ret = exchange_messages(&e, self);
        NA_Addr_free(e.na_class, self);
    }
    ends_close(&e);
    return (hg_return_t) ret;
}
