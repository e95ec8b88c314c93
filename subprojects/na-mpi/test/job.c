/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A program that initializes MPI itself and passes a communicator of its own to
 * the plugin. Rank 0 is a server with two classes. The other ranks call both,
 * with bulk data in both directions. The last rank first sends malformed
 * messages to rank 0. The program uses MPI before, while and after classes are
 * open, and finalizes it.
 *
 * With the argument "none" it passes no communicator and sends no malformed
 * messages.
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

#define CLASSES 2           /* of rank 0 */
#define SIZE (300U * 1000U) /* bulk bytes of a call, in three segments */
#define CALLS 5             /* of each rank to each class */
#define FORGED 400          /* malformed messages, and a huge one */

MERCURY_GEN_PROC(invert_in_t, ((hg_bulk_t) (data))((uint64_t) (size)))
MERCURY_GEN_PROC(invert_out_t, ((int32_t) (ret)))

/* A class with a context, and the ids of its RPCs. */
struct rpc_class {
    na_class_t *na_class;
    hg_class_t *hg_class;
    hg_context_t *context;
    hg_id_t invert_id; /* inverts all bits of the origin's memory */
    hg_id_t end_id;    /* the origin makes no further calls to this class */
};

/* An invert call on the target. */
struct invert_call {
    hg_handle_t handle;
    invert_in_t in;
    hg_bulk_t bulk; /* of bytes */
    unsigned char *bytes;
    hg_size_t size;
};

static int rank, size;
static int ended; /* end calls that rank 0 has received */

/* Aborts the job unless good. */
static void
require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "FAIL rank %d: %s\n", rank, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* Responds to a call and frees it. */
static void
respond(struct invert_call *call, hg_return_t ret)
{
    invert_out_t out = {.ret = (int32_t) ret};

    require(
        HG_Respond(call->handle, NULL, NULL, &out) == HG_SUCCESS, "HG_Respond");
    HG_Bulk_free(call->bulk);
    HG_Free_input(call->handle, &call->in);
    HG_Destroy(call->handle);
    free(call->bytes);
    free(call);
}

static hg_return_t
on_pushed(const struct hg_cb_info *info)
{
    respond(info->arg, info->ret);
    return HG_SUCCESS;
}

static hg_return_t
on_pulled(const struct hg_cb_info *info)
{
    struct invert_call *call = info->arg;
    const struct hg_info *origin = HG_Get_info(call->handle);

    require(info->ret == HG_SUCCESS, "pull");
    for (hg_size_t i = 0; i < call->size; i++)
        call->bytes[i] = (unsigned char) ~call->bytes[i];
    return HG_Bulk_transfer(origin->context, on_pushed, call, HG_BULK_PUSH,
        origin->addr, call->in.data, 0, call->bulk, 0, call->size,
        HG_OP_ID_IGNORE);
}

/* Handler of invert: pulls the origin's memory, inverts it, and pushes it
 * back. */
static hg_return_t
on_invert(hg_handle_t handle)
{
    const struct hg_info *origin = HG_Get_info(handle);
    struct invert_call *call = calloc(1, sizeof(*call));
    void *memory;

    require(call != NULL, "memory");
    call->handle = handle;
    require(HG_Get_input(handle, &call->in) == HG_SUCCESS, "HG_Get_input");
    call->size = call->in.size;
    require(call->size == SIZE && HG_Bulk_get_size(call->in.data) == SIZE,
        "size of a call");
    memory = call->bytes = malloc(call->size);
    require(memory != NULL &&
                HG_Bulk_create(origin->hg_class, 1, &memory, &call->size,
                    HG_BULK_READWRITE, &call->bulk) == HG_SUCCESS,
        "HG_Bulk_create");
    return HG_Bulk_transfer(origin->context, on_pulled, call, HG_BULK_PULL,
        origin->addr, call->in.data, 0, call->bulk, 0, call->size,
        HG_OP_ID_IGNORE);
}

static hg_return_t
on_end(hg_handle_t handle)
{
    ended++;
    require(HG_Respond(handle, NULL, NULL, NULL) == HG_SUCCESS, "HG_Respond");
    return HG_Destroy(handle);
}

