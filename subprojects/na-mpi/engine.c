/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests of sends are in an array, as MPI_Testsome requires. A receive starts
 * with MPI_Improbe, which tells how much memory the message needs. Messages of
 * one process are delivered in the order in which they were sent, even if MPI
 * completes a later one first. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "channel.h"
#include "engine.h"

#define ARRIVALS 64U  /* incomplete receives */
#define ORPHANS 256   /* with so many, answers are not sent */
#define FIRST_ROOM 64 /* elements of the arrays of sends, at first */

struct nampi_engine *
nampi_engine_new(MPI_Comm comm)
{
    struct nampi_engine *engine = calloc(1, sizeof(*engine));

    if (engine != NULL)
        *engine = (struct nampi_engine){.comm = comm, .next = 1};
    return engine;
}

struct nampi_send *
nampi_send_new(enum nampi_kind kind, uint32_t length)
{
    struct nampi_send *send = malloc(sizeof(*send) + length);

    if (send != NULL)
        *send = (struct nampi_send){.length = length,
            .head = {.magic = NAMPI_MAGIC, .kind = (uint32_t) kind}};
    return send;
}

/* Reallocates the array at *array_p for count elements. Returns false without
 * memory; the array is unchanged then. */
static bool
resize(void *array_p, size_t count, size_t size)
{
    void *array;

    memcpy(&array, array_p, sizeof(array));
    array = realloc(array, count * size);
    if (array != NULL)
        memcpy(array_p, &array, sizeof(array));
    return array != NULL;
}

/* Makes room in the arrays for one more send. Returns false without memory. */
static bool
make_room(struct nampi_engine *engine)
{
    int room = engine->room != 0 ? 2 * engine->room : FIRST_ROOM;

    if (engine->count < engine->room)
        return true;
    if (!resize(&engine->sends, (size_t) room, sizeof(*engine->sends)) ||
        !resize(&engine->requests, (size_t) room, sizeof(*engine->requests)) ||
        !resize(
            &engine->completed, (size_t) room, sizeof(*engine->completed)) ||
        !resize(&engine->statuses, (size_t) room, sizeof(*engine->statuses)))
        return false;
    engine->room = room;
    return true;
}

int32_t
nampi_send_start(struct nampi_engine *engine, int rank, struct nampi_send *send,
    na_plugin_class *cls, struct nampi_channel *channel)
{
    int32_t ret = NA_PLUGIN_OK;

    if (cls == NULL && engine->orphans >= ORPHANS)
        ret = NA_PLUGIN_E_AGAIN;
    else if (!make_room(engine))
        ret = NA_PLUGIN_E_NOMEM;
    else if (engine->broken || engine->stopped ||
             MPI_Isend(&send->head, (int) (sizeof(send->head) + send->length),
                 MPI_BYTE, rank, NAMPI_TAG, engine->comm,
                 &engine->requests[engine->count]) != MPI_SUCCESS)
        ret = NA_PLUGIN_E_HOSTUNREACH;
    if (ret != NA_PLUGIN_OK) {
        free(send);
        return ret;
    }
    engine->sends[engine->count++] = send;
    engine->sent++;
    send->cls = cls;
    send->channel = channel;
    if (cls != NULL)
        cls->sending++;
    else
        engine->orphans++;
    if (channel != NULL)
        channel->sending++;
    return NA_PLUGIN_OK;
}

/* Frees a completed send, which is no longer in the arrays, and flushes its
 * channel. */
static void
complete_send(struct nampi_engine *engine, struct nampi_send *send)
{
    na_plugin_class *cls = send->cls;
    struct nampi_channel *channel = send->channel;

    free(send);
    if (cls != NULL)
        cls->sending--;
    else if (engine->orphans > 0)
        engine->orphans--;
    if (channel == NULL)
        return;
    channel->sending--;
    nampi_flush(&channel->base);
}

/* Removes and frees the sends that MPI has completed. Flushing their channels
 * starts further sends, which are appended to the arrays. Returns false if MPI
 * fails. */
static bool
progress_sends(struct nampi_engine *engine)
{
    int tested = engine->count, left = 0;

    if (tested == 0)
        return true;
    int ret = MPI_Testsome(
        tested, engine->requests, &left, engine->completed, engine->statuses);
    if (ret != MPI_SUCCESS && ret != MPI_ERR_IN_STATUS)
        return false;
    if (left <= 0) /* or MPI_UNDEFINED */
        return true;
    /* failed sends do not count: nampi_drain_all would wait for them */
    for (int i = 0; ret == MPI_ERR_IN_STATUS && i < left; i++)
        engine->sent -= engine->statuses[i].MPI_ERROR != MPI_SUCCESS;
    struct nampi_send *list[FIRST_ROOM];
    do {
        int kept = 0, listed = 0;
        for (int i = 0; i < engine->count; i++) {
            if (engine->requests[i] == MPI_REQUEST_NULL &&
                listed < FIRST_ROOM) {
                list[listed++] = engine->sends[i];
                continue;
            }
            engine->sends[kept] = engine->sends[i];
            engine->requests[kept++] = engine->requests[i];
        }
        engine->count = kept;
        left -= listed;
        for (int i = 0; i < listed; i++)
            complete_send(engine, list[i]);
    } while (left > 0);
    return true;
}

