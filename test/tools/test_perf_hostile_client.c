/* SPDX-License-Identifier: BSD-3-Clause */
/* A server of `talaria perf` with hostile clients: its resources are bounded,
 * invalid requests are refused, and others are served. */
#include <time.h>

#include "perf/hg_side.h"
#include "perf_client.h"

#define SESSIONS 16 /* concurrent sessions of a server */

static void
setup(void)
{
    peer_folder_create();
    server_start(NULL, NULL, NULL);
}

static void
setup_idle(void)
{
    peer_folder_create();
    server_start(NULL, "--idle", "1");
}

static void
setup_no_vm(void)
{
    peer_folder_create();
    server_start(getenv("NO_VM"), NULL, NULL);
}

START_TEST(plan_beyond_limits_refused)
{
    struct perf_plan plan = small_plan;

    plan.inflight = UINT32_MAX;
    ck_assert_str_ne(client_try_plan(&client, &plan), "");
    plan = small_plan;
    plan.classes = PERF_CLASSES_MAX + 1;
    ck_assert_str_ne(client_try_plan(&client, &plan), "");
    plan = small_plan;
    plan.level = (enum perf_level) 200;
    ck_assert_str_ne(client_try_plan(&client, &plan), "");
    plan = small_plan;
    plan.size_max = UINT64_MAX;
    ck_assert_str_ne(client_try_plan(&client, &plan), "");
    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
}
END_TEST

/* Each receive of level na has a buffer, and one for its answer. */
START_TEST(receives_beyond_memory_refused)
{
    struct perf_plan plan = {.level = PERF_NA,
        .inflight = 1024,
        .threads = 64,
        .contexts = 64,
        .classes = 16,
        .clients = 1,
        .size_max = 32768};

    ck_assert_ptr_nonnull(strstr(client_try_plan(&client, &plan), "of memory"));
}
END_TEST

START_TEST(threads_of_all_sessions_bounded)
{
    struct perf_plan plan = small_plan;
    struct client others[3];
    const char *error = "";

    plan.threads = 64;
    plan.classes = 15;
    for (int i = 0; i < 3; i++)
        client_open(&others[i], server_address);
    ck_assert_str_eq(client_try_plan(&others[0], &plan), "");
    ck_assert_str_eq(client_try_plan(&others[1], &plan), "");
    error = client_try_plan(&others[2], &plan);
    ck_assert_ptr_nonnull(strstr(error, "2048 threads"));
    ck_assert_str_eq(client_close_session(&others[0]), "");
    ck_assert_str_eq(client_try_plan(&others[2], &plan), "");
    for (int i = 0; i < 3; i++)
        client_close(&others[i]);
}
END_TEST

START_TEST(sessions_too_many_refused)
{
    static struct client others[SESSIONS];

    for (int i = 0; i < SESSIONS; i++) {
        client_open(&others[i], server_address);
        ck_assert_str_eq(client_try_plan(&others[i], &small_plan), "");
    }
    ck_assert_ptr_nonnull(
        strstr(client_try_plan(&client, &small_plan), "too many sessions"));
    /* A client with a session may open a new one instead; and there is room
     * when one ends. */
    ck_assert_str_eq(client_try_plan(&others[0], &small_plan), "");
    ck_assert_str_eq(client_close_session(&others[1]), "");
    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
    for (int i = 0; i < SESSIONS; i++)
        client_close(&others[i]);
}
END_TEST

START_TEST(session_of_another_refused)
{
    struct client other;

    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
    client_open(&other, server_address);
    other.session = client.session;
    ck_assert_str_eq(client_place(&other, 0, NULL), "no such session");
    ck_assert_str_eq(client_run(&other, PERF_RUN_START), "no such session");
    ck_assert_str_eq(client_close_session(&other), "no such session");
    client_close(&other);
    ck_assert_str_eq(client_place(&client, 0, NULL), "");
    ck_assert_str_eq(client_close_session(&client), "");
    ck_assert_str_eq(client_close_session(&client), "no such session");
    client.session = 0;
    ck_assert_str_eq(client_run(&client, PERF_RUN_START), "no such session");
}
END_TEST

