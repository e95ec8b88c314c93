/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls with auto_sm: over na+sm where the peer is on this node, over the
 * class's own transport where it is remote or does not support auto_sm. */
#include "counts.h"
#include "log_watch.h"
#include "two_routes.h"

#include <poll.h>
#include <string.h>

static void
with_auto_sm_at_target(struct hg_init_info *info)
{
    info->auto_sm = !routes_at_origin();
}

static void
with_auto_sm_at_origin(struct hg_init_info *info)
{
    info->auto_sm = routes_at_origin();
}

START_TEST(auto_sm_peers_of_one_node_use_it)
{
    struct session s;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    routes_ck(&s, 50, 0);
    rpcs_ck_works(&s);
    ck_assert_uint_eq(routes_sent_network(), 0);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_peer_of_another_host_uses_the_network)
{
    struct session s;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, s.target), HG_SUCCESS);
    routes_change_host(s.address);
    s.target = routes_look_up(&s, s.address);
    routes_ck(&s, 0, 20);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_string_is_accepted_without_auto_sm)
{
    static const struct session_setup one_sided = {.open = routes_open,
        .stopping = rpcs_stopping,
        .init = with_auto_sm_at_target};
    struct session s;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &one_sided);
    ck_assert_ptr_nonnull(strstr(s.address, "#sm="));
    routes_ck(&s, 0, 20);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_peer_without_auto_sm_uses_the_network)
{
    static const struct session_setup one_sided = {.open = routes_open,
        .stopping = rpcs_stopping,
        .init = with_auto_sm_at_origin};
    struct session s;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &one_sided);
    ck_assert_ptr_null(strstr(s.address, "#sm="));
    routes_ck(&s, 0, 20);
    session_end(&s);
}
END_TEST

/* One handle switches between local and network route and back. */
START_TEST(auto_sm_reset_switches_route)
{
    struct session s;
    hg_handle_t handle;
    hg_addr_t network;
    blob_t in, out;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    in = blob_make(100, 3);
    network = routes_network_addr(&s);
    ck_assert_int_eq(
        HG_Create(s.context, HG_ADDR_NULL, rpcs_id(RPC_ECHO), &handle),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, NULL, NULL, &in), HG_INVALID_ARG);
    for (unsigned i = 0; i < 40; i++) {
        hg_addr_t addr = i % 3 == 0 ? network : s.target;
        uint32_t before = routes_sent_network();

        ck_assert_int_eq(HG_Reset(handle, addr, 0), HG_SUCCESS);
        ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
        ck_assert_int_eq(HG_Get_output(handle, &out), HG_SUCCESS);
        ck_assert(blob_equal(&in, &out));
        ck_assert_int_eq(HG_Free_output(handle, &out), HG_SUCCESS);
        if (session_is_loop())
            ck_assert_uint_eq(
                routes_sent_network(), before + (addr == network));
    }
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, network), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_reset_in_flight_is_busy_on_both_routes)
{
    struct session s;
    struct call call = {.called = 0};
    hg_handle_t handle;
    hg_addr_t network;
    blob_t in;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    in = blob_make(30, 3);
    network = routes_network_addr(&s);
    for (unsigned i = 0; i < 2; i++) {
        atomic_store(&call.called, 0);
        ck_assert_int_eq(HG_Create(s.context, i ? network : s.target,
                             rpcs_id(RPC_KEEP), &handle),
            HG_SUCCESS);
        ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
        ck_assert_int_eq(HG_Reset(handle, i ? s.target : network, 0), HG_BUSY);
        rpcs_wait_handled(&s, RPC_KEEP, i + 1);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
        ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 1);
        ck_assert_int_eq(
            HG_Reset(handle, i ? s.target : network, rpcs_id(RPC_EMPTY)),
            HG_SUCCESS);
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Addr_free(s.hg_class, network), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_caller_can_be_called_back)
{
    static const struct session_setup listening = {.open = routes_open,
        .stopping = rpcs_stopping,
        .init = routes_init,
        .origin_listens = true};
    struct session s;
    hg_handle_t handle;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &listening);
    handle = session_handle(&s, routes_call_back_id());
    for (unsigned i = 0; i < 10; i++)
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_shared()->handled[RPC_EMPTY], 10);
    ck_assert_uint_eq(routes_sent_network(), 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    session_end(&s);
}
END_TEST

static void
with_one_receive(struct hg_init_info *info)
{
    info->auto_sm = 1;
    info->request_post_init = 1;
    info->request_post_incr = 1;
}

