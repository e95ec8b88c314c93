/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider's settings, and what it returns to fi_getinfo. */
#include <stdlib.h>
#include <string.h>

#include "awkward.h"

static const struct {
    const char *name;
    int bit;
} modes[] = {{"local", FI_MR_LOCAL}, {"virtual", FI_MR_VIRT_ADDR},
    {"allocated", FI_MR_ALLOCATED}, {"provider_key", FI_MR_PROV_KEY},
    {"endpoint", FI_MR_ENDPOINT}};

static int
number(const char *name, int otherwise)
{
    const char *text = getenv(name);
    return text != NULL ? (int) strtol(text, NULL, 10) : otherwise;
}

void
awkward_settings(struct settings *set)
{
    const char *mr = getenv("FI_AWKWARD_MR");

    *set = (struct settings){
        .own_keys = number("FI_AWKWARD_OWN_KEYS", 0),
        .key_bytes = number("FI_AWKWARD_KEY_BYTES", 8),
        .eagain = number("FI_AWKWARD_EAGAIN", 0),
        .inject = number("FI_AWKWARD_INJECT", 128),
        .no_delivery = number("FI_AWKWARD_NO_DELIVERY", 0),
        .no_wait = number("FI_AWKWARD_NO_WAIT", 0),
        .stuck_wait = number("FI_AWKWARD_STUCK_WAIT", 0),
        .late_wait = number("FI_AWKWARD_LATE_WAIT", 0),
        .late_send = number("FI_AWKWARD_LATE_SEND", 0),
        .fail_send = number("FI_AWKWARD_FAIL_SEND", 0),
        .fail_recv = number("FI_AWKWARD_FAIL_RECV", 0),
        .fail_rma = number("FI_AWKWARD_FAIL_RMA", 0),
        .error = number("FI_AWKWARD_ERROR", FI_EIO),
        .multi = number("FI_AWKWARD_MULTI", 0),
        .one_thread = number("FI_AWKWARD_ONE_THREAD", 0),
    };
    for (size_t i = 0; mr != NULL && i < sizeof(modes) / sizeof(modes[0]); i++)
        if (strstr(mr, modes[i].name) != NULL)
            set->mr_mode |= modes[i].bit;
}

static bool
fits(const struct settings *set, const struct fi_info *hints)
{
    const uint64_t caps = FI_MSG | FI_RMA | FI_SEND | FI_RECV | FI_READ |
                          FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE |
                          FI_LOCAL_COMM;

    if (hints == NULL)
        return true;
    if ((hints->caps & ~caps) != 0 || !(hints->mode & FI_CONTEXT2))
        return false;
    if (hints->ep_attr != NULL && hints->ep_attr->type != FI_EP_UNSPEC &&
        hints->ep_attr->type != FI_EP_RDM)
        return false;
    if (hints->domain_attr != NULL &&
        (set->mr_mode & ~hints->domain_attr->mr_mode) != 0)
        return false;
    if (hints->domain_attr != NULL && set->one_thread != 0 &&
        hints->domain_attr->threading != FI_THREAD_DOMAIN)
        return false;
    return !set->no_delivery || hints->tx_attr == NULL ||
           !(hints->tx_attr->op_flags & FI_DELIVERY_COMPLETE);
}

static struct fi_info *
describe(const struct settings *set, const struct fi_info *hints)
{
    struct fi_info *info = fi_allocinfo();

    if (info == NULL)
        return NULL;
    info->caps =
        hints != NULL && hints->caps != 0 ? hints->caps : FI_MSG | FI_RMA;
    info->caps |= set->multi != 0 ? FI_MULTI_RECV : 0;
    info->mode = FI_CONTEXT2;
    info->addr_format = FI_FORMAT_UNSPEC;
    *info->tx_attr = (struct fi_tx_attr){.caps = info->caps,
        .mode = FI_CONTEXT2,
        .inject_size = (size_t) set->inject,
        .size = 256,
        .iov_limit = 1,
        .rma_iov_limit = 1};
    *info->rx_attr = (struct fi_rx_attr){.caps = info->caps,
        .mode = FI_CONTEXT2,
        .size = RECEIVES_MAX,
        .iov_limit = 1};
    *info->ep_attr = (struct fi_ep_attr){.type = FI_EP_RDM,
        .max_msg_size = MESSAGE_MAX,
        .tx_ctx_cnt = 1,
        .rx_ctx_cnt = 1};
    *info->domain_attr = (struct fi_domain_attr){.name = strdup(NAME),
        .threading = set->one_thread ? FI_THREAD_DOMAIN : FI_THREAD_SAFE,
        .control_progress = FI_PROGRESS_MANUAL,
        .data_progress = FI_PROGRESS_MANUAL,
        .resource_mgmt = FI_RM_ENABLED,
        .av_type = FI_AV_TABLE,
        .mr_mode = set->mr_mode,
        .mr_key_size = (size_t) set->key_bytes,
        .mr_iov_limit = 1,
        .mr_cnt = 65536};
    info->fabric_attr->name = strdup(NAME);
    info->fabric_attr->prov_version = FI_VERSION(1, 0);
    return info;
}

int
awkward_getinfo(uint32_t version, const char *node, const char *service,
    uint64_t flags, const struct fi_info *hints, struct fi_info **infos_p)
{
    const char *nics = getenv("FI_AWKWARD_NICS");
    struct fi_info *infos = NULL, **end = &infos;
    struct settings set;

    awkward_settings(&set);
    if (!fits(&set, hints))
        return -FI_ENODATA;
    if (set.own_keys && hints != NULL && hints->domain_attr != NULL)
        set.mr_mode |= hints->domain_attr->mr_mode & FI_MR_PROV_KEY;
    do {
        *end = describe(&set, hints);
        if (*end == NULL || (nics != NULL && !awkward_nic_read(&nics, *end))) {
            fi_freeinfo(infos);
            return -FI_ENOMEM;
        }
        end = &(*end)->next;
    } while (nics != NULL && *nics != '\0');
    *infos_p = infos;
    return 0;
}
