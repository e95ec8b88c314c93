/* SPDX-License-Identifier: BSD-3-Clause */
/* The plugin's one symbol, the table of its operations, and how a class is
 * opened and closed. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "address.h"
#include "context.h"
#include "fabric.h"
#include "fence.h"
#include "fork.h"
#include "header.h"
#include "info.h"
#include "knock.h"
#include "match.h"
#include "mem.h"
#include "name.h"
#include "pool.h"
#include "progress.h"
#include "receive.h"
#include "report.h"
#include "retire.h"
#include "rma.h"
#include "send.h"
#include "signals.h"
#include "valid.h"
#include "wait.h"

#define FLAGS_KNOWN                                                            \
    (NA_PLUGIN_OPEN_LISTEN | NA_PLUGIN_OPEN_NO_BLOCK |                         \
        NA_PLUGIN_OPEN_NO_RETRY | NA_PLUGIN_OPEN_MEM_DEVICE)
#define THREADS_KNOWN                                                          \
    (NA_PLUGIN_THREAD_SINGLE_CLASS | NA_PLUGIN_THREAD_SINGLE_CONTEXT)
#define SMALL 512U /* bytes of a short message, with its header */
#define QUEUE_DEFAULT (UINT64_C(64) << 20)
#define QUEUE_MAX (UINT64_C(1) << 40)
#define TIME_MAX_MS UINT64_C(1000000000)

static int32_t
buf_alloc(na_plugin_class *cls, uint64_t length, uint32_t kinds,
    void **buffer_p, void **buffer_data_p)
{
    (void) cls;
    (void) kinds;
    if (length > SIZE_MAX - 64)
        return NA_PLUGIN_E_NOMEM;
    void *buffer = aligned_alloc(
        64, length == 0 ? 64 : ((size_t) length + 63) & ~(size_t) 63);
    if (buffer == NULL)
        return NA_PLUGIN_E_NOMEM;
    *buffer_p = buffer;
    *buffer_data_p = NULL;
    return NA_PLUGIN_OK;
}

static void
buf_free(na_plugin_class *cls, void *buffer, void *buffer_data)
{
    (void) cls;
    (void) buffer_data;
    free(buffer);
}

/* There is no header in the core's buffers. */
static int32_t
buf_init(na_plugin_class *cls, void *buffer, uint64_t length, uint32_t kind)
{
    (void) cls;
    (void) buffer;
    (void) length;
    (void) kind;
    return NA_PLUGIN_OK;
}

static const void *
extension(na_plugin_class *cls, const char *id)
{
    if (strcmp(id, NA_PLUGIN_WAIT_ID) == 0 && cls->can_wait)
        return &ofi_wait;
    if (strcmp(id, NA_PLUGIN_MULTI_RECV_ID) == 0)
        return &cls->multi;
    if (strcmp(id, NA_PLUGIN_REPORT_ID) == 0)
        return &ofi_report;
    return NULL;
}

static const na_plugin_ops ops = {
    .size = sizeof(ops),
    .ctx_create = ofi_ctx_create,
    .ctx_destroy = ofi_ctx_destroy,
    .addr_self = ofi_addr_self,
    .addr_lookup = ofi_addr_lookup,
    .addr_dup = ofi_addr_dup,
    .addr_free = ofi_addr_free,
    .addr_equal = ofi_addr_equal,
    .addr_to_string = ofi_addr_to_string,
    .addr_serialize = ofi_addr_serialize,
    .addr_deserialize = ofi_addr_deserialize,
    .addr_forget = ofi_addr_forget,
    .buf_alloc = buf_alloc,
    .buf_free = buf_free,
    .buf_init = buf_init,
    .send_unexpected = ofi_send_unexpected,
    .recv_unexpected = ofi_recv_unexpected,
    .send_expected = ofi_send_expected,
    .recv_expected = ofi_recv_expected,
    .mem_register = ofi_mem_register,
    .mem_deregister = ofi_mem_deregister,
    .mem_serialize = ofi_mem_serialize,
    .mem_deserialize = ofi_mem_deserialize,
    .mem_free = ofi_mem_free,
    .put = ofi_rma_put,
    .get = ofi_rma_get,
    .poll = ofi_progress_poll,
    .cancel = ofi_progress_cancel,
    .extension = extension,
};

