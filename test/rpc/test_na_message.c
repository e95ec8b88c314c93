/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages of the NA interface: sizes, tags, buffers, errors. */
#include "counts.h"
#include "log_watch.h"
#include "na_pair.h"

#include <stdlib.h>
#include <string.h>

START_TEST(message_sizes_up_to_maximum_are_echoed)
{
    struct na_pair pair;
    struct na_end send, recv;
    size_t max;

    na_pair_begin(&pair, _i);
    na_pair_open(&pair, &send, &recv);
    max = na_pair_max_unexpected(&pair) - na_send_header(&pair);
    if (max > na_pair_max_expected(&pair) - na_recv_header(&pair))
        max = na_pair_max_expected(&pair) - na_recv_header(&pair);
    for (size_t length = 1; length < 70; length++)
        na_pair_echo(&pair, &send, &recv, length, 1);
    for (size_t length = 128; length < max; length *= 2)
        na_pair_echo(&pair, &send, &recv, length + 1, 2);
    na_pair_echo(&pair, &send, &recv, max - 1, 3);
    na_pair_echo(&pair, &send, &recv, max, 4);
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_beyond_maximum_msgsize_at_once)
{
    struct na_pair pair;
    struct na_end send;
    size_t over = 8;

    na_pair_begin(&pair, _i);
    log_expect("the longest is", 0, 2);
    na_end_open(&pair, &send, 0);
    send.buffer = calloc(
        1, na_pair_max_unexpected(&pair) + na_pair_max_expected(&pair) + over);
    ck_assert_int_eq(NA_Msg_init_unexpected(pair.na_class, send.buffer,
                         na_pair_max_unexpected(&pair) + 1),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_send_unexpected(pair.na_class, pair.context, na_end_called,
            &send, send.buffer, na_pair_max_unexpected(&pair) + 1, NULL,
            pair.addr, 0, 0, send.op),
        NA_MSGSIZE);
    ck_assert_int_eq(NA_Msg_init_expected(pair.na_class, send.buffer,
                         na_pair_max_expected(&pair) + 1),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_send_expected(pair.na_class, pair.context, na_end_called, &send,
            send.buffer, na_pair_max_expected(&pair) + 1, NULL, pair.addr, 0, 0,
            send.op),
        NA_MSGSIZE);
    na_pair_quiet(&pair);
    ck_assert_uint_eq(send.called, 0);
    free(send.buffer);
    send.buffer = NULL;
    na_end_close(&pair, &send);
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_longer_than_its_receive_msgsize)
{
    struct na_pair pair;
    struct na_end send, recv;

    na_pair_begin(&pair, _i);
    na_end_open(&pair, &send, na_pair_max_unexpected(&pair));
    na_end_open(&pair, &recv, na_recv_header(&pair) + 20);
    send.buffer[na_send_header(&pair)] = NA_ASK_ECHO;
    ck_assert_int_eq(na_pair_call(&pair, &send, &recv, 20, 5), NA_SUCCESS);
    ck_assert_int_eq(na_pair_call(&pair, &send, &recv, 21, 5), NA_MSGSIZE);
    ck_assert_int_eq(na_pair_call(&pair, &send, &recv, 200, 5), NA_MSGSIZE);
    ck_assert_int_eq(na_pair_call(&pair, &send, &recv, 20, 5), NA_SUCCESS);
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_tags_match_answers_to_requests)
{
    enum { MANY = 20 };
    struct na_pair pair;
    struct na_end send[MANY], recv[MANY];
    na_tag_t tags[MANY];

    na_pair_begin(&pair, _i);
    for (unsigned i = 0; i < MANY; i++) {
        na_pair_open(&pair, &send[i], &recv[i]);
        tags[i] = i < MANY / 2 ? i : NA_Msg_get_max_tag(pair.na_class) - i;
        ck_assert_int_eq(
            NA_Msg_recv_expected(pair.na_class, pair.context, na_end_called,
                &recv[i], recv[i].buffer, recv[i].buffer_size,
                recv[i].buffer_data, pair.addr, 0, tags[i], recv[i].op),
            NA_SUCCESS);
    }
    for (unsigned n = MANY; n-- > 0;) {
        char *out = send[n].buffer + na_send_header(&pair);

        out[0] = NA_ASK_ECHO;
        out[1] = (char) n;
        ck_assert_int_eq(NA_Msg_init_unexpected(pair.na_class, send[n].buffer,
                             send[n].buffer_size),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Msg_send_unexpected(pair.na_class, pair.context, na_end_called,
                &send[n], send[n].buffer, na_send_header(&pair) + 2,
                send[n].buffer_data, pair.addr, 0, tags[n], send[n].op),
            NA_SUCCESS);
    }
    for (unsigned i = 0; i < MANY; i++) {
        na_pair_wait(&pair, &recv[i], 1);
        na_pair_wait(&pair, &send[i], 1);
        ck_assert_int_eq(recv[i].ret, NA_SUCCESS);
        ck_assert_int_eq(recv[i].buffer[na_recv_header(&pair) + 1], (char) i);
        na_pair_close(&pair, &send[i], &recv[i]);
    }
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_highest_tag_works)
{
    struct na_pair pair;
    struct na_end send, recv;
    na_tag_t max;

    na_pair_begin(&pair, _i);
    na_pair_open(&pair, &send, &recv);
    max = NA_Msg_get_max_tag(pair.na_class);
    ck_assert_uint_ge(max, 0x7fff);
    na_pair_echo(&pair, &send, &recv, 30, max);
    na_pair_echo(&pair, &send, &recv, 30, 0);
    if (max < UINT32_MAX) {
        ck_assert_int_eq(
            NA_Msg_recv_expected(pair.na_class, pair.context, na_end_called,
                &recv, recv.buffer, recv.buffer_size, recv.buffer_data,
                pair.addr, 0, max + 1, recv.op),
            NA_INVALID_ARG);
        ck_assert_int_eq(NA_Msg_send_unexpected(pair.na_class, pair.context,
                             na_end_called, &send, send.buffer, 100,
                             send.buffer_data, pair.addr, 0, max + 1, send.op),
            NA_INVALID_ARG);
    }
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

/* An unexpected message without a posted receive waits for one. */
START_TEST(message_unexpected_without_receive_waits)
{
    enum { MANY = 40 };
    struct na_pair pair;
    struct na_end send[MANY], recv[MANY];

    na_pair_begin(&pair, _i);
    if (pair.peer) {
        na_pair_stop_receiving(&pair);
        for (unsigned i = 0; i < MANY; i++) {
            na_pair_open(&pair, &send[i], &recv[i]);
            send[i].buffer[na_send_header(&pair)] = NA_ASK_ECHO;
            send[i].buffer[na_send_header(&pair) + 1] = (char) i;
            ck_assert_int_eq(
                NA_Msg_recv_expected(pair.na_class, pair.context, na_end_called,
                    &recv[i], recv[i].buffer, recv[i].buffer_size,
                    recv[i].buffer_data, pair.addr, 0, i, recv[i].op),
                NA_SUCCESS);
            ck_assert_int_eq(NA_Msg_init_unexpected(pair.na_class,
                                 send[i].buffer, send[i].buffer_size),
                NA_SUCCESS);
            ck_assert_int_eq(
                NA_Msg_send_unexpected(pair.na_class, pair.context,
                    na_end_called, &send[i], send[i].buffer,
                    na_send_header(&pair) + 100, send[i].buffer_data, pair.addr,
                    0, i, send[i].op),
                NA_SUCCESS);
        }
        na_pair_quiet(&pair);
        for (unsigned i = 0; i < MANY; i++)
            ck_assert_uint_eq(recv[i].called, 0);
        na_pair_resume_receiving(&pair);
        for (unsigned i = 0; i < MANY; i++) {
            na_pair_wait(&pair, &recv[i], 1);
            na_pair_wait(&pair, &send[i], 1);
            ck_assert_int_eq(recv[i].ret, NA_SUCCESS);
            ck_assert_int_eq(
                recv[i].buffer[na_recv_header(&pair) + 1], (char) i);
            na_pair_close(&pair, &send[i], &recv[i]);
        }
    }
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_buffers_of_the_program_work)
{
    struct na_pair pair;
    struct na_end send, recv;
    char *memory;
    size_t size;

    na_pair_begin(&pair, _i);
    size = na_pair_max_unexpected(&pair) + na_pair_max_expected(&pair) + 16;
    memory = calloc(1, size);
    na_end_open(&pair, &send, 0);
    na_end_open(&pair, &recv, 0);
    for (size_t skew = 0; skew < 4; skew++) {
        send.buffer = memory + skew;
        send.buffer_size = na_pair_max_unexpected(&pair);
        recv.buffer = memory + na_pair_max_unexpected(&pair) + 4 + skew;
        recv.buffer_size = na_pair_max_expected(&pair);
        na_pair_echo(&pair, &send, &recv, 150, 1);
    }
    free(memory);
    send.buffer = recv.buffer = NULL;
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_header_that_does_not_fit_overflow)
{
    struct na_pair pair;
    char buffer[256];

    na_pair_begin(&pair, _i);
    if (na_send_header(&pair) > 0)
        ck_assert_int_eq(NA_Msg_init_unexpected(
                             pair.na_class, buffer, na_send_header(&pair) - 1),
            NA_OVERFLOW);
    if (na_recv_header(&pair) > 0)
        ck_assert_int_eq(NA_Msg_init_expected(
                             pair.na_class, buffer, na_recv_header(&pair) - 1),
            NA_OVERFLOW);
    ck_assert_int_eq(
        NA_Msg_init_unexpected(pair.na_class, buffer, na_send_header(&pair)),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_init_expected(pair.na_class, buffer, na_recv_header(&pair)),
        NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_init_unexpected(NULL, buffer, sizeof buffer), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_init_expected(pair.na_class, NULL, sizeof buffer),
        NA_INVALID_ARG);
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_to_dead_peer_fails_at_once)
{
    struct na_pair pair;
    struct na_end send, recv;
    na_class_t *other;
    na_addr_t *self, *nobody;
    char text[256];
    size_t size = sizeof text;
    na_return_t ret;

    na_pair_begin(&pair, _i);
    na_pair_open(&pair, &send, &recv);
    other = NA_Initialize(session_transport(), true);
    ck_assert_ptr_nonnull(other);
    ck_assert_int_eq(NA_Addr_self(other, &self), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_to_string(other, text, &size, self), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_free(other, self), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(other), NA_SUCCESS);
    log_expect("connection refused", 0, 1);
    ck_assert_int_eq(NA_Addr_lookup(pair.na_class, text, &nobody), NA_SUCCESS);
    ck_assert_int_eq(
        NA_Msg_init_unexpected(pair.na_class, send.buffer, send.buffer_size),
        NA_SUCCESS);
    ret = NA_Msg_send_unexpected(pair.na_class, pair.context, na_end_called,
        &send, send.buffer, na_send_header(&pair) + 8, send.buffer_data, nobody,
        0, 0, send.op);
    if (ret == NA_SUCCESS) {
        na_pair_wait(&pair, &send, 1);
        ret = send.ret;
    }
    ck_assert_int_eq(ret, NA_HOSTUNREACH);
    ck_assert_int_eq(NA_Addr_free(pair.na_class, nobody), NA_SUCCESS);
    na_pair_echo(&pair, &send, &recv, 8, 1);
    na_pair_close(&pair, &send, &recv);
    na_pair_end(&pair);
}
END_TEST

START_TEST(message_invalid_arguments)
{
    struct na_pair pair;
    struct na_end send;
    na_class_t *c;
    na_context_t *x;
    char *b;
    na_op_id_t *multi;
    void *data;

    na_pair_begin(&pair, _i);
    na_end_open(&pair, &send, na_pair_max_unexpected(&pair));
    c = pair.na_class;
    x = pair.context;
    b = send.buffer;
    multi = NA_Op_create(c, NA_OP_MULTI);
    ck_assert_ptr_nonnull(multi);
    ck_assert_ptr_null(NA_Op_create(NULL, NA_OP_SINGLE));
    ck_assert_ptr_null(NA_Op_create(c, 0x80));
    ck_assert_int_eq(NA_Msg_send_unexpected(NULL, x, NULL, NULL, b, 64, NULL,
                         pair.addr, 0, 0, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_send_unexpected(c, NULL, NULL, NULL, b, 64, NULL,
                         pair.addr, 0, 0, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_send_unexpected(c, x, NULL, NULL, NULL, 64, NULL,
                         pair.addr, 0, 0, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_send_unexpected(
                         c, x, NULL, NULL, b, 64, NULL, NULL, 0, 0, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_send_unexpected(
                         c, x, NULL, NULL, b, 64, NULL, pair.addr, 0, 0, NULL),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_send_expected(
                         c, x, NULL, NULL, b, 64, NULL, NULL, 0, 0, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Msg_recv_unexpected(c, x, NULL, NULL, NULL, 64, NULL, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Msg_recv_unexpected(c, x, NULL, NULL, b, 64, NULL, multi),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_recv_expected(
                         c, x, NULL, NULL, b, 64, NULL, NULL, 0, 0, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Msg_multi_recv_unexpected(
                         c, x, NULL, NULL, b, send.buffer_size, NULL, send.op),
        NA_INVALID_ARG);
    ck_assert_int_eq(NA_Cancel(c, x, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Cancel(NULL, x, send.op), NA_INVALID_ARG);
    ck_assert_ptr_null(NA_Msg_buf_alloc(NULL, 64, NA_SEND, &data));
    ck_assert_ptr_null(NA_Msg_buf_alloc(c, 0, NA_SEND, &data));
    ck_assert_ptr_null(NA_Msg_buf_alloc(c, 64, NA_SEND, NULL));
    NA_Msg_buf_free(c, NULL, NULL);
    ck_assert_uint_eq(NA_Msg_get_max_unexpected_size(NULL), 0);
    ck_assert_uint_eq(NA_Msg_get_max_expected_size(NULL), 0);
    ck_assert_uint_eq(NA_Msg_get_unexpected_header_size(NULL), 0);
    ck_assert_uint_eq(NA_Msg_get_expected_header_size(NULL), 0);
    ck_assert_uint_eq(NA_Msg_get_max_tag(NULL), 0);
    NA_Op_destroy(c, multi);
    na_end_close(&pair, &send);
    na_pair_end(&pair);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, message_sizes_up_to_maximum_are_echoed);
    session_add(tcase, message_beyond_maximum_msgsize_at_once);
    session_add(tcase, message_longer_than_its_receive_msgsize);
    session_add(tcase, message_tags_match_answers_to_requests);
    session_add(tcase, message_highest_tag_works);
    session_add(tcase, message_unexpected_without_receive_waits);
    session_add(tcase, message_buffers_of_the_program_work);
    session_add(tcase, message_header_that_does_not_fit_overflow);
    session_add(tcase, message_to_dead_peer_fails_at_once);
    session_add(tcase, message_invalid_arguments);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "na_message", add);
}
