/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bound descriptors, passed from A through B to C, which pulls from A after B
 * has ended: with three classes of one process, and with three processes.
 */
#include "counts.h"
#include "log_watch.h"
#include "mercury_proc_string.h"
#include "mover.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE 100000U
#define SMALL 50U

MERCURY_GEN_PROC(pass_in_t, ((hg_bulk_t) (bulk))((hg_const_string_t) (address)))
MERCURY_GEN_PROC(keep_in_t, ((hg_bulk_t) (bulk)))
MERCURY_GEN_PROC(pull_out_t, ((int32_t) (ret))((uint64_t) (hash))(
                                 (uint64_t) (size))((uint8_t) (context_id)))

enum { A, B, C, NODES };

/* Shared state of the three nodes. */
static struct shared {
    char addresses[NODES][256];
    _Atomic uint32_t ready;
    _Atomic bool stop[NODES];
} * shared;

struct node {
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t pass;
    hg_id_t keep;
    hg_id_t pull;
    pid_t process; /* 0: runs in this process */
    bool open;
};

static struct node nodes[NODES];
static hg_bulk_t kept; /* at C */

/* B forwards C's response to A. */
static hg_return_t
passed(const struct hg_cb_info *info)
{
    hg_handle_t request = info->arg;

    TARGET_ASSERT(info->ret == HG_SUCCESS);
    TARGET_ASSERT(HG_Respond(request, NULL, NULL, NULL) == HG_SUCCESS);
    HG_Destroy(request);
    HG_Destroy(info->info.forward.handle);
    return HG_SUCCESS;
}

static hg_return_t
on_pass(hg_handle_t handle)
{
    const struct hg_info *info = HG_Get_info(handle);
    hg_handle_t onward;
    pass_in_t in;
    keep_in_t out;
    hg_addr_t addr;

    TARGET_ASSERT(HG_Get_input(handle, &in) == HG_SUCCESS);
    TARGET_ASSERT(
        HG_Addr_lookup2(info->hg_class, in.address, &addr) == HG_SUCCESS);
    TARGET_ASSERT(
        HG_Create(info->context, addr, nodes[B].keep, &onward) == HG_SUCCESS);
    out.bulk = in.bulk;
    TARGET_ASSERT(HG_Forward(onward, passed, handle, &out) == HG_SUCCESS);
    HG_Addr_free(info->hg_class, addr);
    HG_Free_input(handle, &in);
    return HG_SUCCESS;
}

static hg_return_t
on_keep(hg_handle_t handle)
{
    keep_in_t in;

    TARGET_ASSERT(HG_Get_input(handle, &in) == HG_SUCCESS);
    HG_Bulk_free(kept);
    kept = in.bulk;
    TARGET_ASSERT(HG_Bulk_ref_incr(kept) == HG_SUCCESS);
    HG_Free_input(handle, &in);
    TARGET_ASSERT(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS);
    HG_Destroy(handle);
    return HG_SUCCESS;
}

struct pull {
    hg_handle_t handle;
    struct pieces pieces;
};

static hg_return_t
pulled(const struct hg_cb_info *info)
{
    struct pull *pull = info->arg;
    pull_out_t out = {.ret = (int32_t) info->ret,
        .hash = pieces_hash(&pull->pieces, 0, pull->pieces.size),
        .size = info->info.bulk.size,
        .context_id = HG_Bulk_get_context_id(info->info.bulk.origin_handle)};

    TARGET_ASSERT(HG_Respond(pull->handle, NULL, NULL, &out) == HG_SUCCESS);
    HG_Destroy(pull->handle);
    pieces_free(&pull->pieces);
    free(pull);
    return HG_SUCCESS;
}

static hg_return_t
on_pull(hg_handle_t handle)
{
    struct pull *pull = calloc(1, sizeof *pull);
    hg_bulk_t local;

    TARGET_ASSERT(pull != NULL);
    pull->handle = handle;
    pieces_make(&pull->pieces, HG_Bulk_get_size(kept), 77);
    TARGET_ASSERT(
        HG_Bulk_create(HG_Get_info(handle)->hg_class, pull->pieces.count,
            pull->pieces.bases, pull->pieces.sizes, HG_BULK_WRITE_ONLY,
            &local) == HG_SUCCESS);
    TARGET_ASSERT(HG_Bulk_bind_transfer(HG_Get_info(handle)->context, pulled,
                      pull, HG_BULK_PULL, kept, 0, local, 0, pull->pieces.size,
                      HG_OP_ID_IGNORE) == HG_SUCCESS);
    HG_Bulk_free(local);
    return HG_SUCCESS;
}

