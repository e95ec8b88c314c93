/* SPDX-License-Identifier: BSD-3-Clause */
/* Several contexts at target and origin, each with a thread. Every context of
 * the origin calls every context of the target, whose handler pulls and pushes
 * the bulk memory that the call names. */
#include "counts.h"
#include "mercury_macros.h"
#include "serve_contexts.h"
#include "session.h"

#include <stdlib.h>
#include <string.h>

#define CONTEXTS 3U
#define LARGEST 70000U

MERCURY_GEN_PROC(exchange_t, ((hg_bulk_t) (bulk))((uint32_t) (key)))

static hg_id_t exchange_id;

/* number of target contexts that exist */
static _Atomic uint32_t *
ready(void)
{
    return session_user();
}

static void
change(unsigned char *bytes, hg_size_t size, uint32_t key)
{
    for (hg_size_t i = 0; i < size; i++)
        bytes[i] = (unsigned char) (bytes[i] * 5 + key + i);
}

/* A call at the target: pull, change, push, respond with the context's id. */
struct exchange {
    hg_handle_t handle;
    exchange_t in;
    unsigned char *memory;
    hg_size_t size;
    hg_bulk_t local;
};

static hg_return_t
answer(const struct hg_cb_info *callback)
{
    struct exchange *exchange = callback->arg;
    uint32_t id = HG_Context_get_id(HG_Get_info(exchange->handle)->context);

    TARGET_ASSERT(callback->ret == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(exchange->handle, NULL, NULL, &id) == HG_SUCCESS);
    TARGET_ASSERT(HG_Bulk_free(exchange->local) == HG_SUCCESS);
    TARGET_ASSERT(HG_Free_input(exchange->handle, &exchange->in) == HG_SUCCESS);
    TARGET_ASSERT(HG_Destroy(exchange->handle) == HG_SUCCESS);
    free(exchange->memory);
    free(exchange);
    return HG_SUCCESS;
}

static hg_return_t
transfer(struct exchange *exchange, hg_bulk_op_t op, hg_cb_t then)
{
    const struct hg_info *info = HG_Get_info(exchange->handle);

    return HG_Bulk_transfer_id(info->context, then, exchange, op, info->addr,
        info->context_id, exchange->in.bulk, 0, exchange->local, 0,
        exchange->size, HG_OP_ID_IGNORE);
}

static hg_return_t
push(const struct hg_cb_info *callback)
{
    struct exchange *exchange = callback->arg;

    TARGET_ASSERT(callback->ret == HG_SUCCESS);
    change(exchange->memory, exchange->size, exchange->in.key);
    TARGET_ASSERT(transfer(exchange, HG_BULK_PUSH, answer) == HG_SUCCESS);
    return HG_SUCCESS;
}

static hg_return_t
on_exchange(hg_handle_t handle)
{
    struct exchange *exchange = calloc(1, sizeof *exchange);
    void *base;

    if (!exchange)
        return HG_NOMEM;
    exchange->handle = handle;
    TARGET_ASSERT(HG_Get_input(handle, &exchange->in) == HG_SUCCESS);
    exchange->size = HG_Bulk_get_size(exchange->in.bulk);
    exchange->memory = base = malloc(exchange->size);
    TARGET_ASSERT(base);
    TARGET_ASSERT(
        HG_Bulk_create(HG_Get_info(handle)->hg_class, 1, &base, &exchange->size,
            HG_BULK_READWRITE, &exchange->local) == HG_SUCCESS);
    TARGET_ASSERT(transfer(exchange, HG_BULK_PULL, push) == HG_SUCCESS);
    return HG_SUCCESS;
}

static void
open_exchange(hg_class_t *hg_class)
{
    exchange_id = MERCURY_REGISTER(
        hg_class, "exchange", exchange_t, uint32_t, on_exchange);
}

static void
more_contexts(struct hg_init_info *info)
{
    info->na_init_info.max_contexts = CONTEXTS;
}

static void
say_ready(void)
{
    atomic_store(ready(), 1);
}

static void
serve_all(hg_context_t *context, const _Atomic bool *stop)
{
    serve_contexts(context, CONTEXTS, stop, say_ready);
}

static const struct session_setup setup = {
    .open = open_exchange, .init = more_contexts, .serve = serve_all};

/* A context of the origin and its thread, with a concurrent call to each
 * context of the target, each with its own memory. */
struct origin {
    struct session *session;
    hg_context_t *context;
    uint32_t index;
    uint32_t rounds;
    hg_handle_t handles[CONTEXTS];
    struct call calls[CONTEXTS];
    unsigned char *memory[CONTEXTS];
    unsigned char *wanted[CONTEXTS];
    hg_size_t size;
    exchange_t in[CONTEXTS];
    pthread_t thread;
    uint32_t wrong; /* rounds */
};

