/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes, contexts and addresses of the NA interface; polling and waiting;
 * multi-receive. */
#include "counts.h"
#include "log_watch.h"
#include "na_pair.h"
#include "talaria.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

START_TEST(base_version_and_error_names)
{
    unsigned major = 99, minor = 99, patch = 99;

    NA_Version_get(&major, &minor, &patch);
    ck_assert_uint_eq(major, NA_VERSION_MAJOR);
    ck_assert_uint_eq(minor, NA_VERSION_MINOR);
    ck_assert_uint_eq(patch, NA_VERSION_PATCH);
    NA_Version_get(NULL, NULL, NULL);
    ck_assert_str_eq(NA_Error_to_string(NA_SUCCESS), "NA_SUCCESS");
    ck_assert_str_eq(NA_Error_to_string(NA_HOSTFIREWALL), "NA_HOSTFIREWALL");
    ck_assert_ptr_nonnull(NA_Error_to_string(NA_RETURN_MAX));
    ck_assert_ptr_nonnull(NA_Error_to_string((na_return_t) -1));
    for (int i = 0; i < NA_RETURN_MAX; i++)
        for (int j = 0; j < i; j++)
            ck_assert_str_ne(NA_Error_to_string((na_return_t) i),
                NA_Error_to_string((na_return_t) j));
    NA_Set_log_level("error");
    NA_Diag_dump_counters();
}
END_TEST

START_TEST(base_version_of_header_matches_library)
{
    unsigned int major, minor, patch;

    ck_assert_str_eq(talaria_version(), TALARIA_VERSION);
    ck_assert_uint_eq(talaria_version_number(), TALARIA_VERSION_NUMBER);
    ck_assert_int_eq(
        sscanf(talaria_version(), "%u.%u.%u", &major, &minor, &patch), 3);
    ck_assert_uint_eq(
        TALARIA_VERSION_MAKE(major, minor, patch), TALARIA_VERSION_NUMBER);
    ck_assert_uint_lt(
        TALARIA_VERSION_MAKE(0, 1, 0), TALARIA_VERSION_MAKE(0, 1, 1));
    ck_assert_uint_lt(
        TALARIA_VERSION_MAKE(0, 999, 999), TALARIA_VERSION_MAKE(1, 0, 0));
}
END_TEST

START_TEST(base_class_getters_match_init)
{
    struct na_pair pair;
    struct talaria_report *report = NULL;
    struct na_protocol_info *list = NULL;
    char info[64];

    na_pair_begin(&pair, _i);
    snprintf(info, sizeof info, "%s+%s", NA_Get_class_name(pair.na_class),
        NA_Get_class_protocol(pair.na_class));
    ck_assert_str_eq(info, session_protocol());
    ck_assert(NA_Is_listening(pair.na_class));
    ck_assert(NA_Has_opt_feature(pair.na_class, 0));
    ck_assert(!NA_Has_opt_feature(pair.na_class, 1UL << 20));
    ck_assert_int_eq(talaria_class_report(pair.na_class, &report), NA_SUCCESS);
    ck_assert_uint_gt(report->count, 5);
    ck_assert_str_eq(report->entries[0]->name, "plugin");
    for (size_t i = 0; i < report->count; i++)
        ck_assert_ptr_nonnull(report->entries[i]->name);
    talaria_class_report_free(report);
    talaria_class_report_free(NULL);
    ck_assert_int_eq(
        NA_Get_protocol_info(session_transport(), &list), NA_SUCCESS);
    ck_assert_ptr_nonnull(list);
    NA_Free_protocol_info(list);
    ck_assert_int_eq(NA_Get_protocol_info(NULL, NULL), NA_INVALID_ARG);
    ck_assert_ptr_null(NA_Get_class_name(NULL));
    ck_assert_ptr_null(NA_Get_class_protocol(NULL));
    ck_assert(!NA_Is_listening(NULL));
    ck_assert(!NA_Has_opt_feature(NULL, 0));
    na_pair_end(&pair);
}
END_TEST

