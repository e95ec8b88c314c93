/* SPDX-License-Identifier: BSD-3-Clause */
/* UCP endpoints and active messages, without the plugin's code. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "raw_peer.h"

static ucs_status_t
on_message(void *arg, const void *header, size_t header_length, void *data,
    size_t length, const ucp_am_recv_param_t *param)
{
    struct raw_peer *raw = arg;
    union ucx_header got = {.head = {.token = 0}};

    ck_assert_uint_ge(header_length, sizeof(got.head));
    ck_assert_uint_le(header_length, sizeof(got));
    memcpy(&got, header, header_length);
    if (got.head.kind == UCX_HELLO) {
        ck_assert_uint_ge(length, sizeof(raw->hello));
        memcpy(&raw->hello, data, sizeof(raw->hello));
        raw->hello_received = true;
        return UCS_OK;
    }
    raw->messages++;
    raw->got = got;
    raw->got_length = (uint32_t) length;
    return UCS_OK;
}

static void
on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ((struct raw_peer *) arg)->gone = true;
}

void
raw_peer_open(struct raw_peer *raw, const char *transports)
{
    ucp_config_t *config;
    ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_AM | UCP_FEATURE_TAG | UCP_FEATURE_RMA |
                    UCP_FEATURE_AMO64};
    ucp_worker_params_t worker = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE};
    ucp_am_handler_param_t handler = {
        .field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID |
                      UCP_AM_HANDLER_PARAM_FIELD_CB |
                      UCP_AM_HANDLER_PARAM_FIELD_ARG,
        .id = UCX_AM_ID,
        .cb = on_message,
        .arg = raw};

    memset(raw, 0, sizeof(*raw));
    ck_assert_int_eq(ucp_config_read(NULL, NULL, &config), UCS_OK);
    ck_assert_int_eq(ucp_config_modify(config, "TLS", transports), UCS_OK);
    ucp_config_modify(config, "LOG_LEVEL", "fatal");
    /* as in the plugin; see library.c */
    if (strcmp(transports, "tcp") == 0) {
        ucp_config_modify(config, "MAX_RNDV_RAILS", "1");
        ucp_config_modify(config, "RCACHE_ENABLE", "n");
    } else
        ucp_config_modify(config, "MM_ERROR_HANDLING", "y");
    ck_assert_int_eq(ucp_init(&params, config, &raw->context), UCS_OK);
    ucp_config_release(config);
    ck_assert_int_eq(
        ucp_worker_create(raw->context, &worker, &raw->worker), UCS_OK);
    ck_assert_int_eq(
        ucp_worker_set_am_recv_handler(raw->worker, &handler), UCS_OK);
}

static void
make_ep(struct raw_peer *raw, ucp_ep_params_t *params)
{
    params->field_mask |=
        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params->err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params->err_handler.cb = on_error;
    params->err_handler.arg = raw;
    ck_assert_int_eq(ucp_ep_create(raw->worker, params, &raw->ep), UCS_OK);
}

void
raw_peer_call(struct raw_peer *raw, uint32_t port)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t) port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR,
        .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
        .sockaddr = {
            .addr = (struct sockaddr *) &where, .addrlen = sizeof(where)}};

    make_ep(raw, &params);
    raw->gone = raw->hello_received = false;
    raw->messages = 0;
}

static void
on_request(ucp_conn_request_h request, void *arg)
{
    struct raw_peer *raw = arg;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST, .conn_request = request};

    if (raw->ep == NULL)
        make_ep(raw, &params);
    else
        ucp_listener_reject(raw->listener, request);
}

uint32_t
raw_peer_listen(struct raw_peer *raw)
{
    struct sockaddr_in where = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_params_t params = {
        .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                      UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        .sockaddr = {.addr = (struct sockaddr *) &where,
            .addrlen = sizeof(where)},
        .conn_handler = {.cb = on_request, .arg = raw}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};

    ck_assert_int_eq(
        ucp_listener_create(raw->worker, &params, &raw->listener), UCS_OK);
    ck_assert_int_eq(ucp_listener_query(raw->listener, &attr), UCS_OK);
    memcpy(&where, &attr.sockaddr, sizeof(where));
    return ntohs(where.sin_port);
}

void
raw_peer_disconnect(struct raw_peer *raw)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE};

    if (raw->ep != NULL) {
        void *request = ucp_ep_close_nbx(raw->ep, &param);
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    raw->ep = NULL;
}

void
raw_peer_close(struct raw_peer *raw)
{
    raw_peer_disconnect(raw);
    if (raw->listener != NULL)
        ucp_listener_destroy(raw->listener);
    ucp_worker_destroy(raw->worker);
    ucp_cleanup(raw->context);
}

void
raw_peer_progress(struct raw_peer *raw, struct side *const *sides)
{
    ucp_worker_progress(raw->worker);
    for (; *sides != NULL; sides++)
        side_poll(*sides);
}

void
raw_peer_send(struct raw_peer *raw, struct side *const *sides,
    const void *header, size_t header_length, const void *data, size_t length,
    uint32_t flags)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = flags};
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    void *request = ucp_am_send_nbx(
        raw->ep, UCX_AM_ID, header, header_length, data, length, &param);
    if (!UCS_PTR_IS_PTR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) {
        raw_peer_progress(raw, sides);
        if (now_ms() > until)
            ck_abort_msg("a raw's message does not go out");
    }
    ucp_request_free(request);
}

struct ucx_hello
raw_peer_hello(void)
{
    static uint64_t number = 1000;

    return (struct ucx_hello){.magic = UCX_HELLO_MAGIC,
        .version = UCX_HELLO_VERSION,
        .bytes = sizeof(struct ucx_hello),
        .number = ++number,
        .token = 77,
        .serial = 1,
        .process = 1,
        .window = 1U << 20};
}

void
raw_peer_send_hello(struct raw_peer *raw, struct side *const *sides,
    uint64_t token, const void *hello, size_t length)
{
    struct ucx_head head = {.token = token, .kind = UCX_HELLO};

    raw_peer_send(raw, sides, &head, sizeof(head), hello, length,
        UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY);
}

void
raw_peer_join(struct raw_peer *raw, struct side *const *sides, uint32_t port)
{
    struct ucx_hello hello = raw_peer_hello();
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    raw_peer_call(raw, port);
    raw_peer_send_hello(raw, sides, 0, &hello, sizeof(hello));
    while (!raw->hello_received) {
        raw_peer_progress(raw, sides);
        ck_assert_uint_lt(now_ms(), until);
    }
    ck_assert_int_eq(raw->hello.status, 0);
    ck_assert_uint_ne(raw->hello.token, 0);
}
