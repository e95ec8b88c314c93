/* SPDX-License-Identifier: BSD-3-Clause */
/* Statistics: each outcome of an RPC is counted once, at both sides. */
#include "counts.h"
#include "log_watch.h"
#include "rpcs.h"
#include "talaria.h"

#include <jansson.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CALLS 20U

/* talaria_call_stats without pointers. */
struct counts {
    uint64_t requests, request_bytes, answers, answer_bytes, dropped;
    uint64_t latency_ns;
    uint64_t in_buckets; /* sum */
    uint64_t failures[TALARIA_FAILURE_MAX];
};

/* The target's counters, in the session's shared memory. */
struct seen {
    struct counts echo;
    struct counts code;
    struct counts drop;
    struct counts total;
    struct hg_diag_counters counters;
    uint64_t unknown;
    uint64_t malformed;
    /* ThreadSanitizer sees no ordering through memory that is mapped twice;
     * these provide it. */
    atomic_uint asked;
    atomic_uint looks;
};

static _Atomic hg_id_t look_id, drop_id; /* each side registers them */

static struct seen *
seen(void)
{
    return (struct seen *) ((char *) session_user() + RPCS_USER_OFFSET);
}

static const struct talaria_rpc_stats *
find(const struct talaria_class_stats *stats, hg_id_t id)
{
    const struct talaria_rpc_stats *found = NULL;

    for (size_t i = 0; i < stats->count; i++)
        if (stats->rpcs[i]->id == id) {
            TARGET_ASSERT(!found); /* each id once */
            found = stats->rpcs[i];
        }
    TARGET_ASSERT(found);
    return found;
}

static struct counts
counts_of(const struct talaria_call_stats *stats)
{
    struct counts counts = {.requests = stats->requests,
        .request_bytes = stats->request_bytes,
        .answers = stats->answers,
        .answer_bytes = stats->answer_bytes,
        .dropped = stats->dropped,
        .latency_ns = stats->latency_ns};

    TARGET_ASSERT(stats->failure_count == TALARIA_FAILURE_MAX);
    memcpy(counts.failures, stats->failures, sizeof counts.failures);
    for (size_t i = 0; i < stats->latency_count; i++)
        counts.in_buckets += stats->latency[i];
    return counts;
}