START_TEST(base_class_with_options_of_each_version)
{
    struct na_init_info info = NA_INIT_INFO_INITIALIZER;
    size_t of_4 = offsetof(struct na_init_info, traffic_class);
    unsigned char *old = malloc(of_4);
    na_class_t *na_class;

    log_watch_begin();
    session_prepare(session_mode_at(0));
    log_watch_install();
    log_expect("init option", 2, 2);
    log_expect("no info string", 1, 1);
    memcpy(old, &info, of_4);
    na_class = NA_Initialize_opt(
        session_transport(), false, (struct na_init_info *) old);
    ck_assert_ptr_nonnull(na_class);
    ck_assert(!NA_Is_listening(na_class));
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    na_class = NA_Initialize_opt2(session_transport(), true, NA_VERSION(4, 0),
        (struct na_init_info *) old);
    ck_assert_ptr_nonnull(na_class);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    free(old);
    info.traffic_class = (enum na_traffic_class) 99;
    na_class = NA_Initialize_opt(session_transport(), true, &info);
    ck_assert_ptr_nonnull(na_class);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    ck_assert_ptr_null(
        NA_Initialize_opt2(session_transport(), true, NA_VERSION(6, 0), &info));
    info = NA_INIT_INFO_INITIALIZER;
    info.thread_mode = 0xf0;
    ck_assert_ptr_null(
        NA_Initialize_opt2(session_transport(), true, NA_VERSION(6, 0), &info));
    na_class =
        NA_Initialize_opt2(session_transport(), true, NA_VERSION(6, 0), NULL);
    ck_assert_ptr_nonnull(na_class);
    ck_assert_int_eq(NA_Finalize(na_class), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(NULL), NA_SUCCESS);
    ck_assert_ptr_null(NA_Initialize(NULL, true));
    NA_Cleanup();
    log_watch_check();
}
END_TEST

START_TEST(base_class_with_leftovers_busy)
{
    struct na_pair pair;
    na_addr_t *self;

    na_pair_begin(&pair, _i);
    log_expect("still has 1 contexts and 2 addresses", 1, 1);
    ck_assert_int_eq(NA_Addr_self(pair.na_class, &self), NA_SUCCESS);
    ck_assert_int_eq(NA_Finalize(pair.na_class), NA_BUSY);
    ck_assert_int_eq(NA_Addr_free(pair.na_class, self), NA_SUCCESS);
    na_pair_end(&pair);
}
END_TEST

START_TEST(base_context_with_operations_busy)
{
    struct na_pair pair;
    struct na_end recv;

    na_pair_begin(&pair, _i);
    if (pair.mode->shape != SESSION_SELF) {
        log_expect("still has 1 operations, 0 of them complete", 1, 1);
        log_expect("still has 1 operations, 1 of them complete", 1, 1);
        na_end_open(&pair, &recv, NA_Msg_get_max_expected_size(pair.na_class));
        ck_assert_int_eq(
            NA_Msg_recv_expected(pair.na_class, pair.context, na_end_called,
                &recv, recv.buffer, recv.buffer_size, recv.buffer_data,
                pair.addr, 0, 1, recv.op),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Context_destroy(pair.na_class, pair.context), NA_BUSY);
        ck_assert_int_eq(
            NA_Cancel(pair.na_class, pair.context, recv.op), NA_SUCCESS);
        while (NA_Context_get_completion_count(pair.context) == 0)
            ck_assert_int_eq(
                NA_Poll(pair.na_class, pair.context, NULL), NA_SUCCESS);
        ck_assert_uint_eq(recv.called, 0);
        ck_assert_int_eq(
            NA_Context_destroy(pair.na_class, pair.context), NA_BUSY);
        na_pair_wait(&pair, &recv, 1);
        na_end_close(&pair, &recv);
    }
    ck_assert_int_eq(NA_Context_destroy(NULL, pair.context), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Context_destroy(pair.na_class, NULL), NA_SUCCESS);
    ck_assert_uint_eq(NA_Context_get_completion_count(NULL), 0);
    log_expect("no class", 1, 1);
    ck_assert_ptr_null(NA_Context_create(NULL));
    na_pair_end(&pair);
}
END_TEST