static bool
origin_start(struct origin *origin, uint32_t to, uint32_t round)
{
    void *base = origin->memory[to];

    origin->size = 1 + (round * 7919U + origin->index * 31U) % LARGEST;
    origin->in[to].key = round * CONTEXTS + to;
    for (hg_size_t i = 0; i < origin->size; i++)
        origin->memory[to][i] = origin->wanted[to][i] =
            (unsigned char) (i * 3 + round + origin->index * 7 + to);
    change(origin->wanted[to], origin->size, origin->in[to].key);
    origin->calls[to].called = 0;
    return HG_Bulk_create(origin->session->hg_class, 1, &base, &origin->size,
               HG_BULK_READWRITE, &origin->in[to].bulk) == HG_SUCCESS &&
           HG_Forward(origin->handles[to], call_done, &origin->calls[to],
               &origin->in[to]) == HG_SUCCESS;
}

static bool
origin_finish(struct origin *origin, uint32_t to)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    uint32_t id = UINT32_MAX;

    while (atomic_load(&origin->calls[to].called) == 0 &&
           session_now_ms() < deadline) {
        HG_Progress(origin->context, 100);
        while (HG_Trigger(origin->context, 0, 16, NULL) == HG_SUCCESS)
            ;
    }
    if (origin->calls[to].called != 1 || origin->calls[to].ret != HG_SUCCESS ||
        HG_Get_output(origin->handles[to], &id) != HG_SUCCESS)
        return false;
    HG_Free_output(origin->handles[to], &id);
    return HG_Bulk_free(origin->in[to].bulk) == HG_SUCCESS && id == to &&
           memcmp(origin->memory[to], origin->wanted[to], origin->size) == 0;
}

static void *
origin_run(void *arg)
{
    struct origin *origin = arg;
    bool good = true;

    for (uint32_t round = 0; good && round < origin->rounds; round++) {
        for (uint32_t to = 0; to < CONTEXTS; to++)
            good = origin_start(origin, to, round) && good;
        for (uint32_t to = 0; good && to < CONTEXTS; to++)
            good = origin_finish(origin, to);
    }
    origin->wrong = !good;
    return NULL;
}

static void
origin_open(struct origin *origin, struct session *s, uint32_t index)
{
    *origin = (struct origin){.session = s,
        .index = index,
        .rounds = test_count(TEST_TRANSFER_ROUNDS),
        .context = index == 0
                       ? s->context
                       : HG_Context_create_id(s->hg_class, (uint8_t) index)};
    ck_assert_ptr_nonnull(origin->context);
    for (uint32_t to = 0; to < CONTEXTS; to++) {
        origin->memory[to] = malloc(LARGEST);
        origin->wanted[to] = malloc(LARGEST);
        ck_assert(origin->memory[to] && origin->wanted[to]);
        ck_assert_int_eq(HG_Create(origin->context, s->target, exchange_id,
                             &origin->handles[to]),
            HG_SUCCESS);
        ck_assert_int_eq(
            HG_Set_target_id(origin->handles[to], (uint8_t) to), HG_SUCCESS);
    }
}

static void
origin_close(struct origin *origin)
{
    for (uint32_t to = 0; to < CONTEXTS; to++) {
        ck_assert_int_eq(HG_Destroy(origin->handles[to]), HG_SUCCESS);
        free(origin->memory[to]);
        free(origin->wanted[to]);
    }
    if (origin->index > 0)
        ck_assert_int_eq(HG_Context_destroy(origin->context), HG_SUCCESS);
}

START_TEST(contexts_all_to_all_with_bulk)
{
    struct session s;
    struct origin origins[CONTEXTS];

    if (session_mode_at(_i)->shape == SESSION_SELF ||
        session_mode_at(_i)->thread_mode == NA_THREAD_MODE_SINGLE)
        return;
    session_begin(&s, _i, &setup);
    session_wait_other(&s, ready(), 1);
    for (uint32_t i = 0; i < CONTEXTS; i++)
        origin_open(&origins[i], &s, i);
    for (uint32_t i = 0; i < CONTEXTS; i++)
        ck_assert_int_eq(
            pthread_create(&origins[i].thread, NULL, origin_run, &origins[i]),
            0);
    for (uint32_t i = 0; i < CONTEXTS; i++)
        ck_assert_int_eq(pthread_join(origins[i].thread, NULL), 0);
    for (uint32_t i = 0; i < CONTEXTS; i++) {
        ck_assert_msg(!origins[i].wrong, "context %u", i);
        origin_close(&origins[i]);
    }
    session_end(&s);
}
END_TEST

static void
add(TCase *tcase)
{
    tcase_set_timeout(tcase, 300);
    session_add(tcase, contexts_all_to_all_with_bulk);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "all_contexts", add);
}
