/* SPDX-License-Identifier: BSD-3-Clause */
/* Opens and closes a class, its contexts and addresses. */
#include "check/class.h"

#include "check/guard.h"
#include "check/host.h"
#include "check/shared.h"
#include "check/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The plugin's functions; NULL if absent or beyond the table's size. */
static void
copy_ops(struct kit_class *cls, const na_plugin_ops *ops)
{
    size_t size = ops->size < sizeof *ops ? ops->size : sizeof *ops;

    memset(&cls->ops, 0, sizeof cls->ops);
    memcpy(&cls->ops, ops, size);
}

static void
require(const struct kit_class *cls)
{
    const na_plugin_ops *ops = &cls->ops;

    kit_expect(ops->ctx_create && ops->ctx_destroy && ops->addr_self &&
                   ops->addr_lookup && ops->addr_dup && ops->addr_free &&
                   ops->addr_equal && ops->addr_hash && ops->addr_to_string &&
                   ops->send_unexpected && ops->recv_unexpected &&
                   ops->send_expected && ops->recv_expected && ops->buf_alloc &&
                   ops->buf_free && ops->buf_init && ops->poll && ops->cancel &&
                   ops->extension,
        5, "contexts, address, message and progress operations are there",
        "one of them is NULL");
}

static const void *
find_extension(struct kit_class *cls, const char *id, size_t minimum)
{
    const char *before = kit_call_enter("extension");
    const uint32_t *table = cls->ops.extension(cls->cls, id);

    kit_call_leave(before);
    if (table)
        kit_expect(*table >= minimum, 3,
            "an extension's table is as long as in 1.0",
            "%s: %u bytes, not %zu", id, *table, minimum);
    return table;
}

/* The address as a user would write it. A case has one. */
static void
place(na_plugin_open_info *info, const char *text)
{
    static struct kit_target at = {.port = -1};

    if (!kit_target_parse(&at, text) || !at.name ||
        (!(kit_target_load()->flags & NA_PLUGIN_OPAQUE_NAME) &&
            !kit_target_split(&at)))
        kit_not_offered("\"%s\" is nothing to open a class with", text);
    info->name = at.name;
    info->device = at.device;
    info->host = at.host;
    info->port = at.port;
}

void
kit_class_info(na_plugin_open_info *info, const struct kit_open_options *how)
{
    *info = (na_plugin_open_info){.size = sizeof *info,
        .flags = how->flags | (how->not_listening ? 0 : NA_PLUGIN_OPEN_LISTEN),
        .protocol = kit_target.protocol,
        .name = kit_target.name,
        .device = kit_target.device,
        .host = kit_target.host,
        .port = kit_target.port,
        .thread_mode = how->thread_mode,
        .max_unexpected_size = how->max_unexpected_size,
        .max_expected_size = how->max_expected_size,
        .max_contexts = how->contexts ? how->contexts : 1};
    if (how->at)
        place(info, how->at);
}