START_TEST(base_address_round_trips_as_string_and_bytes)
{
    struct na_pair pair;
    na_addr_t *a, *b;
    char text[256];
    size_t size = 0, needed, serial;
    unsigned char *bytes;

    na_pair_begin(&pair, _i);
    ck_assert_int_eq(
        NA_Addr_to_string(pair.na_class, NULL, &size, pair.addr), NA_SUCCESS);
    needed = size;
    ck_assert_uint_le(needed, sizeof text);
    size = needed - 1;
    ck_assert_int_eq(
        NA_Addr_to_string(pair.na_class, text, &size, pair.addr), NA_OVERFLOW);
    ck_assert_uint_eq(size, needed);
    ck_assert_int_eq(
        NA_Addr_to_string(pair.na_class, text, &size, pair.addr), NA_SUCCESS);
    ck_assert_uint_eq(strlen(text) + 1, needed);
    ck_assert_int_eq(NA_Addr_lookup(pair.na_class, text, &a), NA_SUCCESS);
    serial = NA_Addr_get_serialize_size(pair.na_class, a);
    ck_assert_uint_gt(serial, 0);
    bytes = malloc(serial);
    ck_assert_int_eq(
        NA_Addr_serialize(pair.na_class, bytes, serial - 1, a), NA_OVERFLOW);
    ck_assert_int_eq(
        NA_Addr_serialize(pair.na_class, bytes, serial, a), NA_SUCCESS);
    ck_assert_int_eq(
        NA_Addr_deserialize(pair.na_class, &b, bytes, serial, 0), NA_SUCCESS);
    ck_assert(NA_Addr_cmp(pair.na_class, a, b));
    ck_assert(NA_Addr_cmp(pair.na_class, b, pair.addr));
    ck_assert_int_eq(NA_Addr_free(pair.na_class, a), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_dup(pair.na_class, b, &a), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_free(pair.na_class, b), NA_SUCCESS);
    ck_assert(NA_Addr_cmp(pair.na_class, a, pair.addr));
    ck_assert_int_eq(
        NA_Addr_is_self(pair.na_class, a), pair.mode->shape == SESSION_SELF);
    ck_assert_int_eq(NA_Addr_free(pair.na_class, a), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_self(pair.na_class, &a), NA_SUCCESS);
    ck_assert(NA_Addr_is_self(pair.na_class, a));
    ck_assert_int_eq(NA_Addr_free(pair.na_class, a), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_set_remove(pair.na_class, pair.addr), NA_SUCCESS);
    free(bytes);
    na_pair_end(&pair);
}
END_TEST

START_TEST(base_address_from_hostile_bytes)
{
    struct na_pair pair;
    na_addr_t *addr;
    unsigned char *bytes, *exact;
    size_t size;

    na_pair_begin(&pair, _i);
    log_expect("address", 0, 1000);
    log_expect("host", 0, 1000); /* altered bytes may name another host */
    size = NA_Addr_get_serialize_size(pair.na_class, pair.addr);
    bytes = malloc(size);
    ck_assert_int_eq(
        NA_Addr_serialize(pair.na_class, bytes, size, pair.addr), NA_SUCCESS);
    for (size_t length = 0; length < size; length++) {
        exact = malloc(length > 0 ? length : 1);
        memcpy(exact, bytes, length);
        addr = NULL;
        ck_assert_int_eq(
            NA_Addr_deserialize(pair.na_class, &addr, exact, length, 0),
            NA_PROTOCOL_ERROR);
        ck_assert_ptr_null(addr);
        free(exact);
    }
    for (size_t i = 0; i < size * 8; i++) {
        na_return_t ret;

        bytes[i / 8] ^= (unsigned char) (1 << i % 8);
        addr = NULL;
        ret = NA_Addr_deserialize(pair.na_class, &addr, bytes, size, 0);
        ck_assert(ret == NA_SUCCESS || ret == NA_PROTOCOL_ERROR);
        ck_assert_int_eq(ret == NA_SUCCESS, addr != NULL);
        if (addr)
            ck_assert_int_eq(NA_Addr_free(pair.na_class, addr), NA_SUCCESS);
        bytes[i / 8] ^= (unsigned char) (1 << i % 8);
    }
    free(bytes);
    na_pair_end(&pair);
}
END_TEST

