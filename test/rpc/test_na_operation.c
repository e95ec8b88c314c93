/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations of the NA interface: reuse, cancel, and destruction, also while
 * pending. */
#include "counts.h"
#include "log_watch.h"
#include "na_pair.h"

#include <string.h>

/* Ping-pong of one message; each submission is made within a callback. */
struct ping_pong {
    struct na_pair *pair;
    struct na_end send;
    struct na_end recv;
    _Atomic uint32_t round;
    uint32_t rounds;
    uint32_t parts; /* operations of this round that are still pending */
};

static void ping_pong_called(const struct na_cb_info *info);

static void
ping_pong_send(struct ping_pong *ping)
{
    struct na_pair *pair = ping->pair;
    na_tag_t tag = ping->round % 1000;

    ping->parts = 2;
    ping->send.buffer[na_send_header(pair)] = NA_ASK_ECHO;
    ck_assert_int_eq(
        NA_Msg_recv_expected(pair->na_class, pair->context, ping_pong_called,
            ping, ping->recv.buffer, ping->recv.buffer_size,
            ping->recv.buffer_data, pair->addr, 0, tag, ping->recv.op),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_send_unexpected(pair->na_class, pair->context, ping_pong_called,
            ping, ping->send.buffer, na_send_header(pair) + 16,
            ping->send.buffer_data, pair->addr, 0, tag, ping->send.op),
        NA_SUCCESS);
}

static void
ping_pong_called(const struct na_cb_info *info)
{
    struct ping_pong *ping = info->arg;

    ck_assert_int_eq(info->ret, NA_SUCCESS);
    if (--ping->parts > 0)
        return;
    if (atomic_fetch_add(&ping->round, 1) + 1 < ping->rounds)
        ping_pong_send(ping);
}

START_TEST(operation_is_reused_inside_its_callback)
{
    struct na_pair pair;
    struct ping_pong ping;

    na_pair_begin(&pair, _i);
    memset(&ping, 0, sizeof ping);
    ping.pair = &pair;
    ping.rounds = test_count(TEST_NA_MESSAGES);
    na_pair_open(&pair, &ping.send, &ping.recv);
    ck_assert_int_eq(NA_Msg_init_unexpected(pair.na_class, ping.send.buffer,
                         ping.send.buffer_size),
        NA_SUCCESS);
    ping_pong_send(&ping);
    while (ping.round < ping.rounds)
        na_pair_step(&pair, 100);
    na_pair_close(&pair, &ping.send, &ping.recv);
    na_pair_end(&pair);
}
END_TEST

