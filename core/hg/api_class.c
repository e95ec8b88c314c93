/* SPDX-License-Identifier: BSD-3-Clause */
/* Opening and closing a class, and its options. */
#include "hg/class.h"

#include "base/log.h"
#include "hg/auto_sm.h"
#include "hg/checksum.h"
#include "hg/class_stats.h"
#include "hg/handle.h"
#include "na.h"
#include "setting/core.h"
#include "setting/setting.h"
#include "talaria.h"

#include <stdlib.h>
#include <string.h>

#define POST_INIT 64U
#define POST_INCR 64U
#define MULTI_RECV_OP_MAX 4U

/* Copies the fields of an interface version over the defaults. */
static struct hg_init_info
read_init_info(const struct hg_init_info *given, unsigned int version)
{
    struct hg_init_info info = HG_INIT_INFO_INITIALIZER;

    if (!given)
        return info;
    if (HG_VERSION_GE(version, HG_VERSION(2, 4)))
        info = *given;
    else if (HG_VERSION_GE(version, HG_VERSION(2, 3)))
        memcpy(&info, given, offsetof(struct hg_init_info, traffic_class));
    else
        memcpy(&info, given, offsetof(struct hg_init_info, no_multi_recv));
    return info;
}

static struct na_init_info
na_options(const struct hg_init_info *info)
{
    struct na_init_info options = NA_INIT_INFO_INITIALIZER;

    memcpy(&options, &info->na_init_info,
        offsetof(struct na_init_info, traffic_class));
    options.traffic_class = info->traffic_class;
    return options;
}

/* Computes the layout of messages for each transport, and of handles, which can
 * change their transport. */
static void
compute_layout(struct hg_class *hg_class)
{
    struct na_class *classes[RT_TRANSPORTS] = {
        hg_class->bulk.na_class, hg_class->bulk.sm_class};
    const struct na_class *widest = classes[RT_MAIN];
    size_t end = sizeof(struct hg_handle);

    for (unsigned i = 0; i < RT_TRANSPORTS && classes[i]; i++) {
        hg_net_init(&hg_class->nets[i], classes[i]);
        hg_class->net_count = i + 1;
        if (classes[i]->opened.op_size > widest->opened.op_size)
            widest = classes[i];
    }
    hg_class->send_at = na_op_layout(widest, &end);
    hg_class->recv_at = na_op_layout(widest, &end);
    hg_class->handle_size = end;
}

static hg_return_t
check_options(const struct hg_init_info *info)
{
    if ((unsigned) info->checksum_level <= HG_CHECKSUM_RPC_PAYLOAD)
        return HG_SUCCESS;
    LOG_ERROR(HG, "checksum_level is %d: invalid", (int) info->checksum_level);
    return HG_INVALID_ARG;
}

static void
set_multi_recv(struct hg_class *hg_class, const struct hg_init_info *info)
{
    uint32_t max = info->multi_recv_op_max > 0 ? info->multi_recv_op_max
                                               : MULTI_RECV_OP_MAX;

    hg_class->no_multi_recv = info->no_multi_recv;
    hg_class->multi_recv_op_max = max;
    hg_class->multi_recv_copy_threshold = info->multi_recv_copy_threshold < max
                                              ? info->multi_recv_copy_threshold
                                              : max;
}

/* Opens the transport, or takes the caller's class. */
static hg_return_t
get_na_class(struct hg_class *hg_class, const char *info_string, bool listen,
    const struct hg_init_info *info, struct setting_pairs *pairs)
{
    struct na_init_info options = na_options(info);

    hg_class->own_na_class = info->na_class == NULL;
    hg_class->bulk.na_class = info->na_class;
    if (info->na_class)
        return HG_SUCCESS;
    return (hg_return_t) na_class_open(
        &(struct na_class_args){.info_string = info_string,
            .listen = listen,
            .init = &options,
            .pairs = pairs,
            .pairs_of_others = info->auto_sm,
            .taken = setting_core},
        &hg_class->bulk.na_class);
}

