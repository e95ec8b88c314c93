/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs of a case, and what it encodes. */
#ifndef PROC_CASE_H
#define PROC_CASE_H

#include <check.h>

#include "proc/proc.h"

#define CLASS ((hg_class_t *) 1) /* only returned */

static inline hg_proc_t
make(hg_proc_hash_t hash)
{
    hg_proc_t proc = HG_PROC_NULL;

    ck_assert_int_eq(hg_proc_create(CLASS, hash, &proc), HG_SUCCESS);
    return proc;
}

static inline void
reset(hg_proc_t proc, void *buf, size_t size, hg_proc_op_t op)
{
    ck_assert_int_eq(hg_proc_reset(proc, buf, size, op), HG_SUCCESS);
}

/* Encodes `count` numbers, each its index. */
static inline void
put_numbers(hg_proc_t proc, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++)
        ck_assert_int_eq(hg_proc_uint64_t(proc, &i), HG_SUCCESS);
}

#endif /* PROC_CASE_H */
