/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin that reaches only its own process, and violates the ABI in one way:
 * the setting wrong.way (TALARIA_WRONG_WAY) selects it. Without it the plugin
 * is correct. Single-threaded.
 */
#include "wrong.h"

#include "common/address.h"
#include "common/open.h"
#include "common/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool
wrong_is(const na_plugin_class *cls, const char *way)
{
    return strcmp(cls->way, way) == 0;
}

static int32_t
ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    na_plugin_ctx *ctx;

    if (wrong_is(cls, "ctx_create_code"))
        return -99;
    if (wrong_is(cls, "ctx_create_null"))
        return NA_PLUGIN_OK;
    ctx = calloc(1, sizeof *ctx);
    if (!ctx)
        return NA_PLUGIN_E_NOMEM;
    ctx->cls = cls;
    ctx->fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    *ctx_p = ctx;
    return NA_PLUGIN_OK;
}

static void
ctx_destroy(na_plugin_ctx *ctx)
{
    if (ctx->fd >= 0)
        close(ctx->fd);
    tp_events_fini(&ctx->events);
    free(ctx);
}

static int32_t
addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    if (wrong_is(cls, "addr_self_code"))
        return 7;
    if (wrong_is(cls, "addr_self_null"))
        return NA_PLUGIN_OK;
    cls->addr_refs++;
    *addr_p = (na_plugin_addr *) cls;
    return NA_PLUGIN_OK;
}

static int32_t
addr_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    if (wrong_is(cls, "addr_lookup_code"))
        return -99;
    if (wrong_is(cls, "addr_lookup_null"))
        return NA_PLUGIN_OK;
    return addr_self(cls, addr_p);
}

static void
addr_dup(na_plugin_class *cls, na_plugin_addr *addr)
{
    cls->addr_refs++;
}

static void
addr_free(na_plugin_class *cls, na_plugin_addr *addr)
{
    cls->addr_refs--;
}

static int32_t
addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    if (wrong_is(cls, "addr_equal_two"))
        return 2;
    return !wrong_is(cls, "transfer_never") && a == b;
}

static uint64_t
addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return (uintptr_t) addr;
}

/* Writes the serialized form of an address or a registration. */
static int32_t
give(const na_plugin_class *cls, const char *entry, const char *form,
    char *buffer, uint64_t *size_p)
{
    uint64_t room = *size_p, size = strlen(form) + 1;
    size_t length = strlen(entry);

    if (strncmp(cls->way, entry, length) == 0) {
        const char *way = cls->way + length;

        if (strcmp(way, "_code") == 0)
            return -99;
        if (strcmp(way, "_huge") == 0)
            size = UINT64_MAX;
        else if (strcmp(way, "_nothing") == 0)
            size = 0;
        *size_p = strcmp(way, "_beyond") == 0 && buffer ? room + 1 : size;
        if (buffer && room >= strlen(form))
            /* without its terminating zero */
            memcpy(buffer, form, strlen(form));
        return NA_PLUGIN_OK;
    }
    int32_t ret = tp_size_out(buffer, size_p, size);
    if (ret == NA_PLUGIN_OK && buffer)
        memcpy(buffer, form, size);
    return ret;
}

static int32_t
addr_to_string(na_plugin_class *cls, const na_plugin_addr *addr, char *buffer,
    uint64_t *size_p)
{
    return give(cls, "addr_to_string", "mem://1", buffer, size_p);
}

static int32_t
addr_serialize(na_plugin_class *cls, const na_plugin_addr *addr, void *buffer,
    uint64_t *size_p)
{
    return give(cls, "addr_serialize", "1", buffer, size_p);
}

static int32_t
addr_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_addr **addr_p)
{
    if (wrong_is(cls, "addr_deserialize_null"))
        return NA_PLUGIN_OK;
    return addr_self(cls, addr_p);
}

static int32_t
buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    if (wrong_is(cls, "buf_alloc_null"))
        return NA_PLUGIN_OK;
    return tp_buf_alloc(cls, length, kinds, buffer_p, buffer_data_p);
}