static void
set_options(struct hg_class *hg_class, const struct hg_init_info *info)
{
    hg_class->bulk.stats = info->stats;
    hg_class->no_overflow = info->no_overflow;
    hg_class->checksum_flags = hg_checksum_flags(info->checksum_level);
    hg_class->take_flags = info->release_input_early ? HG_MESSAGE_RELEASE : 0;
    hg_class->no_loopback = info->no_loopback != 0;
    hg_class->bulk.no_eager = info->no_bulk_eager;
    hg_class->post_init =
        info->request_post_init > 0 ? info->request_post_init : POST_INIT;
    hg_class->post_incr = info->request_post_incr < 0 ? 0
                          : info->request_post_incr > 0
                              ? (uint32_t) info->request_post_incr
                              : POST_INCR;
    set_multi_recv(hg_class, info);
}

static hg_return_t
class_open(const char *info_string, bool listen,
    const struct hg_init_info *info, struct setting_pairs *pairs,
    hg_class_t **hg_class_p)
{
    struct hg_class *hg_class = calloc(1, sizeof *hg_class);
    hg_return_t ret;

    if (!hg_class)
        return HG_NOMEM;
    ret = hg_limits_read(&hg_class->limits, pairs);
    if (ret != HG_SUCCESS)
        goto free_class;
    ret = get_na_class(hg_class, info_string, listen, info, pairs);
    if (ret != HG_SUCCESS)
        goto free_class;
    ret = hg_registry_init(&hg_class->registry,
        hg_class_na(hg_class)->single_class, info->stats != 0);
    if (ret != HG_SUCCESS)
        goto close_na_class;
    set_options(hg_class, info);
    ret = hg_auto_sm_open(hg_class, info, pairs);
    if (ret != HG_SUCCESS)
        goto close_auto_sm;
    compute_layout(hg_class);
    hg_class_stats_enter(hg_class);
    *hg_class_p = hg_class;
    return HG_SUCCESS;

close_auto_sm:
    hg_auto_sm_close(hg_class);
    hg_registry_finish(&hg_class->registry);
close_na_class:
    if (hg_class->own_na_class)
        NA_Finalize(hg_class->bulk.na_class);
free_class:
    free(hg_class);
    return ret;
}

hg_return_t
talaria_hg_init(const char *info_string, bool listen, unsigned int version,
    const struct hg_init_info *hg_init_info, const char *const *settings,
    hg_class_t **hg_class_p)
{
    struct hg_init_info info = read_init_info(hg_init_info, version);
    struct setting_pairs pairs;
    char fault[SETTING_FAULT_SIZE];
    hg_return_t ret;

    base_log_init();
    if (!hg_class_p) {
        LOG_ERROR(HG, "hg_class_p is NULL");
        return HG_INVALID_ARG;
    }
    ret = check_options(&info);
    if (ret != HG_SUCCESS)
        return ret;
    ret =
        (hg_return_t) setting_pairs_init(&pairs, settings, fault, sizeof fault);
    if (ret != HG_SUCCESS) {
        LOG_ERROR(HG, "%s", fault);
        return ret;
    }
    ret = class_open(info_string, listen, &info, &pairs, hg_class_p);
    setting_pairs_finish(&pairs);
    return ret;
}

hg_class_t *
HG_Init(const char *na_info_string, uint8_t na_listen)
{
    return HG_Init_opt2(na_info_string, na_listen, HG_VERSION(2, 4), NULL);
}

hg_class_t *
HG_Init_opt(const char *na_info_string, uint8_t na_listen,
    const struct hg_init_info *hg_init_info)
{
    return HG_Init_opt2(
        na_info_string, na_listen, HG_VERSION(2, 2), hg_init_info);
}

hg_class_t *
HG_Init_opt2(const char *na_info_string, uint8_t na_listen,
    unsigned int version, const struct hg_init_info *hg_init_info)
{
    hg_class_t *hg_class;

    return talaria_hg_init(na_info_string, na_listen != 0, version,
               hg_init_info, NULL, &hg_class) == HG_SUCCESS
               ? hg_class
               : NULL;
}

