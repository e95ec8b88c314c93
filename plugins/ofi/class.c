/* SPDX-License-Identifier: BSD-3-Clause */
/* How a class, or a lane of one, is put together and taken apart. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "address.h"
#include "class.h"
#include "context.h"
#include "fabric.h"
#include "fence.h"
#include "fork.h"
#include "header.h"
#include "inbox.h"
#include "knock.h"
#include "lane.h"
#include "mem.h"
#include "pool.h"
#include "receive.h"
#include "retire.h"
#include "silent.h"
#include "valid.h"

#define SMALL 512U /* bytes of a short message, with its header */

static uint64_t
message_size(const na_plugin_class *cls, uint64_t wanted, const char *kind)
{
    uint64_t most = cls->info->ep_attr->max_msg_size;
    uint64_t header = ofi_header_length(OFI_NAME_MAX, OFI_NAME_MAX);

    most = most > header ? most - header : 0;
    most = most < OFI_MESSAGE_MAX ? most : OFI_MESSAGE_MAX;
    if (wanted == 0)
        return most < OFI_MESSAGE_DEFAULT ? most : OFI_MESSAGE_DEFAULT;
    if (wanted <= most)
        return wanted;
    OFI_LOG(cls->host, INFO,
        "%s messages of %" PRIu64 " bytes wanted; at most %" PRIu64, kind,
        wanted, most);
    return most;
}

/* Where registering is not safe beside other calls on a domain, lanes have one
 * of their own. */
static bool
shares_domain(const na_plugin_class *cls)
{
    return !(cls->trait->flags & OFI_TRAIT_LOCK_MR);
}

/* Whether contexts can have endpoints of their own. Not if puts and gets want
 * registrations of their own domain's. */
static bool
can_be_apart(const na_plugin_class *cls)
{
    int of_domain = FI_MR_LOCAL | FI_MR_HMEM;

    return !cls->single &&
           !(cls->trait->flags & (OFI_TRAIT_NODE | OFI_TRAIT_MUST_ANSWER)) &&
           (shares_domain(cls) ||
               !(cls->info->domain_attr->mr_mode & of_domain));
}

/* Sizes and settings. */
static void
configure(na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->host;

    cls->queue_limit = host->number(host, "ofi.queue_size");
    cls->retry_ns = host->number(host, "ofi.retry_timeout");
    cls->send_ns = host->number(host, "ofi.send_timeout");
    cls->silence_ns = host->number(host, "ofi.probe_interval");
    cls->silent_ns = host->number(host, "ofi.silent_timeout");
    cls->max_unexpected =
        message_size(cls, info->max_unexpected_size, "unexpected");
    cls->max_expected = message_size(cls, info->max_expected_size, "expected");
    cls->context_max = OFI_CONTEXTS;
    cls->no_block = (info->flags & NA_PLUGIN_OPEN_NO_BLOCK) != 0;
    cls->no_retry = (info->flags & NA_PLUGIN_OPEN_NO_RETRY) != 0;
    /* within a node, others of this process have to do with it when they go */
    cls->single = (info->thread_mode & NA_PLUGIN_THREAD_SINGLE_CLASS) != 0 &&
                  !(cls->trait->flags & OFI_TRAIT_NODE);
    cls->multi = (na_plugin_multi_recv){.size = sizeof(cls->multi),
        .min_length = cls->max_unexpected,
        .recv_multi = ofi_recv_multi};
    cls->apart = info->max_contexts > 1 && can_be_apart(cls);
}

/* A number that no other class has. */
static int32_t
draw_number(na_plugin_class *cls)
{
    while (cls->number == 0)
        if (getrandom(&cls->number, sizeof(cls->number), 0) !=
            (ssize_t) sizeof(cls->number)) {
            OFI_LOG(cls->host, ERROR, "no random numbers");
            return NA_PLUGIN_E_IO_ERROR;
        }
    return NA_PLUGIN_OK;
}