START_TEST(open_twice_ends_first_session)
{
    uint64_t former;

    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
    former = client.session;
    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
    ck_assert_uint_ne(client.session, former);
    ck_assert_str_eq(client_run(&client, PERF_RUN_ASK), "");
    client.session = former;
    ck_assert_str_eq(client_run(&client, PERF_RUN_ASK), "no such session");
}
END_TEST

START_TEST(requests_invalid_refused)
{
    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
    ck_assert_str_eq(client_place(&client, 1, NULL), "no such class");
    ck_assert_str_eq(client_place(&client, UINT32_MAX, NULL), "no such class");
    ck_assert_str_eq(client_run(&client, PERF_RUNS), "no such request");
    ck_assert_str_eq(client_run(&client, 255), "no such request");
    /* Fewer bytes than a request has. */
    for (int i = PERF_CONTROL_CHALLENGE; i < PERF_CONTROLS; i++) {
        hg_id_t id = client.ids[i];

        ck_assert_int_eq(
            HG_Register(client.hg_class, id, NULL, NULL, NULL), HG_SUCCESS);
        ck_assert_int_ne(client_call(&client, id, NULL, NULL), HG_SUCCESS);
    }
    perf_control_register(client.hg_class, NULL, client.ids);
    ck_assert_str_eq(client_close_session(&client), "");
}
END_TEST

/* A session's class, as a raw peer reaches it. */
static void
open_class(struct client *caller, const struct perf_plan *plan,
    hg_id_t rpcs[PERF_RPCS])
{
    perf_remote_out_t place;

    ck_assert_str_eq(client_try_plan(&client, plan), "");
    ck_assert_str_eq(client_place(&client, 0, &place), "");
    ck_assert_str_eq(client_run(&client, PERF_RUN_START), "");
    client_open(caller, place.address.text);
    rpcs[PERF_RPC_READ] = HG_Register_name(caller->hg_class,
        "talaria.perf.read", hg_proc_perf_read_in_t, NULL, NULL);
    rpcs[PERF_RPC_PULL] =
        HG_Register_name(caller->hg_class, "talaria.perf.pull",
            hg_proc_perf_bulk_in_t, hg_proc_perf_bulk_out_t, NULL);
    rpcs[PERF_RPC_PUSH] =
        HG_Register_name(caller->hg_class, "talaria.perf.push",
            hg_proc_perf_bulk_in_t, hg_proc_perf_bulk_out_t, NULL);
}

START_TEST(read_beyond_plan_refused)
{
    perf_read_in_t in = {.size = 64};
    hg_id_t rpcs[PERF_RPCS];
    struct client other;

    open_class(&other, &small_plan, rpcs);
    ck_assert_int_eq(
        client_call(&other, rpcs[PERF_RPC_READ], &in, NULL), HG_SUCCESS);
    in.size = 65;
    ck_assert_int_eq(
        client_call(&other, rpcs[PERF_RPC_READ], &in, NULL), HG_OVERFLOW);
    in.size = UINT64_MAX;
    ck_assert_int_eq(
        client_call(&other, rpcs[PERF_RPC_READ], &in, NULL), HG_OVERFLOW);
    client_close(&other);
}
END_TEST

