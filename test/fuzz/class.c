/* SPDX-License-Identifier: BSD-3-Clause */
/* A class of a plugin, and its decoders. */
#include "fuzz.h"
#include "setting/setting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The registration that may be read has these bytes, and no other memory. */
#define PUBLIC 0x5b

static const int32_t level = NA_PLUGIN_LOG_WARNING;

static void
log_line(const na_plugin_host *host, int32_t at, const char *file,
    uint32_t line, const char *text)
{
    /* Reads all of the text. */
    if (strlen(text) > 0 && getenv("FUZZ_LOG"))
        fprintf(stderr, "%s:%u: %s\n", file, line, text);
}

/* What users set is initial. */
static uint64_t
number(const na_plugin_host *host, const char *key)
{
    const struct fuzz_class *c = host->priv;
    const na_plugin_setting *const *list = c->plugin->settings;
    uint64_t value = 0;

    for (size_t i = 0; list[i]; i++)
        if (strcmp(list[i]->key, key) == 0)
            fuzz_require(setting_parse(list[i], list[i]->initial, &value));
    return value;
}

static const char *
text(const na_plugin_host *host, const char *key)
{
    return "";
}

static void
wake(const na_plugin_host *host, void *core_ctx)
{
}

static const void *
extension(const na_plugin_host *host, const char *id)
{
    return NULL;
}

static const na_plugin_host fuzz_host = {.size = sizeof fuzz_host,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .log_level = &level,
    .log = log_line,
    .number = number,
    .text = text,
    .wake = wake,
    .extension = extension};

static void
learn_address(struct fuzz_class *c)
{
    uint64_t size = sizeof c->address;
    na_plugin_addr *self;

    fuzz_require(c->ops->addr_self(c->cls, &self) == NA_PLUGIN_OK);
    if (c->ops->addr_to_string(c->cls, self, c->address, &size) != NA_PLUGIN_OK)
        c->address[0] = '\0';
    c->ops->addr_free(c->cls, self);
}

static void
register_own(struct fuzz_class *c)
{
    static char memory[2][100];
    const na_plugin_segment segments[2] = {
        {memory[0], sizeof memory[0]}, {memory[1], sizeof memory[1]}};

    memset(memory, PUBLIC, sizeof memory);
    fuzz_require(
        c->ops->mem_register(c->cls,
            &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0, segments,
                c->opened.max_segments > 1 ? 2 : 1, NA_PLUGIN_MEM_READ, 0, 0},
            &c->own) == NA_PLUGIN_OK);
}

void
fuzz_class_open(struct fuzz_class *c, const na_plugin *plugin,
    const char *protocol, const char *host, bool listen)
{
    const na_plugin_open_info info = {.size = sizeof info,
        .flags = listen ? NA_PLUGIN_OPEN_LISTEN : 0,
        .protocol = protocol,
        .name = host,
        .host = host,
        .port = -1,
        .max_contexts = 1};

    memset(c, 0, sizeof *c);
    c->plugin = plugin;
    c->host = fuzz_host;
    c->host.priv = c;
    c->opened.size = sizeof c->opened;
    if (plugin->open(&c->host, &info, &c->opened) != NA_PLUGIN_OK) {
        fprintf(stderr, "cannot open %s+%s\n", plugin->name, protocol);
        exit(1);
    }
    c->ops = c->opened.ops;
    c->cls = c->opened.cls;
    fuzz_require(c->ops->ctx_create(c->cls, 0, c, &c->ctx) == NA_PLUGIN_OK);
    learn_address(c);
    register_own(c);
}

void
fuzz_class_close(struct fuzz_class *c)
{
    c->ops->mem_deregister(c->cls, c->own);
    c->ops->ctx_destroy(c->ctx);
    c->plugin->close(c->cls);
}

uint32_t
fuzz_class_poll(struct fuzz_class *c)
{
    na_plugin_event events[16];
    int32_t count = c->ops->poll(c->ctx, events, 16);

    fuzz_require(count >= 0 && count <= 16);
    for (int32_t i = 0; i < count; i++)
        if (events[i].source)
            c->ops->addr_free(c->cls, events[i].source);
    return (uint32_t) count;
}

/* An address in both its forms, each of which leads back to it. */
static void
check_addr(struct fuzz_class *c, na_plugin_addr *addr)
{
    char text[1024];
    uint8_t bytes[1024];
    uint64_t size = sizeof text;
    na_plugin_addr *again;

    if (c->ops->addr_to_string(c->cls, addr, text, &size) == NA_PLUGIN_OK &&
        c->ops->addr_lookup(c->cls, text, &again) == NA_PLUGIN_OK) {
        fuzz_require(c->ops->addr_equal(c->cls, addr, again) == 1);
        c->ops->addr_free(c->cls, again);
    }
    size = sizeof bytes;
    if (c->ops->addr_serialize(c->cls, addr, bytes, &size) == NA_PLUGIN_OK) {
        fuzz_require(c->ops->addr_deserialize(c->cls, bytes, size, &again) ==
                     NA_PLUGIN_OK);
        fuzz_require(c->ops->addr_equal(c->cls, addr, again) == 1);
        c->ops->addr_free(c->cls, again);
    }
    c->ops->addr_free(c->cls, addr);
}