static hg_return_t
on_look(hg_handle_t handle)
{
    hg_class_t *hg_class = HG_Get_info(handle)->hg_class;
    struct talaria_class_stats *stats;

    /* Pairs with the release in look(). */
    TARGET_ASSERT(atomic_load_explicit(&seen()->asked, memory_order_acquire));
    TARGET_ASSERT(talaria_class_stats(hg_class, &stats) == HG_SUCCESS);
    seen()->echo = counts_of(find(stats, rpcs_id(RPC_ECHO))->target);
    seen()->code = counts_of(find(stats, rpcs_id(RPC_CODE))->target);
    seen()->drop = counts_of(find(stats, drop_id)->target);
    seen()->total = counts_of(stats->target);
    seen()->counters = *stats->counters;
    seen()->unknown = stats->requests_unknown;
    seen()->malformed = stats->messages_dropped;
    talaria_class_stats_free(stats);
    /* Pairs with the load in look(). */
    atomic_fetch_add_explicit(&seen()->looks, 1, memory_order_release);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static hg_return_t
on_drop(hg_handle_t handle)
{
    TARGET_ASSERT(talaria_handle_drop(handle) == HG_SUCCESS);
    return HG_Destroy(handle);
}

static void
open_all(hg_class_t *hg_class)
{
    rpcs_open(hg_class);
    /* Registered again, it is still one entry. */
    rpcs_open(hg_class);
    look_id = MERCURY_REGISTER(hg_class, "look", void, void, on_look);
    drop_id = MERCURY_REGISTER(hg_class, "drop", void, void, on_drop);
}

static void
with_stats(struct hg_init_info *info)
{
    info->stats = 1;
}

static const struct session_setup setup = {
    .open = open_all, .stopping = rpcs_stopping, .init = with_stats};

static void
look(struct session *s)
{
    hg_handle_t handle = session_handle(s, look_id);

    /* Pairs with the load in on_look(). */
    atomic_fetch_add_explicit(&seen()->asked, 1, memory_order_release);
    ck_assert_int_eq(session_forward(s, handle, NULL), HG_SUCCESS);
    /* Pairs with the release in on_look(). */
    ck_assert_uint_gt(
        atomic_load_explicit(&seen()->looks, memory_order_acquire), 0);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
}

/* Looks until this many requests are active, the look itself included: an
 * answered request counts until the transport has sent the response. */
static void
look_until_active(struct session *s, uint64_t count)
{
    uint64_t begin = session_now_ms();

    do
        look(s);
    while (seen()->counters.rpc_req_recv_active_count != count &&
           session_now_ms() - begin < test_count(TEST_WAIT_MS));
    ck_assert_uint_eq(seen()->counters.rpc_req_recv_active_count, count);
}

static struct talaria_class_stats *
stats_of(struct session *s)
{
    struct talaria_class_stats *stats;

    ck_assert_int_eq(talaria_class_stats(s->hg_class, &stats), HG_SUCCESS);
    return stats;
}

START_TEST(stats_of_answered_calls)
{
    struct session s;
    struct talaria_class_stats *stats;
    const struct talaria_rpc_stats *echo;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(100, 1);
    for (unsigned i = 0; i < CALLS; i++)
        ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_SUCCESS);
    look(&s);
    stats = stats_of(&s);
    echo = find(stats, rpcs_id(RPC_ECHO));
    ck_assert_str_eq(echo->name, "echo");
    ck_assert_uint_eq(echo->origin->requests, CALLS);
    ck_assert_uint_eq(echo->origin->answers, CALLS);
    ck_assert_uint_eq(echo->origin->request_bytes, CALLS * 100);
    ck_assert_uint_eq(echo->origin->answer_bytes, CALLS * 100);
    ck_assert_uint_eq(counts_of(echo->origin).in_buckets, CALLS);
    ck_assert_uint_gt(echo->origin->latency_ns, 0);
    ck_assert_uint_eq(seen()->echo.requests, CALLS);
    ck_assert_uint_eq(seen()->echo.answers, CALLS);
    ck_assert_uint_eq(seen()->echo.request_bytes, CALLS * 100);
    ck_assert_uint_eq(seen()->echo.answer_bytes, CALLS * 100);
    ck_assert_uint_eq(seen()->echo.in_buckets, CALLS);
    /* Handling is part of the total time. */
    ck_assert_uint_lt(seen()->echo.latency_ns, echo->origin->latency_ns);
    ck_assert_uint_eq(stats->origin->requests, CALLS + 1);
    ck_assert_uint_eq(stats->origin->answers, CALLS + 1);
    ck_assert_uint_eq(seen()->total.requests, CALLS + 1);
    ck_assert_uint_eq(stats->counters->rpc_req_sent_count, CALLS + 1);
    ck_assert_uint_eq(stats->counters->rpc_resp_recv_count, CALLS + 1);
    ck_assert_uint_eq(seen()->counters.rpc_req_recv_count, CALLS + 1);
    /* The transport may still own the last responses. */
    ck_assert_uint_ge(seen()->counters.rpc_req_recv_active_count, 1);
    look_until_active(&s, 1);
    talaria_class_stats_free(stats);
    talaria_class_stats_free(NULL);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(stats_of_each_kind_of_failure)
{
    struct session s;
    struct talaria_class_stats *stats;
    struct call call = {.called = 0};
    hg_handle_t handle;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    ck_assert_int_eq(rpcs_try(&s, RPC_CODE, &(int32_t){HG_NOMEM}), HG_NOMEM);
    if (s.mode->shape != SESSION_SELF) {
        log_expect("RPC not registered", 1, 1);
        ck_assert_int_eq(HG_Deregister(s.hg_class, drop_id), HG_SUCCESS);
    }
    drop_id = MERCURY_REGISTER(s.hg_class, "drop", void, void, on_drop);
    handle = session_handle(&s, drop_id);
    ck_assert_int_eq(talaria_handle_set_deadline(handle, 20), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_TIMEOUT);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    handle = session_handle(&s, rpcs_id(RPC_KEEP));
    ck_assert_int_eq(HG_Forward(handle, call_done, &call, &in), HG_SUCCESS);
    rpcs_wait_handled(&s, RPC_KEEP, 1);
    look_until_active(&s, 2);
    ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
    session_wait(&s, &call.called, 1);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_uint_eq(rpcs_answer_kept(&s, 1), 1);
    if (s.mode->shape != SESSION_SELF) {
        hg_id_t id = MERCURY_REGISTER(s.hg_class, "odd", void, void, NULL);

        handle = session_handle(&s, id);
        ck_assert_int_eq(session_forward(&s, handle, NULL), HG_NOENTRY);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    }
    look_until_active(&s, 1);
    stats = stats_of(&s);
    ck_assert_uint_eq(stats->origin->failures[TALARIA_FAILURE_OTHER], 1);
    ck_assert_uint_eq(stats->origin->failures[TALARIA_FAILURE_TIMEOUT], 1);
    ck_assert_uint_eq(stats->origin->failures[TALARIA_FAILURE_CANCELED], 1);
    ck_assert_uint_eq(stats->origin->failures[TALARIA_FAILURE_UNKNOWN_RPC],
        s.mode->shape != SESSION_SELF);
    ck_assert_uint_eq(seen()->unknown, s.mode->shape != SESSION_SELF);
    ck_assert_uint_eq(seen()->drop.requests, 1);
    ck_assert_uint_eq(seen()->drop.dropped, 1);
    ck_assert_uint_eq(seen()->drop.answers, 0);
    ck_assert_uint_eq(seen()->code.failures[TALARIA_FAILURE_OTHER], 1);
    /* Every request is counted in exactly one outcome. */
    ck_assert_uint_eq(stats->origin->requests,
        stats->origin->answers + 3U + (s.mode->shape != SESSION_SELF));
    talaria_class_stats_free(stats);
    blob_free(&in);
    session_end(&s);
}
END_TEST

START_TEST(stats_of_malformed_messages)
{
    struct session s;

    if (!session_is_loop())
        return;
    session_begin(&s, _i, &setup);
    log_expect("malformed request", 1, 1);
    ck_assert(loop_inject(
        s.address, s.address, 0, LOOP_SEND_UNEXPECTED, "nonsense", 8, 1));
    rpcs_ck_works(&s);
    look(&s);
    ck_assert_uint_eq(seen()->malformed, 1);
    session_end(&s);
}
END_TEST

/* Bytes after the transport's header that are not a response. */
static void
spoil_answer(enum loop_kind kind, unsigned char *message, uint64_t *length)
{
    if (kind == LOOP_SEND_EXPECTED)
        *length = 1;
}

/* Counted at the origin, which sees them. */
START_TEST(stats_of_failures_of_the_transport)
{
    const struct loop_fault unreachable = {
        .act = LOOP_FAIL_NOW, .code = NA_PLUGIN_E_HOSTUNREACH, .count = 1};
    struct session s;
    struct talaria_class_stats *stats;
    blob_t in;

    if (!session_is_loop())
        return;
    session_begin(&s, _i, &setup);
    log_expect("malformed response", 1, 1);
    in = blob_make(20, 1);
    loop_fault_set(LOOP_SEND_UNEXPECTED, unreachable);
    ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_HOSTUNREACH);
    loop_tamper_set(spoil_answer);
    ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_PROTOCOL_ERROR);
    loop_tamper_set(NULL);
    look(&s);
    stats = stats_of(&s);
    ck_assert_uint_eq(stats->origin->failures[TALARIA_FAILURE_UNREACHABLE], 1);
    ck_assert_uint_eq(stats->origin->failures[TALARIA_FAILURE_MESSAGE], 1);
    talaria_class_stats_free(stats);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* A response that fails, at once or later, counts as a failure only: neither
 * its code nor its duration is counted. */
