/* SPDX-License-Identifier: BSD-3-Clause */
/* Handlers that return an error without responding. Their handle is released
 * whether they destroyed it or not, and stays valid as long as another thread
 * holds a reference. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"
#include "talaria.h"

#include <pthread.h>
#include <string.h>

#define ROUNDS 50U        /* rounds of each kind */
#define UNDECODABLE 3000U /* requests, over transports within one host */
#define RECEIVES 4U
#define CODE HG_PERMISSION

/* What the handler does before it returns CODE. */
enum kind {
    KIND_NOTHING,
    KIND_INPUT, /* fails to decode the input, and returns that error */
    KIND_DESTROY,
    KIND_DESTROY_TWICE,
    KIND_ANSWER_FAILS,
    KIND_ANSWER,      /* the respond callback destroys the handle */
    KIND_SHARE,       /* a second reference is kept for a while */
    KIND_SHARE_AWAY,  /* and the handler destroys its own */
    KIND_SHARE_EARLY, /* a thread releases the second reference at once */
    KIND_THREAD,      /* or the only reference */
    KIND_COUNT
};

typedef struct {
    uint32_t kind;
    uint32_t number;
} request_t;

struct shared {
    _Atomic uint32_t handles; /* target handles that were created */
    _Atomic uint32_t handled;
};

static hg_id_t request_id; /* handler acts by the request's kind */
static hg_id_t way_id;     /* the same, without a response */
static hg_id_t drop_id;    /* drops the request */
/* releases the kept reference; out: whether the handle was unchanged */
static hg_id_t end_id;

static struct shared *
shared(void)
{
    return (struct shared *) ((char *) session_user() + RPCS_USER_OFFSET);
}

/* A proc that the target fails to decode: it asks for more bytes than there
 * are. */
static hg_return_t
hg_proc_request_t(hg_proc_t proc, void *data)
{
    static char more[100000];

    if (hg_proc_get_op(proc) == HG_DECODE)
        return hg_proc_get_size_left(proc) < sizeof more
                   ? HG_OVERFLOW
                   : hg_proc_bytes(proc, more, sizeof more);
    return hg_proc_bytes(proc, data, sizeof(request_t));
}

static hg_return_t
hg_proc_failing_t(hg_proc_t proc, void *data)
{
    return HG_NOMEM;
}

static hg_handle_t kept;
static uint32_t kept_number;

static request_t
request_of(hg_handle_t handle)
{
    request_t request = {.kind = KIND_COUNT};
    hg_size_t size = 0;
    void *bytes = NULL;

    TARGET_ASSERT(HG_Get_input_buf(handle, &bytes, &size) == HG_SUCCESS);
    TARGET_ASSERT(size == sizeof request);
    if (size == sizeof request)
        memcpy(&request, bytes, sizeof request);
    return request;
}

static void *
destroy_in_thread(void *handle)
{
    TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
    return NULL;
}

static void
share(hg_handle_t handle, const request_t *request)
{
    pthread_t thread;

    if (request->kind != KIND_THREAD)
        TARGET_ASSERT(HG_Ref_incr(handle) == HG_SUCCESS);
    if (request->kind == KIND_SHARE_EARLY || request->kind == KIND_THREAD) {
        TARGET_ASSERT(
            pthread_create(&thread, NULL, destroy_in_thread, handle) == 0);
        TARGET_ASSERT(pthread_join(thread, NULL) == 0);
        return;
    }
    TARGET_ASSERT(kept == HG_HANDLE_NULL);
    kept = handle;
    kept_number = request->number;
    if (request->kind == KIND_SHARE_AWAY)
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
}

static hg_return_t
on_request(hg_handle_t handle)
{
    request_t request = request_of(handle), decoded;

    atomic_fetch_add(&shared()->handled, 1);
    switch (request.kind) {
    case KIND_INPUT:
        return HG_Get_input(handle, &decoded);
    case KIND_DESTROY_TWICE:
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
        /* fall through */
    case KIND_DESTROY:
        TARGET_ASSERT(HG_Destroy(handle) == HG_SUCCESS);
        break;
    case KIND_ANSWER_FAILS:
        return HG_Respond(handle, NULL, NULL, &request);
    case KIND_ANSWER:
        TARGET_ASSERT(
            HG_Respond(handle, rpcs_on_responded, NULL, NULL) == HG_SUCCESS);
        break;
    case KIND_SHARE:
    case KIND_SHARE_AWAY:
    case KIND_SHARE_EARLY:
    case KIND_THREAD:
        share(handle, &request);
        break;
    default:
        break;
    }
    return CODE;
}

static hg_return_t
on_drop(hg_handle_t handle)
{
    atomic_fetch_add(&shared()->handled, 1);
    TARGET_ASSERT(talaria_handle_drop(handle) == HG_SUCCESS);
    return CODE;
}

