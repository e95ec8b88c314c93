/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing classes of the wire plugin. The protocol of a class
 * selects the rule that it breaks; "good" breaks none. */
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "wire.h"

#define FLAGS                                                                  \
    (NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |                         \
        NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE)
#define SEND_TIMEOUT_MAX_S 1000000U
#define SECOND UINT64_C(1000000000)
#define PAGE 4096U

const char *const wire_protocols[] = {
#define WIRE_VARIANT(name) #name,
#include "variants.def"
#undef WIRE_VARIANT
    NULL};

void
wire_log(const na_plugin_host *host, int32_t level, const char *file,
    uint32_t line, const char *format, ...)
{
    char text[256];
    va_list args;

    if (__atomic_load_n(host->log_level, __ATOMIC_RELAXED) < level)
        return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    for (char *c = text; *c; c++) /* one line, whatever the name contains */
        if ((unsigned char) *c < ' ' || *c == 127)
            *c = '?';
    host->log(host, level, file, line, text);
}

uint64_t
wire_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t) now.tv_sec * SECOND + (uint64_t) now.tv_nsec;
}

static int32_t
mem_alloc(na_plugin_class *cls, uint64_t length, void **memory_p)
{
    void *memory = NULL;

    if (length > 0 && length < SIZE_MAX - PAGE)
        memory = aligned_alloc(
            PAGE, ((size_t) length + PAGE - 1) & ~(size_t) (PAGE - 1));
    if (!memory)
        return NA_PLUGIN_E_NOMEM;
    memset(
        memory, wire_breaks(cls, WIRE_alloc_dirty) ? 0xaa : 0, (size_t) length);
    *memory_p = memory;
    return NA_PLUGIN_OK;
}

static void
mem_free(na_plugin_class *cls, void *memory)
{
    free(memory);
}

static uint32_t
report_entries(na_plugin_class *cls, uint32_t first,
    na_plugin_report_entry *entries, uint32_t max)
{
    uint32_t count = 0;

    pthread_mutex_lock(&cls->lock);
    na_plugin_report_entry all[] = {
        {"name", cls->self->name, 0},
        {"variant", cls->protocol, 0},
        {"messages_sent", NULL, cls->sent},
        {"messages_received", NULL, cls->received},
        {"messages_queued", NULL, cls->queued},
        {"connections", NULL, cls->connections},
    };
    pthread_mutex_unlock(&cls->lock);
    max += wire_breaks(cls, WIRE_report_overfills);
    for (; first < sizeof all / sizeof all[0] && count < max; first++)
        entries[count++] = all[first];
    return count;
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    static const na_plugin_multi_recv multi_recv = {
        .size = sizeof multi_recv,
        .min_length = WIRE_UNEXPECTED_MAX,
        .recv_multi = wire_recv_multi,
    };
    static const na_plugin_mem_alloc alloc = {
        .size = sizeof alloc, .alloc = mem_alloc, .free = mem_free};
    static const na_plugin_report report = {
        .size = sizeof report, .entries = report_entries};

    static const na_plugin_wait wait_short = {.size = 12};

    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0 &&
        wire_breaks(cls, WIRE_extension_short))
        return &wait_short;
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0)
        return cls->no_block ? NULL : &wire_wait;
    if (strcmp(id, NA_PLUGIN_MULTI_RECV_ID) == 0)
        return &multi_recv;
    if (strcmp(id, NA_PLUGIN_MEM_ALLOC_ID) == 0)
        return &alloc;
    if (wire_breaks(cls, WIRE_extension_any))
        return &report;
    return strcmp(id, NA_PLUGIN_REPORT_ID) == 0 ? &report : NULL;
}