static void
check_opened(const na_plugin_opened *opened)
{
    kit_expect(opened->cls && opened->ops, 12, "open returns class and ops",
        "one of them is NULL");
    kit_expect(opened->ops->size >= NA_PLUGIN_OPS_SIZE_1_0, 3,
        "the ops are as long as in 1.0", "%u bytes, not %zu", opened->ops->size,
        NA_PLUGIN_OPS_SIZE_1_0);
    kit_expect(opened->op_align > 0 && opened->op_align <= 64 &&
                   (opened->op_align & (opened->op_align - 1)) == 0,
        6, "op_align is a power of two, at most 64", "%u", opened->op_align);
    kit_expect(opened->op_size <= NA_PLUGIN_OP_SIZE_MAX, 6,
        "op_size is at most NA_PLUGIN_OP_SIZE_MAX", "%u", opened->op_size);
    kit_expect(opened->max_unexpected_size >= NA_PLUGIN_MESSAGE_SIZE_MIN &&
                   opened->max_unexpected_size <= NA_PLUGIN_MESSAGE_SIZE_MAX &&
                   opened->max_expected_size >= NA_PLUGIN_MESSAGE_SIZE_MIN &&
                   opened->max_expected_size <= NA_PLUGIN_MESSAGE_SIZE_MAX,
        12,
        "the largest messages have NA_PLUGIN_MESSAGE_SIZE_MIN to "
        "NA_PLUGIN_MESSAGE_SIZE_MAX bytes",
        "%llu and %llu", (unsigned long long) opened->max_unexpected_size,
        (unsigned long long) opened->max_expected_size);
    kit_expect(
        opened->max_unexpected_size / 2 >= opened->unexpected_header_size &&
            opened->max_expected_size / 2 >= opened->expected_header_size,
        12, "the header is at most half of the largest messages",
        "%llu and %llu bytes, %u and %u of them header",
        (unsigned long long) opened->max_unexpected_size,
        (unsigned long long) opened->max_expected_size,
        opened->unexpected_header_size, opened->expected_header_size);
    kit_expect(opened->max_tag >= NA_PLUGIN_TAG_MIN, 12,
        "max_tag is NA_PLUGIN_TAG_MIN at least", "%llu",
        (unsigned long long) opened->max_tag);
    kit_expect(opened->max_segments >= 1, 12, "max_segments is 1 at least",
        "%llu", (unsigned long long) opened->max_segments);
    kit_expect(opened->max_contexts >= 1 &&
                   opened->max_contexts <= NA_PLUGIN_CONTEXTS_MAX,
        12, "max_contexts is 1 to NA_PLUGIN_CONTEXTS_MAX", "%u",
        opened->max_contexts);
    kit_expect(opened->reserved_zero == 0 && opened->ops->reserved_zero == 0, 4,
        "what must be zero is", "it is not, in opened or ops");
}

/* Opens with tables of the size of ABI 1.0, which end where a page without
 * access begins. */
static int32_t
open_with_1_0(struct kit_class *cls, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    struct kit_guarded in, out;
    na_plugin_open_info *short_info;
    na_plugin_opened *short_opened;
    int32_t result;

    /* Their sizes are multiples of their alignment, so there is no padding. */
    kit_guarded_create(&in, NA_PLUGIN_OPEN_INFO_SIZE_1_0, 1);
    kit_guarded_create(&out, NA_PLUGIN_OPENED_SIZE_1_0, 1);
    kit_guarded_limit(&in, 4, "open_info is not read beyond its size");
    kit_guarded_limit(&out, 4, "opened is not touched beyond its size");
    short_info = (na_plugin_open_info *) (void *) in.memory;
    short_opened = (na_plugin_opened *) (void *) out.memory;
    memcpy(short_info, info, in.length);
    short_info->size = NA_PLUGIN_OPEN_INFO_SIZE_1_0;
    short_opened->size = NA_PLUGIN_OPENED_SIZE_1_0;
    result = cls->plugin->open(&cls->host.table, short_info, short_opened);
    memcpy(opened, short_opened, out.length);
    kit_guarded_destroy(&in);
    kit_guarded_destroy(&out);
    return result;
}

