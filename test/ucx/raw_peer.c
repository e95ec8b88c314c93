/* SPDX-License-Identifier: BSD-3-Clause */
/* Endpoints and active messages of UCP, without anything of the plugin. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#include "stranger.h"

static ucs_status_t
on_message(void *arg, const void *header, size_t header_length, void *data,
    size_t length, const ucp_am_recv_param_t *param)
{
    struct stranger *stranger = arg;
    union ucx_header got = {.head = {.token = 0}};

    ck_assert_uint_ge(header_length, sizeof(got.head));
    ck_assert_uint_le(header_length, sizeof(got));
    memcpy(&got, header, header_length);
    if (got.head.kind == UCX_HELLO) {
        ck_assert_uint_ge(length, sizeof(stranger->hello));
        memcpy(&stranger->hello, data, sizeof(stranger->hello));
        stranger->greeted = true;
        return UCS_OK;
    }
    stranger->messages++;
    stranger->got = got;
    stranger->got_length = (uint32_t) length;
    return UCS_OK;
}

static void
on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
    ((struct stranger *) arg)->gone = true;
}

void
stranger_open(struct stranger *stranger, const char *transports)
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
        .arg = stranger};

    memset(stranger, 0, sizeof(*stranger));
    ck_assert_int_eq(ucp_config_read(NULL, NULL, &config), UCS_OK);
    ck_assert_int_eq(ucp_config_modify(config, "TLS", transports), UCS_OK);
    ucp_config_modify(config, "LOG_LEVEL", "fatal");
    /* as the plugin: library.c says why */
    if (strcmp(transports, "tcp") == 0)
        ucp_config_modify(config, "MAX_RNDV_RAILS", "1");
    else
        ucp_config_modify(config, "MM_ERROR_HANDLING", "y");
    ck_assert_int_eq(ucp_init(&params, config, &stranger->context), UCS_OK);
    ucp_config_release(config);
    ck_assert_int_eq(
        ucp_worker_create(stranger->context, &worker, &stranger->worker),
        UCS_OK);
    ck_assert_int_eq(
        ucp_worker_set_am_recv_handler(stranger->worker, &handler), UCS_OK);
}

static void
make_ep(struct stranger *stranger, ucp_ep_params_t *params)
{
    params->field_mask |=
        UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params->err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params->err_handler.cb = on_error;
    params->err_handler.arg = stranger;
    ck_assert_int_eq(
        ucp_ep_create(stranger->worker, params, &stranger->ep), UCS_OK);
}

void
stranger_call(struct stranger *stranger, uint32_t port)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t) port),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR,
        .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
        .sockaddr = {
            .addr = (struct sockaddr *) &where, .addrlen = sizeof(where)}};

    make_ep(stranger, &params);
    stranger->gone = stranger->greeted = false;
    stranger->messages = 0;
}

static void
on_request(ucp_conn_request_h request, void *arg)
{
    struct stranger *stranger = arg;
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_CONN_REQUEST, .conn_request = request};

    if (stranger->ep == NULL)
        make_ep(stranger, &params);
    else
        ucp_listener_reject(stranger->listener, request);
}

uint32_t
stranger_listen(struct stranger *stranger)
{
    struct sockaddr_in where = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_listener_params_t params = {
        .field_mask = UCP_LISTENER_PARAM_FIELD_SOCK_ADDR |
                      UCP_LISTENER_PARAM_FIELD_CONN_HANDLER,
        .sockaddr = {.addr = (struct sockaddr *) &where,
            .addrlen = sizeof(where)},
        .conn_handler = {.cb = on_request, .arg = stranger}};
    ucp_listener_attr_t attr = {.field_mask = UCP_LISTENER_ATTR_FIELD_SOCKADDR};

    ck_assert_int_eq(
        ucp_listener_create(stranger->worker, &params, &stranger->listener),
        UCS_OK);
    ck_assert_int_eq(ucp_listener_query(stranger->listener, &attr), UCS_OK);
    memcpy(&where, &attr.sockaddr, sizeof(where));
    return ntohs(where.sin_port);
}

void
stranger_hang_up(struct stranger *stranger)
{
    ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE};

    if (stranger->ep != NULL) {
        void *request = ucp_ep_close_nbx(stranger->ep, &param);
        if (UCS_PTR_IS_PTR(request))
            ucp_request_free(request);
    }
    stranger->ep = NULL;
}

void
stranger_close(struct stranger *stranger)
{
    stranger_hang_up(stranger);
    if (stranger->listener != NULL)
        ucp_listener_destroy(stranger->listener);
    ucp_worker_destroy(stranger->worker);
    ucp_cleanup(stranger->context);
}

void
stranger_turn(struct stranger *stranger, struct side *const *sides)
{
    ucp_worker_progress(stranger->worker);
    for (; *sides != NULL; sides++)
        side_poll(*sides);
}

void
stranger_send(struct stranger *stranger, struct side *const *sides,
    const void *header, size_t header_length, const void *data, size_t length,
    uint32_t flags)
{
    ucp_request_param_t param = {
        .op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS, .flags = flags};
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    void *request = ucp_am_send_nbx(
        stranger->ep, UCX_AM_ID, header, header_length, data, length, &param);
    if (!UCS_PTR_IS_PTR(request))
        return;
    while (ucp_request_check_status(request) == UCS_INPROGRESS) {
        stranger_turn(stranger, sides);
        if (now_ms() > until)
            ck_abort_msg("a stranger's message does not go out");
    }
    ucp_request_free(request);
}

struct ucx_hello
stranger_hello(void)
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
stranger_greet(struct stranger *stranger, struct side *const *sides,
    uint64_t token, const void *hello, size_t length)
{
    struct ucx_head head = {.token = token, .kind = UCX_HELLO};

    stranger_send(stranger, sides, &head, sizeof(head), hello, length,
        UCP_AM_SEND_FLAG_EAGER | UCP_AM_SEND_FLAG_REPLY);
}

void
stranger_join(
    struct stranger *stranger, struct side *const *sides, uint32_t port)
{
    struct ucx_hello hello = stranger_hello();
    uint64_t until = now_ms() + SIDE_WAIT_MS;

    stranger_call(stranger, port);
    stranger_greet(stranger, sides, 0, &hello, sizeof(hello));
    while (!stranger->greeted) {
        stranger_turn(stranger, sides);
        ck_assert_uint_lt(now_ms(), until);
    }
    ck_assert_int_eq(stranger->hello.status, 0);
    ck_assert_uint_ne(stranger->hello.token, 0);
}
