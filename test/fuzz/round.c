/* SPDX-License-Identifier: BSD-3-Clause */
/* Decoding, encoding, decoding again. */
#include "round.h"

#include <stdlib.h>
#include <string.h>

static void *
new_struct(size_t size)
{
    void *data = malloc(size);

    if (!data)
        abort();
    memset(data, 0x5a, size); /* nothing relies on zeros */
    return data;
}

static void
free_struct(hg_class_t *hg_class, hg_proc_cb_t proc_cb, void *data)
{
    hg_proc_t proc;

    fuzz_require(hg_proc_create_set(hg_class, NULL, 0, HG_FREE, HG_NOHASH,
                     &proc) == HG_SUCCESS);
    fuzz_require(proc_cb(proc, data) == HG_SUCCESS);
    hg_proc_free(proc);
    free(data);
}

/* Decodes bytes to a struct. Returns it, or NULL. */
static void *
decode(hg_class_t *hg_class, hg_proc_cb_t proc_cb, size_t data_size,
    uint8_t *bytes, size_t size)
{
    void *data = new_struct(data_size);
    hg_proc_t proc;
    hg_return_t ret;

    fuzz_require(hg_proc_create_set(hg_class, bytes, size, HG_DECODE, HG_CRC64,
                     &proc) == HG_SUCCESS);
    ret = proc_cb(proc, data);
    fuzz_require(ret != HG_SUCCESS || hg_proc_get_size_used(proc) <= size);
    hg_proc_free(proc);
    if (ret == HG_SUCCESS)
        return data;
    free(data);
    return NULL;
}

/* A proc that has encoded a struct, into an extra buffer as a rule. */
static hg_proc_t
encode(hg_class_t *hg_class, hg_proc_cb_t proc_cb, void *data)
{
    static char room[64];
    hg_proc_t proc;

    fuzz_require(hg_proc_create_set(hg_class, room, sizeof room, HG_ENCODE,
                     HG_CRC64, &proc) == HG_SUCCESS);
    fuzz_require(proc_cb(proc, data) == HG_SUCCESS);
    return proc;
}

static uint8_t *
copy_encoded(hg_proc_t proc, size_t *size_p)
{
    uint8_t *copy;

    *size_p = hg_proc_get_size_used(proc);
    copy = malloc(*size_p);
    if (!copy && *size_p > 0)
        abort();
    hg_proc_flush(proc);
    /* The beginning of its buffer, as far as it is used. */
    memcpy(copy, (char *) hg_proc_save_ptr(proc, 0) - *size_p, *size_p);
    return copy;
}

bool
fuzz_round(hg_class_t *hg_class, hg_proc_cb_t proc_cb, size_t data_size,
    const uint8_t *bytes, size_t size)
{
    struct fuzz_input input = {bytes, size};
    uint8_t *exact = fuzz_bytes(&input, SIZE_MAX, &size), *first, *second;
    void *data = decode(hg_class, proc_cb, data_size, exact, size);
    uint64_t sums[2];
    size_t sizes[2];
    hg_proc_t proc;

    free(exact);
    if (!data)
        return false;
    proc = encode(hg_class, proc_cb, data);
    fuzz_require(hg_proc_checksum_get(proc, &sums[0], 8) == HG_SUCCESS);
    first = copy_encoded(proc, &sizes[0]);
    hg_proc_free(proc);
    free_struct(hg_class, proc_cb, data);

    data = decode(hg_class, proc_cb, data_size, first, sizes[0]);
    fuzz_require(data != NULL);
    proc = encode(hg_class, proc_cb, data);
    fuzz_require(hg_proc_checksum_get(proc, &sums[1], 8) == HG_SUCCESS);
    second = copy_encoded(proc, &sizes[1]);
    hg_proc_free(proc);
    free_struct(hg_class, proc_cb, data);
    fuzz_require(sizes[0] == sizes[1] && memcmp(first, second, sizes[0]) == 0);
    fuzz_require(sums[0] == sums[1]);
    free(first);
    free(second);
    return true;
}