int32_t
kit_class_try(struct kit_class *cls, const na_plugin_open_info *info)
{
    /* With fields that the plugin does not know, as a newer core's. */
    struct {
        na_plugin_opened opened;
        unsigned char beyond[KIT_BEYOND];
    } room;
    const char *before;
    int32_t result;

    memset(&room, 0, sizeof room);
    room.opened.size = sizeof room;
    cls->plugin = kit_target_load();
    cls->polls = true;
    kit_host_init(cls);
    before = kit_call_enter("open");
    result = cls->tables_1_0
                 ? open_with_1_0(cls, info, &room.opened)
                 : cls->plugin->open(&cls->host.table, info, &room.opened);
    kit_call_leave(before);
    for (size_t i = 0; i < sizeof room.beyond; i++)
        kit_expect(room.beyond[i] == 0, 4,
            "opened is not written past its known fields",
            "byte %zu behind them was written", i);
    if (result != NA_PLUGIN_OK) {
        kit_expect(kit_code_known(result) && result < 0, 12,
            "open returns OK or one of the errors", "%d", result);
        kit_expect(
            !room.opened.cls && !room.opened.ops && room.opened.op_size == 0,
            12, "outputs of a failing open are untouched", "they are not");
        return result;
    }
    check_opened(&room.opened);
    cls->opened = room.opened;
    cls->cls = room.opened.cls;
    copy_ops(cls, room.opened.ops);
    require(cls);
    cls->wait = find_extension(cls, NA_PLUGIN_WAIT_ID, NA_PLUGIN_WAIT_SIZE_1_0);
    cls->multi = find_extension(
        cls, NA_PLUGIN_MULTI_RECV_ID, NA_PLUGIN_MULTI_RECV_SIZE_1_0);
    cls->alloc = find_extension(
        cls, NA_PLUGIN_MEM_ALLOC_ID, NA_PLUGIN_MEM_ALLOC_SIZE_1_0);
    cls->report =
        find_extension(cls, NA_PLUGIN_REPORT_ID, NA_PLUGIN_REPORT_SIZE_1_0);
    return result;
}

struct kit_class *
kit_class_open(const struct kit_open_options *how, uint32_t self)
{
    struct kit_class *cls = calloc(1, sizeof *cls);
    na_plugin_open_info info;
    const char *before;
    int32_t result;

    if (!cls)
        kit_not_run("out of memory");
    kit_target_load();
    cls->how = *how;
    kit_class_info(&info, how);
    cls->how.at = NULL;
    result = kit_class_try(cls, &info);
    if (how->at && result != NA_PLUGIN_OK)
        kit_not_offered("a class does not open at \"%s\": %s", how->at,
            kit_code_text(result));
    kit_expect(result == NA_PLUGIN_OK, kit_running->rule, "the class opens",
        "%s", kit_code_text(result));
    before = kit_call_enter("addr_self");
    result = cls->ops.addr_self(cls->cls, &cls->addrs[self]);
    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK && cls->addrs[self], 12,
        "addr_self gives an address", "%s", kit_code_text(result));
    for (uint32_t i = 0; !how->no_contexts && i < info.max_contexts; i++)
        kit_class_ctx_create(cls, i);
    return cls;
}

bool
kit_class_offers(const struct kit_class *cls, uint32_t needs)
{
    const na_plugin_ops *ops = &cls->ops;

    if (needs & KIT_NEEDS_RMA &&
        !(ops->mem_register && ops->mem_deregister && ops->mem_serialize &&
            ops->mem_deserialize && ops->mem_remote_free && ops->put &&
            ops->get))
        return false;
    if (needs & KIT_NEEDS_MULTI_RECV && !cls->multi)
        return false;
    if (needs & KIT_NEEDS_WAIT && !cls->wait)
        return false;
    if (needs & KIT_NEEDS_CONTEXTS && cls->opened.max_contexts < 2)
        return false;
    if (needs & KIT_NEEDS_SERIALIZE &&
        !(ops->addr_serialize && ops->addr_deserialize))
        return false;
    if (needs & KIT_NEEDS_ALLOC && !cls->alloc)
        return false;
    if (needs & KIT_NEEDS_REPORT && !cls->report)
        return false;
    return !(needs & KIT_NEEDS_FORGET) || ops->addr_forget;
}

void
kit_class_ctx_create(struct kit_class *cls, uint32_t ctx)
{
    const char *before = kit_call_enter("ctx_create");
    na_plugin_ctx *made = NULL;
    int32_t result;

    atomic_store_explicit(&cls->destroyed[ctx], false, memory_order_relaxed);
    cls->wait_fds[ctx] = -1;
    result = cls->ops.ctx_create(cls->cls, ctx, &cls->wakes[ctx], &made);
    kit_call_leave(before);
    if (ctx > 0 && result == NA_PLUGIN_E_OVERFLOW)
        kit_not_offered("context %u: OVERFLOW", ctx);
    kit_expect(result == NA_PLUGIN_OK && made, 12,
        "a context within max_contexts is created", "context %u: %s", ctx,
        kit_code_text(result));
    cls->contexts[ctx] = made;
}

