/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric, domain, addresses, completions, endpoint: opening and closing. */
#include <inttypes.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>

#include "fabric.h"
#include "key.h"
#include "name.h"
#include "peer.h"
#include "stale.h"
#include "waitset.h"

#define STALE_MAX 64U

static int32_t
refuse(na_plugin_class *cls, const char *call, int ret)
{
    char where[OFI_TEXT_MAX] = "";
    struct ofi_name name;

    if (cls->info->src_addr != NULL &&
        ofi_name_from_raw(
            cls->trait, cls->info->src_addr, cls->info->src_addrlen, &name))
        ofi_name_print(cls->trait, &name, where);
    OFI_LOG(cls->host, ERROR, "provider %s, device %s%s%s: %s: %s",
        cls->trait->provider, cls->info->domain_attr->name,
        where[0] != '\0' ? ", address " : "", where, call,
        ofi_library.strerror(-ret));
    return ofi_peer_code(-ret);
}

static int32_t
open_domain(na_plugin_class *cls)
{
    struct fi_av_attr attr = {.type = cls->info->domain_attr->av_type};
    int ret = 0;

    if (cls->shares) {
        cls->fabric = cls->main->fabric;
        cls->domain = cls->main->domain;
    } else {
        ret = ofi_library.fabric(cls->info->fabric_attr, &cls->fabric, NULL);
        if (ret != 0)
            return refuse(cls, "fi_fabric", ret);
        ret = fi_domain(cls->fabric, cls->info, &cls->domain, NULL);
        if (ret != 0)
            return refuse(cls, "fi_domain", ret);
    }
    if (attr.type == FI_AV_UNSPEC)
        attr.type = FI_AV_TABLE;
    ret = fi_av_open(cls->domain, &attr, &cls->av, NULL);
    if (ret != 0)
        return refuse(cls, "fi_av_open", ret);
    ret = ofi_waitset_open(
        cls, !cls->no_block && !(cls->trait->flags & OFI_TRAIT_NO_WAIT));
    if (ret != 0)
        return refuse(cls, "fi_cq_open", ret);
    return NA_PLUGIN_OK;
}

static int
try_endpoint(na_plugin_class *cls, struct fi_info *info, struct fid_ep **ep_p,
    const char **call_p)
{
    struct fid_ep *ep = NULL;
    int ret = fi_endpoint(cls->domain, info, &ep, NULL);

    *call_p = "fi_endpoint";
    if (ret == 0) {
        *call_p = "fi_ep_bind";
        ret = fi_ep_bind(ep, &cls->av->fid, 0);
    }
    if (ret == 0)
        ret = fi_ep_bind(ep, &cls->cq->fid, FI_TRANSMIT | FI_RECV);
    if (ret == 0) {
        *call_p = "fi_enable";
        ret = fi_enable(ep);
    }
    if (ret == 0)
        *ep_p = ep;
    else if (ep != NULL)
        fi_close(&ep->fid);
    return ret;
}

static int32_t
open_endpoint(na_plugin_class *cls, struct fi_info *info, struct fid_ep **ep_p)
{
    const char *call = NULL;
    int ret = try_endpoint(cls, info, ep_p, &call);

    /* A process that was killed, and had the number that this one has now, left
     * files of these names. shm takes them for its own, and removes them; the
     * next try has another name. */
    for (uint32_t i = 0; i < STALE_MAX && ret == -FI_EBUSY &&
                         (cls->trait->flags & OFI_TRAIT_NODE) != 0;
         i++)
        ret = try_endpoint(cls, info, ep_p, &call);
    if (ret != 0)
        return refuse(cls, call, ret);
    ofi_stale_mark(cls, *ep_p);
    return NA_PLUGIN_OK;
}

struct fi_info *
ofi_fabric_any_port(const na_plugin_class *cls)
{
    struct fi_info *info = ofi_library.dupinfo(cls->info);

    if (info != NULL && cls->trait->format == OFI_FORMAT_IP) {
        struct sockaddr *address = info->src_addr;
        if (address->sa_family == AF_INET)
            ((struct sockaddr_in *) (void *) address)->sin_port = 0;
        else
            ((struct sockaddr_in6 *) (void *) address)->sin6_port = 0;
    }
    return info;
}