START_TEST(transfer_beyond_plan_refused)
{
    struct perf_plan plan = small_plan;
    perf_bulk_in_t in = {.size = 64, .slot = 1};
    hg_id_t rpcs[PERF_RPCS];
    hg_size_t size = 4096;
    struct client other;
    perf_bulk_out_t out;

    plan.level = PERF_BULK;
    plan.inflight = 2;
    open_class(&other, &plan, rpcs);
    ck_assert_int_eq(HG_Bulk_create(other.hg_class, 1, NULL, &size,
                         HG_BULK_READWRITE, &in.memory),
        HG_SUCCESS);
    for (int i = PERF_RPC_PULL; i <= PERF_RPC_PUSH; i++) {
        static const uint64_t wrong[][2] = {{2, 64}, {UINT64_MAX, 64}, {1, 65},
            {0, UINT64_MAX}, {UINT64_MAX / 64, 64}};

        in.slot = 1;
        in.size = 64;
        ck_assert_int_eq(client_call(&other, rpcs[i], &in, &out), HG_SUCCESS);
        ck_assert_int_eq(out.ret, HG_SUCCESS);
        for (size_t j = 0; j < sizeof(wrong) / sizeof(wrong[0]); j++) {
            in.slot = wrong[j][0];
            in.size = wrong[j][1];
            ck_assert_int_eq(
                client_call(&other, rpcs[i], &in, &out), HG_SUCCESS);
            ck_assert_int_eq(out.ret, HG_INVALID_ARG);
        }
    }
    HG_Bulk_free(in.memory);
    in = (perf_bulk_in_t){.size = 8};
    ck_assert_int_eq(
        client_call(&other, rpcs[PERF_RPC_PULL], &in, &out), HG_SUCCESS);
    ck_assert_int_eq(out.ret, HG_INVALID_ARG);
    client_close(&other);
}
END_TEST

/* A transfer whose peer does not progress ends before its memory is freed. */
START_TEST(transfer_hanging_ends_with_session)
{
    struct perf_plan plan = small_plan;
    perf_bulk_in_t in = {.size = 1 << 16};
    hg_size_t size = 1 << 16;
    struct answer answer = {0};
    double deadline = peer_clock() + WAIT_SECONDS;
    hg_id_t rpcs[PERF_RPCS];
    struct client other;
    perf_bulk_out_t out;
    hg_handle_t handle;
    unsigned int count;
    void *memory;

    plan.level = PERF_BULK;
    plan.size_max = 1 << 16;
    open_class(&other, &plan, rpcs);
    memory = calloc(1, size);
    ck_assert_int_eq(HG_Bulk_create(other.hg_class, 1, &memory, &size,
                         HG_BULK_READWRITE, &in.memory),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(other.context, other.addr, rpcs[PERF_RPC_PULL], &handle),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Forward(handle, client_answered, &answer, &in), HG_SUCCESS);
    /* A second request for the slot is refused: the first one holds it. Sent
     * from another class, since this one does not progress. */
    for (;;) {
        struct client third;
        perf_remote_out_t place;
        perf_bulk_in_t again = {.size = 8};
        hg_id_t pull;

        ck_assert_str_eq(client_place(&client, 0, &place), "");
        client_open(&third, place.address.text);
        pull = HG_Register_name(third.hg_class, "talaria.perf.pull",
            hg_proc_perf_bulk_in_t, hg_proc_perf_bulk_out_t, NULL);
        ck_assert_int_eq(HG_Bulk_create(third.hg_class, 1, NULL, &size,
                             HG_BULK_READWRITE, &again.memory),
            HG_SUCCESS);
        ck_assert_int_eq(client_call(&third, pull, &again, &out), HG_SUCCESS);
        HG_Bulk_free(again.memory);
        client_close(&third);
        if (out.ret == HG_BUSY)
            break;
        ck_assert_msg(peer_clock() < deadline, "the slot is never taken");
    }
    ck_assert_str_eq(client_close_session(&client), "");
    /* The server is still alive, also when the client progresses again. */
    ck_assert_str_eq(client_try_plan(&client, &plan), "");
    while (!answer.came && peer_clock() < deadline) {
        HG_Progress(other.context, 10);
        HG_Trigger(other.context, 0, 1, &count);
    }
    ck_assert(answer.came);
    ck_assert_str_eq(client_close_session(&client), "");
    ck_assert(!server_logged("not freed"));
    HG_Destroy(handle);
    HG_Bulk_free(in.memory);
    free(memory);
    client_close(&other);
}
END_TEST

START_TEST(session_of_silent_client_is_freed)
{
    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
    ck_assert_str_eq(client_run(&client, PERF_RUN_START), "");
    server_await_log("is idle for too long");
    ck_assert_str_eq(client_run(&client, PERF_RUN_ASK), "no such session");
}
END_TEST

