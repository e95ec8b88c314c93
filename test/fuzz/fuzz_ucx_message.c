/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages as UCX brings them to the ucx plugin: hellos, messages, fragments of
 * puts and gets, by a connection made by another user of UCP.
 *
 *   u8 1: a new connection, whose first message is in the input; then steps: u8
 *   which one, what it needs */
#include "fuzz.h"

#include "conn.h"
#include "mem.h"
#include "receive.h"
#include "wire.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 16U
#define PATIENCE 20000000U /* polls until a connection is there */

enum step {
    STEP_RAW,   /* u8 bytes of the header, it, u8 bytes of data, they */
    STEP_MADE,  /* the fields of a header, one byte each, data */
    STEP_HELLO, /* patches of a good one */
    STEP_POST,  /* receives, and a get and a put of the class's own */
    STEP_CALL,  /* a second connection, of which the rest is */
    STEP_POLL,
    STEPS
};

extern const na_plugin NA_PLUGIN_SYMBOL(ucx);

static struct fuzz_class cls;
static na_plugin_mem *sink;   /* what puts and gets of the class go to */
static na_plugin_mem *theirs; /* the same as a peer's */
static struct ucx_conn *conn;
static uint64_t number = 1000;

/* The other side: an endpoint, and deaf. */
static struct {
    ucp_context_h context;
    ucp_worker_h worker;
    ucp_ep_h eps[2];
} other;

static ucs_status_t
on_message(void *arg, const void *header, size_t header_length, void *data,
    size_t length, const ucp_am_recv_param_t *param)
{
    return UCS_OK;
}

static void
on_error(void *arg, ucp_ep_h ep, ucs_status_t status)
{
}

static void
open_other(void)
{
    ucp_config_t *config;
    const ucp_params_t params = {.field_mask = UCP_PARAM_FIELD_FEATURES,
        .features = UCP_FEATURE_AM | UCP_FEATURE_TAG | UCP_FEATURE_RMA};
    const ucp_worker_params_t worker = {
        .field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
        .thread_mode = UCS_THREAD_MODE_SINGLE};
    const ucp_am_handler_param_t handler = {
        .field_mask =
            UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB,
        .id = UCX_AM_ID,
        .cb = on_message};

    fuzz_require(ucp_config_read(NULL, NULL, &config) == UCS_OK);
    fuzz_require(ucp_config_modify(config, "TLS", "tcp") == UCS_OK);
    ucp_config_modify(config, "MAX_RNDV_RAILS", "1");
    fuzz_require(ucp_init(&params, config, &other.context) == UCS_OK);
    ucp_config_release(config);
    fuzz_require(
        ucp_worker_create(other.context, &worker, &other.worker) == UCS_OK);
    fuzz_require(
        ucp_worker_set_am_recv_handler(other.worker, &handler) == UCS_OK);
}

static void
turn(void)
{
    fuzz_class_poll(&cls);
    ucp_worker_progress(other.worker);
}

static void
close_ep(ucp_ep_h *ep)
{
    const ucp_request_param_t param = {.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS,
        .flags = UCP_EP_CLOSE_FLAG_FORCE};
    void *request = *ep ? ucp_ep_close_nbx(*ep, &param) : NULL;

    if (UCS_PTR_IS_PTR(request))
        ucp_request_free(request);
    *ep = NULL;
}

static void
hang_up(void)
{
    close_ep(&other.eps[0]);
    close_ep(&other.eps[1]);
    for (unsigned i = 0; cls.cls->conns.head; i++) {
        fuzz_require(i < PATIENCE);
        turn();
    }
    conn = NULL;
}

/* Whether the connection still exists and its messages are accepted. */
static bool
alive(void)
{
    struct tp_link *link = cls.cls->conns.head;

    while (link && link != &conn->link)
        link = link->next;
    return link && !conn->failed;
}

/* One without a hello, or NULL. */
static struct ucx_conn *
find_called(void)
{
    for (struct tp_link *link = cls.cls->conns.head; link; link = link->next)
        if (ucx_conn_of(link)->state == UCX_CONN_CALLED)
            return ucx_conn_of(link);
    return NULL;
}

