/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that has MPI itself, and hands a communicator of its own to the
 * plugin: rank 0 serves by two classes, the others call both, with bulk data in
 * both directions. The last rank first sends what no class would. MPI works
 * before, beside and after all that, and it is the program that ends it.
 *
 * With the argument "none" it hands over no communicator, and forges nothing.
 */
#include <mercury.h>
#include <mercury_bulk.h>
#include <mercury_macros.h>
#include <mercury_proc_bulk.h>
#include <na.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talaria.h>

#include "na_mpi.h"
#include "wire.h"

#define CLASSES 2
#define SIZE (300U * 1000U) /* bytes of a call, in three segments */
#define CALLS 5
#define FORGED 400

MERCURY_GEN_PROC(turn_in_t, ((hg_bulk_t) (data))((uint64_t) (size)))
MERCURY_GEN_PROC(turn_out_t, ((int32_t) (ret)))

struct side {
    na_class_t *na_class;
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t turn; /* turns the bits of the caller's memory */
    hg_id_t end;
};

/* A call at its target. */
struct turn {
    hg_handle_t handle;
    turn_in_t in;
    hg_bulk_t own;
    unsigned char *bytes;
    hg_size_t size;
};

static int rank, size, ended;

static void
require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "FAIL rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void
answer(struct turn *turn, hg_return_t ret)
{
    turn_out_t out = {.ret = (int32_t) ret};

    require(
        HG_Respond(turn->handle, NULL, NULL, &out) == HG_SUCCESS, "HG_Respond");
    HG_Bulk_free(turn->own);
    HG_Free_input(turn->handle, &turn->in);
    HG_Destroy(turn->handle);
    free(turn->bytes);
    free(turn);
}

static hg_return_t
on_pushed(const struct hg_cb_info *info)
{
    answer(info->arg, info->ret);
    return HG_SUCCESS;
}

static hg_return_t
on_pulled(const struct hg_cb_info *info)
{
    struct turn *turn = info->arg;
    const struct hg_info *call = HG_Get_info(turn->handle);

    require(info->ret == HG_SUCCESS, "pull");
    for (hg_size_t i = 0; i < turn->size; i++)
        turn->bytes[i] = (unsigned char) ~turn->bytes[i];
    return HG_Bulk_transfer(call->context, on_pushed, turn, HG_BULK_PUSH,
        call->addr, turn->in.data, 0, turn->own, 0, turn->size,
        HG_OP_ID_IGNORE);
}

static hg_return_t
on_turn(hg_handle_t handle)
{
    const struct hg_info *call = HG_Get_info(handle);
    struct turn *turn = calloc(1, sizeof(*turn));
    void *memory;

    require(turn != NULL, "memory");
    turn->handle = handle;
    require(HG_Get_input(handle, &turn->in) == HG_SUCCESS, "HG_Get_input");
    turn->size = turn->in.size;
    require(turn->size == SIZE && HG_Bulk_get_size(turn->in.data) == SIZE,
        "size of a call");
    memory = turn->bytes = malloc(turn->size);
    require(memory != NULL &&
                HG_Bulk_create(call->hg_class, 1, &memory, &turn->size,
                    HG_BULK_READWRITE, &turn->own) == HG_SUCCESS,
        "HG_Bulk_create");
    return HG_Bulk_transfer(call->context, on_pulled, turn, HG_BULK_PULL,
        call->addr, turn->in.data, 0, turn->own, 0, turn->size,
        HG_OP_ID_IGNORE);
}

static hg_return_t
on_end(hg_handle_t handle)
{
    ended++;
    require(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS, "HG_Respond");
    return HG_Destroy(handle);
}

static void
open_side(struct side *side, MPI_Comm comm)
{
    char communicator[NA_MPI_SETTING_SIZE];
    const char *settings[] = {NULL, NULL};
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    na_mpi_communicator_setting(comm, communicator);
    if (comm != MPI_COMM_NULL)
        settings[0] = communicator;
    require(talaria_na_initialize("mpi+static", true,
                HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), NULL, settings,
                &side->na_class) == NA_SUCCESS,
        "talaria_na_initialize");
    info.na_class = side->na_class;
    side->hg_class = HG_Init_opt2("mpi+static", true,
        HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
    require(side->hg_class != NULL, "HG_Init_opt2");
    side->context = HG_Context_create(side->hg_class);
    require(side->context != NULL, "HG_Context_create");
    side->turn = MERCURY_REGISTER(
        side->hg_class, "turn", turn_in_t, turn_out_t, on_turn);
    side->end = MERCURY_REGISTER(side->hg_class, "end", void, void, on_end);
}

/* What is no communicator is refused, and the program goes on. */
static void
open_wrong(const char *setting)
{
    const char *settings[] = {setting, NULL};
    na_class_t *na_class;

    require(talaria_na_initialize("mpi+static", true,
                HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), NULL, settings,
                &na_class) == NA_INVALID_ARG,
        setting);
}

/* Rank 0 closes its classes last, and does not poll meanwhile: its farewells are
 * for classes that are no longer there. */
static void
close_sides(struct side *sides, int count)
{
    for (int i = 0; i < count; i++)
        require(HG_Context_destroy(sides[i].context) == HG_SUCCESS &&
                    HG_Finalize(sides[i].hg_class) == HG_SUCCESS,
            "HG_Finalize");
    for (int turn = 0; turn < 2; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < count && turn == (rank == 0); i++)
            require(
                NA_Finalize(sides[i].na_class) == NA_SUCCESS, "NA_Finalize");
    }
}