START_TEST(base_address_invalid_arguments)
{
    struct na_pair pair;
    na_addr_t *addr = NULL;
    char text[8];
    size_t size = sizeof text;

    na_pair_begin(&pair, _i);
    ck_assert_int_eq(NA_Addr_free(pair.na_class, NULL), NA_SUCCESS);
    ck_assert_int_eq(NA_Addr_free(NULL, pair.addr), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_lookup(pair.na_class, NULL, &addr), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_lookup(pair.na_class, "sm://x", NULL), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Addr_lookup(NULL, "sm://x", &addr), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Addr_self(pair.na_class, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Addr_dup(pair.na_class, NULL, &addr), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_dup(pair.na_class, pair.addr, NULL), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Addr_set_remove(pair.na_class, NULL), NA_INVALID_ARG);
    ck_assert(!NA_Addr_cmp(pair.na_class, NULL, pair.addr));
    ck_assert(!NA_Addr_cmp(pair.na_class, pair.addr, NULL));
    ck_assert(!NA_Addr_cmp(NULL, pair.addr, pair.addr));
    ck_assert(!NA_Addr_is_self(pair.na_class, NULL));
    ck_assert_int_eq(NA_Addr_to_string(pair.na_class, text, NULL, pair.addr),
        NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_to_string(pair.na_class, text, &size, NULL), NA_INVALID_ARG);
    ck_assert_uint_eq(NA_Addr_get_serialize_size(pair.na_class, NULL), 0);
    ck_assert_int_eq(
        NA_Addr_serialize(pair.na_class, NULL, 8, pair.addr), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_deserialize(pair.na_class, &addr, NULL, 8, 0), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Addr_deserialize(pair.na_class, NULL, text, 8, 0), NA_INVALID_ARG);
    ck_assert_ptr_null(addr);
    na_pair_end(&pair);
}
END_TEST

START_TEST(base_poll_when_idle_succeeds)
{
    struct na_pair pair;
    unsigned count = 7;
    uint64_t begin;

    na_pair_begin(&pair, _i);
    na_pair_quiet(&pair);
    ck_assert_int_eq(NA_Poll(pair.na_class, pair.context, &count), NA_SUCCESS);
    ck_assert_uint_eq(count, 0);
    count = 7;
    ck_assert_int_eq(NA_Trigger(pair.context, 10, &count), NA_SUCCESS);
    ck_assert_uint_eq(count, 0);
    ck_assert_int_eq(NA_Trigger(pair.context, 10, NULL), NA_SUCCESS);
    begin = session_now_ms();
    ck_assert_int_eq(
        NA_Poll_wait(pair.na_class, pair.context, 20, &count), NA_TIMEOUT);
    ck_assert_int_eq(NA_Progress(pair.na_class, pair.context, 20), NA_TIMEOUT);
    ck_assert_uint_ge(session_now_ms() - begin, 38);
    ck_assert_int_eq(
        NA_Poll_wait(pair.na_class, pair.context, 0, &count), NA_TIMEOUT);
    ck_assert_int_eq(NA_Poll(NULL, pair.context, &count), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Poll(pair.na_class, NULL, &count), NA_INVALID_ARG);
    ck_assert_int_eq(
        NA_Poll_wait(pair.na_class, NULL, 0, &count), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Progress(NULL, pair.context, 0), NA_INVALID_ARG);
    ck_assert_int_eq(NA_Trigger(NULL, 1, &count), NA_INVALID_ARG);
    ck_assert_int_lt(NA_Poll_get_fd(pair.na_class, NULL), 0);
    ck_assert(!NA_Poll_try_wait(pair.na_class, NULL));
    na_pair_end(&pair);
}
END_TEST

/* One iteration of an external loop around the local endpoint. */
static void
turn(struct na_pair *pair, int epoll_fd)
{
    struct epoll_event event;
    unsigned count = 0;
    int got = 1;

    if (NA_Poll_try_wait(pair->na_class, pair->context))
        do
            got =
                epoll_wait(epoll_fd, &event, 1, (int) test_count(TEST_WAIT_MS));
        while (got < 0 && errno == EINTR);
    ck_assert_int_eq(got, 1);
    ck_assert_int_eq(
        NA_Poll(pair->na_class, pair->context, &count), NA_SUCCESS);
    NA_Trigger(pair->context, count, NULL);
}

START_TEST(base_descriptor_wakes_a_waiting_loop)
{
    struct na_pair pair;
    struct na_end send, recv;
    struct epoll_event event = {.events = EPOLLIN};
    int fd, epoll_fd;
    bool blocks;

    na_pair_begin(&pair, _i);
    blocks = !(pair.mode->progress_mode & NA_NO_BLOCK);
    fd = NA_Poll_get_fd(pair.na_class, pair.context);
    ck_assert_int_eq(fd >= 0, blocks);
    ck_assert_int_eq(NA_Poll_get_fd(pair.na_class, pair.context), fd);
    if (!blocks)
        ck_assert(!NA_Poll_try_wait(pair.na_class, pair.context));
    if (pair.mode->shape == SESSION_PROCESSES && blocks) {
        na_end_open(
            &pair, &send, NA_Msg_get_max_unexpected_size(pair.na_class));
        na_end_open(&pair, &recv, NA_Msg_get_max_expected_size(pair.na_class));
        send.buffer[na_send_header(&pair)] = NA_ASK_ECHO;
        epoll_fd = epoll_create1(EPOLL_CLOEXEC);
        ck_assert_int_eq(epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event), 0);
        ck_assert_int_eq(NA_Msg_init_unexpected(
                             pair.na_class, send.buffer, send.buffer_size),
            NA_SUCCESS);
        for (uint32_t i = 1; i <= test_count(TEST_EVENT_CALLS); i++) {
            ck_assert_int_eq(
                NA_Msg_recv_expected(pair.na_class, pair.context, na_end_called,
                    &recv, recv.buffer, recv.buffer_size, recv.buffer_data,
                    pair.addr, 0, 1, recv.op),
                NA_SUCCESS);
            ck_assert_int_eq(NA_Msg_send_unexpected(pair.na_class, pair.context,
                                 na_end_called, &send, send.buffer,
                                 na_send_header(&pair) + 8, send.buffer_data,
                                 pair.addr, 0, 1, send.op),
                NA_SUCCESS);
            while (recv.called < i || send.called < i)
                turn(&pair, epoll_fd);
            ck_assert_int_eq(recv.ret, NA_SUCCESS);
        }
        close(epoll_fd);
        na_end_close(&pair, &send);
        na_end_close(&pair, &recv);
    }
    na_pair_end(&pair);
}
END_TEST