/* Opens a class. comm: MPI_COMM_NULL for the plugin's own communicator. */
static void
open_class(struct rpc_class *class, MPI_Comm comm)
{
    char communicator[NA_MPI_SETTING_SIZE];
    const char *settings[] = {NULL, NULL};
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    na_mpi_communicator_setting(comm, communicator);
    if (comm != MPI_COMM_NULL)
        settings[0] = communicator;
    require(talaria_na_initialize("mpi+static", true,
                HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), NULL, settings,
                &class->na_class) == NA_SUCCESS,
        "talaria_na_initialize");
    info.na_class = class->na_class;
    class->hg_class = HG_Init_opt2("mpi+static", true,
        HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), &info);
    require(class->hg_class != NULL, "HG_Init_opt2");
    class->context = HG_Context_create(class->hg_class);
    require(class->context != NULL, "HG_Context_create");
    class->invert_id = MERCURY_REGISTER(
        class->hg_class, "invert", invert_in_t, invert_out_t, on_invert);
    class->end_id =
        MERCURY_REGISTER(class->hg_class, "end", void, void, on_end);
}

/* An invalid mpi.communicator fails with INVALID_ARG and does not end the
 * program. */
static void
require_invalid(const char *setting)
{
    const char *settings[] = {setting, NULL};
    na_class_t *na_class;

    require(talaria_na_initialize("mpi+static", true,
                HG_VERSION(HG_VERSION_MAJOR, HG_VERSION_MINOR), NULL, settings,
                &na_class) == NA_INVALID_ARG,
        setting);
}

/* Closes the classes, those of rank 0 last and without polling in between: its
 * NAMPI_BYE messages are for classes that are already closed. */
static void
close_classes(struct rpc_class *classes, int count)
{
    for (int i = 0; i < count; i++)
        require(HG_Context_destroy(classes[i].context) == HG_SUCCESS &&
                    HG_Finalize(classes[i].hg_class) == HG_SUCCESS,
            "HG_Finalize");
    for (int step = 0; step < 2; step++) {
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = 0; i < count && step == (rank == 0); i++)
            require(
                NA_Finalize(classes[i].na_class) == NA_SUCCESS, "NA_Finalize");
    }
}

static void
make_progress(struct rpc_class *class, unsigned int timeout_ms)
{
    unsigned int count = 1;

    HG_Progress(class->context, timeout_ms);
    while (HG_Trigger(class->context, 0, 1, &count) == HG_SUCCESS && count > 0)
        ;
}

/* Rank 0: serves until each other rank has called end in each class. */
static void
serve(struct rpc_class *classes)
{
    while (ended < CLASSES * (size - 1))
        for (int i = 0; i < CLASSES; i++)
            make_progress(&classes[i], 0);
    /* the last responses are not sent yet */
    for (int i = 0; i < CLASSES; i++)
        make_progress(&classes[i], 10);
}

static hg_return_t
on_response(const struct hg_cb_info *info)
{
    require(info->ret == HG_SUCCESS, "a call");
    *(bool *) info->arg = true;
    return HG_SUCCESS;
}

/* Calls an RPC and waits for the response. Returns the handle, which the caller
 * destroys. */
static hg_handle_t
forward(struct rpc_class *class, const char *address, hg_id_t id, void *in)
{
    hg_addr_t addr;
    hg_handle_t handle;
    bool done = false;

    require(HG_Addr_lookup2(class->hg_class, address, &addr) == HG_SUCCESS &&
                HG_Create(class->context, addr, id, &handle) == HG_SUCCESS &&
                HG_Forward(handle, on_response, &done, in) == HG_SUCCESS,
        "HG_Forward");
    while (!done)
        make_progress(class, 100);
    HG_Addr_free(class->hg_class, addr);
    return handle;
}