/* Calls; the class has a connection without a hello then. */
static void
call(ucp_ep_h *ep)
{
    struct sockaddr_in where = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t) atoi(strrchr(cls.address, ':') + 1)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    ucp_ep_params_t params = {
        .field_mask = UCP_EP_PARAM_FIELD_FLAGS | UCP_EP_PARAM_FIELD_SOCK_ADDR |
                      UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                      UCP_EP_PARAM_FIELD_ERR_HANDLER,
        .flags = UCP_EP_PARAMS_FLAGS_CLIENT_SERVER,
        .sockaddr = {.addr = (struct sockaddr *) &where,
            .addrlen = sizeof where},
        .err_mode = UCP_ERR_HANDLING_MODE_PEER,
        .err_handler = {.cb = on_error}};

    fuzz_require(ucp_ep_create(other.worker, &params, ep) == UCS_OK);
    for (unsigned i = 0; !(conn = find_called()); i++) {
        fuzz_require(i < PATIENCE);
        turn();
    }
}

/* As UCX calls: exact copies, and the lock held. */
static void
receive(const void *front, size_t front_length, const void *data, size_t length)
{
    struct fuzz_input inputs[2] = {{front, front_length}, {data, length}};
    uint8_t *copies[2];
    ucp_am_recv_param_t param = {.recv_attr = 0};

    for (unsigned i = 0; i < 2; i++)
        copies[i] = fuzz_bytes(&inputs[i], SIZE_MAX, &length);
    if (conn->state != UCX_CONN_UP) {
        param.recv_attr = UCP_AM_RECV_ATTR_FIELD_REPLY_EP;
        param.reply_ep = conn->ep;
    }
    tp_mutex_take(&cls.cls->lock);
    fuzz_require(ucx_receive(cls.cls, copies[0], front_length, copies[1],
                     length, &param) == UCS_OK);
    tp_mutex_drop(&cls.cls->lock);
    free(copies[0]);
    free(copies[1]);
}

/* A hello of a class of its own, to the connection with this token. */
static struct ucx_hello
good_hello(void)
{
    return (struct ucx_hello){.magic = UCX_HELLO_MAGIC,
        .version = UCX_HELLO_VERSION,
        .bytes = sizeof(struct ucx_hello),
        .number = ++number,
        .token = 77,
        .serial = 1,
        .process = 1,
        .window = 1 << 20};
}

static void
step_hello(struct fuzz_input *input)
{
    const struct ucx_head head = {
        .token = fuzz_u8(input) & 1 ? conn->token.key : 0, .kind = UCX_HELLO};
    struct ucx_hello hello = good_hello();
    static const char *const names[] = {
        "", "tcp://127.0.0.1:5", "tcp://192.0.2.1:5", "x"};
    uint8_t how = fuzz_u8(input);

    strcpy(hello.name, names[how % 4]);
    if (how & 0x10)
        hello.number = cls.cls->number;
    if (how & 0x40) /* the same class as before */
        hello.number = --number;
    fuzz_patch(input, &hello, sizeof hello);
    /* Nobody is called elsewhere because of it. */
    receive(&head, sizeof head, &hello,
        how & 0x20 ? fuzz_u8(input) % sizeof hello : sizeof hello);
}

static void
join(void)
{
    const struct ucx_head head = {.kind = UCX_HELLO};
    const struct ucx_hello hello = good_hello();

    call(&other.eps[0]);
    receive(&head, sizeof head, &hello, sizeof hello);
    fuzz_require(conn->state == UCX_CONN_UP && !conn->failed);
}

static void
step_raw(struct fuzz_input *input)
{
    size_t front_length, length;
    uint8_t *front = fuzz_bytes(
        input, fuzz_u8(input) % (sizeof(union ucx_header) + 2), &front_length);
    uint8_t *data = fuzz_bytes(input, fuzz_u8(input), &length);

    receive(front, front_length, data, length);
    free(front);
    free(data);
}

/* The number of an operation of the class that uses messages. */
static uint64_t
own_operation(void)
{
    struct tp_link *link =
        conn->rma_sent.head ? conn->rma_sent.head : conn->rma.head;

    return link ? tp_keyed_of(link)->key : 0;
}