/* Collects messages to self in one buffer. */
struct collector {
    struct na_pair *pair;
    na_op_id_t *op;
    uint32_t messages;
    uint32_t sum;
    bool last;
    na_return_t ret;
    const char *buffer;
    size_t size;
};

static void
collect(const struct na_cb_info *info)
{
    const struct na_cb_info_multi_recv_unexpected *got =
        &info->info.multi_recv_unexpected;
    struct collector *collector = info->arg;

    ck_assert_int_eq(info->type, NA_CB_MULTI_RECV_UNEXPECTED);
    ck_assert(!collector->last);
    collector->last = got->last;
    collector->ret = info->ret;
    if (info->ret != NA_SUCCESS)
        return;
    if (got->actual_buf) {
        const char *bytes = got->actual_buf;

        ck_assert(bytes >= collector->buffer);
        ck_assert(bytes + got->actual_buf_size <=
                  collector->buffer + collector->size);
        ck_assert_ptr_nonnull(got->source);
        ck_assert_int_eq(
            bytes[na_send_header(collector->pair)], (char) got->tag);
        /* Each message has a reference to its source. */
        ck_assert_int_eq(
            NA_Addr_free(collector->pair->na_class, got->source), NA_SUCCESS);
        collector->messages++;
        collector->sum += got->tag;
    }
}