/* Pending operations end without an event. The plugin must not access their
 * storage, which is protected from now on. */
void
kit_class_ctx_destroy(struct kit_class *cls, uint32_t ctx)
{
    static const char untouched[] =
        "nothing of a context is touched after ctx_destroy";
    const char *before = kit_call_enter("ctx_destroy");

    cls->ops.ctx_destroy(cls->contexts[ctx]);
    kit_call_leave(before);
    cls->contexts[ctx] = NULL;
    atomic_store_explicit(&cls->destroyed[ctx], true, memory_order_relaxed);
    for (uint32_t i = 0; i < KIT_OPS; i++) {
        struct kit_op *op = &cls->ops_made[i];

        if (atomic_load_explicit(&op->state, memory_order_relaxed) !=
                KIT_PENDING ||
            op->ctx != ctx)
            continue;
        op->status = NA_PLUGIN_E_CANCELED;
        atomic_store_explicit(&op->state, KIT_ENDED, memory_order_relaxed);
        kit_guarded_protect(&op->storage, KIT_CLOSED, 10, untouched);
        if (op->own && op->guarded.mapping)
            kit_guarded_protect(&op->guarded, KIT_CLOSED, 10, untouched);
    }
}

void
kit_class_lookup(struct kit_class *cls, uint32_t number, const char *text)
{
    const char *before = kit_call_enter("addr_lookup");
    int32_t result = cls->ops.addr_lookup(cls->cls, text, &cls->addrs[number]);

    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK && cls->addrs[number], 12,
        "an address that a class has returned can be looked up", "\"%s\": %s",
        text, kit_code_text(result));
}

void
kit_class_text(
    struct kit_class *cls, const na_plugin_addr *addr, char *text, size_t room)
{
    uint64_t needed = 0, size = room;
    const char *before = kit_call_enter("addr_to_string");
    int32_t result = cls->ops.addr_to_string(cls->cls, addr, NULL, &needed);

    if (result == NA_PLUGIN_E_OPNOTSUPPORTED) {
        kit_call_leave(before);
        kit_not_offered("addresses have no string here");
    }
    kit_expect(result == NA_PLUGIN_OK, 12,
        "addr_to_string returns the bytes that it needs", "%s",
        kit_code_text(result));
    kit_expect(needed > 1 && needed <= room, 12,
        "an address's text has a sensible length", "%llu bytes",
        (unsigned long long) needed);
    result = cls->ops.addr_to_string(cls->cls, addr, text, &size);
    kit_call_leave(before);
    kit_expect(result == NA_PLUGIN_OK && size == needed, 12,
        "addr_to_string fills in what it asked for",
        "%s, %llu bytes instead of %llu", kit_code_text(result),
        (unsigned long long) size, (unsigned long long) needed);
    kit_expect(memchr(text, '\0', needed) == text + needed - 1, 12,
        "an address's text ends in its only zero, within its length",
        "it does not");
}

void
kit_class_close(struct kit_class *cls)
{
    const char *before;

    if (!cls)
        return;
    for (uint32_t i = 0; i < KIT_CONTEXTS; i++)
        if (cls->contexts[i])
            kit_class_ctx_destroy(cls, i);
    kit_ops_finish(cls);
    kit_mems_finish(cls);
    before = kit_call_enter("addr_free");
    for (uint32_t i = 0; i < KIT_ADDRS; i++)
        if (cls->addrs[i])
            cls->ops.addr_free(cls->cls, cls->addrs[i]);
    kit_call_leave(before);
    if (cls->cls) {
        before = kit_call_enter("close");
        cls->plugin->close(cls->cls);
        kit_call_leave(before);
    }
    kit_host_verify(cls);
    kit_sleep_finish(cls);
    free(cls);
}
