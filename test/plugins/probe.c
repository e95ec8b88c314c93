/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A plugin that opens and does nothing, for tests of search and loading. Its
 * defect is selected when it is compiled.
 */
#include "na_plugin.h"

#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/open.h"
#include "common/report.h"
#include "common/setting.h"

#ifndef PROBE_NAME
#define PROBE_NAME "probe"
#endif
#ifndef PROBE_VERSION
#define PROBE_VERSION "1.2.3"
#endif
#ifndef PROBE_PROTOCOLS
#define PROBE_PROTOCOLS "alpha", "beta"
#endif
#ifndef PROBE_PRIORITY
#define PROBE_PRIORITY 10
#endif
#ifndef PROBE_FLAGS
#define PROBE_FLAGS 0
#endif
#ifndef PROBE_MAGIC
#define PROBE_MAGIC NA_PLUGIN_MAGIC
#endif
#ifndef PROBE_MAJOR
#define PROBE_MAJOR NA_PLUGIN_ABI_MAJOR
#endif
#ifndef PROBE_MINOR
#define PROBE_MINOR NA_PLUGIN_ABI_MINOR
#endif
#ifndef PROBE_MIN_HOST_MINOR
#define PROBE_MIN_HOST_MINOR 0
#endif
#ifndef PROBE_SIZE
#define PROBE_SIZE sizeof(na_plugin)
#endif
#ifndef PROBE_OPEN_FAILS
#define PROBE_OPEN_FAILS 0
#endif
#ifndef PROBE_NO_OPEN
#define PROBE_NO_OPEN 0
#endif
#ifndef PROBE_SETTINGS
#define PROBE_SETTINGS NULL
#endif
#ifndef PROBE_RESERVED
#define PROBE_RESERVED 0
#endif

#if defined(PROBE_NO_SYMBOL)

/* A shared object, but not a plugin. */
NA_PLUGIN_EXPORT const int probe_is_no_plugin = 1;

#elif defined(PROBE_CUT_OFF)

/* A table that is shorter than its size field; the size is correct elsewhere. */
struct head {
    uint32_t magic;
    uint16_t abi_major;
    uint16_t abi_minor;
    uint32_t size;
    uint16_t min_host_minor;
    uint16_t reserved_zero;
};
NA_PLUGIN_EXPORT const struct head na_plugin_v1 = {
    PROBE_MAGIC, PROBE_MAJOR, PROBE_MINOR, PROBE_SIZE, 0, 0};

#else

#ifdef PROBE_UNDEFINED
void probe_nobody_defines(void);
#endif

#ifdef PROBE_TRACE
/* Leaves a trace of having been loaded. */
static void __attribute__((constructor)) trace(void)
{
    setenv(PROBE_TRACE, "1", 1);
}
#endif

static int the_class;

static int32_t
refuse(void)
{
    return NA_PLUGIN_E_OPNOTSUPPORTED;
}

static int32_t
ctx_create(
    na_plugin_class *cls, uint32_t id, void *core_ctx, na_plugin_ctx **ctx_p)
{
    return refuse();
}

static void
ctx_destroy(na_plugin_ctx *ctx)
{
}

static int32_t
addr_self(na_plugin_class *cls, na_plugin_addr **addr_p)
{
    return refuse();
}

static int32_t
addr_lookup(na_plugin_class *cls, const char *name, na_plugin_addr **addr_p)
{
    return refuse();
}

static void
addr_nothing(na_plugin_class *cls, na_plugin_addr *addr)
{
}

static int32_t
addr_equal(
    na_plugin_class *cls, const na_plugin_addr *a, const na_plugin_addr *b)
{
    return a == b;
}

static uint64_t
addr_hash(na_plugin_class *cls, const na_plugin_addr *addr)
{
    return (uintptr_t) addr;
}

static int32_t
send_message(na_plugin_ctx *ctx, void *op, const void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    return refuse();
}

static int32_t
recv_unexpected(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, uint32_t flags)
{
    return refuse();
}

static int32_t
recv_expected(na_plugin_ctx *ctx, void *op, void *buffer, uint64_t length,
    void *buffer_data, na_plugin_addr *peer, uint32_t peer_ctx, uint64_t tag,
    uint32_t flags)
{
    return refuse();
}

static int32_t
poll_nothing(na_plugin_ctx *ctx, na_plugin_event *events, uint32_t max)
{
    return 0;
}