START_TEST(base_multi_receive_collects_messages)
{
    enum { MANY = 100 };
    struct na_pair pair;
    struct na_end sends[MANY];
    struct collector collector = {.pair = &pair};
    void *data;
    char *buffer;
    na_addr_t *self;
    size_t size, max;

    na_pair_begin(&pair, _i);
    max = NA_Msg_get_max_unexpected_size(pair.na_class);
    size = max * 8;
    buffer = NA_Msg_buf_alloc(pair.na_class, size, NA_MULTI_RECV, &data);
    ck_assert_ptr_nonnull(buffer);
    collector.op = NA_Op_create(pair.na_class, NA_OP_MULTI);
    ck_assert_ptr_nonnull(collector.op);
    collector.buffer = buffer;
    collector.size = size;
    if (!NA_Has_opt_feature(pair.na_class, NA_OPT_MULTI_RECV)) {
        ck_assert_int_eq(
            NA_Msg_multi_recv_unexpected(pair.na_class, pair.context, collect,
                &collector, buffer, size, data, collector.op),
            NA_OPNOTSUPPORTED);
    } else if (pair.mode->shape != SESSION_SELF) {
        uint32_t sent = 0, sum = 0;

        ck_assert_int_eq(NA_Addr_self(pair.na_class, &self), NA_SUCCESS);
        ck_assert_int_eq(
            NA_Msg_multi_recv_unexpected(pair.na_class, pair.context, collect,
                &collector, buffer, size, data, collector.op),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Msg_multi_recv_unexpected(pair.na_class, pair.context, collect,
                &collector, buffer, size, data, collector.op),
            NA_BUSY);
        while (!collector.last && sent < MANY) {
            struct na_end *send = &sends[sent];

            na_end_open(&pair, send, max);
            ck_assert_int_eq(NA_Msg_init_unexpected(pair.na_class, send->buffer,
                                 send->buffer_size),
                NA_SUCCESS);
            send->buffer[na_send_header(&pair)] = (char) sent;
            ck_assert_int_eq(NA_Msg_send_unexpected(pair.na_class, pair.context,
                                 na_end_called, send, send->buffer,
                                 na_send_header(&pair) + 300, send->buffer_data,
                                 self, 0, sent, send->op),
                NA_SUCCESS);
            na_pair_wait(&pair, send, 1);
            sum += sent++;
            while (collector.messages < sent)
                na_pair_step(&pair, 1);
        }
        ck_assert_uint_eq(collector.messages, sent);
        ck_assert_uint_eq(collector.sum, sum);
        if (!collector.last) {
            ck_assert_int_eq(
                NA_Cancel(pair.na_class, pair.context, collector.op),
                NA_SUCCESS);
            while (!collector.last)
                na_pair_step(&pair, 1);
            ck_assert_int_eq(collector.ret, NA_CANCELED);
        }
        /* Buffer and operation are owned by the caller again. */
        collector.last = false;
        ck_assert_int_eq(
            NA_Msg_multi_recv_unexpected(pair.na_class, pair.context, collect,
                &collector, buffer, size, data, collector.op),
            NA_SUCCESS);
        ck_assert_int_eq(
            NA_Cancel(pair.na_class, pair.context, collector.op), NA_SUCCESS);
        while (!collector.last)
            na_pair_step(&pair, 1);
        ck_assert_int_eq(collector.ret, NA_CANCELED);
        ck_assert_int_eq(
            NA_Msg_multi_recv_unexpected(pair.na_class, pair.context, collect,
                &collector, buffer, 16, data, collector.op),
            NA_INVALID_ARG);
        while (sent > 0)
            na_end_close(&pair, &sends[--sent]);
        ck_assert_int_eq(NA_Addr_free(pair.na_class, self), NA_SUCCESS);
    }
    NA_Op_destroy(pair.na_class, collector.op);
    NA_Msg_buf_free(pair.na_class, buffer, data);
    na_pair_end(&pair);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_add_test(tcase, base_version_and_error_names);
    session_add(tcase, base_version_of_header_matches_library);
    session_add(tcase, base_class_getters_match_init);
    tcase_add_test(tcase, base_class_with_options_of_each_version);
    session_add(tcase, base_class_with_leftovers_busy);
    session_add(tcase, base_context_with_operations_busy);
    session_add(tcase, base_address_round_trips_as_string_and_bytes);
    session_add(tcase, base_address_from_hostile_bytes);
    session_add(tcase, base_address_invalid_arguments);
    session_add(tcase, base_poll_when_idle_succeeds);
    session_add(tcase, base_descriptor_wakes_a_waiting_loop);
    session_add(tcase, base_multi_receive_collects_messages);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "na_base", add);
}
