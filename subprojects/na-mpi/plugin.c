/* SPDX-License-Identifier: BSD-3-Clause */
/* The exported symbol, settings and report; opening and closing a class. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "channel.h"
#include "common/setting.h"
#include "engine.h"
#include "runtime.h"

static const char *const protocols[] = {"static", NULL};

static const na_plugin_setting *const settings[] = {
    TP_SETTING(TEXT, 0, 11, "mpi.communicator", "",
        "an intracommunicator of the program, as MPI_Comm_c2f converts it"),
    TP_SETTING(DURATION, TP_SECOND / 10, 86400 * TP_SECOND,
        "mpi.contact_timeout", "5s",
        "how long to wait for the first answer of a peer"),
    TP_SETTING(BYTES, 0, UINT32_MAX, "mpi.queue_size", "1M",
        "bytes of unexpected messages that a class queues from each peer"),
    NULL};

static const struct tp_report_line lines[] = {
    TP_REPORT_LINE("address", TEXT, na_plugin_class, text, NULL),
    TP_REPORT_LINE("peers", TEXT, na_plugin_class, admitted, NULL),
    TP_REPORT_LINE("library", CHARS, na_plugin_class, library, NULL),
    TP_REPORT_LINE(
        "messages_malformed", COUNTER, na_plugin_class, malformed, NULL)};

static const struct tp_carrier carrier = {.protocol = "static",
    .offer = {.max_contexts = NAMPI_CONTEXTS, .native = true},
    .addr_size = sizeof(struct na_plugin_addr),
    .message_size = NAMPI_MESSAGE_USUAL,
    .message_size_most = NAMPI_MESSAGE_MAX,
    .fragment = NAMPI_FRAGMENT,
    .lines = lines,
    .line_count = sizeof(lines) / sizeof(lines[0]),
    .addr_parse = nampi_addr_parse,
    .connect = nampi_connect,
    .flush = nampi_flush,
    .advance = nampi_advance,
    .is_out = nampi_is_out,
    .hello_received = nampi_hello_received,
    .close = nampi_close};

/* Entry of na_plugin: the job is the only device. */
static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    static const na_plugin_device job = {.size = sizeof(job),
        .protocol = "static",
        .detail = "the processes of one mpirun"};

    if (protocol != NULL && strcmp(protocol, "static") != 0)
        return NA_PLUGIN_E_PROTONOSUPPORT;
    found(arg, &job);
    return NA_PLUGIN_OK;
}

static bool
is_number_used(const struct nampi_engine *engine, uint32_t number)
{
    for (struct tp_link *link = engine->classes.head; link != NULL;
         link = link->next)
        if (nampi_class_of(link)->number == number)
            return true;
    return false;
}

/* Sets the number of a class: the port that was asked for, or else the next
 * free one. ADDRNOTAVAIL, ADDRINUSE, logged. Under nampi_lock. */