static void
progress(struct side *side, unsigned int timeout_ms)
{
    unsigned int count = 1;

    HG_Progress(side->context, timeout_ms);
    while (HG_Trigger(side->context, 0, 1, &count) == HG_SUCCESS && count > 0)
        ;
}

static void
serve(struct side *sides)
{
    while (ended < CLASSES * (size - 1))
        for (int i = 0; i < CLASSES; i++)
            progress(&sides[i], 0);
    /* The last answers are still to leave. */
    for (int i = 0; i < CLASSES; i++)
        progress(&sides[i], 10);
}

static hg_return_t
on_answer(const struct hg_cb_info *info)
{
    require(info->ret == HG_SUCCESS, "a call");
    *(bool *) info->arg = true;
    return HG_SUCCESS;
}

static hg_handle_t
forward(struct side *side, const char *address, hg_id_t id, void *in)
{
    hg_addr_t addr;
    hg_handle_t handle;
    bool done = false;

    require(HG_Addr_lookup2(side->hg_class, address, &addr) == HG_SUCCESS &&
                HG_Create(side->context, addr, id, &handle) == HG_SUCCESS &&
                HG_Forward(handle, on_answer, &done, in) == HG_SUCCESS,
        "HG_Forward");
    while (!done)
        progress(side, 100);
    HG_Addr_free(side->hg_class, addr);
    return handle;
}

/* One call that turns all bytes of three segments. */
static void
call_turn(struct side *side, const char *address, unsigned char seed)
{
    static unsigned char bytes[SIZE];
    void *segments[] = {bytes, bytes + 1000, bytes + 70000};
    const hg_size_t lengths[] = {1000, 69000, SIZE - 70000};
    turn_in_t in = {.size = SIZE};
    turn_out_t out;

    for (uint32_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char) (i * 7 + seed);
    require(HG_Bulk_create(side->hg_class, 3, segments, lengths,
                HG_BULK_READWRITE, &in.data) == HG_SUCCESS,
        "HG_Bulk_create");
    hg_handle_t handle = forward(side, address, side->turn, &in);
    require(HG_Get_output(handle, &out) == HG_SUCCESS && out.ret == 0,
        "the answer of a call");
    HG_Free_output(handle, &out);
    HG_Destroy(handle);
    HG_Bulk_free(in.data);
    for (uint32_t i = 0; i < SIZE; i++)
        require(bytes[i] == (unsigned char) ~(i * 7 + seed), "bulk data");
}

static void
call(struct side *side)
{
    for (int i = 0; i < CLASSES; i++) {
        char address[32];
        snprintf(address, sizeof(address), "mpi+static://0:%d", i + 1);
        for (int j = 0; j < CALLS; j++)
            call_turn(side, address, (unsigned char) (rank + j));
        HG_Destroy(forward(side, address, side->end, NULL));
    }
}

/* Messages of which nothing is right, or all but one thing. */
static unsigned char forged[FORGED][sizeof(struct nampi_wire) + 100];
static unsigned char huge[4U << 20];

static void
forge(MPI_Comm comm, MPI_Request requests[FORGED + 1])
{
    for (int i = 0; i < FORGED; i++) {
        struct nampi_wire head;
        int length = rand() % (int) sizeof(forged[i]);

        for (size_t j = 0; j < sizeof(forged[i]); j++)
            forged[i][j] = (unsigned char) rand();
        memcpy(&head, forged[i], sizeof(head));
        if (i % 4 != 0) {
            head.magic = NAMPI_MAGIC;
            head.kind = (uint32_t) (i % (NAMPI_KINDS + 2));
            head.from_class %= 10;
            head.to_class = (uint32_t) (1 + i % 3);
            head.to_life = i % 2 == 0 ? head.to_life : 0;
        }
        memcpy(forged[i], &head, sizeof(head));
        MPI_Isend(
            forged[i], length, MPI_BYTE, 0, NAMPI_TAG, comm, &requests[i]);
    }
    MPI_Isend(
        huge, sizeof(huge), MPI_BYTE, 0, NAMPI_TAG, comm, &requests[FORGED]);
}

static uint64_t
malformed(const struct side *side)
{
    struct talaria_report *report;
    uint64_t count = 0;

    require(
        talaria_class_report(side->na_class, &report) == NA_SUCCESS, "report");
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->entries[i]->name, "messages_malformed") == 0)
            count = report->entries[i]->value;
    talaria_class_report_free(report);
    return count;
}

int
main(int argc, char **argv)
{
    static struct side sides[CLASSES];
    static MPI_Request requests[FORGED + 1];
    int provided, sum = 0, over = 1;
    MPI_Comm comm = MPI_COMM_NULL;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 1)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    HG_Set_log_level("none");
    open_wrong("mpi.communicator=world");
    open_wrong("mpi.communicator=77777");
    HG_Set_log_level("error");
    bool forges = argc == 1 && size > 1 && rank == size - 1;
    if (forges)
        forge(comm, requests);
    for (int i = 0; i < (rank == 0 ? CLASSES : 1); i++)
        open_side(&sides[i], comm);
    if (rank == 0)
        serve(sides);
    else
        call(&sides[0]);
    for (int i = 0; forges && i <= FORGED; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (argc == 1 && rank == 0 && size > 1)
        require(malformed(&sides[0]) > FORGED / 4, "forged messages counted");
    close_sides(sides, rank == 0 ? CLASSES : 1);
    MPI_Finalized(&over);
    require(!over, "MPI is still there");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    require(sum == size * (size - 1) / 2, "MPI still works");
    require(argc > 1 || MPI_Comm_free(&comm) == MPI_SUCCESS, "MPI_Comm_free");
    require(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
    if (rank == 0)
        printf("%d ranks: ok\n", size);
    return 0;
}