static int32_t
buf_init(na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind)
{
    return wrong_is(cls, "buf_init_code") ? 7 : NA_PLUGIN_OK;
}

static int32_t
mem_register(
    na_plugin_class *cls, const na_plugin_mem_info *info, na_plugin_mem **mem_p)
{
    if (wrong_is(cls, "mem_register_code"))
        return -99;
    if (!wrong_is(cls, "mem_register_null"))
        *mem_p = (na_plugin_mem *) cls;
    return NA_PLUGIN_OK;
}

static void
mem_release(na_plugin_class *cls, na_plugin_mem *mem)
{
}

static int32_t
mem_serialize(na_plugin_class *cls, const na_plugin_mem *mem, void *buffer,
    uint64_t *size_p)
{
    return give(cls, "mem_serialize", "1", buffer, size_p);
}

static int32_t
mem_deserialize(na_plugin_class *cls, const void *buffer, uint64_t length,
    na_plugin_mem **mem_p)
{
    if (!wrong_is(cls, "mem_deserialize_null"))
        *mem_p = (na_plugin_mem *) cls;
    return NA_PLUGIN_OK;
}

static int32_t
wait_fd(na_plugin_ctx *ctx)
{
    int fd = ctx->fd;

    if (wrong_is(ctx->cls, "fd_negative"))
        return -7;
    if (wrong_is(ctx->cls, "fd_closed")) {
        close(fd);
        ctx->fd = -1;
    }
    return fd;
}

static int32_t
arm(na_plugin_ctx *ctx, uint64_t *sleep_ns_p)
{
    if (wrong_is(ctx->cls, "arm_code"))
        return -99;
    if (wrong_is(ctx->cls, "arm_two"))
        return 2;
    if (ctx->fd >= 0) {
        close(ctx->fd); /* fd_closed_later */
        ctx->fd = -1;
    }
    *sleep_ns_p = UINT64_MAX;
    return NA_PLUGIN_OK;
}

static int32_t
alloc(na_plugin_class *cls, uint64_t length, void **memory_p)
{
    return wrong_is(cls, "alloc_code") ? 7 : NA_PLUGIN_OK; /* and no memory */
}

static void
alloc_free(na_plugin_class *cls, void *memory)
{
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *into,
    uint32_t max)
{
    if (wrong_is(cls, "entries_many"))
        return max + 1;
    into[0] = (na_plugin_report_entry){.text = "blue"};
    return 1;
}

static int32_t
recv_multi(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    return 7;
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    static na_plugin_wait wait;
    static na_plugin_multi_recv multi;
    static na_plugin_mem_alloc memory;
    static na_plugin_report report;
    bool null = strstr(cls->way, "_table_null") != NULL;

    wait = (na_plugin_wait){.size = sizeof wait, .fd = wait_fd, .arm = arm};
    multi = (na_plugin_multi_recv){
        .size = sizeof multi, .min_length = 64, .recv_multi = recv_multi};
    memory = (na_plugin_mem_alloc){
        .size = sizeof memory, .alloc = alloc, .free = alloc_free};
    report = (na_plugin_report){.size = sizeof report, .entries = entries};
    if (null) {
        wait.arm = NULL;
        multi.recv_multi = NULL;
        memory.free = NULL;
        report.entries = NULL;
    }
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0 &&
        (strncmp(cls->way, "fd_", 3) == 0 || strncmp(cls->way, "arm", 3) == 0 ||
            wrong_is(cls, "wait_table_null")))
        return &wait;
    if (strcmp(id, NA_PLUGIN_MULTI_RECV_ID) == 0 &&
        strncmp(cls->way, "multi", 5) == 0)
        return &multi;
    if (strcmp(id, NA_PLUGIN_MEM_ALLOC_ID) == 0 &&
        strncmp(cls->way, "alloc", 5) == 0)
        return &memory;
    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0 &&
        strncmp(cls->way, "entries", 7) == 0)
        return &report;
    return NULL;
}