hg_return_t
HG_Finalize(hg_class_t *hg_class)
{
    uint32_t contexts, addrs;

    if (!hg_class)
        return HG_SUCCESS;
    contexts =
        atomic_load_explicit(&hg_class->context_count, memory_order_relaxed);
    addrs = atomic_load_explicit(&hg_class->addr_count, memory_order_relaxed);
    if (contexts > 0 || addrs > 0) {
        LOG_ERROR(HG, "class %s+%s still has %u contexts and %u addresses",
            HG_Class_get_name(hg_class), HG_Class_get_protocol(hg_class),
            contexts, addrs);
        return HG_BUSY;
    }
    hg_class_stats_leave(hg_class);
    hg_registry_finish(&hg_class->registry);
    bulk_class_finish(&hg_class->bulk);
    if (hg_class->data && hg_class->data_free)
        hg_class->data_free(hg_class->data);
    hg_auto_sm_close(hg_class);
    if (hg_class->own_na_class)
        NA_Finalize(hg_class->bulk.na_class);
    free(hg_class);
    return HG_SUCCESS;
}

const char *
HG_Class_get_name(const hg_class_t *hg_class)
{
    return hg_class ? NA_Get_class_name(hg_class_na(hg_class)) : NULL;
}

const char *
HG_Class_get_protocol(const hg_class_t *hg_class)
{
    return hg_class ? NA_Get_class_protocol(hg_class_na(hg_class)) : NULL;
}

bool
HG_Class_is_listening(const hg_class_t *hg_class)
{
    return hg_class && NA_Is_listening(hg_class_na(hg_class));
}

/* Returns the smaller room of the transports. */
static size_t
least_room(
    const struct hg_class *hg_class, size_t (*room)(const struct hg_net *net))
{
    size_t least = SIZE_MAX;

    for (unsigned i = 0; i < hg_class->net_count; i++)
        if (room(&hg_class->nets[i]) < least)
            least = room(&hg_class->nets[i]);
    return least;
}

hg_size_t
HG_Class_get_input_eager_size(const hg_class_t *hg_class)
{
    return hg_class ? least_room(hg_class, hg_net_in_room) - hg_class->in_offset
                    : 0;
}

hg_size_t
HG_Class_get_output_eager_size(const hg_class_t *hg_class)
{
    return hg_class
               ? least_room(hg_class, hg_net_out_room) - hg_class->out_offset
               : 0;
}

hg_return_t
HG_Class_set_input_offset(hg_class_t *hg_class, hg_size_t offset)
{
    if (!hg_class || offset > least_room(hg_class, hg_net_in_room))
        return HG_INVALID_ARG;
    hg_class->in_offset = offset;
    return HG_SUCCESS;
}

hg_return_t
HG_Class_set_output_offset(hg_class_t *hg_class, hg_size_t offset)
{
    if (!hg_class || offset > least_room(hg_class, hg_net_out_room))
        return HG_INVALID_ARG;
    hg_class->out_offset = offset;
    return HG_SUCCESS;
}

hg_return_t
HG_Class_set_data(
    hg_class_t *hg_class, void *data, void (*free_callback)(void *))
{
    if (!hg_class)
        return HG_INVALID_ARG;
    hg_class->data = data;
    hg_class->data_free = free_callback;
    return HG_SUCCESS;
}

void *
HG_Class_get_data(const hg_class_t *hg_class)
{
    return hg_class ? hg_class->data : NULL;
}

hg_return_t
HG_Class_set_handle_create_callback(hg_class_t *hg_class,
    hg_return_t (*callback)(hg_handle_t, void *), void *arg)
{
    if (!hg_class)
        return HG_INVALID_ARG;
    hg_class->handle_create = callback;
    hg_class->handle_create_arg = arg;
    return HG_SUCCESS;
}