int32_t
ofi_fabric_rma_endpoint(na_plugin_class *cls, struct fid_ep **ep_p)
{
    struct fi_info *info = ofi_fabric_any_port(cls);

    if (info == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = open_endpoint(cls, info, ep_p);
    ofi_library.freeinfo(info);
    return ret;
}

/* The name that peers will know the class by. */
static int32_t
learn_name(na_plugin_class *cls, struct ofi_name *name)
{
    uint64_t raw[OFI_RAW_MAX / 8];
    size_t length = sizeof(raw);
    int ret = fi_getname(&cls->ep->fid, raw, &length);

    if (ret != 0)
        return refuse(cls, "fi_getname", ret);
    if (length > sizeof(raw) ||
        !ofi_name_from_raw(cls->trait, raw, length, name)) {
        OFI_LOG(cls->host, ERROR,
            "provider %s: its endpoint's name, %zu bytes, is not one that can "
            "be passed on",
            cls->trait->provider, length);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    return NA_PLUGIN_OK;
}

static void
describe(na_plugin_class *cls)
{
    static const struct {
        int bit;
        const char *name;
    } modes[] = {{FI_MR_LOCAL, "local"}, {FI_MR_VIRT_ADDR, "virtual"},
        {FI_MR_ALLOCATED, "allocated"}, {FI_MR_PROV_KEY, "provider_key"},
        {FI_MR_ENDPOINT, "endpoint"}, {FI_MR_HMEM, "device"}};
    uint32_t version = ofi_library.version();
    size_t used = 0;

    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++)
        if (cls->info->domain_attr->mr_mode & modes[i].bit)
            used += (size_t) snprintf(cls->text_mr + used,
                sizeof(cls->text_mr) - used, "%s%s", used != 0 ? "," : "",
                modes[i].name);
    if (used == 0)
        snprintf(cls->text_mr, sizeof(cls->text_mr), "none");
    snprintf(cls->text_version, sizeof(cls->text_version), "%u.%u",
        FI_MAJOR(version), FI_MINOR(version));
    snprintf(cls->text_provider, sizeof(cls->text_provider), "%s",
        cls->info->fabric_attr->prov_name);
    if (cls->main != cls)
        return;
    OFI_LOG(cls->host, INFO,
        "provider %s of libfabric %s, fabric %s, device %s (%s), registration "
        "modes %s, wait objects %s",
        cls->text_provider, cls->text_version, cls->info->fabric_attr->name,
        cls->info->domain_attr->name, cls->text_why, cls->text_mr,
        cls->can_wait ? "used" : "not used");
}

/* shm that works in a way whose faults are not provided for: what processes that
 * are killed leave would stay, and transfers with them would not end. */
static int32_t
refuse_shm(na_plugin_class *cls)
{
    uint32_t version = ofi_library.version();

    OFI_LOG(cls->host, ERROR,
        "shm of libfabric %u.%u is not supported: it cleans up after no "
        "process "
        "that is killed; use na+sm",
        FI_MAJOR(version), FI_MINOR(version));
    return NA_PLUGIN_E_PROTONOSUPPORT;
}

int32_t
ofi_fabric_open(na_plugin_class *cls)
{
    struct ofi_name name;

    cls->info->tx_attr->op_flags = 0;
    cls->info->rx_attr->op_flags = 0;
    ofi_stale_remove(cls);
    int32_t ret = open_domain(cls);
    if (ret == NA_PLUGIN_OK)
        ret = open_endpoint(cls, cls->info, &cls->ep);
    if (ret == NA_PLUGIN_OK)
        ret = learn_name(cls, &name);
    if (ret == NA_PLUGIN_OK && !ofi_stale_can_mark(cls, cls->ep))
        ret = refuse_shm(cls);
    if (ret != NA_PLUGIN_OK)
        return ret;

    cls->local_mr = (cls->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    cls->lock_mr = (cls->trait->flags & OFI_TRAIT_LOCK_MR) != 0;
    cls->inject_size = cls->info->tx_attr->inject_size;
    if (cls->inject_size > OFI_INJECT_LIMIT)
        cls->inject_size = OFI_INJECT_LIMIT;
    cls->fragment_max = cls->info->ep_attr->max_msg_size;
    cls->own_name = name;
    describe(cls);
    return NA_PLUGIN_OK;
}

static void
close_one(struct fid *fid)
{
    if (fid != NULL)
        fi_close(fid);
}

void
ofi_fabric_close_endpoint(na_plugin_class *cls)
{
    if (cls->ep != NULL) {
        ofi_stale_unmark(cls, cls->ep);
        fi_close(&cls->ep->fid);
    }
    cls->ep = NULL;
}

void
ofi_fabric_close(na_plugin_class *cls)
{
    ofi_fabric_close_endpoint(cls);
    if (cls->cq != NULL)
        close_one(&cls->cq->fid);
    ofi_waitset_close(cls);
    if (cls->av != NULL)
        close_one(&cls->av->fid);
    if (cls->domain != NULL && !cls->shares)
        close_one(&cls->domain->fid);
    if (cls->fabric != NULL && !cls->shares)
        close_one(&cls->fabric->fid);
    ofi_library.freeinfo(cls->info);
    ofi_stale_remove(cls);
}

int32_t
ofi_fabric_register(na_plugin_class *cls, void *memory, size_t length,
    uint64_t access, struct fid_mr **mr_p)
{
    const struct iovec iov = {.iov_base = memory, .iov_len = length};
    struct fi_mr_attr attr = {.mr_iov = &iov, .iov_count = 1, .access = access};
    int ret = ofi_key_register(cls, &attr, mr_p);

    return ret == 0 ? NA_PLUGIN_OK : refuse(cls, "fi_mr_regattr", ret);
}