/* The kept handle still belongs to its request. */
static hg_return_t
on_end(hg_handle_t handle)
{
    uint32_t good = HG_Ref_get(kept) >= 1 &&
                    HG_Get_info(kept)->id == request_id &&
                    request_of(kept).number == kept_number &&
                    HG_Respond(kept, NULL, NULL, NULL) == HG_BUSY;

    TARGET_ASSERT(HG_Destroy(kept) == HG_SUCCESS);
    kept = HG_HANDLE_NULL;
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, &good) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t
handle_made(hg_handle_t handle, void *arg)
{
    /* Handles of targets have no deadline. */
    if (talaria_handle_set_deadline(handle, 0) == HG_INVALID_ARG)
        atomic_fetch_add(&shared()->handles, 1);
    return HG_SUCCESS;
}

static void
open_own(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    request_id =
        MERCURY_REGISTER(hg_class, "request", request_t, failing_t, on_request);
    way_id = MERCURY_REGISTER(hg_class, "one way", request_t, void, on_request);
    HG_Registered_disable_response(hg_class, way_id, 1);
    drop_id = MERCURY_REGISTER(hg_class, "drop", request_t, void, on_drop);
    end_id = MERCURY_REGISTER(hg_class, "end", void, uint32_t, on_end);
    HG_Class_set_handle_create_callback(hg_class, handle_made, NULL);
}

static void
few_receives(struct hg_init_info *info)
{
    info->request_post_init = RECEIVES;
    info->request_post_incr = RECEIVES;
}

static const struct session_setup setup = {
    .init = few_receives, .open = open_own, .stopping = rpcs_stopping};

static void
end_kept(struct session *s)
{
    hg_handle_t handle = session_handle(s, end_id);
    uint32_t good = 0;

    /* Released handles receive other requests meanwhile. */
    for (unsigned i = 0; i < 3 * RECEIVES; i++)
        rpcs_ck_works(s);
    ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Get_output(handle, &good), HG_SUCCESS);
    ck_assert_uint_eq(good, 1);
    ck_assert_int_eq(HG_Free_output(handle, &good), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

static hg_return_t
expected(enum kind kind)
{
    switch (kind) {
    case KIND_INPUT:
        return HG_OVERFLOW;
    case KIND_ANSWER_FAILS:
        return HG_NOMEM;
    case KIND_ANSWER:
        return HG_SUCCESS;
    default:
        return CODE;
    }
}

/* Sends one request of a kind and checks the outcome. */
static void
ck_request(struct session *s, hg_id_t id, enum kind kind, uint32_t number)
{
    hg_handle_t handle = session_handle(s, id);
    request_t request = {.kind = kind, .number = number};
    hg_return_t ret = session_forward(s, handle, &request);

    ck_assert_int_eq(ret, id == way_id ? HG_SUCCESS : expected(kind));
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    if (kind == KIND_SHARE || kind == KIND_SHARE_AWAY)
        end_kept(s);
}

/* The target has not created needless handles, and stops at once. */
static void
end_without_spare_handles(struct session *s)
{
    uint64_t begin;

    ck_assert_uint_le(shared()->handles, 16 * RECEIVES);
    rpcs_ck_works(s);
    begin = session_now_ms();
    session_end(s);
    /* For handles in use it would wait for 5 s. */
    ck_assert_uint_lt(session_now_ms() - begin, 2000);
}

START_TEST(failed_handler_releases_its_handle_once)
{
    struct session s;

    session_begin(&s, _i, &setup);
    log_expect("input not decoded: HG_OVERFLOW", ROUNDS, ROUNDS);
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) {
        if (kind >= KIND_SHARE_EARLY && s.mode->thread_mode != 0)
            continue;
        for (unsigned i = 0; i < ROUNDS; i++)
            ck_request(&s, request_id, kind, kind * ROUNDS + i);
    }
    end_without_spare_handles(&s);
}
END_TEST

START_TEST(failed_handler_without_response_releases_its_handle)
{
    struct session s;
    struct call call;
    request_t request = {.kind = KIND_NOTHING};
    hg_handle_t handle;

    session_begin(&s, _i, &setup);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        ck_request(&s, way_id, i % 2 ? KIND_NOTHING : KIND_DESTROY, i);
        session_wait_other(&s, &shared()->handled, 2 * i + 1);
        call = (struct call){.called = 0};
        handle = session_handle(&s, drop_id);
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, &request), HG_SUCCESS);
        session_wait_other(&s, &shared()->handled, 2 * i + 2);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(call.ret, HG_CANCELED);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    end_without_spare_handles(&s);
}
END_TEST

/* Like the server in README.md. */
START_TEST(failed_handlers_of_many_undecodable_requests_keep_no_handle)
{
    struct session s;
    hg_handle_t handle;
    request_t request = {.kind = KIND_INPUT};
    unsigned count = session_is_hosts() ? UNDECODABLE / 10 : UNDECODABLE;

    session_begin(&s, _i, &setup);
    /* thinned */
    log_expect("input not decoded: HG_OVERFLOW", 64, 80);
    handle = session_handle(&s, request_id);
    for (unsigned i = 0; i < count; i++)
        ck_assert_int_eq(session_forward(&s, handle, &request), HG_OVERFLOW);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    end_without_spare_handles(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, failed_handler_releases_its_handle_once);
    session_add(tcase, failed_handler_without_response_releases_its_handle);
    session_add(
        tcase, failed_handlers_of_many_undecodable_requests_keep_no_handle);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "give_up", add);
}