static const na_plugin_ops ops = {
    .size = sizeof ops,
    .ctx_create = wire_ctx_create,
    .ctx_destroy = wire_ctx_destroy,
    .addr_self = wire_addr_self,
    .addr_lookup = wire_addr_lookup,
    .addr_dup = wire_addr_dup,
    .addr_free = wire_addr_free,
    .addr_equal = wire_addr_equal,
    .addr_hash = wire_addr_hash,
    .addr_to_string = wire_addr_to_string,
    .addr_serialize = wire_addr_serialize,
    .addr_deserialize = wire_addr_deserialize,
    .addr_forget = wire_addr_forget,
    .buf_alloc = wire_buf_alloc,
    .buf_free = wire_buf_free,
    .buf_init = wire_buf_init,
    .send_unexpected = wire_send_unexpected,
    .recv_unexpected = wire_recv_unexpected,
    .send_expected = wire_send_expected,
    .recv_expected = wire_recv_expected,
    .mem_register = wire_mem_register,
    .mem_deregister = wire_mem_deregister,
    .mem_serialize = wire_mem_serialize,
    .mem_deserialize = wire_mem_deserialize,
    .mem_remote_free = wire_mem_free,
    .put = wire_put,
    .get = wire_get,
    .poll = wire_poll,
    .cancel = wire_cancel,
    .extension = extension,
};

int32_t
wire_info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    bool known = false;

    for (uint32_t i = 0; wire_protocols[i]; i++) {
        na_plugin_device device = {.size = sizeof device,
            .protocol = wire_protocols[i],
            .name = "wire",
            .detail = "sockets of this host"};

        if (protocol && strcmp(protocol, wire_protocols[i]) != 0)
            continue;
        known = true;
        found(arg, &device);
    }
    return known || !protocol ? NA_PLUGIN_OK : NA_PLUGIN_E_PROTONOSUPPORT;
}

/* Index of the variant that a protocol selects; past the last if there is
 * none. */
static uint32_t
find_protocol(const char *protocol)
{
    uint32_t index = 0;

    while (wire_protocols[index] &&
           (!protocol || strcmp(protocol, wire_protocols[index]) != 0))
        index++;
    return index;
}