static void
two_contexts(struct hg_init_info *info)
{
    info->na_init_info.max_contexts = 2;
}

static const struct session_setup setup = {.init = two_contexts};

static void
node_open(unsigned which, const struct session_mode *mode)
{
    struct node *node = &nodes[which];
    hg_size_t size = sizeof shared->addresses[which];
    hg_addr_t self;

    node->hg_class = session_open_class(mode, &setup, true);
    if (!node->hg_class)
        abort();
    node->pass =
        MERCURY_REGISTER(node->hg_class, "pass", pass_in_t, void, on_pass);
    node->keep =
        MERCURY_REGISTER(node->hg_class, "keep", keep_in_t, void, on_keep);
    node->pull =
        MERCURY_REGISTER(node->hg_class, "pull", void, pull_out_t, on_pull);
    node->context = HG_Context_create(node->hg_class);
    if (!node->context || HG_Addr_self(node->hg_class, &self) != HG_SUCCESS ||
        HG_Addr_to_string(node->hg_class, shared->addresses[which], &size,
            self) != HG_SUCCESS)
        abort();
    HG_Addr_free(node->hg_class, self);
    node->open = true;
    atomic_fetch_add(&shared->ready, 1);
}

static void
node_close(unsigned which)
{
    struct node *node = &nodes[which];

    if (which == C) {
        HG_Bulk_free(kept);
        kept = HG_BULK_NULL;
    }
    session_drain(node->context);
    if (HG_Context_destroy(node->context) != HG_SUCCESS ||
        HG_Finalize(node->hg_class) != HG_SUCCESS)
        abort();
    node->open = false;
}

static void
node_step(unsigned which, unsigned timeout_ms)
{
    HG_Progress(nodes[which].context, timeout_ms);
    while (HG_Trigger(nodes[which].context, 0, 16, NULL) == HG_SUCCESS)
        ;
}

static void
serve(unsigned which, const struct session_mode *mode)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    node_open(which, mode);
    while (!atomic_load(&shared->stop[which]))
        node_step(which, 2);
    node_close(which);
    HG_Cleanup();
    _exit(0);
}

static void
start(unsigned which, const struct session_mode *mode, bool processes)
{
    if (!processes) {
        node_open(which, mode);
        return;
    }
    nodes[which].process = fork();
    ck_assert_int_ge(nodes[which].process, 0);
    if (nodes[which].process == 0)
        serve(which, mode);
}

static void
stop(unsigned which)
{
    int status;

    atomic_store(&shared->stop[which], true);
    if (nodes[which].process > 0) {
        ck_assert_int_eq(
            waitpid(nodes[which].process, &status, 0), nodes[which].process);
        ck_assert_int_eq(status, 0);
    } else if (nodes[which].open) {
        node_close(which);
    }
}

/* A calls, and progresses all nodes of this process meanwhile. */
static void
call(unsigned to, hg_id_t id, void *in, void *out)
{
    uint64_t deadline = session_now_ms() + test_count(TEST_WAIT_MS);
    struct call end = {.called = 0};
    hg_handle_t handle;
    hg_addr_t addr;

    ck_assert_int_eq(
        HG_Addr_lookup2(nodes[A].hg_class, shared->addresses[to], &addr),
        HG_SUCCESS);
    ck_assert_int_eq(
        HG_Create(nodes[A].context, addr, id, &handle), HG_SUCCESS);
    ck_assert_int_eq(HG_Forward(handle, call_done, &end, in), HG_SUCCESS);
    while (end.called == 0) {
        ck_assert_uint_lt(session_now_ms(), deadline);
        for (unsigned i = 0; i < NODES; i++)
            if (nodes[i].open)
                node_step(i, nodes[B].process > 0 ? 5 : 0);
    }
    ck_assert_int_eq(end.ret, HG_SUCCESS);
    if (out) {
        ck_assert_int_eq(HG_Get_output(handle, out), HG_SUCCESS);
        HG_Free_output(handle, out);
    }
    HG_Destroy(handle);
    HG_Addr_free(nodes[A].hg_class, addr);
}

