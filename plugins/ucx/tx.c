/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages. A header and copied data lie in a buffer until UCX's
 * callback says that it is sent; spare buffers are used again. */
#include <stdlib.h>
#include <string.h>

#include "tx.h"

#define SPARE_LARGE 64U /* kept of those that hold a fragment */

/* Room for any message, and for a hello. */
static uint32_t
small_room(const na_plugin_class *cls)
{
    uint32_t room = (uint32_t) sizeof(struct ucx_hello);

    room = cls->max_unexpected > room ? cls->max_unexpected : room;
    return cls->max_expected > room ? cls->max_expected : room;
}

struct ucx_tx *
ucx_tx_make(na_plugin_class *cls, uint32_t length)
{
    bool large = length > small_room(cls);
    struct tp_list *spare = large ? &cls->spare_large : &cls->spare_small;
    struct ucx_tx *tx = (struct ucx_tx *) tp_list_pop(spare);

    if (tx == NULL) {
        size_t room = large ? UCX_FRAGMENT_MAX : small_room(cls);
        tx = aligned_alloc(64, (sizeof(*tx) + room + 63) & ~(size_t) 63);
        if (tx == NULL)
            return NULL;
        tx->room = (uint32_t) room;
    } else if (large) {
        cls->spare_larges--;
    }
    tx->conn = NULL;
    tx->length = length;
    tx->answer = false;
    return tx;
}

static void
tx_free(na_plugin_class *cls, struct ucx_tx *tx)
{
    if (tx->room <= small_room(cls)) {
        tp_list_append(&cls->spare_small, &tx->link);
    } else if (cls->spare_larges < SPARE_LARGE) {
        tp_list_append(&cls->spare_large, &tx->link);
        cls->spare_larges++;
    } else {
        free(tx);
    }
}

void
ucx_tx_fini(na_plugin_class *cls)
{
    struct tp_link *link;

    while ((link = tp_list_pop(&cls->spare_small)) != NULL)
        free(link);
    while ((link = tp_list_pop(&cls->spare_large)) != NULL)
        free(link);
}

int32_t
ucx_tx_now(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length)
{
    static const ucp_request_param_t param = {
        .op_attr_mask =
            UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FLAG_FORCE_IMM_CMPL,
        .flags = UCP_AM_SEND_FLAG_EAGER};
    void *request = ucp_am_send_nbx(
        conn->ep, UCX_AM_ID, header, header_length, data, length, &param);

    if (request == NULL)
        return NA_PLUGIN_OK;
    ucs_status_t status = UCS_PTR_STATUS(request);
    if (status == UCS_ERR_NO_RESOURCE)
        return NA_PLUGIN_E_AGAIN;
    ucx_conn_lost(conn, status);
    return ucx_conn_code(status);
}

/* A buffer has left its connection. */
static void
given_back(struct ucx_conn *conn, struct ucx_tx *tx)
{
    na_plugin_class *cls = conn->cls;

    tp_list_remove(&conn->txs, &tx->link);
    conn->tx_bytes -= ucx_cost(tx->length);
    if (tx->answer)
        conn->answers--;
    tx_free(cls, tx);
    ucx_conn_touch(conn);
}

static void
on_sent(void *request, ucs_status_t status, void *arg)
{
    struct ucx_tx *tx = arg;
    struct ucx_conn *conn = tx->conn;

    ucp_request_free(request);
    if (status != UCS_OK && conn->state != UCX_CONN_CLOSED)
        ucx_conn_lost(conn, status);
    given_back(conn, tx);
}

void
ucx_tx_send(struct ucx_conn *conn, struct ucx_tx *tx, uint32_t header_length,
    uint32_t flags)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS |
                                                 UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = UCP_AM_SEND_FLAG_EAGER | flags,
        .cb = {.send = on_sent},
        .user_data = tx};

    tx->conn = conn;
    tp_list_append(&conn->txs, &tx->link);
    conn->tx_bytes += ucx_cost(tx->length);
    if (tx->answer)
        conn->answers++;
    conn->cls->wake_due = true;
    void *request = ucp_am_send_nbx(conn->ep, UCX_AM_ID, &tx->header,
        header_length, tx->data, tx->length, &param);
    if (UCS_PTR_IS_PTR(request))
        return;
    if (request != NULL)
        ucx_conn_lost(conn, UCS_PTR_STATUS(request));
    given_back(conn, tx);
}

int32_t
ucx_tx_post(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length)
{
    int32_t ret = ucx_tx_now(conn, header, header_length, data, length);
    if (ret != NA_PLUGIN_E_AGAIN)
        return NA_PLUGIN_OK; /* an error is the connection's */

    struct ucx_tx *tx = ucx_tx_make(conn->cls, length);
    if (tx == NULL)
        return NA_PLUGIN_E_NOMEM;
    tx->header = *header;
    if (length != 0)
        memcpy(tx->data, data, length);
    ucx_tx_send(conn, tx, header_length, 0);
    return NA_PLUGIN_OK;
}
