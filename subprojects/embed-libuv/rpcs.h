/* SPDX-License-Identifier: BSD-3-Clause */
/* The service: what both sides know of it. */
#ifndef RPCS_H
#define RPCS_H

#include <mercury.h>
#include <mercury_macros.h>
#include <mercury_proc_string.h>

/* Answers with the text, after delay_ms, which is at most DELAY_MAX. */
MERCURY_GEN_PROC(
    later_in_t, ((hg_const_string_t) (text))((uint32_t) (delay_ms)))
MERCURY_GEN_PROC(later_out_t, ((hg_const_string_t) (text)))

#define DELAY_MAX 10000U

/* Registers it; handler NULL: for a client. 0: it failed. */
hg_id_t rpcs_register(hg_class_t *hg_class, hg_rpc_cb_t handler);

#endif /* RPCS_H */