/* What all headers of a class begin with, see header.h. */
static void
write_header(na_plugin_class *cls)
{
    const struct ofi_name *name = &cls->main->own_name, *end = &cls->own_name;
    uint64_t number = htole64(cls->number);
    unsigned char *bytes = cls->header;

    bytes[0] = OFI_HEADER_VERSION;
    memcpy(bytes + 8, &number, sizeof(number));
    bytes[24] = (unsigned char) name->length;
    memcpy(bytes + OFI_HEADER_NAME, name->bytes, name->length);
    bytes += OFI_HEADER_NAME + name->length;
    cls->header_length = ofi_header_length(name->length, 0);
    if (cls->main == cls)
        return;
    bytes[0] = (unsigned char) end->length;
    memcpy(bytes + 1, end->bytes, end->length);
    cls->header_length = ofi_header_length(name->length, end->length);
}

/* The class's own address, and the header that says it. */
static int32_t
introduce(na_plugin_class *cls)
{
    uint64_t most = cls->max_unexpected > cls->max_expected
                        ? cls->max_unexpected
                        : cls->max_expected;

    cls->self = ofi_addr_self_new(cls);
    if (cls->self == NULL) {
        OFI_LOG(cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    write_header(cls);
    cls->small.room = SMALL;
    cls->large.room = cls->header_length + (uint32_t) most;
    return ofi_knock_listen(cls);
}

/* Messages for lanes that have gone. */
static void
drop_detained(na_plugin_class *cls)
{
    ofi_lock_take(&cls->lock);
    if (cls->detained.head != NULL)
        ofi_lane_retry(cls);
    ofi_lock_drop(&cls->lock);
}

/* Frees a class that has been begun, from whatever stage of it. */
void
ofi_class_destroy(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++) {
        if (cls->contexts[i] != NULL)
            ofi_ctx_destroy(cls->contexts[i]);
        ofi_lane_close(cls, i);
    }
    drop_detained(cls);
    bool settled = ofi_retire_settle(cls, cls->retired != NULL);
    settled = ofi_fork_leave(cls) && settled;
    if (cls->listener >= 0)
        close(cls->listener);
    ofi_silent_fini(cls);
    ofi_lock_take(&cls->lock);
    uint32_t mems = 0;
    if (cls->self != NULL)
        ofi_addr_drop(cls, cls->self);
    ofi_lock_drop(&cls->lock);
    mems = ofi_mem_fini(cls);
    ofi_fence_fini(cls);
    ofi_retire_class(cls, settled);
    struct ofi_fork_sockets accepted = ofi_fork_accepted(cls);
    ofi_fabric_close_endpoint(cls);
    uint32_t addrs = ofi_addr_fini(cls);
    if ((addrs != 0 && !cls->lingers) || mems != 0)
        OFI_LOG(cls->host, WARNING,
            "closed with %" PRIu32 " addresses and %" PRIu32
            " registrations left",
            addrs, mems);
    ofi_rx_fini(cls);
    ofi_pool_fini(cls);
    ofi_inbox_clear(cls);
    ofi_fabric_close(cls);
    ofi_fork_close_left(&accepted);
    free((void *) (uintptr_t) cls->lanes);
    free(cls);
}

/* What a class has of its own, be it a lane or not. */
static int32_t
build(na_plugin_class *cls)
{
    int32_t ret = ofi_fabric_open(cls);

    if (ret == NA_PLUGIN_OK)
        ret = ofi_fence_init(cls);
    if (ret == NA_PLUGIN_OK)
        ofi_valid_init(cls);
    if (ret == NA_PLUGIN_OK)
        ret = introduce(cls);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_rx_init(cls);
    if (ret == NA_PLUGIN_OK)
        ofi_silent_init(cls);
    return ret;
}

/* An empty class, with room for the name of a protocol behind it. */
static na_plugin_class *
allocate(const na_plugin_host *host, struct fi_info *info, size_t room)
{
    na_plugin_class *cls = calloc(1, sizeof(*cls) + room);

    if (cls == NULL) {
        ofi_library.freeinfo(info);
        OFI_LOG(host, ERROR, "no memory for a class");
        return NULL;
    }
    cls->host = host;
    cls->main = cls;
    cls->listener = cls->silent_folder = -1;
    cls->inbox.bell = -1;
    cls->info = info;
    return cls;
}

static void
init_locks(na_plugin_class *cls)
{
    ofi_lock_init(&cls->lock, cls->single);
    ofi_lock_init(&cls->memory_lock, cls->single);
    ofi_lock_init(&cls->inbox.lock, cls->single);
    ofi_lock_init(&cls->keys.lock, cls->single);
}

/* The rest of a class that is no lane. */
static int32_t
set_up(na_plugin_class *cls, const na_plugin_open_info *info)
{
    configure(cls, info);
    init_locks(cls);
    int32_t ret = draw_number(cls);

    if (ret == NA_PLUGIN_OK && cls->apart) {
        cls->lanes = calloc(OFI_CONTEXTS, sizeof(cls->lanes[0]));
        if (cls->lanes == NULL) {
            OFI_LOG(cls->host, ERROR, "no memory for a class");
            ret = NA_PLUGIN_E_NOMEM;
        }
    }
    cls->delivery = ret == NA_PLUGIN_OK && ofi_info_has_delivery(cls->trait);
    return ret == NA_PLUGIN_OK ? build(cls) : ret;
}

int32_t
ofi_class_new(const na_plugin_host *host, const na_plugin_open_info *info,
    const struct ofi_choice *choice, na_plugin_class **cls_p)
{
    size_t protocol = strlen(info->protocol) + 1;
    na_plugin_class *cls = allocate(host, choice->info, protocol);

    if (cls == NULL)
        return NA_PLUGIN_E_NOMEM;
    memcpy(cls->text_why, choice->why, sizeof(cls->text_why));
    cls->trait = choice->trait;
    if (choice->trait == &choice->other) {
        memcpy(cls->other_name, info->protocol, protocol);
        cls->other = choice->other;
        cls->other.protocol = cls->other.provider = cls->other.scheme =
            cls->other_name;
        cls->trait = &cls->other;
    }
    int32_t ret = set_up(cls, info);
    if (ret != NA_PLUGIN_OK) {
        ofi_class_destroy(cls);
        return ret;
    }
    *cls_p = cls;
    return NA_PLUGIN_OK;
}

int32_t
ofi_class_lane(na_plugin_class *main, uint32_t id, na_plugin_class **lane_p)
{
    struct fi_info *info = ofi_fabric_any_port(main);
    na_plugin_class *lane = NULL;

    if (info == NULL)
        OFI_LOG(main->host, ERROR, "no memory for what libfabric says");
    else
        lane = allocate(main->host, info, 0);
    if (lane == NULL)
        return NA_PLUGIN_E_NOMEM;
    lane->main = main;
    lane->lane = id;
    lane->shares = shares_domain(main);
    lane->trait = main->trait;
    lane->number = main->number;
    lane->delivery = main->delivery;
    lane->queue_limit = main->queue_limit;
    lane->retry_ns = main->retry_ns;
    lane->send_ns = main->send_ns;
    lane->silence_ns = main->silence_ns;
    lane->silent_ns = main->silent_ns;
    lane->max_unexpected = main->max_unexpected;
    lane->max_expected = main->max_expected;
    lane->context_max = main->context_max;
    lane->no_block = main->no_block;
    lane->no_retry = main->no_retry;
    memcpy(lane->text_why, main->text_why, sizeof(lane->text_why));
    init_locks(lane);
    int32_t ret = build(lane);
    if (ret != NA_PLUGIN_OK) {
        ofi_class_destroy(lane);
        return ret;
    }
    *lane_p = lane;
    return NA_PLUGIN_OK;
}
