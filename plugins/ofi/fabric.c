/* SPDX-License-Identifier: BSD-3-Clause */
/* Fabric, domain, addresses, completions, endpoint: opening and closing. */
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "common/host.h"
#include "fabric.h"
#include "library.h"
#include "ofi.h"
#include "quirk.h"

static int32_t
refuse(struct ofi_endpoint *ep, const char *call, int ret)
{
    char address[OFI_TEXT_MAX] = "";
    struct ofi_name name;

    if (ep->info->src_addr != NULL &&
        ofi_name_from_raw(
            ep->cls->trait, ep->info->src_addr, ep->info->src_addrlen, &name))
        ofi_name_print(ep->cls->trait, &name, address);
    TP_LOG(ep->cls->host, ERROR, "provider %s, device %s%s%s: %s: %s",
        ep->cls->trait->provider, ep->info->domain_attr->name,
        address[0] != '\0' ? ", address " : "", address, call,
        ofi_library.strerror(-ret));
    return ofi_error_code(-ret);
}

/* WAIT OBJECTS are put to the test: a queue's descriptor may never be quiet again
 * once it was signalled (libfabric 1.17). A wait set's, which is asked in another
 * way, is then. */

#define COMPLETIONS 1024U /* room in the queue, as a hint */

enum object { QUEUE, SET, NEITHER };

/* Newer versions have no wait sets, nor providers that need them. */
#ifdef OFI_HAVE_WAIT_SET
static int
open_set(struct ofi_endpoint *ep)
{
    struct fi_wait_attr attr = {.wait_obj = FI_WAIT_FD};

    return fi_wait_open(ep->fabric, &attr, &ep->wait_set);
}

static bool
try_set(struct ofi_endpoint *ep)
{
    return fi_wait(ep->wait_set, 0) == -FI_ETIMEDOUT;
}
#else
static int
open_set(struct ofi_endpoint *ep)
{
    return -FI_ENOSYS;
}

static bool
try_set(struct ofi_endpoint *ep)
{
    return false;
}
#endif

static int
open_queue(struct ofi_endpoint *ep, enum object object)
{
    struct fi_cq_attr attr = {.size = COMPLETIONS,
        .format = FI_CQ_FORMAT_DATA,
        .wait_obj = object == QUEUE ? FI_WAIT_FD
                    : object == SET ? FI_WAIT_SET
                                    : FI_WAIT_NONE};
    int ret = 0;

    if (object == SET) {
        ret = open_set(ep);
        if (ret != 0)
            ep->wait_set = NULL;
        attr.wait_set = ep->wait_set;
    }
    return ret != 0 ? ret : fi_cq_open(ep->domain, &attr, &ep->cq, NULL);
}

bool
ofi_waitset_try(struct ofi_endpoint *ep)
{
    struct fid *fid = &ep->cq->fid;

    if (ep->naps)
        return true;
    if (ep->wait_set != NULL)
        return try_set(ep);
    return fi_trywait(ep->fabric, &fid, 1) == 0;
}

/* Whether the descriptor is quiet again after a signal. */
static bool
passes(struct ofi_endpoint *ep)
{
    struct fid *fid = ep->wait_set != NULL ? &ep->wait_set->fid : &ep->cq->fid;
    struct pollfd one = {.fd = -1, .events = POLLIN};

    if (fi_control(fid, FI_GETWAIT, &one.fd) != 0 || one.fd < 0)
        return false;
    ep->wait_fd = one.fd;
    if (ep->cls->conduct.trust_wait)
        return true;
    fi_cq_signal(ep->cq);
    /* the first one may find what there is to find */
    ofi_waitset_try(ep);
    ofi_waitset_try(ep);
    return poll(&one, 1, 0) == 0;
}

static void
close_waitset(struct ofi_endpoint *ep)
{
    if (ep->wait_set != NULL)
        fi_close(&ep->wait_set->fid);
    ep->wait_set = NULL;
}

static int
open_waitset(struct ofi_endpoint *ep, bool wanted)
{
    static const enum object objects[] = {QUEUE, SET, NEITHER};
    int ret = 0;

    bool asked = wanted || ep->cls->conduct.wants_descriptor;

    for (uint32_t i = asked ? 0 : 2; i < 3; i++) {
        ep->wait_fd = -1;
        ret = open_queue(ep, objects[i]);
        ep->can_wait = ret == 0 && objects[i] != NEITHER && passes(ep);
        bool done = ret == 0 && (ep->can_wait || objects[i] == NEITHER);
        ep->can_wait = ep->can_wait && wanted;
        if (done)
            return 0;
        if (ep->cq != NULL)
            fi_close(&ep->cq->fid);
        ep->cq = NULL;
        close_waitset(ep);
    }
    return ret;
}

/* OPENING AND CLOSING */

