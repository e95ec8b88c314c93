/* SPDX-License-Identifier: BSD-3-Clause */
/* The provider's symbol; fabric, domain, addresses. */
#include <stdlib.h>
#include <string.h>

#include <rdma/providers/fi_prov.h>

#include "awkward.h"

static int
close_plain(struct fid *fid)
{
    free(fid);
    return 0;
}

/* ADDRESSES */

static int
av_insert(struct fid_av *fid, const void *names, size_t count, fi_addr_t *addrs,
    uint64_t flags, void *context)
{
    struct av *av = OBJECT(fid, struct av, fid);

    pthread_mutex_lock(&av->domain->lock);
    uint64_t *numbers =
        realloc(av->numbers, (av->count + count) * sizeof(*numbers));
    if (numbers != NULL) {
        av->numbers = numbers;
        memcpy(numbers + av->count, names, count * sizeof(*numbers));
        for (size_t i = 0; i < count; i++)
            addrs[i] = av->count++;
    }
    pthread_mutex_unlock(&av->domain->lock);
    return numbers != NULL ? (int) count : -FI_ENOMEM;
}

static int
av_remove(struct fid_av *fid, fi_addr_t *addrs, size_t count, uint64_t flags)
{
    struct av *av = OBJECT(fid, struct av, fid);

    pthread_mutex_lock(&av->domain->lock);
    for (size_t i = 0; i < count; i++)
        av->numbers[addrs[i]] = 0;
    pthread_mutex_unlock(&av->domain->lock);
    return 0;
}

static int
av_close(struct fid *fid)
{
    struct av *av = OBJECT(fid, struct av, fid.fid);

    free(av->numbers);
    free(av);
    return 0;
}

static struct fi_ops av_fid_ops = {
    .size = sizeof(av_fid_ops), .close = av_close};
static struct fi_ops_av av_ops = {
    .size = sizeof(av_ops), .insert = av_insert, .remove = av_remove};

static int
av_open(struct fid_domain *domain, struct fi_av_attr *attr,
    struct fid_av **av_p, void *context)
{
    struct av *av = calloc(1, sizeof(*av));

    if (av == NULL)
        return -FI_ENOMEM;
    av->fid.fid.fclass = FI_CLASS_AV;
    av->fid.fid.ops = &av_fid_ops;
    av->fid.ops = &av_ops;
    av->domain = OBJECT(domain, struct domain, fid);
    *av_p = &av->fid;
    return 0;
}

/* DOMAIN */

static int
domain_close(struct fid *fid)
{
    struct domain *domain = OBJECT(fid, struct domain, fid.fid);

    if (domain->mrs != NULL)
        return -FI_EBUSY;
    pthread_mutex_destroy(&domain->lock);
    free(domain);
    return 0;
}

static struct fi_ops domain_fid_ops = {
    .size = sizeof(domain_fid_ops), .close = domain_close};
static struct fi_ops_domain domain_ops = {.size = sizeof(domain_ops),
    .av_open = av_open,
    .cq_open = awkward_cq_open,
    .endpoint = awkward_endpoint};

static int
domain_open(struct fid_fabric *fabric, struct fi_info *info,
    struct fid_domain **domain_p, void *context)
{
    struct domain *domain = calloc(1, sizeof(*domain));

    if (domain == NULL)
        return -FI_ENOMEM;
    awkward_settings(&domain->set);
    domain->set.mr_mode = info->domain_attr->mr_mode;
    pthread_mutex_init(&domain->lock, NULL);
    domain->fid.fid.fclass = FI_CLASS_DOMAIN;
    domain->fid.fid.ops = &domain_fid_ops;
    domain->fid.ops = &domain_ops;
    domain->fid.mr = &awkward_mr_ops;
    *domain_p = &domain->fid;
    return 0;
}

/* FABRIC */

static int
trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    for (int i = 0; i < count; i++) {
        int ret = awkward_trywait(OBJECT(fids[i], struct cq, fid.fid));
        if (ret != 0)
            return ret;
    }
    return 0;
}

static int
no_wait_set(struct fid_fabric *fabric, struct fi_wait_attr *attr,
    struct fid_wait **wait_set_p)
{
    return -FI_ENOSYS;
}

static struct fi_ops fabric_fid_ops = {
    .size = sizeof(fabric_fid_ops), .close = close_plain};
static struct fi_ops_fabric fabric_ops = {.size = sizeof(fabric_ops),
    .domain = domain_open,
    .wait_open = no_wait_set,
    .trywait = trywait};

static int
fabric_open(
    struct fi_fabric_attr *attr, struct fid_fabric **fabric_p, void *context)
{
    struct fid_fabric *fabric = calloc(1, sizeof(*fabric));

    if (fabric == NULL)
        return -FI_ENOMEM;
    fabric->fid.fclass = FI_CLASS_FABRIC;
    fabric->fid.ops = &fabric_fid_ops;
    fabric->ops = &fabric_ops;
    *fabric_p = fabric;
    return 0;
}

static void
cleanup(void)
{
}

struct fi_provider awkward_provider = {.version = FI_VERSION(1, 0),
    .fi_version = FI_VERSION(1, 17),
    .name = NAME,
    .getinfo = awkward_getinfo,
    .fabric = fabric_open,
    .cleanup = cleanup};

/* libfabric's headers do not declare it. */
struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
    return &awkward_provider;
}