START_TEST(session_of_active_client_is_kept)
{
    double started = peer_clock();
    struct timespec nap = {.tv_nsec = 50000000};

    ck_assert_str_eq(client_try_plan(&client, &small_plan), "");
    while (peer_clock() < started + 2.5) {
        ck_assert_str_eq(client_run(&client, PERF_RUN_ASK), "");
        nanosleep(&nap, NULL);
    }
    ck_assert(!server_logged("is idle for too long"));
}
END_TEST

/* Decodes a length and that many bytes. */
static hg_return_t
decode(hg_proc_cb_t proc_of, void *bytes, size_t size, void *into)
{
    hg_return_t ret;
    hg_proc_t proc;

    ck_assert_int_eq(hg_proc_create_set(client.hg_class, bytes, size, HG_DECODE,
                         HG_NOHASH, &proc),
        HG_SUCCESS);
    ret = proc_of(proc, into);
    hg_proc_free(proc);
    return ret;
}

/* Lengths from a hostile server or client are bounded by the room for them. */
START_TEST(lengths_beyond_room_refused)
{
    static char bytes[4096];
    static perf_bytes_t key;
    perf_text_t text;
    uint16_t length = PERF_TEXT_SIZE - 1;
    uint32_t size = PERF_MEMORY_KEY_SIZE;

    memset(bytes, 'x', sizeof(bytes));
    memcpy(bytes, &length, sizeof(length));
    ck_assert_int_eq(
        decode(hg_proc_perf_text_t, bytes, sizeof(bytes), &text), HG_SUCCESS);
    ck_assert_uint_eq(strlen(text.text), length);
    length++;
    memcpy(bytes, &length, sizeof(length));
    ck_assert_int_eq(decode(hg_proc_perf_text_t, bytes, sizeof(bytes), &text),
        HG_PROTOCOL_ERROR);
    memcpy(bytes, &size, sizeof(size));
    ck_assert_int_eq(
        decode(hg_proc_perf_bytes_t, bytes, sizeof(bytes), &key), HG_SUCCESS);
    ck_assert_uint_eq(key.size, size);
    size++;
    memcpy(bytes, &size, sizeof(size));
    ck_assert_int_eq(decode(hg_proc_perf_bytes_t, bytes, sizeof(bytes), &key),
        HG_PROTOCOL_ERROR);
}
END_TEST

static Suite *
perf_hostile_client_suite(void)
{
    Suite *suite = suite_create("perf_hostile_client");
    TCase *open_to_all = tcase_create("server");
    TCase *idle = tcase_create("idle");
    TCase *no_vm = tcase_create("no_vm");

    tcase_add_checked_fixture(open_to_all, setup, server_end);
    tcase_set_timeout(open_to_all, 60);
    tcase_add_test(open_to_all, plan_beyond_limits_refused);
    tcase_add_test(open_to_all, receives_beyond_memory_refused);
    tcase_add_test(open_to_all, threads_of_all_sessions_bounded);
    tcase_add_test(open_to_all, sessions_too_many_refused);
    tcase_add_test(open_to_all, session_of_another_refused);
    tcase_add_test(open_to_all, open_twice_ends_first_session);
    tcase_add_test(open_to_all, requests_invalid_refused);
    tcase_add_test(open_to_all, lengths_beyond_room_refused);
    tcase_add_test(open_to_all, read_beyond_plan_refused);
    tcase_add_test(open_to_all, transfer_beyond_plan_refused);
    suite_add_tcase(suite, open_to_all);
    tcase_add_checked_fixture(idle, setup_idle, server_end);
    tcase_set_timeout(idle, 60);
    tcase_add_test(idle, session_of_silent_client_is_freed);
    tcase_add_test(idle, session_of_active_client_is_kept);
    suite_add_tcase(suite, idle);
    tcase_add_checked_fixture(no_vm, setup_no_vm, server_end);
    tcase_set_timeout(no_vm, 60);
    tcase_add_test(no_vm, transfer_hanging_ends_with_session);
    suite_add_tcase(suite, no_vm);
    return suite;
}

int
main(void)
{
    return peer_run(perf_hostile_client_suite());
}