/* Refuses what this version does not know. */
static int32_t
check_info(const na_plugin_host *host, const na_plugin_open_info *info)
{
    if (info->size < sizeof(*info)) {
        OFI_LOG(host, ERROR, "open_info of %" PRIu32 " bytes is too short",
            info->size);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (info->protocol == NULL || info->protocol[0] == '\0' ||
        strlen(info->protocol) >= FI_NAME_MAX) {
        OFI_LOG(host, ERROR, "no protocol was given, or too long a one");
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    if ((info->flags & ~FLAGS_KNOWN) != 0 ||
        (info->thread_mode & ~THREADS_KNOWN) != 0 ||
        info->addr_format > NA_PLUGIN_ADDR_NATIVE ||
        info->traffic_class > NA_PLUGIN_TC_NETWORK_CTRL ||
        info->reserved_zero != 0) {
        OFI_LOG(host, ERROR,
            "unknown among flags 0x%" PRIx32 ", threads 0x%" PRIx32
            ", address format %" PRIu32 ", traffic class %" PRIu32,
            info->flags, info->thread_mode, info->addr_format,
            info->traffic_class);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    if (info->port > UINT16_MAX) {
        OFI_LOG(host, ERROR, "port %" PRId32 " is above 65535", info->port);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    return NA_PLUGIN_OK;
}

/* Says what of the wishes is not heard. */
static void
mention_ignored(const na_plugin_class *cls, const na_plugin_open_info *info)
{
    const na_plugin_host *host = cls->host;

    if ((info->flags & NA_PLUGIN_OPEN_MEM_DEVICE) != 0 &&
        !(cls->info->caps & FI_HMEM))
        OFI_LOG(host, INFO, "provider %s does not register device memory here",
            cls->trait->provider);
    if (info->auth_key != NULL && cls->info->domain_attr->auth_key_size == 0)
        OFI_LOG(host, WARNING, "provider %s uses no authorization key",
            cls->trait->provider);
    if (cls->trait->format != OFI_FORMAT_IP && info->ip_subnet != NULL)
        OFI_LOG(host, INFO, "provider %s has no subnets: %s is ignored",
            cls->trait->provider, info->ip_subnet);
    if (cls->trait->format == OFI_FORMAT_STRING &&
        (info->host != NULL || info->device != NULL))
        OFI_LOG(host, INFO, "provider %s has no hosts and devices to choose",
            cls->trait->provider);
    if (info->traffic_class != NA_PLUGIN_TC_UNSPEC &&
        cls->info->tx_attr->tclass == FI_TC_UNSPEC)
        OFI_LOG(host, INFO, "provider %s has no traffic classes",
            cls->trait->provider);
    if (info->max_contexts > OFI_CONTEXTS)
        OFI_LOG(host, INFO, "%" PRIu32 " contexts expected; at most %u",
            info->max_contexts, OFI_CONTEXTS);
}

static uint64_t
message_size(const na_plugin_class *cls, uint64_t wanted, const char *kind)
{
    uint64_t most = cls->info->ep_attr->max_msg_size;
    uint64_t header = ofi_header_length(OFI_NAME_MAX);

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

/* Sizes and settings. */
static int32_t
configure(na_plugin_class *cls, const na_plugin_open_info *info)
{
    uint64_t queue = QUEUE_DEFAULT, retry = 10000, send = 300000;
    uint64_t silence = 1000;

    if (!ofi_log_setting(cls->host, "ofi.queue_size", 0, QUEUE_MAX, &queue) ||
        !ofi_log_setting(
            cls->host, "ofi.retry_timeout", 1, TIME_MAX_MS, &retry) ||
        !ofi_log_setting(
            cls->host, "ofi.send_timeout", 1, TIME_MAX_MS, &send) ||
        !ofi_log_setting(
            cls->host, "ofi.probe_interval", 10, TIME_MAX_MS, &silence))
        return NA_PLUGIN_E_INVALID_ARG;
    cls->queue_limit = queue;
    cls->retry_ns = retry * OFI_MS;
    cls->send_ns = send * OFI_MS;
    cls->silence_ns = silence * OFI_MS;
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
    ofi_lock_init(&cls->lock, cls->single);
    ofi_lock_init(&cls->memory_lock, cls->single);
    return NA_PLUGIN_OK;
}

/* Numbers that no other class has: its own, and where its keys begin. */
static int32_t
draw_numbers(na_plugin_class *cls)
{
    uint64_t numbers[2] = {0};

    while (numbers[0] == 0)
        if (getrandom(numbers, sizeof(numbers), 0) !=
            (ssize_t) sizeof(numbers)) {
            OFI_LOG(cls->host, ERROR, "no random numbers");
            return NA_PLUGIN_E_IO_ERROR;
        }
    cls->number = numbers[0];
    cls->next_key = numbers[1];
    return NA_PLUGIN_OK;
}

/* The class's own address, and the header that says it. */
static int32_t
introduce(na_plugin_class *cls)
{
    uint64_t number = htole64(cls->number);

    cls->self = ofi_addr_get(cls, &cls->own_name);
    if (cls->self == NULL) {
        OFI_LOG(cls->host, ERROR, "no memory for a class");
        return NA_PLUGIN_E_NOMEM;
    }
    cls->self->self = true;
    cls->header_length = ofi_header_length(cls->own_name.length);
    cls->header[0] = OFI_HEADER_VERSION;
    memcpy(cls->header + 8, &number, sizeof(number));
    cls->header[24] = (unsigned char) cls->own_name.length;
    memcpy(cls->header + OFI_HEADER_NAME, cls->own_name.bytes,
        cls->own_name.length);
    cls->small.room = SMALL;
    cls->large.room =
        cls->header_length + (uint32_t) (cls->max_unexpected > cls->max_expected
                                             ? cls->max_unexpected
                                             : cls->max_expected);
    return ofi_knock_listen(cls);
}

/* Frees a class that has been begun, from whatever stage of it. */
static void
destroy(na_plugin_class *cls)
{
    for (uint32_t i = 0; i < OFI_CONTEXTS; i++)
        if (cls->contexts[i] != NULL)
            ofi_ctx_destroy(cls->contexts[i]);
    bool settled = ofi_retire_settle(cls, cls->retired != NULL);
    settled = ofi_fork_leave(cls) && settled;
    if (cls->listener >= 0)
        close(cls->listener);
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
    ofi_fabric_close(cls);
    ofi_fork_close_left(&accepted);
    free(cls);
}

/* Builds a class; what was built of one that fails is the caller's to
 * destroy. */
static int32_t
build(na_plugin_class *cls, const na_plugin_open_info *info)
{
    int32_t ret = configure(cls, info);

    if (ret == NA_PLUGIN_OK)
        ret = draw_numbers(cls);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_fabric_open(cls);
    cls->delivery = ret == NA_PLUGIN_OK && ofi_info_has_delivery(cls->trait);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_fence_init(cls);
    if (ret == NA_PLUGIN_OK)
        ofi_valid_init(cls);
    if (ret == NA_PLUGIN_OK)
        ret = introduce(cls);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_rx_init(cls);
    return ret;
}

/* A class for what was chosen, which it takes over. */
static na_plugin_class *
class_new(const na_plugin_host *host, const na_plugin_open_info *info,
    const struct ofi_choice *choice)
{
    size_t protocol = strlen(info->protocol) + 1;
    na_plugin_class *cls = calloc(1, sizeof(*cls) + protocol);

    if (cls == NULL) {
        ofi_library.freeinfo(choice->info);
        OFI_LOG(host, ERROR, "no memory for a class");
        return NULL;
    }
    cls->host = host;
    cls->listener = -1;
    cls->info = choice->info;
    memcpy(cls->text_why, choice->why, sizeof(cls->text_why));
    cls->trait = choice->trait;
    if (choice->trait == &choice->other) {
        memcpy(cls->other_name, info->protocol, protocol);
        cls->other = choice->other;
        cls->other.protocol = cls->other.provider = cls->other.scheme =
            cls->other_name;
        cls->trait = &cls->other;
    }
    return cls;
}

static int32_t
make_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_class **cls_p)
{
    struct ofi_choice choice;
    struct ofi_fork_fds fds;

    ofi_fork_note(&fds);
    int32_t ret = ofi_library_load(host);
    if (ret == NA_PLUGIN_OK)
        ret = ofi_info_choose(host, info, &choice);
    if (ret != NA_PLUGIN_OK)
        return ret;
    na_plugin_class *cls = class_new(host, info, &choice);
    if (cls == NULL)
        return NA_PLUGIN_E_NOMEM;
    ret = build(cls, info);
    if (ret != NA_PLUGIN_OK) {
        destroy(cls);
        return ret;
    }
    ofi_fork_join(cls, &fds);
    mention_ignored(cls, info);
    *cls_p = cls;
    return NA_PLUGIN_OK;
}

static int32_t
open_class(const na_plugin_host *host, const na_plugin_open_info *info,
    na_plugin_opened *opened)
{
    struct ofi_signals signals;
    na_plugin_class *cls = NULL;

    int32_t ret = check_info(host, info);
    if (ret != NA_PLUGIN_OK)
        return ret;
    if (opened->size < sizeof(*opened)) {
        OFI_LOG(host, ERROR, "opened of %" PRIu32 " bytes is too short",
            opened->size);
        return NA_PLUGIN_E_INVALID_ARG;
    }
    ofi_signals_note(&signals);
    ret = make_class(host, info, &cls);
    ofi_signals_restore(&signals);
    if (ret != NA_PLUGIN_OK)
        return ret;

    if (cls->trait->flags & OFI_TRAIT_NODE)
        opened->features |= NA_PLUGIN_FEATURE_NODE_LOCAL;
    if (cls->trait->flags & OFI_TRAIT_NATIVE)
        opened->features |= NA_PLUGIN_FEATURE_RMA_NATIVE;
    if (cls->info->caps & FI_HMEM)
        opened->features |= NA_PLUGIN_FEATURE_MEM_DEVICE;
    opened->cls = cls;
    opened->ops = &ops;
    opened->op_size = sizeof(struct ofi_op);
    opened->op_align = _Alignof(struct ofi_op);
    opened->max_unexpected_size = cls->max_unexpected;
    opened->max_expected_size = cls->max_expected;
    opened->unexpected_header_size = 0;
    opened->expected_header_size = 0;
    opened->max_tag = OFI_TAG_MAX;
    opened->max_segments = OFI_SEGMENTS;
    opened->max_rma_size = 0;
    opened->max_contexts = cls->context_max;
    return NA_PLUGIN_OK;
}

NA_PLUGIN_EXPORT const na_plugin NA_PLUGIN_SYMBOL(ofi) = {
    .magic = NA_PLUGIN_MAGIC,
    .abi_major = NA_PLUGIN_ABI_MAJOR,
    .abi_minor = NA_PLUGIN_ABI_MINOR,
    .size = sizeof(na_plugin),
    .min_host_minor = 0,
    .name = "ofi",
    .version = OFI_VERSION,
    .protocols = ofi_protocols,
    .flags = NA_PLUGIN_OTHER_PROTOCOLS,
    .priority = 50,
    .info = ofi_info_list,
    .open = open_class,
    .close = destroy,
};
