/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that overwrites everything it can write to, during traffic: both rings
 * of its connection, memory requests, packets. Each trial has its own seed; the
 * same seed repeats it. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "hostile_peer.h"

#define TRIALS 10000
#define REGION 8192U
#define SENDS 12

/* Memory of one side, the first part of which is read-only for peers. */
struct exposed {
    unsigned char bytes[3 * REGION]; /* not exposed, read-only, read-write */
    na_plugin_mem *readable;
    na_plugin_mem *writable;
};

static uint64_t state;
static uint64_t keys[2]; /* sent to the hostile peer */

static uint64_t
draw(void)
{
    state += UINT64_C(0x9E3779B97F4A7C15);
    uint64_t x = state;
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* Mostly nearly valid values: small, at a limit, or arbitrary. */
static uint64_t
draw_value(void)
{
    static const uint64_t edges[] = {0, 1, 4096, REGION, REGION - 1, REGION + 1,
        UINT32_MAX, UINT64_MAX, UINT64_MAX - 7, INT64_MAX, 1ULL << 32};
    switch (draw() % 3) {
    case 0:
        return draw() % 16;
    case 1:
        return edges[draw() % (sizeof(edges) / sizeof(edges[0]))];
    default:
        return draw();
    }
}

/* The key in a serialized registration. */
static uint64_t
key_of(const na_plugin_mem *mem)
{
    unsigned char bytes[256];
    uint64_t size = sizeof(bytes);
    uint64_t key;

    ck_assert_int_eq(hostile_target.ops->mem_serialize(
                         hostile_target.cls, mem, bytes, &size),
        0);
    memcpy(&key, bytes + 16, sizeof(key));
    return key;
}

static void
expose(struct exposed *exposed)
{
    na_plugin_segment segment = {exposed->bytes + REGION, REGION};

    memset(exposed->bytes, 0x11, sizeof(exposed->bytes));
    ck_assert_int_eq(hostile_target.ops->mem_register(hostile_target.cls,
                         &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                             &segment, 1, NA_PLUGIN_MEM_READ, 0, 0},
                         &exposed->readable),
        0);
    segment.base = exposed->bytes + 2 * (size_t) REGION;
    ck_assert_int_eq(
        hostile_target.ops->mem_register(hostile_target.cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, &segment, 1,
                NA_PLUGIN_MEM_READ | NA_PLUGIN_MEM_WRITE, 0, 0},
            &exposed->writable),
        0);
    keys[0] = key_of(exposed->readable);
    keys[1] = key_of(exposed->writable);
}

static void
ck_untouched(const struct exposed *exposed)
{
    for (size_t i = 0; i < 2 * (size_t) REGION; i++)
        ck_assert_msg(exposed->bytes[i] == 0x11, "byte %zu is written", i);
}

/* A plausible request or answer. */
static void
send_rma_record(struct hostile_peer *peer)
{
    static const unsigned char data[2048];
    uint32_t length = (uint32_t) (draw() % sizeof(data));
    struct rma_record record = {
        .verb = (uint8_t) (draw() % 7),
        .last = (uint8_t) draw(),
        .reply_to = (uint8_t) draw_value(),
        .status = draw() % 2 ? 0 : (int32_t) draw_value(),
        .number = draw_value(),
        .mem = draw() % 8 != 0 ? keys[draw() % 2] : draw_value(),
        .offset = draw_value(),
        .length = (uint32_t) draw_value(),
    };

    if (draw() % 2 == 0)
        record.length = length;
    if (peer->position + 4096 <= CAPACITY)
        hostile_put_rma(peer, &record, data, length);
}

static void
send_packet(const struct hostile_peer *peer)
{
    uint64_t words[4] = {SHARED_MAGIC, draw_value(), draw_value(), draw()};
    struct iovec iov = {words, 1 + draw() % sizeof(words)};
    struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

    if (draw() % 2 == 0)
        iov.iov_len = 24;
    ssize_t sent = sendmsg(peer->socket, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void) sent;
}

/* Eight bytes anywhere in a ring, mostly in its control page. */
static void
scribble(unsigned char *ring)
{
    static const uint32_t fields[] = {0, 4, 64, 128, 136, 160, 192};
    uint64_t value = draw_value();
    uint32_t at;

    if (draw() % 3 == 0)
        at = fields[draw() % 7];
    else if (draw() % 2 == 0)
        at = PAGE + (uint32_t) (draw() % (CAPACITY / 64)) * 64;
    else
        at = (uint32_t) (draw() % (PAGE + CAPACITY - 8));
    memcpy(ring + at, &value, at == 0 || at == 4 || at == 192 ? 4 : 8);
}