START_TEST(stats_of_answers_that_could_not_be_sent)
{
    static const enum loop_act acts[] = {LOOP_FAIL_NOW, LOOP_FAIL_LATER};
    struct session s;
    struct talaria_class_stats *stats;
    blob_t in;

    if (!session_is_loop())
        return;
    session_begin(&s, _i, &setup);
    in = blob_make(20, 1);
    for (uint32_t i = 0; i < 2; i++) {
        struct call call = {.called = 0};
        hg_handle_t handle = session_handle(&s, rpcs_id(RPC_CODE));

        loop_fault_set(LOOP_SEND_EXPECTED,
            (struct loop_fault){
                .act = acts[i], .code = NA_PLUGIN_E_HOSTUNREACH, .count = 1});
        ck_assert_int_eq(
            HG_Forward(handle, call_done, &call, &(int32_t){HG_NOMEM}),
            HG_SUCCESS);
        rpcs_wait_handled(&s, RPC_CODE, i + 1);
        session_quiet(&s);
        ck_assert_uint_eq(call.called, 0);
        ck_assert_int_eq(HG_Cancel(handle), HG_SUCCESS);
        session_wait(&s, &call.called, 1);
        ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
        look(&s);
        ck_assert_uint_eq(seen()->code.requests, i + 1);
        ck_assert_uint_eq(seen()->code.answers, 0);
        ck_assert_uint_eq(seen()->code.answer_bytes, 0);
        ck_assert_uint_eq(seen()->code.latency_ns, 0);
        ck_assert_uint_eq(seen()->code.in_buckets, 0);
        ck_assert_uint_eq(seen()->code.failures[TALARIA_FAILURE_OTHER], 0);
        ck_assert_uint_eq(
            seen()->code.failures[TALARIA_FAILURE_UNREACHABLE], i + 1);
        ck_assert_uint_eq(seen()->counters.rpc_resp_sent_count, i);
    }
    stats = stats_of(&s);
    ck_assert_uint_eq(stats->origin->failures[TALARIA_FAILURE_CANCELED], 2);
    talaria_class_stats_free(stats);
    blob_free(&in);
    session_end(&s);
}
END_TEST

