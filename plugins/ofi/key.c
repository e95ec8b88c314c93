/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers are drawn in batches, so that registering needs no system call
 * of its own for its key. */

#include "key.h"
#include "ofi.h"

/* Where keys are short, so many draws find one of the last few that are free. */
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
ofi_key_register(
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