static void
step_made(struct fuzz_input *input)
{
    union ucx_header header = {.head = {.token = conn->token.key}};
    uint8_t how, *data;
    size_t length;

    header.head.kind = fuzz_u8(input);
    header.head.tag = fuzz_u8(input);
    header.head.from = fuzz_u8(input);
    header.head.to = fuzz_u8(input);
    how = fuzz_u8(input);
    header.fragment.number = how & 1 ? own_operation() : fuzz_u8(input);
    header.fragment.mem = how & 2 ? cls.own->mem.keyed.key : fuzz_u8(input);
    if (how & 4)
        header.fragment.mem = sink->mem.keyed.key;
    header.fragment.at = fuzz_u16(input);
    header.fragment.offset = fuzz_u16(input);
    header.fragment.status = (int8_t) fuzz_u8(input);
    data = fuzz_bytes(input, fuzz_u16(input), &length);
    header.fragment.length = how & 8 ? fuzz_u32(input) : (uint32_t) length;
    if (how & 16)
        length = 0;
    fuzz_patch(input, &header, sizeof header);
    receive(&header,
        header.head.kind >= UCX_GET ? sizeof header : sizeof header.head, data,
        length);
    free(data);
}

/* Operations that wait for the other side. */
#define OPERATIONS 4U
struct posted {
    void *ops[OPERATIONS];
    uint8_t buffers[2][128];
    bool done;
};

static void
step_post(struct posted *posted)
{
    na_plugin_addr *peer = conn->addr;

    if (posted->done || conn->state != UCX_CONN_UP || conn->failed || !peer)
        return;
    posted->done = true;
    for (unsigned i = 0; i < OPERATIONS; i++) {
        posted->ops[i] = aligned_alloc(64, (cls.opened.op_size + 63) / 64 * 64);
        fuzz_require(posted->ops[i] != NULL);
        memset(posted->ops[i], 0, cls.opened.op_size);
    }
    cls.ops->recv_unexpected(
        cls.ctx, posted->ops[0], posted->buffers[0], 128, NULL, 0);
    cls.ops->recv_expected(
        cls.ctx, posted->ops[1], posted->buffers[1], 128, NULL, peer, 0, 5, 0);
    cls.ops->get(cls.ctx, posted->ops[2], sink, 0, theirs, 0, 100, peer, 0, 0);
    cls.ops->put(cls.ctx, posted->ops[3], sink, 0, theirs, 0, 100, peer, 0, 0);
}

static void
step(struct fuzz_input *input, struct posted *posted)
{
    switch (fuzz_u8(input) % STEPS) {
    case STEP_RAW:
        step_raw(input);
        break;
    case STEP_MADE:
        step_made(input);
        break;
    case STEP_HELLO:
        step_hello(input);
        break;
    case STEP_POST:
        step_post(posted);
        break;
    case STEP_CALL:
        if (!other.eps[1] && conn->state == UCX_CONN_UP)
            call(&other.eps[1]);
        break;
    default:
        turn();
    }
}

static void
make_theirs(void)
{
    uint8_t bytes[4096];
    uint64_t size = sizeof bytes;

    fuzz_require(
        cls.ops->mem_serialize(cls.cls, sink, bytes, &size) == NA_PLUGIN_OK);
    fuzz_require(cls.ops->mem_deserialize(cls.cls, bytes, size, &theirs) ==
                 NA_PLUGIN_OK);
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char memory[300];
    const na_plugin_segment segment = {memory, sizeof memory};

    fuzz_class_open(&cls, &NA_PLUGIN_SYMBOL(ucx), "tcp", "127.0.0.1", true);
    fuzz_require(
        cls.ops->mem_register(cls.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segment, 1,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &sink) == NA_PLUGIN_OK);
    make_theirs();
    open_other();
    return 0;
}

/* A connection that is as before is used again, the others are ended. What the
 * class sends arrives: a context that ends would wait for that. */
static void
settle(void)
{
    if (other.eps[1] || !alive() || conn->state != UCX_CONN_UP ||
        conn->retiring || conn->close_heard || conn->close_sent != 0)
        hang_up();
    for (unsigned i = 0; conn && conn->txs.head; i++) {
        fuzz_require(i < PATIENCE);
        turn();
        if (!alive())
            hang_up();
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    struct posted posted = {.done = false};

    if (fuzz_u8(&input) & 1) {
        if (conn)
            hang_up();
        call(&other.eps[0]);
    } else if (!conn) {
        join();
    }
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0 && alive(); i++)
        step(&input, &posted);
    settle();
    /* What was kept is dropped with the context. */
    cls.ops->ctx_destroy(cls.ctx);
    fuzz_require(
        cls.ops->ctx_create(cls.cls, 0, &cls, &cls.ctx) == NA_PLUGIN_OK);
    if (posted.done)
        for (unsigned i = 0; i < OPERATIONS; i++)
            free(posted.ops[i]);
    return 0;
}
