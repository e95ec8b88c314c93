/* SPDX-License-Identifier: BSD-3-Clause */
/* Classes, contexts and addresses of the loop plugin, and its tables. */
#include "loop_internal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define PREFIX "mem://"
#define SERIAL_MAGIC 0x3141504cU

pthread_mutex_t loop_lock = PTHREAD_MUTEX_INITIALIZER;
struct loop_classes loop_classes = LIST_HEAD_INITIALIZER(loop_classes);
static uint32_t last_number;

#define DEFAULT_LIMITS                                                         \
    {                                                                          \
        .max_unexpected_size = 4096, .max_expected_size = 4096,                \
        .max_tag = UINT32_MAX, .max_segments = 64,                             \
        .max_contexts = LOOP_CONTEXTS_MAX                                      \
    }
static const struct loop_limits default_limits = DEFAULT_LIMITS;
static struct loop_limits limits = DEFAULT_LIMITS;

void
loop_violated(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    fprintf(stderr, "loop plugin: the core broke the ABI: ");
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    abort();
}

void
loop_limits_set(const struct loop_limits *wanted)
{
    const struct loop_limits *def = &default_limits;

    pthread_mutex_lock(&loop_lock);
    limits = *wanted;
    if (limits.max_unexpected_size == 0)
        limits.max_unexpected_size = def->max_unexpected_size;
    if (limits.max_expected_size == 0)
        limits.max_expected_size = def->max_expected_size;
    if (limits.max_tag == 0)
        limits.max_tag = def->max_tag;
    if (limits.max_segments == 0)
        limits.max_segments = def->max_segments;
    if (limits.max_contexts == 0)
        limits.max_contexts = def->max_contexts;
    pthread_mutex_unlock(&loop_lock);
}

na_plugin_class *
loop_class_find(uint32_t number)
{
    na_plugin_class *cls;

    LIST_FOREACH (cls, &loop_classes, next)
        if (cls->number == number)
            return cls->dead ? NULL : cls;
    return NULL;
}

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    const na_plugin_device device = {.size = sizeof device,
        .protocol = "mem",
        .name = "process",
        .detail = "memory of this process"};

    if (protocol && strcmp(protocol, "mem") != 0)
        return NA_PLUGIN_E_PROTONOSUPPORT;
    found(arg, &device);
    return NA_PLUGIN_OK;
}

static void
fill_opened(na_plugin_opened *opened, na_plugin_class *cls,
    const na_plugin_open_info *open_info, const na_plugin_ops *ops)
{
    const struct loop_limits *own = &cls->limits;

    opened->cls = cls;
    opened->ops = ops;
    opened->op_size = (uint32_t) sizeof(struct loop_op) + own->op_pad;
    opened->op_align = 64;
    opened->max_unexpected_size = own->max_unexpected_size;
    opened->max_expected_size = own->max_expected_size;
    opened->unexpected_header_size = own->unexpected_header_size;
    opened->expected_header_size = own->expected_header_size;
    opened->max_tag = own->max_tag;
    opened->max_segments = own->max_segments;
    opened->max_rma_size = own->max_rma_size;
    opened->max_contexts = own->max_contexts;
}

static const na_plugin_ops ops;

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *open_info,
    na_plugin_opened *opened)
{
    na_plugin_class *cls;

    if (open_info->host && strcmp(open_info->host, "broken") == 0) {
        host->log(
            host, NA_PLUGIN_LOG_ERROR, __FILE__, __LINE__, "opened as broken");
        return NA_PLUGIN_E_NODEV;
    }
    cls = calloc(1, sizeof *cls);
    if (!cls)
        return NA_PLUGIN_E_NOMEM;
    cls->host = host;
    cls->listen = open_info->flags & NA_PLUGIN_OPEN_LISTEN;
    LIST_INIT(&cls->addrs);
    LIST_INIT(&cls->mems);
    pthread_mutex_lock(&loop_lock);
    cls->limits = limits;
    if (open_info->max_unexpected_size > 0)
        cls->limits.max_unexpected_size = open_info->max_unexpected_size;
    if (open_info->max_expected_size > 0)
        cls->limits.max_expected_size = open_info->max_expected_size;
    cls->number = ++last_number;
    LIST_INSERT_HEAD(&loop_classes, cls, next);
    pthread_mutex_unlock(&loop_lock);
    fill_opened(opened, cls, open_info, &ops);
    return NA_PLUGIN_OK;
}

