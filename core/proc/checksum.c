/* SPDX-License-Identifier: BSD-3-Clause */
/* The checksum of a message, computed at once when it is requested, since the
 * message is in one buffer: fields cost nothing. */
#define XXH_INLINE_ALL
/* Without it the compiler must inline long functions, which makes none of these
 * faster. */
#define XXH_NO_INLINE_HINTS 1
#include <xxhash.h>

#include "proc/proc.h"

uint64_t
proc_hash(const void *bytes, size_t size, uint64_t seed)
{
    return XXH3_64bits_withSeed(bytes, size, seed);
}

/* Returns how many of the 8 bytes of XXH3 are used. */
static size_t
hash_width(const struct hg_proc *proc)
{
    switch (proc->hash) {
    case HG_CRC16:
        return 2;
    case HG_CRC32:
        return 4;
    case HG_CRC64:
        return 8;
    case HG_NOHASH:
        break;
    }
    return 0;
}

static void
compute(const struct hg_proc *proc, char wire[8])
{
    uint64_t hash = proc_hash(proc->start, proc_used(proc), proc->seed);

    proc_copy_integer(wire, (const char *) &hash, sizeof(hash));
}

static hg_return_t
check_arguments(hg_proc_t proc, const void *hash, hg_size_t hash_size)
{
    if (proc == HG_PROC_NULL || hash == NULL)
        return HG_INVALID_ARG;
    if (hash_width(proc) == 0)
        return HG_OPNOTSUPPORTED;
    if (hash_size < hash_width(proc))
        return HG_OVERFLOW;
    return HG_SUCCESS;
}

hg_return_t
hg_proc_flush(hg_proc_t proc)
{
    return proc == HG_PROC_NULL ? HG_INVALID_ARG : HG_SUCCESS;
}

hg_return_t
hg_proc_checksum_get(hg_proc_t proc, void *hash, hg_size_t hash_size)
{
    char wire[8];
    hg_return_t ret = check_arguments(proc, hash, hash_size);

    if (ret != HG_SUCCESS)
        return ret;
    compute(proc, wire);
    memcpy(hash, wire, hash_width(proc));
    return HG_SUCCESS;
}

hg_return_t
hg_proc_checksum_verify(hg_proc_t proc, const void *hash, hg_size_t hash_size)
{
    char wire[8];
    hg_return_t ret = check_arguments(proc, hash, hash_size);

    if (ret != HG_SUCCESS)
        return ret;
    compute(proc, wire);
    if (memcmp(hash, wire, hash_width(proc)) != 0)
        return HG_CHECKSUM_ERROR;
    return HG_SUCCESS;
}

void
hg_proc_checksum_update(hg_proc_t proc, void *data, hg_size_t data_size)
{
    if (proc == HG_PROC_NULL || proc->hash == HG_NOHASH ||
        proc->op == HG_FREE || data_size == 0)
        return;
    /* Bytes of the message are included already. */
    if (hg_proc_restore_ptr(proc, data, data_size) == HG_SUCCESS)
        return;
    proc->seed = proc_hash(data, (size_t) data_size, proc->seed);
}
