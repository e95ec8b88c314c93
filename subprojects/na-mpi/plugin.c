/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol and its tables; opening and closing a class. */
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
        "an intracommunicator of the program, as the number of MPI_Comm_c2f"),
    TP_SETTING(DURATION, TP_SECOND / 10, 86400 * TP_SECOND,
        "mpi.contact_timeout", "5s",
        "how long a peer may take to answer for the first time"),
    TP_SETTING(BYTES, 0, UINT32_MAX, "mpi.queue_size", "1M",
        "bytes of unexpected messages that a peer may have waiting in a class"),
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
    .greeted = nampi_greeted,
    .close = nampi_close};

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
taken(const struct nampi_engine *engine, uint32_t number)
{
    for (struct tp_link *link = engine->classes.head; link != NULL;
         link = link->next)
        if (nampi_class_of(link)->number == number)
            return true;
    return false;
}

/* The number of a class, which is its port: that wanted, or the next free. */
static int32_t
choose_number(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const struct nampi_engine *engine = cls->engine;
    char rank[16];

    snprintf(rank, sizeof(rank), "%d", engine->rank);
    if ((info->host != NULL && strcmp(info->host, rank) != 0) ||
        info->device != NULL || info->port > (int32_t) NAMPI_CLASSES) {
        TP_LOG(cls->base.host, ERROR,
            "\"%.100s\": this process has rank %d, and numbers of classes are "
            "at most %u",
            info->name, engine->rank, NAMPI_CLASSES);
        return NA_PLUGIN_E_ADDRNOTAVAIL;
    }
    cls->number = info->port > 0 ? (uint32_t) info->port : engine->next;
    for (uint32_t i = 0;
         info->port <= 0 && i < NAMPI_CLASSES && taken(engine, cls->number);
         i++)
        cls->number = cls->number % NAMPI_CLASSES + 1;
    if (taken(engine, cls->number)) {
        TP_LOG(cls->base.host, ERROR, "another class here has the number %u",
            (unsigned) cls->number);
        return NA_PLUGIN_E_ADDRINUSE;
    }
    return NA_PLUGIN_OK;
}

static int32_t
draw_life(na_plugin_class *cls)
{
    uint64_t number;

    while (cls->life == 0) {
        if (!tp_random_draw(&cls->base.random, &number)) {
            TP_LOG(cls->base.host, ERROR, "no random number for a class");
            return NA_PLUGIN_E_IO_ERROR;
        }
        cls->life = (uint32_t) number;
    }
    return NA_PLUGIN_OK;
}

/* Makes a class on an engine. Under nampi_lock. */
static int32_t
enter(na_plugin_class *cls, const na_plugin_open_info *info)
{
    struct nampi_engine *engine = cls->engine;

    int32_t ret = choose_number(cls, info);
    if (ret == NA_PLUGIN_OK)
        ret = draw_life(cls);
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

static void
name_library(na_plugin_class *cls)
{
    char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;

    if (MPI_Get_library_version(name, &length) != MPI_SUCCESS)
        return;
    snprintf(cls->library, sizeof(cls->library), "%.*s",
        (int) strcspn(name, ",\n"), name);
}

/* Under nampi_lock. */
static void
free_class(na_plugin_class *cls)
{
    tp_transport_fini(&cls->base);
    tp_table_fini(&cls->by_name);
    if (cls->engine != NULL)
        cls->engine->users--;
    free(cls);
}

static int32_t
begin(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->base.host;

    cls->admitted = "job";
    cls->base.lock = &nampi_lock;
    cls->base.connect_timeout = host->number(host, "mpi.contact_timeout");
    tp_transport_window(&cls->base, host->number(host, "mpi.queue_size"));
    int32_t ret = nampi_runtime_open(host, info, &cls->engine);
    if (ret != NA_PLUGIN_OK)
        return ret;
    name_library(cls);
    tp_lock_take(&nampi_lock);
    ret = enter(cls, info);
    tp_lock_drop(&nampi_lock);
    return ret;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    na_plugin_class *cls = calloc(1, sizeof(*cls));

    if (cls == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = tp_transport_init(&cls->base, &carrier, host, info, opened);
    if (ret == NA_PLUGIN_OK)
        ret = begin(cls, info);
    if (ret == NA_PLUGIN_OK) {
        tp_transport_opened(&cls->base, opened);
        return NA_PLUGIN_OK;
    }
    tp_lock_take(&nampi_lock);
    free_class(cls);
    tp_lock_drop(&nampi_lock);
    return ret;
}

static void
close_class(na_plugin_class *cls)
{
    struct nampi_engine *engine = cls->engine;

    tp_lock_take(&nampi_lock);
    cls->closing = true;
    while (cls->base.channels.head != NULL)
        tp_channel_end(
            TP_OBJECT(cls->base.channels.head, struct tp_channel, link),
            NA_PLUGIN_E_CANCELED);
    nampi_engine_let_out(cls);
    tp_list_remove(&engine->classes, &cls->link);
    /* What is still on its way to it must not reach another. */
    if (cls->known)
        engine->next = cls->number % NAMPI_CLASSES + 1;
    nampi_engine_orphan(cls, NULL);
    free_class(cls);
    tp_lock_drop(&nampi_lock);
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