static void
close_class(na_plugin_class *cls)
{
    pthread_mutex_lock(&loop_lock);
    for (uint32_t i = 0; i < LOOP_CONTEXTS_MAX; i++)
        if (cls->contexts[i])
            loop_violated("class closed with context %u", i);
    if (!LIST_EMPTY(&cls->addrs))
        loop_violated("class closed with address %u, %u references",
            LIST_FIRST(&cls->addrs)->number, LIST_FIRST(&cls->addrs)->refs);
    if (!LIST_EMPTY(&cls->mems) || cls->remote_mem_count > 0)
        loop_violated("class closed with registrations");
    if (cls->buffer_count > 0)
        loop_violated("class closed with %u buffers", cls->buffer_count);
    LIST_REMOVE(cls, next);
    loop_peer_gone(cls->number);
    pthread_mutex_unlock(&loop_lock);
    free(cls);
}

static int32_t
ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    na_plugin_ctx *ctx;

    if (id >= cls->limits.max_contexts || id >= LOOP_CONTEXTS_MAX ||
        cls->contexts[id]) {
        cls->host->log(cls->host, NA_PLUGIN_LOG_ERROR, __FILE__, __LINE__,
            "context number out of range or in use");
        return NA_PLUGIN_E_EXIST;
    }
    ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NA_PLUGIN_E_NOMEM;
    ctx->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (ctx->fd < 0) {
        free(ctx);
        return NA_PLUGIN_E_NOMEM;
    }
    ctx->cls = cls;
    ctx->id = id;
    ctx->core_ctx = core_ctx;
    TAILQ_INIT(&ctx->unexpected);
    TAILQ_INIT(&ctx->expected);
    TAILQ_INIT(&ctx->unexpected_arrived);
    TAILQ_INIT(&ctx->expected_arrived);
    TAILQ_INIT(&ctx->events);
    pthread_mutex_lock(&loop_lock);
    cls->contexts[id] = ctx;
    pthread_mutex_unlock(&loop_lock);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;
}

static void
free_messages(struct loop_messages *messages)
{
    struct loop_message *message;

    while ((message = TAILQ_FIRST(messages)) != NULL) {
        TAILQ_REMOVE(messages, message, next);
        free(message);
    }
}

static void
addr_unref(na_plugin_class *cls, na_plugin_addr *addr)
{
    if (addr->refs == 0)
        loop_violated("address %u freed too often", addr->number);
    if (--addr->refs > 0)
        return;
    LIST_REMOVE(addr, next);
    free(addr);
}

static void
ctx_destroy(na_plugin_ctx *ctx)
{
    struct loop_event *event;

    pthread_mutex_lock(&loop_lock);
    ctx->cls->contexts[ctx->id] = NULL;
    loop_held_drop(ctx);
    free_messages(&ctx->unexpected_arrived);
    free_messages(&ctx->expected_arrived);
    while ((event = TAILQ_FIRST(&ctx->events)) != NULL) {
        TAILQ_REMOVE(&ctx->events, event, next);
        if (event->event.source)
            addr_unref(ctx->cls, event->event.source);
        free(event);
    }
    pthread_mutex_unlock(&loop_lock);
    close(ctx->fd);
    free(ctx);
}

na_plugin_addr *
loop_addr_get(na_plugin_class *cls, uint32_t number)
{
    na_plugin_addr *addr;

    LIST_FOREACH (addr, &cls->addrs, next)
        if (addr->number == number) {
            addr->refs++;
            return addr;
        }
    addr = calloc(1, sizeof *addr);
    if (!addr)
        return NULL;
    addr->number = number;
    addr->refs = 1;
    LIST_INSERT_HEAD(&cls->addrs, addr, next);
    return addr;
}