static const na_plugin_ops the_ops = {
    .size = sizeof the_ops,
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
    .buf_alloc = buf_alloc,
    .buf_free = tp_buf_free,
    .buf_init = buf_init,
    .send_unexpected = wrong_send_unexpected,
    .recv_unexpected = wrong_recv_unexpected,
    .send_expected = wrong_send_expected,
    .recv_expected = wrong_recv_expected,
    .mem_register = mem_register,
    .mem_deregister = mem_release,
    .mem_serialize = mem_serialize,
    .mem_deserialize = mem_deserialize,
    .mem_remote_free = mem_release,
    .put = wrong_put,
    .get = wrong_get,
    .poll = wrong_poll,
    .cancel = wrong_cancel,
    .extension = extension,
};

static const na_plugin_setting *const settings[] = {
    TP_SETTING(TEXT, 0, 64, "wrong.way", "", "what it does wrong"), NULL};

static const char *
way_of(const na_plugin_host *host)
{
    return host->text(host, "wrong.way");
}

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    const char *way = way_of(host);
    na_plugin_device device = {
        .size = sizeof device, .protocol = "mem", .name = "wrong0"};

    if (strcmp(way, "info_code") == 0)
        return 7;
    if (strcmp(way, "info_short") == 0)
        device.size = 8;
    if (strcmp(way, "info_no_protocol") == 0)
        device.protocol = NULL;
    if (strcmp(way, "info_arg") == 0)
        found(NULL, &device);
    found(arg, strcmp(way, "info_null") == 0 ? NULL : &device);
    return NA_PLUGIN_OK;
}

static void
call_host(const na_plugin_host *host, const na_plugin_class *cls)
{
    if (wrong_is(cls, "log_null"))
        host->log(host, NA_PLUGIN_LOG_ERROR, "x.c", 1, NULL);
    if (wrong_is(cls, "log_level"))
        host->log(host, 77, "x.c", 1, "loud");
    if (wrong_is(cls, "log_no_file"))
        host->log(host, NA_PLUGIN_LOG_ERROR, NULL, 1, "nowhere");
    if (wrong_is(cls, "log_no_host"))
        host->log(NULL, NA_PLUGIN_LOG_ERROR, "x.c", 1, "nobody");
    if (wrong_is(cls, "wake_null"))
        host->wake(host, NULL);
    if (wrong_is(cls, "number_null"))
        (void) host->number(host, NULL);
    if (wrong_is(cls, "text_unlisted") &&
        strcmp(host->text(host, "wrong.ways"), "") != 0)
        abort();
    if (wrong_is(cls, "text_no_host"))
        (void) host->text(NULL, "wrong.way");
    if (wrong_is(cls, "extension_null"))
        (void) host->extension(host, NULL);
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *open_info,
    na_plugin_opened *opened)
{
    na_plugin_class *cls = calloc(1, sizeof *cls);

    if (!cls)
        return NA_PLUGIN_E_NOMEM;
    cls->way = way_of(host);
    call_host(host, cls);
    opened->cls = cls;
    opened->ops = &the_ops;
    opened->op_size = sizeof(struct tp_recv);
    opened->op_align = _Alignof(struct tp_recv);
    opened->max_unexpected_size = WRONG_SIZE;
    opened->max_expected_size = WRONG_SIZE;
    opened->max_tag = UINT32_MAX;
    opened->max_segments = 1;
    opened->max_contexts = 4;
    if (wrong_is(cls, "open_code") || wrong_is(cls, "open_positive")) {
        int32_t code = wrong_is(cls, "open_code") ? -99 : 7;

        free(cls);
        return code;
    }
    return NA_PLUGIN_OK;
}

static void
close_class(na_plugin_class *cls)
{
    /* A message that is refused for its length or tag still has a source. */
    bool all_given_back = wrong_is(cls, "") || wrong_is(cls, "too_long") ||
                          wrong_is(cls, "tag_too_large");

    if (all_given_back && cls->addr_refs != 0) {
        fprintf(stderr, "wrong: %u references to addresses are left\n",
            cls->addr_refs);
        abort();
    }
    free(cls);
}

static const char *const protocols[] = {"mem", NULL};

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(wrong) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .name = "wrong",
    .version = "1",
    .protocols = protocols,
    .info = info,
    .open = open_class,
    .close = close_class,
    .settings = settings,
};