START_TEST(operation_pending_busy)
{
    struct na_pair pair;
    struct na_end send, recv;

    na_pair_begin(&pair, _i);
    na_pair_open(&pair, &send, &recv);
    ck_assert_int_eq(NA_Msg_recv_expected(pair.na_class, pair.context,
                         na_end_called, &recv, recv.buffer, recv.buffer_size,
                         recv.buffer_data, pair.addr, 0, 9, recv.op),
        NA_SUCCESS);
    ck_assert_int_eq(NA_Msg_recv_expected(pair.na_class, pair.context,
                         na_end_called, &recv, recv.buffer, recv.buffer_size,
                         recv.buffer_data, pair.addr, 0, 9, recv.op),
        NA_BUSY);
    ck_assert_int_eq(
        NA_Msg_recv_unexpected(pair.na_class, pair.context, na_end_called,
            &recv, recv.buffer, recv.buffer_size, recv.buffer_data, recv.op),
        NA_BUSY);
    ck_assert_int_eq(
        NA_Cancel(pair.na_class, pair.context, recv.op), NA_SUCCESS);
    na_pair_wait(&pair, &recv, 1);
    ck_assert_int_eq(recv.ret, NA_CANCELED);
    na_pair_echo(&pair, &send, &recv, 10, 9);
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

START_TEST(operation_cancelled_receive_calls_back_once)
{
    struct na_pair pair;
    struct na_end send, recv, anyone;

    na_pair_begin(&pair, _i);
    na_pair_open(&pair, &send, &recv);
    na_end_open(&pair, &anyone, na_pair_max_unexpected(&pair));
    /* Never submitted: there is nothing to cancel. */
    ck_assert_int_eq(
        NA_Cancel(pair.na_class, pair.context, recv.op), NA_SUCCESS);
    for (uint32_t i = 1; i <= 10; i++) {
        ck_assert_int_eq(
            NA_Msg_recv_expected(pair.na_class, pair.context, na_end_called,
                &recv, recv.buffer, recv.buffer_size, recv.buffer_data,
                pair.addr, 0, 77, recv.op),
            NA_SUCCESS);
        ck_assert_int_eq(NA_Msg_recv_unexpected(pair.na_class, pair.context,
                             na_end_called, &anyone, anyone.buffer,
                             anyone.buffer_size, anyone.buffer_data, anyone.op),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Cancel(pair.na_class, pair.context, recv.op), NA_SUCCESS);
        ck_assert_int_eq(
            NA_Cancel(pair.na_class, pair.context, recv.op), NA_SUCCESS);
        ck_assert_int_eq(
            NA_Cancel(pair.na_class, pair.context, anyone.op), NA_SUCCESS);
        na_pair_wait(&pair, &recv, i);
        na_pair_wait(&pair, &anyone, i);
        ck_assert_int_eq(recv.ret, NA_CANCELED);
        ck_assert_int_eq(anyone.ret, NA_CANCELED);
        ck_assert_int_eq(anyone.type, NA_CB_RECV_UNEXPECTED);
    }
    na_pair_quiet(&pair);
    ck_assert_uint_eq(recv.called, 10);
    ck_assert_int_eq(
        NA_Cancel(pair.na_class, pair.context, recv.op), NA_SUCCESS);
    na_pair_echo(&pair, &send, &recv, 40, 77);
    na_end_close(&pair, &anyone);
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

struct own {
    na_class_t *na_class;
    na_op_id_t *op;
    _Atomic uint32_t called;
};

static void
destroy_own(const struct na_cb_info *info)
{
    struct own *own = info->arg;

    NA_Op_destroy(own->na_class, own->op);
    atomic_fetch_add(&own->called, 1);
}

START_TEST(operation_destroyed_inside_its_callback)
{
    struct na_pair pair;
    struct na_end send;
    struct own own = {.called = 0};

    na_pair_begin(&pair, _i);
    na_end_open(&pair, &send, na_pair_max_unexpected(&pair));
    own.na_class = pair.na_class;
    own.op = NA_Op_create(pair.na_class, NA_OP_SINGLE);
    ck_assert_ptr_nonnull(own.op);
    send.buffer[na_send_header(&pair)] = NA_ASK_SILENCE;
    ck_assert_int_eq(
        NA_Msg_init_unexpected(pair.na_class, send.buffer, send.buffer_size),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_send_unexpected(pair.na_class, pair.context, destroy_own, &own,
            send.buffer, na_send_header(&pair) + 1, send.buffer_data, pair.addr,
            0, 0, own.op),
        NA_SUCCESS);
    while (own.called == 0)
        na_pair_step(&pair, 10);
    NA_Op_destroy(pair.na_class, NULL);
    na_end_close(&pair, &send);
    na_pair_end(&pair);
}
END_TEST

START_TEST(operation_destroyed_while_pending_is_logged)
{
    struct na_pair pair;
    struct na_end recv;

    na_pair_begin(&pair, _i);
    log_expect("operation destroyed while pending", 1, 1);
    na_end_open(&pair, &recv, na_pair_max_expected(&pair));
    ck_assert_int_eq(NA_Msg_recv_expected(pair.na_class, pair.context,
                         na_end_called, &recv, recv.buffer, recv.buffer_size,
                         recv.buffer_data, pair.addr, 0, 3, recv.op),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Cancel(pair.na_class, pair.context, recv.op), NA_SUCCESS);
    NA_Op_destroy(pair.na_class, recv.op);
    recv.op = NULL;
    na_pair_wait(&pair, &recv, 1);
    ck_assert_int_eq(recv.ret, NA_CANCELED);
    na_end_close(&pair, &recv);
    na_pair_end(&pair);
}
END_TEST

/* Operation and buffer are freed before the message arrives: the callback still
 * runs, and the message is written to that buffer only. */
START_TEST(operation_destroyed_while_pending_still_calls_back)
{
    struct na_pair pair;
    struct na_end send, recv;
    char *next;
    void *next_data;
    size_t size;

    na_pair_begin(&pair, _i);
    log_expect("operation destroyed while pending", 1, 1);
    na_pair_open(&pair, &send, &recv);
    size = recv.buffer_size;
    ck_assert_int_eq(
        NA_Msg_recv_expected(pair.na_class, pair.context, na_end_called, &recv,
            recv.buffer, size, recv.buffer_data, pair.addr, 0, 3, recv.op),
        NA_SUCCESS);
    NA_Op_destroy(pair.na_class, recv.op);
    NA_Msg_buf_free(pair.na_class, recv.buffer, recv.buffer_data);
    next = NA_Msg_buf_alloc(pair.na_class, size, NA_RECV, &next_data);
    ck_assert_ptr_nonnull(next);
    memset(next, 'n', size);
    memset(send.buffer + na_send_header(&pair), NA_ASK_ECHO, 100);
    ck_assert_int_eq(
        NA_Msg_init_unexpected(pair.na_class, send.buffer, send.buffer_size),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_send_unexpected(pair.na_class, pair.context, na_end_called,
            &send, send.buffer, na_send_header(&pair) + 100, send.buffer_data,
            pair.addr, 0, 3, send.op),
        NA_SUCCESS);
    na_pair_wait(&pair, &send, 1);
    na_pair_wait(&pair, &recv, 1);
    ck_assert_int_eq(recv.ret, NA_SUCCESS);
    for (size_t i = 0; i < size; i++)
        ck_assert_int_eq(next[i], 'n');
    NA_Msg_buf_free(pair.na_class, next, next_data);
    na_end_close(&pair, &send);
    na_pair_end(&pair);
}
END_TEST

static void
never_called(const struct na_cb_info *info)
{
    ck_abort_msg("called with %d", info->ret);
}

START_TEST(operation_destroyed_while_pending_ends_with_its_context)
{
    struct na_pair pair;
    na_class_t *na_class;
    na_context_t *context;
    size_t size;
    bool multi;
    na_op_id_t *op[2];
    char *buffer[2];
    void *data[2];

    na_pair_begin(&pair, _i);
    log_expect("operation destroyed while pending", 2, 2);
    log_expect("still has 2 operations", 1, 1);
    log_expect("still has 1 operations", 1, 1);
    na_class = NA_Initialize(session_transport(), true);
    context = NA_Context_create(na_class);
    ck_assert_ptr_nonnull(context);
    size = NA_Msg_get_max_unexpected_size(na_class);
    multi = NA_Has_opt_feature(na_class, NA_OPT_MULTI_RECV);
    op[0] = NA_Op_create(na_class, NA_OP_SINGLE);
    op[1] = NA_Op_create(na_class, multi ? NA_OP_MULTI : NA_OP_SINGLE);
    buffer[0] = NA_Msg_buf_alloc(na_class, size, NA_RECV, &data[0]);
    buffer[1] = NA_Msg_buf_alloc(
        na_class, 64 * size, multi ? NA_MULTI_RECV : NA_RECV, &data[1]);
    ck_assert_int_eq(NA_Msg_recv_unexpected(na_class, context, never_called,
                         NULL, buffer[0], size, data[0], op[0]),
        NA_SUCCESS);
    ck_assert_int_eq(
        multi ? NA_Msg_multi_recv_unexpected(na_class, context, never_called,
                    NULL, buffer[1], 64 * size, data[1], op[1])
              : NA_Msg_recv_unexpected(na_class, context, never_called, NULL,
                    buffer[1], size, data[1], op[1]),
        NA_SUCCESS);
    ck_assert_int_eq(NA_Context_destroy(na_class, context), NA_BUSY);
    NA_Op_destroy(na_class, op[0]);
    NA_Msg_buf_free(na_class, buffer[0], data[0]);
    ck_assert_int_eq(NA_Context_destroy(na_class, context), NA_BUSY);
    NA_Op_destroy(na_class, op[1]);
    ck_assert_int_eq(NA_Context_destroy(na_class, context), NA_SUCCESS);
    NA_Msg_buf_free(na_class, buffer[1], data[1]);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    na_pair_end(&pair);
}
END_TEST

START_TEST(operation_without_callback_completes)
{
    struct na_pair pair;
    struct na_end send, recv;
    unsigned count = 0;

    na_pair_begin(&pair, _i);
    na_pair_open(&pair, &send, &recv);
    send.buffer[na_send_header(&pair)] = NA_ASK_SILENCE;
    ck_assert_int_eq(
        NA_Msg_init_unexpected(pair.na_class, send.buffer, send.buffer_size),
        NA_SUCCESS);
    for (unsigned i = 0; i < 20; i++) {
        na_return_t ret = NA_BUSY;

        while (ret == NA_BUSY) {
            ret = NA_Msg_send_unexpected(pair.na_class, pair.context, NULL,
                NULL, send.buffer, na_send_header(&pair) + 1, send.buffer_data,
                pair.addr, 0, 0, send.op);
            na_pair_step(&pair, 1);
        }
        ck_assert_int_eq(ret, NA_SUCCESS);
    }
    na_pair_quiet(&pair);
    ck_assert_int_eq(NA_Trigger(pair.context, 10, &count), NA_SUCCESS);
    ck_assert_uint_eq(count, 0);
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, operation_is_reused_inside_its_callback);
    session_add(tcase, operation_pending_busy);
    session_add(tcase, operation_cancelled_receive_calls_back_once);
    session_add(tcase, operation_destroyed_inside_its_callback);
    session_add(tcase, operation_destroyed_while_pending_is_logged);
    session_add(tcase, operation_destroyed_while_pending_still_calls_back);
    session_add(tcase, operation_destroyed_while_pending_ends_with_its_context);
    session_add(tcase, operation_without_callback_completes);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "na_operation", add);
}