/* Requests memory by a descriptor that an attacker has forged. The data that
 * arrive are of the only readable registration. */
static void
try_get(struct fuzz_class *c, na_plugin_mem *remote, uint64_t offset)
{
    static char memory[64];
    const na_plugin_segment segment = {memory, sizeof memory};
    na_plugin_mem *local;
    na_plugin_addr *self;
    na_plugin_event event = {.status = NA_PLUGIN_OK};
    void *op = aligned_alloc(64, (c->opened.op_size + 63) / 64 * 64);
    int32_t code;

    if (!op)
        abort();
    memset(op, 0, c->opened.op_size);
    memset(memory, PUBLIC, sizeof memory);
    fuzz_require(c->ops->mem_register(c->cls,
                     &(na_plugin_mem_info){sizeof(na_plugin_mem_info), 0,
                         &segment, 1, NA_PLUGIN_MEM_WRITE, 0, 0},
                     &local) == NA_PLUGIN_OK);
    fuzz_require(c->ops->addr_self(c->cls, &self) == NA_PLUGIN_OK);
    code = c->ops->get(
        c->ctx, op, local, 0, remote, offset, sizeof memory, self, 0, 0);
    for (unsigned i = 0; code == NA_PLUGIN_PENDING; i++) {
        fuzz_require(i < 1000000);
        if (c->ops->poll(c->ctx, &event, 1) > 0)
            code = event.status == NA_PLUGIN_OK ? NA_PLUGIN_DONE : event.status;
    }
    for (size_t i = 0; i < sizeof memory; i++)
        fuzz_require(memory[i] == PUBLIC);
    c->ops->addr_free(c->cls, self);
    c->ops->mem_deregister(c->cls, local);
    free(op);
}

/* A registration as bytes, and back. */
static void
check_mem(struct fuzz_class *c, const na_plugin_mem *mem)
{
    na_plugin_mem *again;
    uint64_t length = 0;
    uint8_t *form;

    if (c->ops->mem_serialize(c->cls, mem, NULL, &length) != NA_PLUGIN_OK)
        return;
    form = malloc(length);
    if (!form)
        abort();
    fuzz_require(
        c->ops->mem_serialize(c->cls, mem, form, &length) == NA_PLUGIN_OK);
    fuzz_require(
        c->ops->mem_deserialize(c->cls, form, length, &again) == NA_PLUGIN_OK);
    c->ops->mem_remote_free(c->cls, again);
    free(form);
}

static void
decode_mem(struct fuzz_class *c, const uint8_t *bytes, size_t size)
{
    uint64_t offset = size > 0 ? bytes[size - 1] : 0;
    na_plugin_mem *mem;

    if (c->ops->mem_deserialize(c->cls, bytes, size, &mem) != NA_PLUGIN_OK)
        return;
    check_mem(c, mem);
    try_get(c, mem, offset);
    c->ops->mem_remote_free(c->cls, mem);
}

/* The class's own registration, serialized, with patches. */
static void
decode_own(struct fuzz_class *c, struct fuzz_input *input)
{
    uint64_t size = 0;
    uint8_t *bytes;

    fuzz_require(
        c->ops->mem_serialize(c->cls, c->own, NULL, &size) == NA_PLUGIN_OK);
    bytes = malloc(size);
    if (!bytes)
        abort();
    fuzz_require(
        c->ops->mem_serialize(c->cls, c->own, bytes, &size) == NA_PLUGIN_OK);
    fuzz_patch(input, bytes, size);
    decode_mem(c, bytes, size);
    free(bytes);
}

void
fuzz_class_decode(struct fuzz_class *c, const uint8_t *data, size_t size)
{
    struct fuzz_input input = {data, size};
    unsigned what = fuzz_u8(&input) % 4;
    na_plugin_addr *addr;
    size_t length;
    char *text;
    uint8_t *bytes;

    if (what == 0) {
        text = fuzz_text(&input);
        if (c->ops->addr_lookup(c->cls, text, &addr) == NA_PLUGIN_OK)
            check_addr(c, addr);
        free(text);
        return;
    }
    if (what == 3) {
        decode_own(c, &input);
        return;
    }
    bytes = fuzz_bytes(&input, SIZE_MAX, &length);
    if (what == 1 &&
        c->ops->addr_deserialize(c->cls, bytes, length, &addr) == NA_PLUGIN_OK)
        check_addr(c, addr);
    else if (what == 2)
        decode_mem(c, bytes, length);
    free(bytes);
}