static int32_t
cancel(na_plugin_ctx *ctx, void *op)
{
    return NA_PLUGIN_OK;
}

static uint32_t
entries(na_plugin_class *cls, uint32_t first, na_plugin_report_entry *into,
    uint32_t max)
{
    static const struct {
        const char *choice;
        uint64_t counter;
    } of = {"blue", 42};
    static const struct tp_report_line lines[] = {
        {"probe.choice", TP_REPORT_TEXT, 0, NULL},
        {"probe.counter", TP_REPORT_COUNTER, sizeof(of.choice), NULL}};

    return tp_report_entries(lines, 2, &of, first, into, max);
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    static const na_plugin_report report = {
        .size = sizeof report, .entries = entries};

    return strcmp(id, NA_PLUGIN_REPORT_ID) == 0 ? &report : NULL;
}

static const na_plugin_ops the_ops = {
    .size = sizeof the_ops,
    .ctx_create = ctx_create,
    .ctx_destroy = ctx_destroy,
    .addr_self = addr_self,
    .addr_lookup = addr_lookup,
    .addr_dup = addr_nothing,
    .addr_free = addr_nothing,
    .addr_equal = addr_equal,
    .addr_hash = addr_hash,
    .buf_alloc = tp_buf_alloc,
    .buf_free = tp_buf_free,
    .buf_init = tp_buf_init,
    .send_unexpected = send_message,
    .recv_unexpected = recv_unexpected,
    .send_expected = send_message,
    .recv_expected = recv_expected,
    .poll = poll_nothing,
    .cancel = cancel,
    .extension = extension,
};

/* With PROBE_TRAP no function of the plugin may be called. */
static void
called(void)
{
#ifdef PROBE_TRAP
    abort();
#endif
#ifdef PROBE_UNDEFINED
    probe_nobody_defines();
#endif
}

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    static const char *const protocols[] = {PROBE_PROTOCOLS, NULL};

    called();
    for (const char *const *p = protocols; *p; p++) {
        const na_plugin_device device = {.size = sizeof device,
            .protocol = protocol ? protocol : *p,
            .name = "probe0",
            .detail = "not a device"};

        found(arg, &device);
        if (protocol)
            break;
    }
    return NA_PLUGIN_OK;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *open_info,
    na_plugin_opened *opened)
{
    called();
    if (PROBE_OPEN_FAILS) {
        TP_LOG(host, ERROR, "the probe has no device");
        return NA_PLUGIN_E_NODEV;
    }
    opened->cls = (na_plugin_class *) &the_class;
    opened->ops = &the_ops;
    opened->op_size = 64;
    opened->op_align = 8;
    opened->max_unexpected_size = 4096;
    opened->max_expected_size = 8192;
    opened->max_tag = UINT32_MAX;
    opened->max_segments = 1;
    opened->max_contexts = 4;
    return NA_PLUGIN_OK;
}

static void
close_class(na_plugin_class *cls)
{
    called();
}

static const char *const the_protocols[] = {PROBE_PROTOCOLS, NULL};

/* With -DPROBE_SETTINGS=settings. */
__attribute__((unused)) static const na_plugin_setting *const settings[] = {
    TP_SETTING(BYTES, 1, 1U << 20, "probe.room", "4K", "bytes of room"), NULL};

#define PROBE_TABLE                                                            \
    {                                                                          \
        .magic = PROBE_MAGIC, .abi_major = PROBE_MAJOR,                        \
        .abi_minor = PROBE_MINOR, .size = PROBE_SIZE,                          \
        .min_host_minor = PROBE_MIN_HOST_MINOR,                                \
        .reserved_zero = PROBE_RESERVED, .name = PROBE_NAME,                   \
        .version = PROBE_VERSION, .protocols = the_protocols,                  \
        .flags = PROBE_FLAGS, .priority = PROBE_PRIORITY,                      \
        .settings = PROBE_SETTINGS, .info = info,                              \
        .open = PROBE_NO_OPEN ? NULL : open_class, .close = close_class        \
    }

#ifdef PROBE_GROWN
/* What a later minor version may add to the table. */
struct grown {
    na_plugin first;
    void *later[4];
};
NA_PLUGIN_EXPORT const struct grown NA_PLUGIN_SYMBOL(probe) = {
    .first = PROBE_TABLE};
#else
NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(probe) = PROBE_TABLE;
#endif

#endif