/* Calls invert with three segments of one buffer and checks all bytes. */
static void
call_invert(struct rpc_class *class, const char *address, unsigned char seed)
{
    static unsigned char bytes[SIZE];
    void *segments[] = {bytes, bytes + 1000, bytes + 70000};
    const hg_size_t lengths[] = {1000, 69000, SIZE - 70000};
    invert_in_t in = {.size = SIZE};
    invert_out_t out;

    for (uint32_t i = 0; i < SIZE; i++)
        bytes[i] = (unsigned char) (i * 7 + seed);
    require(HG_Bulk_create(class->hg_class, 3, segments, lengths,
                HG_BULK_READWRITE, &in.data) == HG_SUCCESS,
        "HG_Bulk_create");
    hg_handle_t handle = forward(class, address, class->invert_id, &in);
    require(HG_Get_output(handle, &out) == HG_SUCCESS && out.ret == 0,
        "the response of a call");
    HG_Free_output(handle, &out);
    HG_Destroy(handle);
    HG_Bulk_free(in.data);
    for (uint32_t i = 0; i < SIZE; i++)
        require(bytes[i] == (unsigned char) ~(i * 7 + seed), "bulk data");
}

/* All ranks but 0: calls invert and then end in each class of rank 0. */
static void
call_all(struct rpc_class *class)
{
    for (int i = 0; i < CLASSES; i++) {
        char address[32];
        snprintf(address, sizeof(address), "mpi+static://0:%d", i + 1);
        for (int j = 0; j < CALLS; j++)
            call_invert(class, address, (unsigned char) (rank + j));
        HG_Destroy(forward(class, address, class->end_id, NULL));
    }
}

/* Malformed messages: three of four have a plausible header, the others are
 * random bytes. */
static unsigned char forged[FORGED][sizeof(struct nampi_wire) + 100];
static unsigned char huge[4U << 20];

/* Starts to send them to rank 0. */
static void
send_forged(MPI_Comm comm, MPI_Request requests[FORGED + 1])
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
            head.to_instance = i % 2 == 0 ? head.to_instance : 0;
        }
        memcpy(forged[i], &head, sizeof(head));
        MPI_Isend(
            forged[i], length, MPI_BYTE, 0, NAMPI_TAG, comm, &requests[i]);
    }
    MPI_Isend(
        huge, sizeof(huge), MPI_BYTE, 0, NAMPI_TAG, comm, &requests[FORGED]);
}

/* Returns how many malformed messages a class has counted. */
static uint64_t
count_malformed(const struct rpc_class *class)
{
    struct talaria_report *report;
    uint64_t count = 0;

    require(
        talaria_class_report(class->na_class, &report) == NA_SUCCESS, "report");
    for (size_t i = 0; i < report->count; i++)
        if (strcmp(report->entries[i]->name, "messages_malformed") == 0)
            count = report->entries[i]->value;
    talaria_class_report_free(report);
    return count;
}

int
main(int argc, char **argv)
{
    static struct rpc_class classes[CLASSES];
    static MPI_Request requests[FORGED + 1];
    int provided, sum = 0, finalized = 1;
    MPI_Comm comm = MPI_COMM_NULL;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc == 1)
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    HG_Set_log_level("none");
    require_invalid("mpi.communicator=world");
    require_invalid("mpi.communicator=77777");
    HG_Set_log_level("error");
    bool forges = argc == 1 && size > 1 && rank == size - 1;
    if (forges)
        send_forged(comm, requests);
    for (int i = 0; i < (rank == 0 ? CLASSES : 1); i++)
        open_class(&classes[i], comm);
    if (rank == 0)
        serve(classes);
    else
        call_all(&classes[0]);
    for (int i = 0; forges && i <= FORGED; i++)
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (argc == 1 && rank == 0 && size > 1)
        require(count_malformed(&classes[0]) > FORGED / 4,
            "forged messages counted");
    close_classes(classes, rank == 0 ? CLASSES : 1);
    MPI_Finalized(&finalized);
    require(!finalized, "MPI is not finalized");
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    require(sum == size * (size - 1) / 2, "MPI still works");
    require(argc > 1 || MPI_Comm_free(&comm) == MPI_SUCCESS, "MPI_Comm_free");
    require(MPI_Finalize() == MPI_SUCCESS, "MPI_Finalize");
    if (rank == 0)
        printf("%d ranks: ok\n", size);
    return 0;
}
