/* SPDX-License-Identifier: BSD-3-Clause */
/* Registrations, by every mode that is set, each to the letter. */
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#include "awkward.h"

bool
awkward_mr_covers(const struct domain *domain, const void *desc,
    const void *buffer, size_t length, uint64_t access)
{
    const struct mr *mr = domain->mrs;
    uint64_t base = (uintptr_t) buffer;

    if (!(domain->set.mr_mode & FI_MR_LOCAL))
        return true;
    while (mr != NULL && mr != desc)
        mr = mr->next;
    return mr != NULL && mr->enabled && (mr->access & access) == access &&
           base >= mr->base && length <= mr->length &&
           base - mr->base <= mr->length - length;
}

void *
awkward_mr_find(const struct ep *ep, uint64_t key, uint64_t address,
    uint64_t length, uint64_t access, int *error_p)
{
    const struct domain *domain = ep->domain;
    const struct mr *mr = domain->mrs;

    *error_p = FI_EKEYREJECTED;
    while (mr != NULL && (!mr->enabled || mr->key != key))
        mr = mr->next;
    if (mr == NULL)
        return NULL;
    if ((domain->set.mr_mode & FI_MR_ENDPOINT) && mr->ep != ep)
        return NULL;
    uint64_t offset =
        domain->set.mr_mode & FI_MR_VIRT_ADDR ? address - mr->base : address;
    *error_p = FI_EACCES;
    if (!(mr->access & access) || offset > mr->length ||
        length > mr->length - offset)
        return NULL;
    *error_p = 0;
    return (void *) (uintptr_t) (mr->base + offset);
}

/* Whether its pages are mapped. */
static bool
is_allocated(uint64_t base, uint64_t length)
{
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    uint64_t first = base / page * page;
    unsigned char there;

    for (; first < base + length; first += page)
        if (mincore((void *) (uintptr_t) first, page, &there) != 0)
            return false;
    return true;
}

static bool
is_taken(const struct domain *domain, uint64_t key)
{
    const struct mr *mr = domain->mrs;

    while (mr != NULL && mr->key != key)
        mr = mr->next;
    return mr != NULL;
}

static int
choose_key(const struct domain *domain, uint64_t requested, uint64_t *key_p)
{
    if (!(domain->set.mr_mode & FI_MR_PROV_KEY)) {
        if (domain->set.key_bytes < 8 &&
            requested >> 8 * domain->set.key_bytes != 0)
            return -FI_EKEYREJECTED;
        *key_p = requested;
        return is_taken(domain, requested) ? -FI_ENOKEY : 0;
    }
    do
        if (getrandom(key_p, sizeof(*key_p), 0) != (ssize_t) sizeof(*key_p))
            return -FI_EIO;
    while (*key_p == requested || *key_p == FI_KEY_NOTAVAIL ||
           is_taken(domain, *key_p));
    return 0;
}

static int
mr_close(struct fid *fid)
{
    struct mr *mr = OBJECT(fid, struct mr, fid.fid);
    struct mr **link = &mr->domain->mrs;

    pthread_mutex_lock(&mr->domain->lock);
    while (*link != mr)
        link = &(*link)->next;
    *link = mr->next;
    pthread_mutex_unlock(&mr->domain->lock);
    free(mr);
    return 0;
}

static int
mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct mr *mr = OBJECT(fid, struct mr, fid.fid);

    if (!(mr->domain->set.mr_mode & FI_MR_ENDPOINT) || mr->enabled ||
        other->fclass != FI_CLASS_EP)
        return -FI_EINVAL;
    mr->ep = OBJECT(other, struct ep, fid.fid);
    return 0;
}

static int
mr_control(struct fid *fid, int command, void *arg)
{
    struct mr *mr = OBJECT(fid, struct mr, fid.fid);

    if (command != FI_ENABLE || mr->ep == NULL || mr->enabled)
        return -FI_EINVAL;
    pthread_mutex_lock(&mr->domain->lock);
    mr->enabled = true;
    mr->fid.key = mr->key;
    mr->fid.mem_desc = mr;
    pthread_mutex_unlock(&mr->domain->lock);
    return 0;
}

static struct fi_ops mr_fid_ops = {.size = sizeof(mr_fid_ops),
    .close = mr_close,
    .bind = mr_bind,
    .control = mr_control};

static int
mr_open(struct domain *domain, const struct mr *wanted, uint64_t requested,
    struct fid_mr **mr_p)
{
    struct mr *mr = malloc(sizeof(*mr));

    if (mr == NULL)
        return -FI_ENOMEM;
    *mr = *wanted;
    mr->domain = domain;
    mr->fid.fid.fclass = FI_CLASS_MR;
    mr->fid.fid.ops = &mr_fid_ops;
    mr->fid.key = FI_KEY_NOTAVAIL;
    if (!(domain->set.mr_mode & FI_MR_ENDPOINT))
        mr->enabled = true;
    pthread_mutex_lock(&domain->lock);
    int ret = choose_key(domain, requested, &mr->key);
    if (ret == 0) {
        mr->next = domain->mrs;
        domain->mrs = mr;
        if (mr->enabled) {
            mr->fid.key = mr->key;
            mr->fid.mem_desc = mr;
        }
    }
    pthread_mutex_unlock(&domain->lock);
    if (ret != 0) {
        free(mr);
        return ret;
    }
    *mr_p = &mr->fid;
    return 0;
}

static int
reg(struct fid *fid, const void *buffer, size_t length, uint64_t access,
    uint64_t offset, uint64_t requested_key, uint64_t flags,
    struct fid_mr **mr_p, void *context)
{
    struct domain *domain = OBJECT(fid, struct domain, fid.fid);
    const struct mr wanted = {
        .base = (uintptr_t) buffer, .length = length, .access = access};

    if (offset != 0 || flags != 0 || length == 0)
        return -FI_EINVAL;
    if ((domain->set.mr_mode & FI_MR_ALLOCATED) &&
        !is_allocated(wanted.base, length))
        return -FI_EFAULT;
    return mr_open(domain, &wanted, requested_key, mr_p);
}

static int
regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
    struct fid_mr **mr_p)
{
    if (attr->iov_count != 1)
        return -FI_EINVAL;
    return reg(fid, attr->mr_iov->iov_base, attr->mr_iov->iov_len, attr->access,
        attr->offset, attr->requested_key, flags, mr_p, attr->context);
}

struct fi_ops_mr awkward_mr_ops = {
    .size = sizeof(awkward_mr_ops), .reg = reg, .regattr = regattr};
