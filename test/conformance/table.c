/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire plugin's symbol. Defects of the object as a whole are selected when
 * it is compiled; see the file objects. */
#include "wire.h"

#ifndef TABLE_MAGIC
#define TABLE_MAGIC NA_PLUGIN_MAGIC
#endif
#ifndef TABLE_MAJOR
#define TABLE_MAJOR NA_PLUGIN_ABI_MAJOR
#endif
#ifndef TABLE_MINOR
#define TABLE_MINOR NA_PLUGIN_ABI_MINOR
#endif
#ifndef TABLE_HOST_MINOR
#define TABLE_HOST_MINOR 0
#endif
#ifndef TABLE_SIZE
#define TABLE_SIZE sizeof(na_plugin)
#endif
#ifndef TABLE_RESERVED
#define TABLE_RESERVED 0
#endif
#ifndef TABLE_FLAGS
#define TABLE_FLAGS 0
#endif
#ifndef TABLE_NAME
#define TABLE_NAME "wire"
#endif

#ifdef TABLE_SECOND
NA_PLUGIN_EXPORT const int wire_second_symbol = 1;
#endif

#ifdef TABLE_UNDEFINED
/* Never called: the object must be rejected before it is loaded. */
void *HG_Init(const char *text, unsigned char listen);
extern void *(*const wire_undefined)(const char *text, unsigned char listen);
void *(*const wire_undefined)(const char *text, unsigned char listen) = HG_Init;
#endif

#ifdef TABLE_STATIC_TLS
static __thread uint64_t opened __attribute__((tls_model("initial-exec")));
#endif

static int32_t
info(const na_plugin_host *host, const char *protocol, void *arg,
    void (*found)(void *arg, const na_plugin_device *device))
{
    int32_t code = wire_info(host, protocol, arg, found);

#ifdef TABLE_INFO_KNOWS_ALL
    code = NA_PLUGIN_OK;
#endif
    return code;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *into)
{
#ifdef TABLE_STATIC_TLS
    opened++;
#endif
    return wire_open(host, info, into);
}

const char wire_send_timeout_key[] = "wire.send_timeout";

#ifdef TABLE_SETTING_KEY
#define ONE_DIGIT(...)                                                         \
    {                                                                          \
        .size = sizeof(na_plugin_setting), .kind = NA_PLUGIN_SETTING_NUMBER,   \
        .most = 9, .text = "a digit", .key = __VA_ARGS__                       \
    }
static const na_plugin_setting first = ONE_DIGIT("wire.n", .initial = "1");
static const na_plugin_setting second = ONE_DIGIT(TABLE_SETTING_KEY);
static const na_plugin_setting *const two[] = {&first, &second, NULL};
#define TABLE_SETTINGS two
#else
#define TABLE_SETTINGS wire_settings
#endif

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(wire) = {
    .magic = TABLE_MAGIC,
    .abi_major = TABLE_MAJOR,
    .abi_minor = TABLE_MINOR,
    .size = TABLE_SIZE,
    .min_host_minor = TABLE_HOST_MINOR,
    .reserved_zero = TABLE_RESERVED,
    .name = TABLE_NAME,
    .version = "1.0",
    .protocols = wire_protocols,
    .flags = NA_PLUGIN_OPAQUE_NAME | TABLE_FLAGS,
    .priority = -100,
    .info = info,
    .open = open_class,
    .close = wire_close,
    .settings = TABLE_SETTINGS,
};
