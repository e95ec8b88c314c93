/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol and its tables; opening and closing a class. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "class.h"
#include "common/open.h"
#include "common/setting.h"
#include "engine.h"
#include "message.h"
#include "op.h"
#include "peer.h"
#include "rma.h"
#include "runtime.h"

static const char *const protocols[] = {"static", NULL};

static const na_plugin_setting *const settings[] = {
    TP_SETTING(TEXT, 0, 11, "mpi.communicator", "",
        "an intracommunicator of the program, as the number of MPI_Comm_c2f"),
    TP_SETTING(DURATION, TP_SECOND / 10, 86400 * TP_SECOND,
        "mpi.contact_timeout", "5s",
        "how long a peer may take to answer for the first time"),
    NULL};

#define AT(member) offsetof(na_plugin_class, member)
#define COUNTER(name, member)                                                  \
    {                                                                          \
        name, TP_REPORT_COUNTER, AT(counters.member), NULL                     \
    }
static const struct tp_report_line lines[] = {
    {"address", TP_REPORT_CHARS, AT(text), NULL},
    {"peers", TP_REPORT_TEXT, AT(admitted), NULL},
    {"library", TP_REPORT_CHARS, AT(library), NULL},
    COUNTER("messages_sent", sent),
    COUNTER("messages_received", received),
    COUNTER("unexpected_queued", queued),
    COUNTER("sends_queued", waited),
    COUNTER("expected_dropped", dropped),
    COUNTER("messages_strayed", strayed),
    COUNTER("messages_malformed", malformed),
    COUNTER("peers_lost", lost),
    COUNTER("put_bytes", put_bytes),
    COUNTER("get_bytes", get_bytes),
};

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *list,
    uint32_t max)
{
    return tp_report_entries(
        lines, sizeof(lines) / sizeof(lines[0]), cls, first, list, max);
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    static const na_plugin_report report = {
        .size = sizeof(report), .entries = entries};

    return strcmp(id, NA_PLUGIN_REPORT_ID) == 0 ? &report : NULL;
}

static const na_plugin_ops ops = {
    .size = sizeof(ops),
    .ctx_create = nampi_ctx_create,
    .ctx_destroy = nampi_ctx_destroy,
    .addr_self = nampi_addr_self,
    .addr_lookup = nampi_addr_lookup,
    .addr_dup = nampi_addr_dup,
    .addr_free = nampi_addr_free,
    .addr_equal = nampi_addr_equal,
    .addr_hash = nampi_addr_hash,
    .addr_to_string = nampi_addr_to_string,
    .addr_serialize = nampi_addr_serialize,
    .addr_deserialize = nampi_addr_deserialize,
    .addr_forget = nampi_addr_forget,
    .buf_alloc = tp_buf_alloc,
    .buf_free = tp_buf_free,
    .buf_init = tp_buf_init,
    .send_unexpected = nampi_send_unexpected,
    .recv_unexpected = nampi_recv_unexpected,
    .send_expected = nampi_send_expected,
    .recv_expected = nampi_recv_expected,
    .mem_register = nampi_mem_register,
    .mem_deregister = nampi_mem_deregister,
    .mem_serialize = nampi_mem_serialize,
    .mem_deserialize = nampi_mem_deserialize,
    .mem_remote_free = nampi_mem_remote_free,
    .put = nampi_put,
    .get = nampi_get,
    .poll = nampi_poll,
    .cancel = nampi_cancel,
    .extension = extension,
};

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

static na_plugin_class *
class_of(struct tp_link *link)
{
    return TP_OBJECT(link, na_plugin_class, link);
}