static char dumped[16384];

static int keep_line(FILE *stream, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static int
keep_line(FILE *stream, const char *format, ...)
{
    size_t used = strlen(dumped);
    va_list args;

    va_start(args, format);
    vsnprintf(dumped + used, sizeof dumped - used, format, args);
    va_end(args);
    return 0;
}

START_TEST(stats_dumped_to_the_log)
{
    struct session s;

    session_begin(&s, _i, &setup);
    rpcs_ck_works(&s);
    rpcs_ck_works(&s);
    dumped[0] = '\0';
    HG_Set_log_func(keep_line);
    HG_Diag_dump_counters();
    log_watch_install();
    ck_assert_ptr_nonnull(strstr(dumped, ": requests sent: 2\n"));
    ck_assert_ptr_nonnull(strstr(dumped, ": answers received: 2\n"));
    ck_assert_ptr_nonnull(strstr(dumped, ": bulk transfers: 0\n"));
    session_end(&s);
}
END_TEST

START_TEST(stats_as_json)
{
    struct session s;
    char *text;
    const char *name, *id;
    json_t *json, *rpcs, *rpc;
    json_int_t requests, answers;
    size_t i, named = 0;
    blob_t in;

    session_begin(&s, _i, &setup);
    in = blob_make(100, 1);
    for (unsigned n = 0; n < CALLS; n++)
        ck_assert_int_eq(rpcs_try(&s, RPC_ECHO, &in), HG_SUCCESS);
    ck_assert_int_eq(talaria_class_stats_json(s.hg_class, &text), HG_SUCCESS);
    json = json_loads(text, 0, NULL);
    ck_assert_ptr_nonnull(json);
    ck_assert_int_eq(
        json_unpack(json, "{s:{s:I, s:I}, s:o}", "origin", "requests",
            &requests, "answers", &answers, "rpcs", &rpcs),
        0);
    ck_assert_int_eq(requests, CALLS);
    ck_assert_int_eq(answers, CALLS);
    json_array_foreach(rpcs, i, rpc)
    {
        json_t *histogram;
        json_int_t sum = 0;
        size_t bucket;
        json_t *entry;

        ck_assert_int_eq(json_unpack(rpc, "{s:s, s:s, s:{s:I, s:o}}", "id", &id,
                             "name", &name, "origin", "answers", &answers,
                             "latency_log2_ns", &histogram),
            0);
        json_array_foreach(histogram, bucket, entry) sum +=
            json_integer_value(entry);
        ck_assert_int_eq(sum, answers);
        if (strcmp(name, "echo") != 0)
            continue;
        named++;
        ck_assert_int_eq(answers, CALLS);
        ck_assert_uint_eq(strtoull(id, NULL, 10), rpcs_id(RPC_ECHO));
    }
    ck_assert_uint_eq(named, 1);
    json_decref(json);
    free(text);
    blob_free(&in);
    session_end(&s);
}
END_TEST

/* Number of RPCs that a class reports; *forwarded_p: forwards in total. */
static size_t
reported(struct session *s, uint64_t *requests_p)
{
    struct talaria_class_stats *stats;
    size_t count;

    ck_assert_int_eq(talaria_class_stats(s->hg_class, &stats), HG_SUCCESS);
    count = stats->count;
    *requests_p = stats->origin->requests;
    talaria_class_stats_free(stats);
    return count;
}

static void
register_and_forget(struct session *s, hg_id_t id)
{
    ck_assert_int_eq(
        HG_Register(s->hg_class, id, NULL, NULL, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Deregister(s->hg_class, id), HG_SUCCESS);
}

#define FORGOTTEN 5000U

/* Bytes allocated for one more RPC that is then deregistered. Reads the heap
 * outside assertions, since libcheck allocates. */
static size_t
bytes_each(struct session *s, hg_id_t first, hg_id_t step)
{
    size_t before = mallinfo2().uordblks;

    for (uint32_t i = 0; i < FORGOTTEN; i++)
        if (HG_Register(s->hg_class, first + i * step, NULL, NULL, NULL) !=
                HG_SUCCESS ||
            HG_Deregister(s->hg_class, first + i * step) != HG_SUCCESS)
            ck_abort_msg("registering or deregistering failed");
    size_t after = mallinfo2().uordblks;
    /* what else was in use may have become less meanwhile */
    return after > before ? (after - before) / FORGOTTEN : 0;
}

/* Deregistered RPCs are not reported any more and take no memory. Their counts
 * stay in the totals, and do not reappear when the RPC is registered again. */
START_TEST(stats_of_deregistered_rpcs_stay_in_the_totals)
{
    struct session s;
    struct talaria_class_stats *stats;
    uint64_t requests;
    size_t count;

    session_begin(&s, _i, &setup);
    rpcs_ck_works(&s);
    count = reported(&s, &requests);
    ck_assert_uint_eq(requests, 1);
    register_and_forget(&s, 1ULL << 40);
    ck_assert_uint_eq(bytes_each(&s, 1ULL << 40, 0), 0);
    /* What stays is an entry with the id, in a table. */
    ck_assert_uint_lt(bytes_each(&s, 1ULL << 41, 1), 300);
    ck_assert_uint_eq(reported(&s, &requests), count);
    ck_assert_int_eq(HG_Deregister(s.hg_class, rpcs_id(RPC_ECHO)), HG_SUCCESS);
    ck_assert_uint_eq(reported(&s, &requests), count - 1);
    ck_assert_uint_eq(requests, 1);
    rpcs_open(s.hg_class);
    ck_assert_uint_eq(reported(&s, &requests), count);
    ck_assert_uint_eq(requests, 1);
    ck_assert_int_eq(talaria_class_stats(s.hg_class, &stats), HG_SUCCESS);
    ck_assert_uint_eq(find(stats, rpcs_id(RPC_ECHO))->origin->requests, 0);
    talaria_class_stats_free(stats);
    rpcs_ck_works(&s);
    ck_assert_uint_eq(reported(&s, &requests), count);
    ck_assert_uint_eq(requests, 2);
    session_end(&s);
}
END_TEST

/* A pending call of a deregistered RPC is not counted for another one. */
START_TEST(stats_of_a_deregistered_rpc_count_for_no_other)
{
    struct session s;
    struct talaria_class_stats *stats;
    hg_handle_t handle;
    uint64_t requests;

    /* With one class nothing would answer. */
    if (session_mode_at(_i)->shape == SESSION_SELF)
        return;
    session_begin(&s, _i, &setup);
    handle = session_handle(&s, rpcs_id(RPC_EMPTY));
    ck_assert_int_eq(HG_Deregister(s.hg_class, rpcs_id(RPC_EMPTY)), HG_SUCCESS);
    ck_assert_int_eq(session_forward(&s, handle, NULL), HG_SUCCESS);
    ck_assert_int_eq(HG_Destroy(handle), HG_SUCCESS);
    ck_assert_int_eq(
        HG_Register(s.hg_class, 1ULL << 40, NULL, NULL, NULL), HG_SUCCESS);
    ck_assert_int_eq(talaria_class_stats(s.hg_class, &stats), HG_SUCCESS);
    ck_assert_uint_eq(find(stats, 1ULL << 40)->origin->requests, 0);
    talaria_class_stats_free(stats);
    reported(&s, &requests);
    ck_assert_uint_eq(requests, 1);
    session_end(&s);
}
END_TEST

START_TEST(stats_are_off_by_default)
{
    static const struct session_setup without = {.open = rpcs_open};
    struct session s;
    struct talaria_class_stats *stats;
    struct hg_diag_counters counters;
    char *text;

    session_begin(&s, _i, &without);
    rpcs_ck_works(&s);
    ck_assert_int_eq(
        talaria_class_stats(s.hg_class, &stats), HG_OPNOTSUPPORTED);
    ck_assert_int_eq(
        talaria_class_stats_json(s.hg_class, &text), HG_OPNOTSUPPORTED);
    ck_assert_int_eq(
        HG_Class_get_counters(s.hg_class, &counters), HG_OPNOTSUPPORTED);
    ck_assert_int_eq(talaria_class_stats(NULL, &stats), HG_INVALID_ARG);
    ck_assert_int_eq(talaria_class_stats(s.hg_class, NULL), HG_INVALID_ARG);
    ck_assert_int_eq(
        talaria_class_stats_json(s.hg_class, NULL), HG_INVALID_ARG);
    ck_assert_str_eq(
        talaria_failure_to_string(TALARIA_FAILURE_MESSAGE), "message");
    ck_assert_ptr_null(talaria_failure_to_string(TALARIA_FAILURE_MAX));
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, stats_of_answered_calls);
    session_add(tcase, stats_of_each_kind_of_failure);
    session_add(tcase, stats_of_malformed_messages);
    session_add(tcase, stats_of_failures_of_the_transport);
    session_add(tcase, stats_of_answers_that_could_not_be_sent);
    session_add(tcase, stats_dumped_to_the_log);
    session_add(tcase, stats_as_json);
    session_add(tcase, stats_of_deregistered_rpcs_stay_in_the_totals);
    session_add(tcase, stats_of_a_deregistered_rpc_count_for_no_other);
    session_add(tcase, stats_are_off_by_default);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "stats", add);
}
