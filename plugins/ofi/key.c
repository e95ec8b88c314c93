/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers are drawn in batches, so that registering needs no system call
 * of its own for its key. */
#include <string.h>
#include <sys/random.h>

#include "key.h"

/* Where keys are short, so many draws find one of the last few that are free. */
#define DRAWS 4096U

/* getrandom gives up to 256 bytes whole, whatever signals arrive. */
_Static_assert(sizeof(((struct ofi_keys *) NULL)->drawn) <= 256,
    "a batch is drawn by one call");

/* False: the system has no random numbers. */
static bool
draw(struct ofi_keys *keys, uint64_t *key_p)
{
    bool drawn = true;

    ofi_lock_take(&keys->lock);
    if (keys->left == 0) {
        drawn = getrandom(keys->drawn, sizeof(keys->drawn), 0) ==
                (ssize_t) sizeof(keys->drawn);
        keys->left = drawn ? OFI_KEYS : 0;
    }
    if (drawn) {
        *key_p = keys->drawn[--keys->left];
        keys->drawn[keys->left] = 0;
    }
    ofi_lock_drop(&keys->lock);
    return drawn;
}

static int
register_once(
    na_plugin_class *cls, const struct fi_mr_attr *attr, struct fid_mr **mr_p)
{
    struct fid_mr *mr = NULL;
    int ret = fi_mr_regattr(cls->domain, attr, 0, &mr);

    if (ret == 0 && (cls->info->domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
        ret = fi_mr_bind(mr, &cls->ep->fid, 0);
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
    na_plugin_class *cls, struct fi_mr_attr *attr, struct fid_mr **mr_p)
{
    size_t bytes = cls->info->domain_attr->mr_key_size;
    uint64_t mask =
        bytes < sizeof(mask) ? (UINT64_C(1) << 8 * bytes) - 1 : UINT64_MAX;
    int ret = -FI_ENOKEY;

    for (uint32_t i = 0; i < DRAWS && ret == -FI_ENOKEY; i++) {
        if (!draw(&cls->main->keys, &attr->requested_key))
            return -FI_EIO;
        attr->requested_key &= mask;
        if (attr->requested_key != FI_KEY_NOTAVAIL)
            ret = register_once(cls, attr, mr_p);
    }
    return ret;
}
