/* SPDX-License-Identifier: BSD-3-Clause */
/* What an admitted peer writes into shared memory, and sends by its socket:
 * records, requests and answers of puts and gets, bytes anywhere.
 *
 *   steps: u8 which one, what it needs */
#include "sm_peer.h"

#include "conn.h"
#include "emulated_rma.h"
#include "mem.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define STEPS_MAX 80U
#define RECORD_MAX 4096U

enum step {
    STEP_RECORD,   /* u8 kind, u8 source, u8 target, u8 tag, u16 bytes, they,
                      u8 1: u32 another length in its word */
    STEP_RMA,      /* struct sm_rma_record, field by field, data */
    STEP_SCRIBBLE, /* u16 where in the ring, u64 what */
    STEP_CONTROL,  /* u8 which word of either ring's first page, u64 what */
    STEP_PACKET,   /* u8 with a descriptor or without, u8 bytes, they */
    STEP_POST,     /* receives, puts and gets of the class */
    STEP_POLL,
    STEPS
};

extern const na_plugin NA_PLUGIN_SYMBOL(sm);

static struct fuzz_class cls;
static na_plugin_mem *sink;

#define OPERATIONS 4U
struct posted {
    void *ops[OPERATIONS];
    uint8_t buffers[2][RECORD_MAX];
    na_plugin_addr *peer;
    na_plugin_mem *remote;
};

static void
put_record(struct sm_peer *peer, uint64_t word, uint32_t tag,
    const uint8_t *bytes, size_t size)
{
    sm_ring_put(&peer->tx, word, tag, bytes, (uint32_t) size);
}

static void
step_record(struct fuzz_input *input, struct sm_peer *peer)
{
    uint32_t kind = fuzz_u8(input) % 5, source = fuzz_u8(input);
    uint32_t target = fuzz_u8(input) & 0x81, tag = fuzz_u8(input);
    size_t size;
    uint8_t *bytes =
        fuzz_bytes(input, fuzz_u16(input) % (RECORD_MAX + 1), &size);
    uint32_t length = (uint32_t) size;
    uint8_t *record = peer->tx.record;

    put_record(
        peer, sm_ring_word(kind, source, target, length), tag, bytes, size);
    if (fuzz_u8(input) & 1)
        /* Behind the peer's back, as it were. */
        memcpy(record,
            &(uint64_t){sm_ring_word(kind, source, target, fuzz_u32(input))},
            8);
    free(bytes);
}

/* The number of a get, or put, for which the class waits. */
static uint64_t
own_operation(bool get)
{
    const struct sm_conn *conn = cls.cls->conns;

    for (struct tp_link *link = conn ? conn->emulated.head : NULL; link;
         link = link->next)
        if ((sm_op_of(link)->kind == SM_OP_GET) == get)
            return tp_keyed_of(link)->key;
    return 0;
}

static void
step_rma(struct fuzz_input *input, struct sm_peer *peer)
{
    struct sm_rma_record record = {.verb = fuzz_u8(input) % 7};
    uint8_t how = fuzz_u8(input), payload[sizeof record + 600];
    struct fuzz_input made = {payload, sizeof payload};
    size_t size;
    uint8_t *data;

    record.last = how & 1;
    record.reply_to = how & 2 ? fuzz_u8(input) : 0;
    record.status = (int8_t) fuzz_u8(input);
    record.number = fuzz_u8(input);
    if (how & 128)
        record.number = own_operation(record.verb == SM_RMA_DATA);
    record.mem = how & 4 ? cls.own->mem.keyed.key : sink->mem.keyed.key;
    if (how & 8)
        record.mem = fuzz_u64(input);
    record.offset = how & 16 ? fuzz_u64(input) : fuzz_u8(input);
    data = fuzz_bytes(input, fuzz_u16(input) % 600, &size);
    record.length = how & 32 ? fuzz_u16(input) : (uint32_t) size;
    memcpy(payload, &record, sizeof record);
    memcpy(payload + sizeof record, data, size);
    free(data);
    made.left = sizeof record + size;
    fuzz_patch(input, payload, made.left);
    if (how & 64)
        made.left = fuzz_u8(input) % sizeof record;
    put_record(peer, sm_ring_word(SM_RING_RMA, 0, 0, (uint32_t) made.left), 0,
        payload, made.left);
}

static void
step_scribble(struct fuzz_input *input, const struct sm_peer *peer)
{
    size_t at = (size_t) fuzz_u16(input) * 8 % peer->tx.capacity;
    uint64_t value = fuzz_u64(input);

    memcpy(peer->tx.end - peer->tx.capacity + at, &value, sizeof value);
}