static int32_t
addr_get(na_plugin_class *cls, uint32_t number, na_plugin_addr **addr_p)
{
    na_plugin_addr *addr;

    pthread_mutex_lock(&loop_lock);
    addr = loop_addr_get(cls, number);
    pthread_mutex_unlock(&loop_lock);
    if (!addr)
        return NA_PLUGIN_E_NOMEM;
    *addr_p = addr;
    return NA_PLUGIN_OK;
}

static int32_t
addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    return addr_get(cls, cls->number, addr_p);
}

static bool
parse(const char *name, uint32_t *number_p)
{
    char *end;
    unsigned long number;

    if (strncmp(name, PREFIX, sizeof PREFIX - 1) != 0)
        return false;
    name += sizeof PREFIX - 1;
    if (*name < '1' || *name > '9')
        return false;
    errno = 0;
    number = strtoul(name, &end, 10);
    if (errno != 0 || *end || number > UINT32_MAX)
        return false;
    *number_p = (uint32_t) number;
    return true;
}

static int32_t
addr_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    uint32_t number;

    if (parse(name, &number))
        return addr_get(cls, number, addr_p);
    cls->host->log(cls->host, NA_PLUGIN_LOG_ERROR, __FILE__, __LINE__,
        "not a loop address");
    return strstr(name, "://") && strncmp(name, PREFIX, sizeof PREFIX - 1) != 0
               ? NA_PLUGIN_E_PROTONOSUPPORT
               : NA_PLUGIN_E_INVALID_ARG;
}

static void
addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    pthread_mutex_lock(&loop_lock);
    if (addr->refs == 0)
        loop_violated("address %u duplicated after it was freed", addr->number);
    addr->refs++;
    pthread_mutex_unlock(&loop_lock);
}

static void
addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    pthread_mutex_lock(&loop_lock);
    addr_unref(cls, addr);
    pthread_mutex_unlock(&loop_lock);
}

static int32_t
addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a->number == b->number;
}

static uint64_t
addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return addr->number;
}

static int32_t
addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr, char *buffer,
    uint64_t *size_p)
{
    uint64_t room = *size_p;
    char text[32];
    int length;

    if (addr->number == cls->number && !cls->listen)
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    length = snprintf(text, sizeof text, PREFIX "%u", addr->number);
    *size_p = (uint64_t) length + 1;
    if (!buffer)
        return NA_PLUGIN_OK;
    if (room < *size_p)
        return NA_PLUGIN_E_OVERFLOW;
    memcpy(buffer, text, *size_p);
    return NA_PLUGIN_OK;
}

static int32_t
addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr, void *buffer,
    uint64_t *size_p)
{
    const uint32_t words[2] = {SERIAL_MAGIC, addr->number};
    uint64_t room = *size_p;

    if (cls->limits.no_serialization ||
        (addr->number == cls->number && !cls->listen))
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    *size_p = sizeof words;
    if (!buffer)
        return NA_PLUGIN_OK;
    if (room < sizeof words)
        return NA_PLUGIN_E_OVERFLOW;
    memcpy(buffer, words, sizeof words);
    return NA_PLUGIN_OK;
}

static int32_t
addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    uint32_t words[2];

    if (length != sizeof words)
        return NA_PLUGIN_E_INVALID_ARG;
    memcpy(words, buffer, sizeof words);
    if (words[0] != SERIAL_MAGIC || words[1] == 0)
        return NA_PLUGIN_E_INVALID_ARG;
    return addr_get(cls, words[1], addr_p);
}

static void
addr_forget(na_plugin_class *cls, na_plugin_addr *addr)
{
    pthread_mutex_lock(&loop_lock);
    for (uint32_t i = 0; i < LOOP_CONTEXTS_MAX; i++)
        if (cls->contexts[i])
            loop_ctx_peer_gone(cls->contexts[i], addr->number);
    pthread_mutex_unlock(&loop_lock);
}