/* Unknown options are refused. */
static int32_t
check_info(const na_plugin_host *host, const na_plugin_open_info *open_info,
    const na_plugin_opened *opened)
{
    enum wire_variant variant;

    if (open_info->size < NA_PLUGIN_OPEN_INFO_SIZE_1_0 ||
        opened->size < NA_PLUGIN_OPENED_SIZE_1_0) {
        WIRE_LOG(host, ERROR, "tables of %u and %u bytes are too short",
            open_info->size, opened->size);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (!wire_protocols[find_protocol(open_info->protocol)]) {
        WIRE_LOG(host, ERROR, "unknown protocol \"%.40s\"",
            open_info->protocol ? open_info->protocol : "");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    variant = (enum wire_variant) find_protocol(open_info->protocol);
    if (variant == WIRE_open_reads_beyond)
        (void) ((const volatile char *) open_info)[open_info->size];
    if (variant == WIRE_open_refuses_wishes && open_info->hints != 0) {
        WIRE_LOG(host, ERROR, "unknown hints 0x%x", open_info->hints);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (variant == WIRE_open_takes_all)
        return NA_PLUGIN_OK;
    if (variant == WIRE_open_fails_mute && (open_info->flags & ~FLAGS) != 0)
        return NA_PLUGIN_E_INVALID_ARG;
    if ((open_info->flags & ~FLAGS) != 0 ||
        open_info->addr_format > NA_PLUGIN_ADDR_NATIVE ||
        open_info->traffic_class > NA_PLUGIN_TC_NETWORK_CTRL) {
        WIRE_LOG(host, ERROR,
            "unknown among flags 0x%x, address format %u, traffic class %u",
            open_info->flags, open_info->addr_format, open_info->traffic_class);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (open_info->name && open_info->name[0] &&
        !wire_name_valid(open_info->name, strlen(open_info->name))) {
        WIRE_LOG(host, ERROR,
            "\"%.60s\" is no name: 1 to %u of A-Z a-z 0-9 . _ -",
            open_info->name, WIRE_NAME_MAX);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return NA_PLUGIN_OK;
}

static void
mention_ignored(
    const na_plugin_host *host, const na_plugin_open_info *open_info)
{
    if (open_info->auth_key)
        WIRE_LOG(host, WARNING, "the authorization key is not used");
    if (open_info->ip_subnet ||
        open_info->traffic_class > NA_PLUGIN_TC_UNSPEC ||
        open_info->addr_format == NA_PLUGIN_ADDR_IPV4 ||
        open_info->addr_format == NA_PLUGIN_ADDR_IPV6 ||
        (open_info->flags & NA_PLUGIN_OPEN_MEM_DEVICE) ||
        open_info->max_unexpected_size > 0 ||
        open_info->max_expected_size > 0 ||
        open_info->max_contexts > WIRE_CONTEXTS)
        WIRE_LOG(host, INFO,
            "subnet, address format, traffic class, device memory, sizes of "
            "messages and contexts above %u are not used",
            WIRE_CONTEXTS);
}

static const na_plugin_setting send_timeout = {
    .size = sizeof send_timeout,
    .kind = NA_PLUGIN_SETTING_DURATION,
    .most = SEND_TIMEOUT_MAX_S * SECOND,
    .key = wire_send_timeout_key,
    .initial = "120s",
    .text = "how long a send waits for room; 0: without a limit",
};

static const na_plugin_setting quiet = {
    .size = sizeof quiet,
    .kind = NA_PLUGIN_SETTING_BOOLEAN,
    .most = 1,
    .key = "wire.quiet",
    .initial = "no",
    .text = "changes nothing",
};

const na_plugin_setting *const wire_settings[] = {&send_timeout, &quiet, NULL};

/* The class's copy of the host table. */
static const na_plugin_host *
host_of(const na_plugin_class *cls, const na_plugin_host *host)
{
    static const na_plugin_host *first;

    if (!wire_breaks(cls, WIRE_static_host))
        return host;
    if (!first)
        first = host;
    return first;
}

static na_plugin_class *
class_create(const na_plugin_host *host, const na_plugin_open_info *open_info)
{
    na_plugin_class *cls = calloc(1, sizeof *cls);
    uint32_t index = find_protocol(open_info->protocol);

    if (!cls)
        return NULL;
    cls->protocol = wire_protocols[index];
    cls->broken = (enum wire_variant) index;
    cls->host = host_of(cls, host);
    cls->no_block = open_info->flags & NA_PLUGIN_OPEN_NO_BLOCK;
    cls->no_retry = (open_info->flags & NA_PLUGIN_OPEN_NO_RETRY) ||
                    wire_breaks(cls, WIRE_again_unasked);
    cls->epoll = cls->listener = -1;
    cls->timer_ns = UINT64_MAX;
    TAILQ_INIT(&cls->addrs);
    TAILQ_INIT(&cls->mems);
    TAILQ_INIT(&cls->conns);
    TAILQ_INIT(&cls->ended);
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++) {
        na_plugin_ctx *ctx = &cls->contexts[i];

        ctx->cls = cls;
        ctx->id = i;
        ctx->wait_fd = ctx->bell = -1;
        TAILQ_INIT(&ctx->pending);
        TAILQ_INIT(&ctx->ready);
        TAILQ_INIT(&ctx->recvs);
        TAILQ_INIT(&ctx->expected);
        TAILQ_INIT(&ctx->kept);
        TAILQ_INIT(&ctx->early);
    }
    pthread_mutex_init(&cls->lock, NULL);
    return cls;
}

/* Peers that have connected but were not accepted have to be disconnected as
 * well. */
static void
stop_listening(na_plugin_class *cls)
{
    int fd;

    if (cls->listener < 0)
        return;
    shutdown(cls->listener, SHUT_RDWR);
    while ((fd = accept4(cls->listener, NULL, NULL,
                SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0) {
        shutdown(fd, SHUT_RDWR);
        close(fd);
    }
    close(cls->listener);
}

void
wire_close(na_plugin_class *cls)
{
    struct wire_conn *conn;
    na_plugin_addr *addr;
    na_plugin_mem *mem;
    uint32_t left = 0;

    stop_listening(cls);
    while ((conn = TAILQ_FIRST(&cls->conns)) != NULL)
        wire_conn_end(conn, NA_PLUGIN_E_HOSTUNREACH);
    wire_conns_free(&cls->ended);
    for (uint32_t i = 0; i < WIRE_CONTEXTS; i++)
        wire_ctx_destroy(&cls->contexts[i]);
    if (cls->self)
        wire_addr_put(cls, cls->self);
    for (; (addr = TAILQ_FIRST(&cls->addrs)) != NULL; left++) {
        TAILQ_REMOVE(&cls->addrs, addr, next);
        free(addr);
    }
    for (; (mem = TAILQ_FIRST(&cls->mems)) != NULL; left++) {
        TAILQ_REMOVE(&cls->mems, mem, next);
        free(mem);
    }
    if (left > 0)
        WIRE_LOG(cls->host, WARNING,
            "closed with %u addresses and registrations left", left);
    if (cls->epoll >= 0 && !wire_breaks(cls, WIRE_leaks_descriptor) &&
        !(cls->no_block && wire_breaks(cls, WIRE_busy_leaks_descriptor)))
        close(cls->epoll);
    pthread_mutex_destroy(&cls->lock);
    wire_violation_finish(cls);
    if (!wire_breaks(cls, WIRE_leaks_memory))
        free(cls);
}

/* Name, instance and sockets of a class. */
static int32_t
class_start(na_plugin_class *cls, const na_plugin_open_info *open_info)
{
    char name[WIRE_NAME_MAX + 1];
    bool named = open_info->name && open_info->name[0];

    cls->send_timeout_ns = cls->host->number(cls->host, wire_send_timeout_key);
    if (wire_breaks(cls, WIRE_setting_unlisted))
        (void) cls->host->text(cls->host, "wire.name");
    if (wire_breaks(cls, WIRE_setting_refused) &&
        cls->host->number(cls->host, "wire.quiet") != 0) {
        WIRE_LOG(cls->host, ERROR, "wire.quiet is not supported");
        return NA_PLUGIN_E_OPNOTSUPPORTED;
    }
    cls->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (cls->epoll < 0 ||
        getrandom(&cls->instance, sizeof cls->instance, 0) < 0) {
        WIRE_LOG(cls->host, ERROR, "no descriptor or no random number: %s",
            strerror(errno));
        return NA_PLUGIN_E_NOMEM;
    }
    snprintf(name, sizeof name, "%s", named ? open_info->name : "");
    if (!named)
        snprintf(name, sizeof name, "%d-%016llx", (int) getpid(),
            (unsigned long long) cls->instance);
    cls->self = wire_addr_get(cls, name, strlen(name));
    if (!cls->self) {
        WIRE_LOG(cls->host, ERROR, "no memory for an address");
        return NA_PLUGIN_E_NOMEM;
    }
    return wire_listen(cls, name, open_info->flags & NA_PLUGIN_OPEN_LISTEN);
}

int32_t
wire_open(const na_plugin_host *host, const na_plugin_open_info *open_info,
    na_plugin_opened *opened)
{
    int32_t code = check_info(host, open_info, opened);
    na_plugin_class *cls;

    if (code != NA_PLUGIN_OK)
        return code;
    cls = class_create(host, open_info);
    if (!cls) {
        WIRE_LOG(host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    code = class_start(cls, open_info);
    if (code != NA_PLUGIN_OK) {
        wire_close(cls);
        return code;
    }
    mention_ignored(host, open_info);
    opened->features = NA_PLUGIN_FEATURE_NODE_LOCAL;
    opened->cls = cls;
    opened->ops = &ops;
    opened->op_size = sizeof(struct wire_op);
    opened->op_align = _Alignof(struct wire_op);
    opened->max_unexpected_size = WIRE_UNEXPECTED_MAX;
    opened->max_expected_size = WIRE_EXPECTED_MAX;
    opened->unexpected_header_size = WIRE_UNEXPECTED_HEADER;
    opened->expected_header_size = WIRE_EXPECTED_HEADER;
    opened->max_tag = WIRE_TAG_MAX;
    opened->max_segments = WIRE_SEGMENTS;
    opened->max_rma_size = 0;
    opened->max_contexts = WIRE_CONTEXTS;
    wire_violation_opened(cls, opened);
    if (wire_breaks(cls, WIRE_signal_changed))
        signal(SIGPIPE, SIG_IGN);
    return NA_PLUGIN_OK;
}