static int32_t
open_domain(struct ofi_endpoint *ep)
{
    struct fi_av_attr attr = {.type = ep->info->domain_attr->av_type};
    int ret = 0;

    if (ep->shares) {
        ep->fabric = ep->cls->first->fabric;
        ep->domain = ep->cls->first->domain;
    } else {
        ret = ofi_library.fabric(ep->info->fabric_attr, &ep->fabric, NULL);
        if (ret != 0)
            return refuse(ep, "fi_fabric", ret);
        ret = fi_domain(ep->fabric, ep->info, &ep->domain, NULL);
        if (ret != 0)
            return refuse(ep, "fi_domain", ret);
    }
    if (attr.type == FI_AV_UNSPEC)
        attr.type = FI_AV_TABLE;
    ret = fi_av_open(ep->domain, &attr, &ep->av, NULL);
    if (ret != 0)
        return refuse(ep, "fi_av_open", ret);
    ret = open_waitset(ep, !ep->cls->no_block && !ep->cls->conduct.never_wait);
    if (ret != 0)
        return refuse(ep, "fi_cq_open", ret);
    return NA_PLUGIN_OK;
}

static int
try_endpoint(struct ofi_endpoint *ep, struct fi_info *info,
    struct fid_ep **fep_p, const char **call_p)
{
    struct fid_ep *fep = NULL;
    int ret = fi_endpoint(ep->domain, info, &fep, NULL);

    *call_p = "fi_endpoint";
    if (ret == 0) {
        *call_p = "fi_ep_bind";
        ret = fi_ep_bind(fep, &ep->av->fid, 0);
    }
    if (ret == 0)
        ret = fi_ep_bind(fep, &ep->cq->fid, FI_TRANSMIT | FI_RECV);
    if (ret == 0) {
        *call_p = "fi_enable";
        ret = fi_enable(fep);
    }
    if (ret == 0)
        *fep_p = fep;
    else if (fep != NULL)
        fi_close(&fep->fid);
    return ret;
}

static int32_t
open_endpoint(
    struct ofi_endpoint *ep, struct fi_info *info, struct fid_ep **fep_p)
{
    const char *call = NULL;
    int ret = try_endpoint(ep, info, fep_p, &call);

    while (ret != 0 && ofi_quirk_retry_endpoint(ep, -ret))
        ret = try_endpoint(ep, info, fep_p, &call);
    if (ret != 0)
        return refuse(ep, call, ret);
    OFI_QUIRKS_CALL(ep, endpoint_opened, ep, *fep_p);
    return NA_PLUGIN_OK;
}

struct fi_info *
ofi_fabric_any_port(const struct ofi_endpoint *ep)
{
    struct fi_info *info = ofi_library.dupinfo(ep->info);

    if (info != NULL && ep->cls->trait->format == OFI_FORMAT_IP)
        tp_host_set_port(info->src_addr, 0);
    return info;
}

int32_t
ofi_fabric_rma_endpoint(struct ofi_endpoint *ep, struct fid_ep **fep_p)
{
    struct fi_info *info = ofi_fabric_any_port(ep);

    if (info == NULL)
        return NA_PLUGIN_E_NOMEM;
    int32_t ret = open_endpoint(ep, info, fep_p);
    ofi_library.freeinfo(info);
    return ret;
}

/* The name that peers will know the class by. */
static int32_t
learn_name(struct ofi_endpoint *ep, struct ofi_name *name)
{
    uint64_t raw[OFI_RAW_MAX / 8];
    size_t length = sizeof(raw);
    int ret = fi_getname(&ep->fep->fid, raw, &length);

    if (ret != 0)
        return refuse(ep, "fi_getname", ret);
    if (length > sizeof(raw) ||
        !ofi_name_from_raw(ep->cls->trait, raw, length, name)) {
        TP_LOG(ep->cls->host, ERROR,
            "provider %s: its endpoint's name, %zu bytes, is not one that can "
            "be passed on",
            ep->cls->trait->provider, length);
        return NA_PLUGIN_E_PROTONOSUPPORT;
    }
    return NA_PLUGIN_OK;
}

static void
describe(struct ofi_endpoint *ep)
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
        if (ep->info->domain_attr->mr_mode & modes[i].bit)
            used += (size_t) snprintf(ep->cls->text_mr + used,
                sizeof(ep->cls->text_mr) - used, "%s%s", used != 0 ? "," : "",
                modes[i].name);
    if (used == 0)
        snprintf(ep->cls->text_mr, sizeof(ep->cls->text_mr), "none");
    snprintf(ep->cls->text_version, sizeof(ep->cls->text_version), "%u.%u",
        FI_MAJOR(version), FI_MINOR(version));
    snprintf(ep->cls->text_provider, sizeof(ep->cls->text_provider), "%s",
        ep->info->fabric_attr->prov_name);
    if (!ofi_is_first(ep))
        return;
    TP_LOG(ep->cls->host, INFO,
        "provider %s of libfabric %s, fabric %s, device %s (%s), registration "
        "modes %s, wait objects %s",
        ep->cls->text_provider, ep->cls->text_version,
        ep->info->fabric_attr->name, ep->info->domain_attr->name,
        ep->cls->text_why, ep->cls->text_mr,
        ep->can_wait ? "used" : "not used");
}

