/* SPDX-License-Identifier: BSD-3-Clause */
/* Composed services: chains and cycles of processes that are origin and target
 * at once, deferred answers from other threads, thread pools. */
#include "compose_node.h"
#include "counts.h"
#include "runner.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define NODES 4U
#define PATH_SIZE 4096U

static const char *transport;

struct origin {
    hg_class_t *hg_class;
    hg_context_t *context;
    struct compose_ids ids;
    struct compose_process nodes[NODES];
};

struct answer {
    bool done;
    uint32_t number;
};

static void
origin_begin(struct origin *origin, const enum compose_kind kinds[NODES])
{
    for (unsigned i = 0; i < NODES; i++)
        compose_start(&origin->nodes[i], transport, kinds[i]);
    origin->hg_class = HG_Init(transport, HG_FALSE);
    ck_assert_ptr_nonnull(origin->hg_class);
    origin->context = HG_Context_create(origin->hg_class);
    ck_assert_ptr_nonnull(origin->context);
    origin->ids = compose_register(origin->hg_class, NULL, NULL);
}

static void
origin_end(struct origin *origin)
{
    for (unsigned i = 0; i < NODES; i++)
        compose_stop(&origin->nodes[i]);
    ck_assert_int_eq(HG_Context_destroy(origin->context), HG_SUCCESS);
    ck_assert_int_eq(HG_Finalize(origin->hg_class), HG_SUCCESS);
}

/* The addresses of nodes first, first + 1 … around the ring. */
static void
path_make(
    const struct origin *origin, unsigned first, unsigned length, char *path)
{
    char *end = path;

    *path = '\0';
    for (unsigned i = 0; i < length; i++)
        end += snprintf(end, (size_t) (path + PATH_SIZE - end), "%s ",
            origin->nodes[(first + i) % NODES].address);
    ck_assert_uint_lt((size_t) (end - path), PATH_SIZE);
}

/* Both outputs are one number. */
static hg_return_t
answered(const struct hg_cb_info *info)
{
    struct answer *answer = info->arg;
    hop_out_t out;

    ck_assert_int_eq(info->ret, HG_SUCCESS);
    ck_assert_int_eq(
        HG_Get_output(info->info.forward.handle, &out), HG_SUCCESS);
    answer->number = out.hops;
    answer->done = true;
    HG_Free_output(info->info.forward.handle, &out);
    return HG_Destroy(info->info.forward.handle);
}

static void
call(struct origin *origin, unsigned to, hg_id_t id, void *in,
    struct answer *answer)
{
    hg_handle_t handle;
    hg_addr_t addr;

    answer->done = false;
    ck_assert_int_eq(HG_Addr_lookup2(origin->hg_class,
                         origin->nodes[to % NODES].address, &addr),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Create(origin->context, addr, id, &handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, answered, answer, in), HG_SUCCESS);
    HG_Addr_free(origin->hg_class, addr);
}

static void
await(struct origin *origin, const struct answer *answer)
{
    unsigned count;

    while (!answer->done) {
        ck_assert_int_eq(
            HG_Progress(origin->context, test_count(TEST_WAIT_MS)), HG_SUCCESS);
        while (HG_Trigger(origin->context, 0, 1, &count) == HG_SUCCESS)
            ;
    }
}

/* Sends concurrent calls along a path; each has to pass every node. */
static void
walk(struct origin *origin, unsigned length, unsigned at_once)
{
    struct answer answers[16];
    char path[PATH_SIZE];

    ck_assert_uint_le(at_once, 16);
    for (unsigned i = 0; i < at_once; i++) {
        hop_in_t in = {.path = path};

        path_make(origin, i + 1, length - 1, path);
        call(origin, i, origin->ids.hop, &in, &answers[i]);
    }
    for (unsigned i = 0; i < at_once; i++) {
        await(origin, &answers[i]);
        ck_assert_uint_eq(answers[i].number, length);
    }
}

static const enum compose_kind kinds[][NODES] = {
    {COMPOSE_PLAIN, COMPOSE_PLAIN, COMPOSE_PLAIN, COMPOSE_PLAIN},
    {COMPOSE_LATER, COMPOSE_LATER, COMPOSE_LATER, COMPOSE_LATER},
    {COMPOSE_PLAIN, COMPOSE_LATER, COMPOSE_POOL, COMPOSE_LATER},
    {COMPOSE_POOL, COMPOSE_POOL, COMPOSE_POOL, COMPOSE_POOL}};

START_TEST(compose_chain_passes_each_process)
{
    static struct origin origin;

    origin_begin(&origin, kinds[_i]);
    for (unsigned length = 1; length <= NODES; length++)
        walk(&origin, length, 1);
    for (uint32_t i = 0; i < test_count(TEST_COMPOSE_ROUNDS); i++)
        walk(&origin, NODES, 3);
    origin_end(&origin);
}
END_TEST

/* Each process gets the call again while its first forward is pending. */
START_TEST(compose_cycle_returns_to_first_process)
{
    static struct origin origin;

    origin_begin(&origin, kinds[_i]);
    walk(&origin, 4 * NODES + 1, 1);
    for (uint32_t i = 0; i < test_count(TEST_COMPOSE_ROUNDS); i++)
        walk(&origin, 3 * NODES, 8);
    origin_end(&origin);
}
END_TEST

/* All processes call around the ring at the same time, through each other. */
START_TEST(compose_ring_of_origins_answers_all)
{
    static struct origin origin;
    struct answer answers[NODES];
    char path[PATH_SIZE];
    uint32_t each = test_count(TEST_COMPOSE_BURST);

    origin_begin(&origin, kinds[_i]);
    for (unsigned i = 0; i < NODES; i++) {
        burst_in_t in = {.path = path, .count = each};

        path_make(&origin, i + 1, NODES + 2, path);
        call(&origin, i, origin.ids.burst, &in, &answers[i]);
    }
    for (unsigned i = 0; i < NODES; i++) {
        await(&origin, &answers[i]);
        ck_assert_uint_eq(answers[i].number, each);
    }
    origin_end(&origin);
}
END_TEST

int
main(int argc, char **argv)
{
    TCase *tcase = tcase_create("compose");

    if (argc != 2) {
        fprintf(stderr, "usage: %s INFO\n", argv[0]);
        return 2;
    }
    transport = argv[1];
    tcase_add_loop_test(tcase, compose_chain_passes_each_process, 0, 4);
    /* In a cycle, all threads would end up blocked in handlers. */
    tcase_add_loop_test(tcase, compose_cycle_returns_to_first_process, 0, 2);
    tcase_add_loop_test(tcase, compose_ring_of_origins_answers_all, 0, 2);
    return run_tcase("compose", tcase);
}