static void
step_control(struct fuzz_input *input, const struct sm_peer *peer)
{
    unsigned which = fuzz_u8(input);
    uint64_t value = fuzz_u64(input);
    struct sm_ring_control *control =
        which & 1 ? peer->rx.control : peer->tx.control;

    if (control)
        memcpy((char *) control + which / 2 % 32 * 8, &value, sizeof value);
}

static void
step_packet(struct fuzz_input *input, const struct sm_peer *peer)
{
    unsigned kind = fuzz_u8(input);
    int fd = kind & 0x80 ? sm_peer_descriptor(peer, kind) : -1;
    size_t size;
    uint8_t *bytes = fuzz_bytes(input, fuzz_u8(input), &size);

    sm_peer_send(peer, bytes, size, &fd, fd >= 0);
    if (fd >= 0)
        close(fd);
    free(bytes);
}

/* A registration as of the peer's class. */
static na_plugin_mem *
make_remote(void)
{
    uint8_t bytes[4096];
    uint64_t size = sizeof bytes;
    na_plugin_mem *mem;

    fuzz_require(
        cls.ops->mem_serialize(cls.cls, sink, bytes, &size) == NA_PLUGIN_OK);
    fuzz_require(
        cls.ops->mem_deserialize(cls.cls, bytes, size, &mem) == NA_PLUGIN_OK);
    mem->mem.owner = SM_PEER_OWNER;
    return mem;
}

static void
step_post(struct posted *posted)
{
    if (posted->peer)
        return;
    fuzz_require(cls.ops->addr_lookup(cls.cls, sm_peer_text, &posted->peer) ==
                 NA_PLUGIN_OK);
    posted->remote = make_remote();
    for (unsigned i = 0; i < OPERATIONS; i++) {
        posted->ops[i] = aligned_alloc(64, (cls.opened.op_size + 63) / 64 * 64);
        fuzz_require(posted->ops[i] != NULL);
        memset(posted->ops[i], 0, cls.opened.op_size);
    }
    cls.ops->recv_unexpected(
        cls.ctx, posted->ops[0], posted->buffers[0], RECORD_MAX, NULL, 0);
    cls.ops->recv_expected(cls.ctx, posted->ops[1], posted->buffers[1],
        RECORD_MAX, NULL, posted->peer, 0, 5, 0);
    cls.ops->get(cls.ctx, posted->ops[2], sink, 0, posted->remote, 0, 100,
        posted->peer, 0, 0);
    cls.ops->put(cls.ctx, posted->ops[3], sink, 0, posted->remote, 0, 100,
        posted->peer, 0, 0);
}

static void
step(struct fuzz_input *input, struct sm_peer *peer, struct posted *posted)
{
    switch (fuzz_u8(input) % STEPS) {
    case STEP_RECORD:
        step_record(input, peer);
        break;
    case STEP_RMA:
        step_rma(input, peer);
        break;
    case STEP_SCRIBBLE:
        step_scribble(input, peer);
        break;
    case STEP_CONTROL:
        step_control(input, peer);
        break;
    case STEP_PACKET:
        step_packet(input, peer);
        break;
    case STEP_POST:
        step_post(posted);
        break;
    default:
        sm_peer_poll(peer);
    }
}

int
LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char memory[5000];
    const na_plugin_segment segment = {memory, sizeof memory};

    fuzz_class_open(&cls, &NA_PLUGIN_SYMBOL(sm), "sm", NULL, true);
    fuzz_require(
        cls.ops->mem_register(cls.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segment, 1,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &sink) == NA_PLUGIN_OK);
    return 0;
}

static void
join(struct sm_peer *peer)
{
    struct sm_hello hello = sm_peer_hello();

    sm_peer_open(peer, &cls);
    sm_peer_send(peer, &hello, sizeof hello, &peer->memory, 1);
    for (unsigned i = 0; !peer->rx.control; i++) {
        fuzz_require(i < 1000);
        sm_peer_poll(peer);
        sm_peer_hear(peer);
    }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    static struct posted posted;
    struct sm_peer peer;

    memset(&posted, 0, sizeof posted);
    join(&peer);
    for (unsigned i = 0; i < STEPS_MAX && input.left > 0; i++)
        step(&input, &peer, &posted);
    sm_peer_poll(&peer);
    sm_peer_close(&peer);
    /* What was kept is dropped with the context. */
    cls.ops->ctx_destroy(cls.ctx);
    fuzz_require(
        cls.ops->ctx_create(cls.cls, 0, &cls, &cls.ctx) == NA_PLUGIN_OK);
    for (unsigned i = 0; cls.cls->conns; i++) {
        fuzz_require(i < 1000);
        sm_peer_poll(&peer);
    }
    if (posted.peer) {
        cls.ops->addr_free(cls.cls, posted.peer);
        cls.ops->mem_remote_free(cls.cls, posted.remote);
        for (unsigned i = 0; i < OPERATIONS; i++)
            free(posted.ops[i]);
    }
    return 0;
}