/* On an error the caller closes what was opened (ofi_fabric_close). */
int32_t
ofi_fabric_open(struct ofi_endpoint *ep)
{
    struct ofi_name name;

    ep->info->tx_attr->op_flags = 0;
    ep->info->rx_attr->op_flags = 0;
    OFI_QUIRKS_CALL(ep, opening, ep);
    int32_t ret = open_domain(ep);
    if (ret == NA_PLUGIN_OK)
        ret = open_endpoint(ep, ep->info, &ep->fep);
    if (ret == NA_PLUGIN_OK)
        ret = learn_name(ep, &name);
    if (ret != NA_PLUGIN_OK)
        return ret;

    ep->local_mr = (ep->info->domain_attr->mr_mode & FI_MR_LOCAL) != 0;
    ep->inject_size = ep->info->tx_attr->inject_size;
    if (ep->inject_size > OFI_INJECT_LIMIT)
        ep->inject_size = OFI_INJECT_LIMIT;
    ep->fragment_max = ep->info->ep_attr->max_msg_size;
    ep->own_name = name;
    describe(ep);
    return NA_PLUGIN_OK;
}

void
ofi_fabric_close_endpoint(struct ofi_endpoint *ep)
{
    if (ep->fep != NULL) {
        OFI_QUIRKS_CALL(ep, endpoint_closing, ep, ep->fep);
        fi_close(&ep->fep->fid);
    }
    ep->fep = NULL;
}

void
ofi_fabric_close(struct ofi_endpoint *ep)
{
    ofi_fabric_close_endpoint(ep);
    if (ep->cq != NULL)
        fi_close(&ep->cq->fid);
    close_waitset(ep);
    if (ep->av != NULL)
        fi_close(&ep->av->fid);
    if (ep->domain != NULL && !ep->shares)
        fi_close(&ep->domain->fid);
    if (ep->fabric != NULL && !ep->shares)
        fi_close(&ep->fabric->fid);
    ofi_library.freeinfo(ep->info);
}

/* REGISTERING: random numbers are drawn in batches, so that a key needs no system
 * call of its own. */

/* Attempts to draw a free key: enough to find one of the last few where keys are
 * short. */
#define DRAWS 4096U

/* False: the system has no random numbers. */
static bool
draw(struct ofi_keys *keys, uint64_t *key_p)
{
    tp_lock_take(&keys->lock);
    bool drawn = tp_random_draw(&keys->random, key_p);
    tp_lock_drop(&keys->lock);
    return drawn;
}

static int
register_once(struct ofi_endpoint *ep, const struct fi_mr_attr *attr,
    struct fid_mr **mr_p)
{
    struct fid_mr *mr = NULL;
    int ret = fi_mr_regattr(ep->domain, attr, 0, &mr);

    if (ret == 0 && (ep->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        ret = fi_mr_bind(mr, &ep->fep->fid, 0);
        if (ret == 0)
            ret = fi_mr_enable(mr);
    }
    if (ret == 0)
        *mr_p = mr;
    else if (mr != NULL)
        fi_close(&mr->fid);
    return ret;
}

int
ofi_fabric_register_attr(
    struct ofi_endpoint *ep, struct fi_mr_attr *attr, struct fid_mr **mr_p)
{
    size_t bytes = ep->info->domain_attr->mr_key_size;
    uint64_t mask =
        bytes < sizeof(mask) ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
    int ret = -FI_ENOKEY;

    for (uint32_t i = 0; i < DRAWS && ret == -FI_ENOKEY; i++) {
        if (!draw(&ep->cls->keys, &attr->requested_key))
            return -FI_EIO;
        attr->requested_key &= mask;
        if (attr->requested_key != FI_KEY_NOTAVAIL)
            ret = register_once(ep, attr, mr_p);
    }
    return ret;
}

int32_t
ofi_fabric_register(struct ofi_endpoint *ep, void *memory, size_t length,
    uint64_t access, struct fid_mr **mr_p)
{
    const struct iovec iov = {.iov_base = memory, .iov_len = length};
    struct fi_mr_attr attr = {.mr_iov = &iov, .iov_count = 1, .access = access};
    int ret = ofi_fabric_register_attr(ep, &attr, mr_p);

    return ret == 0 ? NA_PLUGIN_OK : refuse(ep, "fi_mr_regattr", ret);
}