/* Starts to receive the next message. *more_p: whether there was one. Returns
 * false if MPI fails or without memory. */
static bool
start_receive(struct nampi_engine *engine, bool *more_p)
{
    MPI_Message message;
    MPI_Status status;
    int flag = 0, size = 0;

    *more_p = false;
    if (engine->arriving >= ARRIVALS)
        return true;
    if (MPI_Improbe(MPI_ANY_SOURCE, NAMPI_TAG, engine->comm, &flag, &message,
            &status) != MPI_SUCCESS)
        return false;
    if (!flag)
        return true;
    *more_p = true;
    /* The whole message, however long: receiving it into a shorter buffer ends
     * the program under MPICH, and overruns the buffer under Open MPI 4.1. */
    if (MPI_Get_count(&status, MPI_BYTE, &size) != MPI_SUCCESS || size < 0)
        return false;
    struct nampi_arrival *arrival = malloc(sizeof(*arrival) + (size_t) size);
    if (arrival == NULL)
        return false;
    arrival->rank = status.MPI_SOURCE;
    arrival->size = size;
    arrival->complete = false;
    if (MPI_Imrecv(arrival->bytes, size, MPI_BYTE, &message,
            &arrival->request) != MPI_SUCCESS) {
        free(arrival);
        return false;
    }
    tp_list_append(&engine->arrivals, &arrival->link);
    engine->arriving++;
    return true;
}

/* Whether an earlier message of the same process is not delivered yet. */
static bool
has_predecessor(const struct nampi_arrival *arrival)
{
    for (const struct tp_link *link = arrival->link.prev; link != NULL;
         link = link->prev)
        if (TP_OBJECT(link, const struct nampi_arrival, link)->rank ==
            arrival->rank)
            return true;
    return false;
}

/* Delivers the messages that MPI has completed and that no earlier one
 * precedes; drops them if the engine is stopped. */
static void
deliver(struct nampi_engine *engine)
{
    struct tp_link *next;

    for (struct tp_link *link = engine->arrivals.head; link != NULL;
         link = next) {
        struct nampi_arrival *arrival =
            TP_OBJECT(link, struct nampi_arrival, link);
        int complete = 0;
        next = link->next;
        if (!arrival->complete) {
            /* on an error a length of 0 makes nampi_dispatch drop it */
            if (MPI_Test(&arrival->request, &complete, MPI_STATUS_IGNORE) !=
                MPI_SUCCESS) {
                arrival->size = 0;
                complete = 1;
            }
            arrival->complete = complete != 0;
        }
        if (!arrival->complete || has_predecessor(arrival))
            continue;
        tp_list_remove(&engine->arrivals, link);
        engine->arriving--;
        engine->received++;
        if (!engine->stopped)
            nampi_dispatch(engine, arrival->rank, arrival->bytes,
                (uint32_t) arrival->size);
        free(arrival);
    }
}

bool
nampi_engine_step(struct nampi_engine *engine)
{
    bool more = true;

    if (engine->broken)
        return false;
    engine->broken = !progress_sends(engine);
    for (uint32_t i = 0; i < ARRIVALS && more && !engine->broken; i++)
        engine->broken = !start_receive(engine, &more);
    deliver(engine);
    return !engine->broken;
}

bool
nampi_engine_progress(struct nampi_engine *engine)
{
    return !engine->stopped && nampi_engine_step(engine);
}

void
nampi_engine_flush(na_plugin_class *cls)
{
    uint64_t begun_ns = tp_now();

    while (cls->sending != 0 && tp_now() - begun_ns < TP_SECOND &&
           nampi_engine_progress(cls->engine))
        ;
}

void
nampi_engine_detach(
    const na_plugin_class *cls, const struct nampi_channel *channel)
{
    struct nampi_engine *engine = cls->engine;

    for (int i = 0; i < engine->count; i++) {
        struct nampi_send *send = engine->sends[i];
        if (send->cls != cls || (channel != NULL && send->channel != channel))
            continue;
        send->channel = NULL;
        if (channel == NULL) {
            send->cls = NULL;
            engine->orphans++;
        }
    }
}