/* Both transports repost their receives. */
START_TEST(auto_sm_many_requests_on_both_routes_at_once)
{
    static const struct session_setup narrow = {.open = routes_open,
        .stopping = rpcs_stopping,
        .init = with_one_receive};
    enum { MANY = 20 };
    struct session s;
    struct call calls[MANY];
    hg_handle_t handles[MANY];
    hg_addr_t network;
    blob_t in;

    if (routes_is_self(_i))
        return;
    memset(calls, 0, sizeof calls);
    routes_begin(&s, _i, &narrow);
    in = blob_make(30, 3);
    network = routes_network_addr(&s);
    for (unsigned i = 0; i < MANY; i++) {
        ck_assert_int_eq(HG_Create(s.context, i % 2 ? network : s.target,
                             rpcs_id(RPC_KEEP), &handles[i]),
            HG_SUCCESS);
        ck_assert_int_eq(
            HG_Forward(handles[i], call_done, &calls[i], &in), HG_SUCCESS);
    }
    rpcs_wait_handled(&s, RPC_KEEP, MANY);
    ck_assert_uint_eq(rpcs_answer_kept(&s, MANY), MANY);
    for (unsigned i = 0; i < MANY; i++) {
        session_wait(&s, &calls[i].called, 1);
        ck_assert_int_eq(calls[i].ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Addr_free(s.hg_class, network), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
with_stats(struct hg_init_info *info)
{
    routes_init(info);
    info->stats = 1;
}

START_TEST(auto_sm_counters_and_eager_sizes_cover_both_routes)
{
    static const struct session_setup counting = {
        .open = routes_open, .stopping = rpcs_stopping, .init = with_stats};
    struct session s;
    struct hg_diag_counters counters;
    hg_handle_t handle;
    hg_addr_t network;
    hg_size_t in_size, out_size;
    blob_t in;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &counting);
    network = routes_network_addr(&s);
    in_size = HG_Class_get_input_eager_size(s.hg_class);
    out_size = HG_Class_get_output_eager_size(s.hg_class);
    in = blob_make((uint32_t) (in_size < out_size ? in_size : out_size), 5);
    for (unsigned i = 0; i < 2; i++) {
        void *buffer;
        hg_size_t room;

        ck_assert_int_eq(HG_Create(s.context, i ? network : s.target,
                             rpcs_id(RPC_ECHO), &handle),
            HG_SUCCESS);
        ck_assert_int_eq(HG_Get_input_buf(handle, &buffer, &room), HG_SUCCESS);
        ck_assert_uint_ge(room, in_size);
        ck_assert_int_eq(session_forward(&s, handle, &in), HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Class_get_counters(s.hg_class, &counters), HG_SUCCESS);
    ck_assert_uint_eq(counters.rpc_req_sent_count, 2);
    ck_assert_uint_eq(counters.rpc_resp_recv_count, 2);
    ck_assert_int_eq(HG_Addr_free(s.hg_class, network), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* One descriptor covers both transports for an external event loop. */
START_TEST(auto_sm_external_loop_is_woken_by_both)
{
    struct session s;
    hg_addr_t network;
    int fd;

    if (routes_is_self(_i))
        return;
    routes_begin(&s, _i, &routes_setup);
    network = routes_network_addr(&s);
    fd = HG_Event_get_wait_fd(s.context);
    for (unsigned i = 0; fd >= 0 && i < 100; i++) {
        struct call call = {.called = 0};
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        hg_handle_t handle;
        unsigned count;

        ck_assert_int_eq(HG_Create(s.context, i % 2 ? network : s.target,
                             routes_count_id(), &handle),
            HG_SUCCESS);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, NULL), HG_SUCCESS);
        while (call.called == 0) {
            if (!HG_Event_ready(s.context))
                ck_assert_int_gt(
                    poll(&poll_fd, 1, (int) test_count(TEST_WAIT_MS)), 0);
            ck_assert_int_eq(HG_Event_progress(s.context, &count), HG_SUCCESS);
            ck_assert_int_eq(
                HG_Event_trigger(s.context, 16, &count), HG_SUCCESS);
        }
        ck_assert_int_eq(call.ret, HG_SUCCESS);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    ck_assert_int_eq(HG_Addr_free(s.hg_class, network), HG_SUCCESS);
    session_end(&s);
}
END_TEST

START_TEST(auto_sm_dead_peer_fails_pending_calls)
{
    struct session s;
    struct call calls[2] = {{.called = 0}};
    hg_handle_t handles[2];
    blob_t in;

    if (session_mode_at(_i)->shape != SESSION_PROCESSES)
        return;
    routes_begin(&s, _i, &routes_setup);
    in = blob_make(30, 1);
    log_expect("", 0, 100);
    for (unsigned i = 0; i < 2; i++)
        handles[i] = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(
        HG_Forward(handles[0], call_done, &calls[0], &in), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    session_kill(&s);
    session_wait(&s, &calls[0].called, 1);
    ck_assert(calls[0].ret == HG_HOSTUNREACH || calls[0].ret == HG_IO_ERROR);
    if (HG_Forward(handles[1], call_done, &calls[1], &in) == HG_SUCCESS) {
        session_wait(&s, &calls[1].called, 1);
        ck_assert_int_ne(calls[1].ret, HG_SUCCESS);
        ck_assert_int_ne(calls[1].ret, HG_TIMEOUT);
    }
    for (unsigned i = 0; i < 2; i++)
        ck_assert_int_eq(HG_Destroy(handles[i]), HG_SUCCESS);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, auto_sm_peers_of_one_node_use_it);
    session_add(tcase, auto_sm_peer_of_another_host_uses_the_network);
    session_add(tcase, auto_sm_string_is_accepted_without_auto_sm);
    session_add(tcase, auto_sm_peer_without_auto_sm_uses_the_network);
    session_add(tcase, auto_sm_reset_switches_route);
    session_add(tcase, auto_sm_reset_in_flight_is_busy_on_both_routes);
    session_add(tcase, auto_sm_caller_can_be_called_back);
    session_add(tcase, auto_sm_many_requests_on_both_routes_at_once);
    session_add(tcase, auto_sm_counters_and_eager_sizes_cover_both_routes);
    session_add(tcase, auto_sm_external_loop_is_woken_by_both);
    session_add(tcase, auto_sm_dead_peer_fails_pending_calls);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "auto_sm", add);
}