/* Sends a descriptor through B to C, and has C pull. */
static void
send_through(size_t size, uint8_t flags, uint32_t seed, struct pieces *pieces,
    hg_context_t *context, hg_bulk_t *bulk_p)
{
    pass_in_t in;

    pieces_make(pieces, size, seed);
    pieces_fill(pieces, seed);
    ck_assert_int_eq(HG_Bulk_create(nodes[A].hg_class, pieces->count,
                         pieces->bases, pieces->sizes, flags, bulk_p),
        HG_SUCCESS);
    ck_assert_int_eq(HG_Bulk_bind(*bulk_p, nodes[A].context), HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_context_id(*bulk_p), 0);
    /* once more */
    ck_assert_int_eq(HG_Bulk_bind(*bulk_p, context), HG_SUCCESS);
    ck_assert_uint_eq(HG_Bulk_get_context_id(*bulk_p), 1);
    in.bulk = *bulk_p;
    in.address = shared->addresses[C];
    call(B, nodes[A].pass, &in, NULL);
}

static void
ck_pull(const struct pieces *pieces)
{
    pull_out_t out;

    call(C, nodes[A].pull, NULL, &out);
    ck_assert_int_eq(out.ret, HG_SUCCESS);
    ck_assert_uint_eq(out.size, pieces->size);
    ck_assert_uint_eq(out.hash, pieces_hash(pieces, 0, pieces->size));
    ck_assert_uint_eq(out.context_id, 1);
}

static void
run(const struct session_mode *mode, bool processes)
{
    struct pieces pieces;
    hg_context_t *second;
    hg_bulk_t bulk;

    memset(nodes, 0, sizeof nodes);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE,
        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ck_assert_ptr_ne(shared, MAP_FAILED);
    log_watch_begin();
    start(C, mode, processes);
    start(B, mode, processes);
    node_open(A, mode);
    log_watch_install();
    second = HG_Context_create_id(nodes[A].hg_class, 1);
    ck_assert_ptr_nonnull(second);
    while (atomic_load(&shared->ready) < NODES)
        usleep(1000);

    /* Small: the data are inside the descriptor, which its owner may free. */
    send_through(SMALL, HG_BULK_READ_ONLY, 5, &pieces, second, &bulk);
    HG_Bulk_free(bulk);
    ck_pull(&pieces);
    pieces_free(&pieces);

    send_through(SIZE, HG_BULK_READWRITE, 6, &pieces, second, &bulk);
    stop(B);
    ck_pull(&pieces);
    if (session_is_loop())
        ck_assert_uint_gt(loop_rma_submitted_to(1), 0);
    pieces_fill(&pieces, 7); /* the second pull has to read A's memory again */
    ck_pull(&pieces);
    if (session_is_loop())
        ck_assert_uint_eq(loop_rma_submitted_to(0), 0);
    HG_Bulk_free(bulk);
    pieces_free(&pieces);
    stop(C);
    ck_assert_int_eq(HG_Context_destroy(second), HG_SUCCESS);
    stop(A);
    HG_Cleanup();
    log_watch_check();
    munmap(shared, sizeof *shared);
}

/* Of the modes, only the transport's settings matter here: there are three
 * sides. */
START_TEST(bound_descriptor_reaches_its_owner_within_a_process)
{
    const struct session_mode *mode = session_mode_at(_i);

    session_prepare(mode);
    run(mode, false);
}
END_TEST

START_TEST(bound_descriptor_reaches_its_owner_between_processes)
{
    const struct session_mode *mode = session_mode_at(_i);

    if (session_is_loop() || mode->shape != SESSION_PROCESSES)
        return;
    run(mode, true);
}
END_TEST

static void
add(TCase *tcase)
{
    session_add(tcase, bound_descriptor_reaches_its_owner_within_a_process);
    session_add(tcase, bound_descriptor_reaches_its_owner_between_processes);
}

int
main(int argc, char **argv)
{
    return session_main(argc, argv, "bind", add);
}
