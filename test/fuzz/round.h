/* SPDX-License-Identifier: BSD-3-Clause */
/* Procs: what they decode, they encode; that is decoded to the same. */
#ifndef ROUND_H
#define ROUND_H

#include "fuzz.h"

#include "mercury.h"
#include "mercury_proc.h"

/* Decodes bytes by a proc into a struct of data_size bytes, encodes that, decodes
 * and encodes the result, which has to be the same, and frees all of it.
 * True: the bytes were decoded. */
bool fuzz_round(hg_class_t *hg_class, hg_proc_cb_t proc_cb, size_t data_size,
    const uint8_t *bytes, size_t size);

#endif /* ROUND_H */