static int32_t
choose_number(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const struct nampi_engine *engine = cls->engine;
    char rank[16];

    snprintf(rank, sizeof(rank), "%d", engine->rank);
    if ((info->host != NULL && strcmp(info->host, rank) != 0) ||
        info->device != NULL || info->port > (int32_t) NAMPI_CLASSES) {
        TP_LOG(cls->base.host, ERROR,
            "\"%.100s\": the rank has to be %d, that of this process, and the "
            "class number at most %u",
            info->name, engine->rank, NAMPI_CLASSES);
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    cls->number = info->port > 0 ? (uint32_t) info->port : engine->next;
    for (uint32_t i = 0; info->port <= 0 && i < NAMPI_CLASSES &&
                         is_number_used(engine, cls->number);
         i++)
        cls->number = cls->number % NAMPI_CLASSES + 1;
    if (is_number_used(engine, cls->number)) {
        TP_LOG(cls->base.host, ERROR, "class number %u is in use",
            (unsigned) cls->number);
        return NA_PLUGIN_E_ADDRINUSE;
    }
    return NA_PLUGIN_OK;
}

/* Sets the instance, a random number that is not 0. IO_ERROR, logged. */
static int32_t
draw_instance(na_plugin_class *cls)
{
    uint64_t number;

    while (cls->instance == 0) {
        if (!tp_random_draw(&cls->base.random, &number)) {
            TP_LOG(cls->base.host, ERROR, "cannot get a random number: %s",
                strerror(errno));
            return NA_PLUGIN_E_IO_ERROR;
        }
        cls->instance = (uint32_t) number;
    }
    return NA_PLUGIN_OK;
}

/* Adds a class to its engine, with number, instance and address. ADDRNOTAVAIL,
 * ADDRINUSE, IO_ERROR, NOMEM. Under nampi_lock. */
static int32_t
add_class(na_plugin_class *cls, const na_plugin_open_info *info)
{
    struct nampi_engine *engine = cls->engine;

    int32_t ret = choose_number(cls, info);
    if (ret == NA_PLUGIN_OK)
        ret = draw_instance(cls);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (tp_table_init(&cls->by_name) == NA_PLUGIN_OK)
        cls->base.self =
            nampi_addr_get(cls, (uint32_t) engine->rank, cls->number);
    if (cls->base.self == NULL)
        return NA_PLUGIN_E_NOMEM;
    cls->text = cls->base.self->base.name;
    tp_list_append(&engine->classes, &cls->link);
    return NA_PLUGIN_OK;
}

/* Sets cls->library, for the report, to the first words of MPI's version. */
static void
set_library(na_plugin_class *cls)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    if (MPI_Get_library_version(name, &length) != MPI_SUCCESS)
        return;
    snprintf(cls->library, sizeof(cls->library), "%.*s",
        (int) strcspn(name, ",\n"), name);
}

/* Also frees a class whose initialization failed. Under nampi_lock. */
static void
free_class(na_plugin_class *cls)
{
    tp_transport_fini(&cls->base);
    tp_table_fini(&cls->by_name);
    if (cls->engine != NULL)
        cls->engine->users--;
    free(cls);
}

/* Reads the settings and adds the class to the engine of its communicator. On
 * an error the caller frees the class. Takes nampi_lock. */
static int32_t
init_class(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->base.host;

    cls->admitted = "job";
    cls->base.lock = &nampi_lock;
    cls->base.connect_timeout = host->number(host, "mpi.contact_timeout");
    tp_transport_window(&cls->base, host->number(host, "mpi.queue_size"));
    int32_t ret = nampi_runtime_open(host, info, &cls->engine);
    if (ret != NA_PLUGIN_OK)
        return ret;
    set_library(cls);
    tp_mutex_take(&nampi_lock);
    ret = add_class(cls, info);
    tp_mutex_drop(&nampi_lock);
    return ret;
}

/* Entry of na_plugin; the first call may block, see nampi_runtime_open. */
static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    na_plugin_class *cls = calloc(1, sizeof(*cls));

    if (cls == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = tp_transport_init(&cls->base, &carrier, host, info, opened);
    if (ret == NA_PLUGIN_OK)
        ret = init_class(cls, info);
    if (ret == NA_PLUGIN_OK) {
        tp_transport_opened(&cls->base, opened);
        return NA_PLUGIN_OK;
    }
    tp_mutex_take(&nampi_lock);
    free_class(cls);
    tp_mutex_drop(&nampi_lock);
    return ret;
}

/* Entry of na_plugin. Blocks for at most a second, until MPI has sent what the
 * class submitted, NAMPI_BYE included. */
static void
close_class(na_plugin_class *cls)
{
    struct nampi_engine *engine = cls->engine;

    tp_mutex_take(&nampi_lock);
    cls->closing = true;
    while (cls->base.channels.head != NULL)
        tp_channel_end(
            TP_OBJECT(cls->base.channels.head, struct tp_channel, link),
            NA_PLUGIN_E_CANCELED);
    nampi_engine_flush(cls);
    tp_list_remove(&engine->classes, &cls->link);
    /* do not reuse the number at once: messages to it may be in flight */
    if (cls->contacted)
        engine->next = cls->number % NAMPI_CLASSES + 1;
    nampi_engine_detach(cls, NULL);
    free_class(cls);
    tp_mutex_drop(&nampi_lock);
}

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(mpi) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .min_host_minor = 0,
    .name = "mpi",
    .version = NAMPI_VERSION,
    .protocols = protocols,
    .flags = 0,
    .priority = 10,
    .info = info,
    .open = open_class,
    .close = close_class,
    .settings = settings,
};
