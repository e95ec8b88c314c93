/* SPDX-License-Identifier: BSD-3-Clause */
/* Active messages. A header and copied data lie in a parcel until UCX's callback
 * says that it is sent; spare parcels are used again. */
#include <stdlib.h>
#include <string.h>

#include "conn.h"
#include "parcel.h"
#include "send.h"

#define SPARE_LARGE 64U /* kept of those that hold a piece */

static bool
is_large(const na_plugin_class *cls, uint32_t length)
{
    return length > cls->max_unexpected && length > cls->max_expected;
}

static uint32_t
small_room(const na_plugin_class *cls)
{
    uint32_t room = cls->max_unexpected > cls->max_expected
                        ? cls->max_unexpected
                        : cls->max_expected;
    return room > sizeof(struct ucx_hello)
               ? room
               : (uint32_t) sizeof(struct ucx_hello);
}

struct ucx_parcel *
ucx_parcel_make(na_plugin_class *cls, uint32_t length)
{
    bool large = length > small_room(cls);
    struct ucx_list *spare = large ? &cls->spare_large : &cls->spare_small;
    struct ucx_parcel *parcel = (struct ucx_parcel *) ucx_list_pop(spare);

    if (parcel == NULL) {
        size_t room = large ? UCX_PIECE : small_room(cls);
        parcel =
            aligned_alloc(64, (sizeof(*parcel) + room + 63) & ~(size_t) 63);
        if (parcel == NULL)
            return NULL;
        parcel->room = (uint32_t) room;
    } else if (large) {
        cls->spare_larges--;
    }
    parcel->conn = NULL;
    parcel->length = length;
    parcel->answer = false;
    return parcel;
}

void
ucx_parcel_free(na_plugin_class *cls, struct ucx_parcel *parcel)
{
    if (!is_large(cls, parcel->room) || parcel->room <= small_room(cls)) {
        ucx_list_append(&cls->spare_small, &parcel->link);
    } else if (cls->spare_larges < SPARE_LARGE) {
        ucx_list_append(&cls->spare_large, &parcel->link);
        cls->spare_larges++;
    } else {
        free(parcel);
    }
}

void
ucx_parcel_fini(na_plugin_class *cls)
{
    struct ucx_link *link;

    while ((link = ucx_list_pop(&cls->spare_small)) != NULL)
        free(link);
    while ((link = ucx_list_pop(&cls->spare_large)) != NULL)
        free(link);
}

int32_t
ucx_parcel_now(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length)
{
    ucp_request_param_t param = {
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

/* A parcel has left its connection. */
static void
given_back(struct ucx_conn *conn, struct ucx_parcel *parcel)
{
    na_plugin_class *cls = conn->cls;

    ucx_list_remove(&conn->parcels, &parcel->link);
    conn->parcel_bytes -= ucx_cost(parcel->length);
    if (parcel->answer)
        conn->answers--;
    ucx_parcel_free(cls, parcel);
    ucx_conn_touch(conn);
}

static void
on_sent(void *request, ucs_status_t status, void *arg)
{
    struct ucx_parcel *parcel = arg;
    struct ucx_conn *conn = parcel->conn;

    ucp_request_free(request);
    if (status != UCS_OK && conn->state != UCX_CONN_CLOSED)
        ucx_conn_lost(conn, status);
    given_back(conn, parcel);
}

void
ucx_parcel_send(struct ucx_conn *conn, struct ucx_parcel *parcel,
    uint32_t header_length, uint32_t flags)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS |
                                                 UCP_OP_ATTR_FIELD_CALLBACK |
                                                 UCP_OP_ATTR_FIELD_USER_DATA,
        .flags = UCP_AM_SEND_FLAG_EAGER | flags,
        .cb = {.send = on_sent},
        .user_data = parcel};

    parcel->conn = conn;
    ucx_list_append(&conn->parcels, &parcel->link);
    conn->parcel_bytes += ucx_cost(parcel->length);
    if (parcel->answer)
        conn->answers++;
    conn->cls->stirred = true;
    void *request = ucp_am_send_nbx(conn->ep, UCX_AM_ID, &parcel->header,
        header_length, parcel->data, parcel->length, &param);
    if (UCS_PTR_IS_PTR(request))
        return;
    if (request != NULL)
        ucx_conn_lost(conn, UCS_PTR_STATUS(request));
    given_back(conn, parcel);
}

int32_t
ucx_parcel_post(struct ucx_conn *conn, const union ucx_header *header,
    uint32_t header_length, const void *data, uint32_t length)
{
    int32_t ret = ucx_parcel_now(conn, header, header_length, data, length);
    if (ret != NA_PLUGIN_E_AGAIN)
        return NA_PLUGIN_OK; /* an error is the connection's */

    struct ucx_parcel *parcel = ucx_parcel_make(conn->cls, length);
    if (parcel == NULL)
        return NA_PLUGIN_E_NOMEM;
    parcel->header = *header;
    if (length != 0)
        memcpy(parcel->data, data, length);
    ucx_parcel_send(conn, parcel, header_length, 0);
    return NA_PLUGIN_OK;
}