static bool
taken(const struct nampi_engine *engine, uint32_t number)
{
    for (struct tp_link *link = engine->classes.head; link != NULL;
         link = link->next)
        if (class_of(link)->number == number)
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
        TP_LOG(cls->host, ERROR,
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
        TP_LOG(cls->host, ERROR, "another class here has the number %u",
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
        if (!tp_random_draw(&cls->random, &number)) {
            TP_LOG(cls->host, ERROR, "no random number for a class");
            return NA_PLUGIN_E_IO_ERROR;
        }
        cls->life = (uint32_t) number;
    }
    return NA_PLUGIN_OK;
}

static void
free_class(na_plugin_class *cls)
{
    if (cls->peers.buckets != NULL)
        nampi_peers_free(cls);
    tp_table_fini(&cls->transfers);
    tp_table_fini(&cls->mems);
    free(cls);
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
    if (tp_table_init(&cls->peers) != NA_PLUGIN_OK ||
        tp_table_init(&cls->mems) != NA_PLUGIN_OK ||
        tp_table_init(&cls->transfers) != NA_PLUGIN_OK ||
        nampi_peer_get(cls, (uint32_t) engine->rank, cls->number, &cls->self) !=
            NA_PLUGIN_OK)
        return NA_PLUGIN_E_NOMEM;
    cls->self->life = cls->life;
    snprintf(cls->text, sizeof(cls->text), "%d:%u", engine->rank,
        (unsigned) cls->number);
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

static int32_t
new_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_class **cls_p)
{
    na_plugin_class *cls = calloc(1, sizeof(*cls));

    if (cls == NULL)
        return NA_PLUGIN_E_NOMEM;
    cls->host = host;
    cls->admitted = "job";
    snprintf(cls->protocol, sizeof(cls->protocol), "%s", info->protocol);
    cls->contact_timeout_ns = host->number(host, "mpi.contact_timeout");
    cls->max_unexpected = tp_open_message_size(host, info->max_unexpected_size,
        NAMPI_MESSAGE_USUAL, NAMPI_MESSAGE_MAX, "unexpected");
    cls->max_expected = tp_open_message_size(host, info->max_expected_size,
        NAMPI_MESSAGE_USUAL, NAMPI_MESSAGE_MAX, "expected");
    int32_t ret = nampi_runtime_open(host, info, &cls->engine);
    if (ret != NA_PLUGIN_OK) {
        free(cls);
        return ret;
    }
    name_library(cls);
    tp_lock_take(&nampi_lock);
    ret = enter(cls, info);
    if (ret == NA_PLUGIN_OK) {
        *cls_p = cls;
    } else {
        cls->engine->users--;
        free_class(cls);
    }
    tp_lock_drop(&nampi_lock);
    return ret;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *open_info,
    na_plugin_opened *opened)
{
    static const struct tp_offer offer = {
        .max_contexts = NAMPI_CONTEXTS, .native = true};

    int32_t ret = tp_open_check(host, open_info, opened);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (open_info->protocol == NULL ||
        strcmp(open_info->protocol, "static") != 0) {
        TP_LOG(host, ERROR, "protocol \"%.40s\"; the plugin has static",
            open_info->protocol != NULL ? open_info->protocol : "");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    ret = new_class(host, open_info, &opened->cls);
    if (ret != NA_PLUGIN_OK)
        return ret;
    tp_open_ignored(host, open_info, &offer);
    opened->features = 0;
    opened->ops = &ops;
    opened->op_size = sizeof(struct nampi_op);
    opened->op_align = _Alignof(struct nampi_op);
    opened->max_unexpected_size = opened->cls->max_unexpected;
    opened->max_expected_size = opened->cls->max_expected;
    opened->unexpected_header_size = 0;
    opened->expected_header_size = 0;
    opened->max_tag = UINT32_MAX;
    opened->max_segments = NAMPI_SEGMENTS;
    opened->max_rma_size = 0;
    opened->max_contexts = NAMPI_CONTEXTS;
    return NA_PLUGIN_OK;
}

static void
close_class(na_plugin_class *cls)
{
    struct nampi_engine *engine = cls->engine;

    tp_lock_take(&nampi_lock);
    nampi_peers_say_bye(cls);
    nampi_engine_let_out(cls);
    tp_list_remove(&engine->classes, &cls->link);
    /* What is still on its way to it must not reach another. */
    if (cls->known)
        engine->next = cls->number % NAMPI_CLASSES + 1;
    nampi_engine_orphan(cls);
    free_class(cls);
    engine->users--;
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