/* The target's own operations with that peer, all of which must end. */
struct traffic {
    void *sends[SENDS];
    bool pending[SENDS];
    void *recv;
    char buffer[64];
};

static void
begin_traffic(struct traffic *traffic, na_plugin_addr *peer)
{
    static unsigned char data[4000];

    traffic->recv = post_expected(
        &hostile_target, traffic->buffer, sizeof(traffic->buffer), peer, 1);
    for (int i = 0; i < SENDS; i++) {
        traffic->sends[i] = op_new(&hostile_target);
        traffic->pending[i] =
            hostile_target.ops->send_unexpected(hostile_target.ctx[0],
                traffic->sends[i], data, sizeof(data), NULL, peer, 0, 1,
                0) == NA_PLUGIN_PENDING;
    }
}

static void
end_traffic(struct traffic *traffic)
{
    await_op(&hostile_target, 0, traffic->recv);
    free(traffic->recv);
    for (int i = 0; i < SENDS; i++) {
        if (traffic->pending[i])
            await_op(&hostile_target, 0, traffic->sends[i]);
        free(traffic->sends[i]);
    }
}

static void
trial(uint32_t number)
{
    struct traffic traffic;
    char buffer[64];

    state = number;
    struct hostile_peer peer = hostile_open(&hostile_target);
    hostile_await_answer(&peer);
    void *op = post_unexpected(&hostile_target, buffer, sizeof(buffer));
    put_word(peer.ring, 0, UNEXPECTED, 0, 6, 9);
    peer.position = 64;
    na_plugin_event event = await_message(&hostile_target, 0, op, 6, 9, true);
    begin_traffic(&traffic, event.source);
    for (uint64_t i = 2 + draw() % 12; i > 0; i--) {
        switch (draw() % 5) {
        case 0:
            send_packet(&peer);
            break;
        case 1:
        case 2:
            send_rma_record(&peer);
            break;
        default:
            scribble(draw() % 2 ? peer.ring : peer.theirs);
            break;
        }
        for (uint64_t j = draw() % 4; j > 0; j--)
            pump();
    }
    hostile_close(&peer);
    end_traffic(&traffic);
    hostile_target.ops->addr_free(hostile_target.cls, event.source);
    free(op);
    node_warnings(&hostile_target);
}

/* Receives unexpected messages that resulted from it, which would otherwise
 * fill the target's queue. */
static void
empty_queue(void)
{
    static char buffer[4096];

    while (true) {
        void *op = post_unexpected(&hostile_target, buffer, sizeof(buffer));
        ck_assert_int_eq(hostile_target.ops->cancel(hostile_target.ctx[0], op),
            NA_PLUGIN_OK);
        na_plugin_event event = await_op(&hostile_target, 0, op);
        free(op);
        if (event.status != NA_PLUGIN_OK)
            return;
        hostile_target.ops->addr_free(hostile_target.cls, event.source);
    }
}

START_TEST(hostile_scribbling_ends_the_connection_only)
{
    static struct exposed exposed;
    uint32_t descriptors, mappings;

    open_both();
    expose(&exposed);
    check_friend();
    descriptors = count_descriptors();
    mappings = count_mappings();
    for (uint32_t i = 0; i < TRIALS; i++) {
        trial(i);
        if (i % 50 != 0)
            continue;
        empty_queue();
        ck_untouched(&exposed);
        check_friend();
    }
    for (int i = 0; i < 1000; i++)
        pump();
    ck_assert_uint_le(count_descriptors(), descriptors);
    ck_assert_uint_le(count_mappings(), mappings + 8); /* malloc'ed */
    ck_assert_uint_gt(
        node_counter(&hostile_target, "connections_broken"), 1000);
    printf("%d trials: %d connections broken, %d others lost\n", TRIALS,
        (int) node_counter(&hostile_target, "connections_broken"),
        (int) (node_counter(&hostile_target, "connections_lost") -
               node_counter(&hostile_target, "connections_broken")));
    hostile_target.ops->mem_deregister(hostile_target.cls, exposed.readable);
    hostile_target.ops->mem_deregister(hostile_target.cls, exposed.writable);
    close_both();
}
END_TEST

int
main(void)
{
    TCase *cases = tcase_create("hostile_scribble");

    tcase_set_timeout(cases, 250);
    tcase_add_test(cases, hostile_scribbling_ends_the_connection_only);
    return run_cases("hostile_scribble", &cases, 1);
}