static int32_t
wait_fd(na_plugin_ctx *ctx)
{
    return ctx->fd;
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    static const na_plugin_wait wait = {
        .size = sizeof wait, .fd = wait_fd, .arm = loop_arm};
    static const na_plugin_multi_recv multi_recv = {.size = sizeof multi_recv,
        .min_length = 1024,
        .recv_multi = loop_recv_multi};

    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0 && !cls->limits.no_wait)
        return &wait;
    if (strcmp(id, NA_PLUGIN_MULTI_RECV_ID) == 0 && !cls->limits.no_multi_recv)
        return &multi_recv;
    return NULL;
}

static const na_plugin_ops ops = {
    .size = sizeof ops,
    .ctx_create = ctx_create,
    .ctx_destroy = ctx_destroy,
    .addr_self = addr_self,
    .addr_lookup = addr_lookup,
    .addr_dup = addr_dup,
    .addr_free = addr_free,
    .addr_equal = addr_equal,
    .addr_hash = addr_hash,
    .addr_to_string = addr_to_string,
    .addr_serialize = addr_serialize,
    .addr_deserialize = addr_deserialize,
    .addr_forget = addr_forget,
    .buf_alloc = loop_buf_alloc,
    .buf_free = loop_buf_free,
    .buf_init = loop_buf_init,
    .send_unexpected = loop_send_unexpected,
    .recv_unexpected = loop_recv_unexpected,
    .send_expected = loop_send_expected,
    .recv_expected = loop_recv_expected,
    .mem_register = loop_mem_register,
    .mem_deregister = loop_mem_deregister,
    .mem_serialize = loop_mem_serialize,
    .mem_deserialize = loop_mem_deserialize,
    .mem_remote_free = loop_mem_free,
    .put = loop_put,
    .get = loop_get,
    .poll = loop_poll,
    .cancel = loop_cancel,
    .extension = extension,
};

static const char *const protocols[] = {"mem", NULL};

const na_plugin loop_plugin = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .min_host_minor = 0,
    .name = "loop",
    .version = "1.0",
    .protocols = protocols,
    .info = info,
    .open = open_class,
    .close = close_class,
};

/* Parses an address, with or without the plugin's name in front. Returns the id
 * of its class, or 0 if it is malformed. */
static uint32_t
number_of(const char *address)
{
    uint32_t number;

    if (strncmp(address, "loop+", 5) == 0)
        address += 5;
    return parse(address, &number) ? number : 0;
}

void
loop_kill(const char *address)
{
    na_plugin_class *cls;

    pthread_mutex_lock(&loop_lock);
    cls = loop_class_find(number_of(address));
    if (cls) {
        cls->dead = true;
        loop_peer_gone(cls->number);
    }
    pthread_mutex_unlock(&loop_lock);
}

void
loop_kill_contexts(const char *address)
{
    na_plugin_class *cls;

    pthread_mutex_lock(&loop_lock);
    cls = loop_class_find(number_of(address));
    if (cls)
        cls->broken = true;
    pthread_mutex_unlock(&loop_lock);
}

bool
loop_inject(const char *from, const char *to, uint32_t ctx, enum loop_kind kind,
    const void *bytes, uint64_t length, uint64_t tag)
{
    na_plugin_class *target;
    struct loop_message *message = NULL;
    uint32_t header;

    pthread_mutex_lock(&loop_lock);
    target = loop_class_find(number_of(to));
    if (target && ctx < LOOP_CONTEXTS_MAX && target->contexts[ctx]) {
        header = kind == LOOP_SEND_UNEXPECTED
                     ? target->limits.unexpected_header_size
                     : target->limits.expected_header_size;
        message =
            loop_message_create(number_of(from), 0, tag, bytes, length, header);
    }
    if (message)
        loop_deliver(target, ctx, kind, message);
    pthread_mutex_unlock(&loop_lock);
    return message != NULL;
}
